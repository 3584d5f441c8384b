"""A hit is a line: in a pipe with all its words, on a terminal in columns that fit, however odd the words are."""

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, strategies as st

from tallystick.records.clock import stamp
from tallystick.records.recall import Hit
from tallystick.surfaces.cli import recall as hit_line
from tallystick.surfaces.cli.recall import hit_lines, speaker
from tallystick.surfaces.present import names as moments
from tallystick.surfaces.present.names import lately
from tallystick.surfaces.present.text import cells, one_line, wrapped

HIT = Hit(
    "20260503-1400-c4f1a5", "Ana prefers tea", 0.832, "says tea", "belief", "fact", "human", "", 0.7,
    "2026-05-03T14:00:00Z", 1, ("20260503-1400-c4f1a5",), {},
)  # fmt: skip
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def in_june(monkeypatch):
    monkeypatch.setattr(moments, "system_clock", lambda: NOW)
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def terminal_of(monkeypatch):
    def open_one(columns: int) -> None:
        monkeypatch.setattr(hit_line, "width", lambda: columns)
        monkeypatch.setattr(hit_line.sys, "stdout", type("Terminal", (), {"isatty": lambda _: True})())

    return open_one


def plain(hits, user: str = "") -> list[str]:
    return [COLOUR.sub("", line) for lines in hit_lines(hits, user) for line in lines]


def test_in_a_pipe_it_is_one_line_with_all_its_words():
    long = replace(HIT, text="tea\n" * 5000)

    assert plain([HIT]) == ["0.83  Ana prefers tea   c4f1a5 · you · 3 May"]
    assert plain([long]) == [f"0.83  {' '.join(['tea'] * 5000)}   c4f1a5 · you · 3 May"]


def test_on_a_terminal_the_columns_stand_under_one_another(terminal_of):
    terminal_of(80)
    other = replace(HIT, id="mine", text="Tea 茶 is made of leaves", score=0.4)

    assert plain([HIT, other]) == [
        "0.83  Ana prefers tea            c4f1a5 · you · 3 May",
        "0.40  Tea 茶 is made of leaves   mine · you · 3 May",
    ]


def test_whoever_is_not_trusted_stands_out(terminal_of):
    terminal_of(80)

    [[web]], [[person]] = hit_lines([replace(HIT, trust="web")]), hit_lines([HIT])
    assert "\x1b[33mweb\x1b[0m" in web
    assert "\x1b[33m" not in person


def test_a_long_text_goes_on_below_for_two_lines_and_is_then_cut(terminal_of):
    terminal_of(60)
    lines = plain([replace(HIT, text="Ana prefers tea over coffee in the morning " * 9)])

    assert lines == [
        "0.83  Ana prefers tea over coffee in    c4f1a5 · you · 3 May",
        "      the morning Ana prefers tea",
        "      over coffee in the morning Ana…",
    ]


def test_where_columns_have_no_room_the_rest_stands_below(terminal_of):
    terminal_of(40)

    assert plain([HIT]) == ["0.83  Ana prefers tea", "      c4f1a5 · you · 3 May"]


@given(
    st.lists(st.tuples(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40)), max_size=4),
    st.integers(20, 200),
)
@example([("\x1b]0;x\x07" * 40, "\u202e\n", "a b")], 80)
@example([("茶" * 300, "茶" * 40, "茶")], 61)
def test_whatever_the_words_nothing_is_wider_than_the_terminal_and_nothing_is_obeyed(said, columns):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hit_line, "width", lambda: columns)
        patched.setattr(hit_line.sys, "stdout", type("Terminal", (), {"isatty": lambda _: True})())
        lines = plain([replace(HIT, text=text, agent=agent, id=name) for text, agent, name in said])

    assert all(cells(line) <= max(columns, 70) for line in lines)
    assert not any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for line in lines for sign in line)
    assert len(lines) <= 4 * len(said)


@given(st.text(max_size=200), st.integers(1, 30), st.integers(1, 4))
def test_wrapped_text_fits_its_room_and_is_a_beginning_of_the_whole(text, room, most):
    lines = wrapped(text, room, most)
    begun = "".join(lines).replace(" ", "").removesuffix("…")

    assert 1 <= len(lines) <= most
    assert all(cells(line) <= max(room, 2) for line in lines)
    assert one_line(text).replace(" ", "").startswith(begun)
    if "…" not in lines[-1]:
        assert one_line(text).replace(" ", "") == begun


def test_a_megabyte_is_cut_as_fast_as_a_line():
    assert [len(line) for line in wrapped("tea " * 2**18, 40, 3)] == [39, 39, 40]
    assert [len(line) for line in wrapped("x" * 2**20, 40, 3)] == [40, 40, 40]
    assert wrapped("tea" + " " * 10_000 + "x", 10, 2) == ["tea …"], "something follows, however far away"


@pytest.mark.parametrize(
    ("trust", "agent", "user", "told"),
    [
        ("human", "", "", "you"), ("human", "", "bea", "bea"), ("human", "bob", "", "bob"),
        ("agent", "", "", "agent"), ("agent", "planner", "bea", "agent planner"), ("web", "", "", "web"),
        ("tool", "grep", "", "tool grep"), ("import", "", "", "import"),
    ],
)  # fmt: skip
def test_who_said_it_is_told_as_people_say_it(trust, agent, user, told):
    assert speaker(replace(HIT, trust=trust, agent=agent), user) == told


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (timedelta(seconds=59), "just now"), (timedelta(minutes=1), "1 min ago"), (timedelta(minutes=59), "59 min ago"),
        (timedelta(hours=3), "3 h ago"), (timedelta(hours=23, minutes=59), "23 h ago"), (timedelta(days=6), "6 d ago"),
        (timedelta(days=7), "25 May"), (timedelta(days=29), "3 May"), (timedelta(days=200), "13 Nov 2025"),
        (timedelta(days=-3), "4 Jun"),
    ],
)  # fmt: skip
def test_when_it_was_is_told_in_short(before, told):
    assert lately(stamp(NOW - before)) == told


def test_a_time_that_is_none_is_shown_as_it_is():
    assert lately("soon\x1b") == "soon\\x1b"
