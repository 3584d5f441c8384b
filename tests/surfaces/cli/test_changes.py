"""`tallystick undo` and `tallystick diff`, and what says how to undo."""

import re

import pytest


@pytest.fixture
def last(tallystick):
    """The number of the last event."""
    return lambda: tallystick("log", "--json").json[-1]["seq"]


def test_the_last_change_is_undone_and_undoing_again_undoes_the_one_before(tallystick):
    tallystick("remember", "The port is 5432", "--key", "port")
    tallystick("revise", "port", "The port is 6543", "--reason", "moved")
    tallystick("forget", "port")
    done = tallystick("undo").out.splitlines()
    assert done[0].startswith("Undid event 3: forgotten by cli:local")
    assert done[1:] == ["  + port  The port is 6543", "Undo with `tallystick undo 4`"]
    done = tallystick("undo").out.splitlines()
    assert done[1:3] == ["  ~ port  The port is 5432", "      was  The port is 6543"]
    tallystick("undo")
    assert tallystick("show", "--json").json == []
    tallystick("undo").refused("nothing to undo")


def test_an_event_is_named_by_its_number_its_id_or_its_belief(tallystick, last):
    tallystick("remember", "a", "--key", "a")
    tallystick("remember", "b", "--key", "b")
    tallystick("remember", "c", "--key", "c")
    one, other = tallystick("log", "--json").json[1:3]
    assert tallystick("undo", str(one["seq"]), "--json").json["event"] == one["seq"]
    assert tallystick("undo", other["id"], "--json").json["event"] == other["seq"]
    assert tallystick("undo", "c", "--json").json["changes"][0]["before"]["text"] == "c"
    assert tallystick("show", "--json").json == []
    tallystick("undo", str(last()))
    assert [each["text"] for each in tallystick("show", "--json").json] == ["c"]


def test_a_dry_run_shows_and_a_reason_stays_with_it(tallystick, last):
    tallystick("remember", "a", "--key", "a")
    before = last()
    assert tallystick("undo", "--dry-run").out.startswith("Would undo event 1: remembered by cli:local")
    assert last() == before
    tallystick("undo", "--reason", "a mistake")
    assert tallystick("log").out.endswith("undo               a  event 1: (a mistake) a\n")


def test_what_later_changes_depend_on_is_refused_with_their_numbers(tallystick):
    tallystick("remember", "a", "--key", "a")
    tallystick("revise", "a", "b")
    tallystick("undo", "1").refused("undo those first: 2")
    tallystick("undo", "99").refused("99")
    tallystick("undo", "nothing-such").refused("nothing-such")


def test_an_erasure_is_never_undone(tallystick):
    tallystick("remember", "a", "--key", "a")
    tallystick("erase", "a", "--yes")
    tallystick("undo").refused("erasure")


def test_an_agent_undoes_what_is_its_own_and_asks_for_the_rest(tallystick):
    tallystick("remember", "a", "--key", "a")
    tallystick("remember", "b", "--key", "b", "--trust", "agent")
    agent = ("--trust", "agent")
    tallystick("undo", "a", *agent).refused("needs approval", status=1)
    assert tallystick("undo", "--json", *agent).json["changes"][0]["key"] == "b"
    [review] = tallystick("review", "--json").json
    assert tallystick("review", review["id"]).out.startswith("Undo event 1?\n  ~ a\n")
    tallystick("review", "approve", review["id"])
    assert tallystick("show", "--json").json == []


@pytest.mark.parametrize("order", [
    ("remember", "The deadline of Apollo is 9 May now", "--about", "project-apollo"),
    ("revise", "port", "new words"), ("forget", "port"),
])  # fmt: skip
def test_a_change_says_how_to_undo_it(tallystick, order):
    tallystick("remember", "The deadline of Apollo is 3 May", "--about", "project-apollo")
    tallystick("remember", "The port is 5432", "--key", "port")
    before = tallystick("show", "--json").json
    said = re.search(r"Undo with `tallystick (undo \w+)`", tallystick(*order).out)
    assert tallystick("show", "--json").json != before
    tallystick(*said[1].split())
    assert [each["text"] for each in tallystick("show", "--json").json] == [each["text"] for each in before]


def test_what_changed_between_two_moments_is_shown_with_its_author_and_reason(tallystick, last):
    tallystick("remember", "a", "--key", "a", "--about", "Ana")
    tallystick("remember", "b", "--key", "b")
    start = last()
    tallystick("revise", "a", "A", "--reason", "louder")
    tallystick("forget", "b", "--reason", "old")
    middle = last()
    tallystick("remember", "c", "--key", "c")
    lines = tallystick("diff", str(start)).out.splitlines()
    assert lines[:3] == ["  ~ a  A", "      was  a", "      changed just now by cli:local, event 3, louder"]
    assert lines[3:] == [
        "  - b  b", "      forgotten just now by cli:local, event 4, old",
        "  + c  c", "      stated just now by cli:local, event 5", "3 changes",
    ]  # fmt: skip
    assert [each["key"] for each in tallystick("diff", str(start), str(middle), "--json").json] == ["a", "b"]
    assert [each["key"] for each in tallystick("diff", str(start), "--about", "Ana", "--json").json] == ["a"]
    assert len(tallystick("diff", "yesterday", "--json").json) == 2
    assert tallystick("diff", str(last())).out == "Nothing changed.\n"
    tallystick("diff", "gibberish").refused("gibberish")
    tallystick("diff").refused("SINCE", status=2)


def test_hostile_words_are_written_out(tallystick):
    tallystick("remember", "red \x1b[31m text\nUndid event 7", "--key", "a")
    tallystick("revise", "a", "x\x1b]0;evil\x07y", "--reason", "\x1b[2J")
    for order in (("undo", "--dry-run"), ("diff", "0")):
        out = tallystick(*order).out
        assert not {"\x1b", "\x07"} & set(out)
        assert "\nUndid event 7" not in out
