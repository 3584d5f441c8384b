"""From ranked hits to a frame: never over budget, guarantees kept or reported, each thing once, nothing lost unsaid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.recall.frame import framed
from tallystick.records.recall import Dropped, FilledFrame, Frame, Hit
from tests.growth import assert_text_linear
from tests.recall.test_render import hit as _hit, hostile
from tests.refusals import refuses

FRAME = Frame("task", {"recency": 1.0}, template="## What\n\n{blocks}\n", token_budget=100)
LOOP = "{% for h in hits %}{{ h.line }}\n{% endfor %}"


def quarter(text: str) -> int:
    return -(-len(text) // 4)


def words(text: str) -> int:
    return len(text.split())


COUNTS: dict[str, Callable[[str], int]] = {
    "letters, four to a token": quarter,
    "floored": lambda text: len(text) // 4,
    "words": words,
    "less together than apart": lambda text: math.isqrt(len(text)) + 1,
    "more together than apart": lambda text: len(text) + len(text) ** 2 // 500,
    "sometimes less when there is more": lambda text: len(text) % 61,
    "with a beginning and an end": lambda text: words(text) + 2,
    "nothing costs anything": lambda _: 0,
}


def hit(name: str, text: str, **more: Any) -> Hit:
    return _hit(text, **({"id": name, "sources": (name,), "block": "block-" + name} | more))


def alike(one: str, other: str) -> bool:
    return one.lower().strip(".") == other.lower().strip(".")


def ports(one: Hit, other: Hit) -> str:
    """Two that name a different port contradict."""
    first, second = one.text.partition("port ")[2], other.text.partition("port ")[2]
    return f"{first} against {second}" if first and second and first.lower() != second.lower() else ""


@dataclass(frozen=True)
class By:
    """Hits compared as a test says; each with every other, unless it says otherwise."""

    is_repeat: Callable[[str, str], bool] = alike
    conflict: Callable[[Hit, Hit], str] = ports
    gist: Callable[[str], object] = lambda _: ""
    topic: Callable[[Hit], object] = lambda _: ""


def fill(hits: list[Hit], *, frame: Frame = FRAME, **more: Any) -> FilledFrame:
    by = By(**{name: more.pop(name) for name in By.__annotations__ if name in more})
    return framed(frame, "what?", hits, **({"count": quarter, "compare": by} | more))


def ids(result: FilledFrame) -> list[str]:
    return [each.id for each in result.hits]


def why(result: FilledFrame) -> dict[str, str]:
    return {each.id: each.why for each in result.dropped}


# What is shown, and in which order


def test_the_guaranteed_come_first_then_standing_memory_then_the_rest_as_ranked() -> None:
    rest = [hit("a", "first"), hit("b", "second", is_standing=True), hit("c", "third")]

    result = fill([*rest, hit("g2", "kept")], guaranteed=[hit("g1", "always"), hit("g2", "kept")])

    assert ids(result) == ["g1", "g2", "b", "a", "c"]
    assert result.text.splitlines() == [
        "## What", "", "- [since 2026-05-03] always", "- [since 2026-05-03] kept", "- [since 2026-05-03] second",
        "- [since 2026-05-03] first", "- [since 2026-05-03] third",
    ]  # fmt: skip
    assert (result.dropped, result.is_whole, result.used) == ((), True, quarter(result.text))
    assert (result.frame, result.question, result.budget) == ("task", "what?", 100)


def test_nothing_found_is_an_empty_text_without_a_heading() -> None:
    result = fill([])

    assert (result.text, result.hits, result.dropped, result.used, result.is_whole) == ("", (), (), 0, True)


def test_standing_memory_takes_its_share_first_and_more_only_by_its_rank() -> None:
    standing = [hit(f"s{number}", f"rule {number} {'x' * 20}", is_standing=True) for number in range(6)]
    others = [hit(f"o{number}", f"thing {number} {'x' * 19}") for number in range(4)]

    result = fill([*others, *standing], count=words, budget=38)  # a line is six words, the heading two

    assert ids(result) == ["s0", "o0", "o1", "o2", "o3", "s1"]
    assert "the budget is used up" in why(result)["s2"]


def test_what_does_not_fit_leaves_its_room_to_smaller_ones() -> None:
    result = fill([hit("a", "small"), hit("b", "long " * 90), hit("c", "little")])

    assert ids(result) == ["a", "c"]
    [lost] = result.dropped
    assert (lost.id, lost.guaranteed, lost.tokens) == ("b", False, quarter(f"- [since 2026-05-03] {'long ' * 90}"))
    assert lost.why == f"the budget of 100 tokens cannot hold its {lost.tokens} with the template's 3"
    assert len(lost.text) <= 80


def test_room_that_the_estimate_overlooked_is_used() -> None:
    lines = [hit(f"h{number}", f"memory {number}") for number in range(40)]

    result = fill(lines, count=COUNTS["less together than apart"], budget=33)

    assert len(result.hits) > 10  # one by one each takes 6, and after 5 of them 15 are left


# Guarantees


def test_what_is_guaranteed_and_too_long_is_reported_with_what_it_needs() -> None:
    result = fill([hit("a", "small")], guaranteed=[hit("g", "x" * 200)], budget=40)

    assert not result.is_whole
    assert ids(result) == ["a"]
    [lost] = result.dropped
    assert (lost.id, lost.guaranteed, lost.tokens) == ("g", True, 56)
    assert lost.why == "guaranteed, and the budget of 40 tokens cannot hold its 56 with the template's 3"


def test_guaranteed_ones_that_do_not_fit_together_are_kept_in_their_order() -> None:
    must = [hit(f"g{number}", f"{number} " + "x" * 60) for number in range(3)]

    result = fill([hit("a", "tiny")], guaranteed=must, budget=60)

    assert ids(result) == ["g0", "g1", "a"]
    assert why(result)["g2"] == "guaranteed, and the budget is used up: it needs 21 tokens, and 9 of 60 are left"
    assert not result.is_whole


def test_a_guarantee_is_kept_if_the_whole_fits_though_the_sum_of_its_parts_would_not() -> None:
    must = [hit(f"g{number}", f"{number} " + "x" * 60) for number in range(9)]

    result = fill([], guaranteed=must, count=COUNTS["less together than apart"], budget=30)

    assert len(result.hits) == 9
    assert result.is_whole


def test_a_template_over_the_budget_shows_nothing_and_reports_everything() -> None:
    result = fill([hit("a", "small")], guaranteed=[hit("g", "kept")], budget=2)

    assert (result.text, result.hits, result.used) == ("", (), 0)
    assert why(result)["g"].startswith(
        "guaranteed, and the budget of 2 tokens cannot hold the template, which takes 3,"
    )
    assert [each.id for each in result.dropped if each.guaranteed] == ["g"]
    odd = fill([], guaranteed=[hit("g", "kept")], count=lambda text: 1 if "kept" in text else 3, budget=2)
    assert (odd.text, odd.is_whole) == ("", False)


# Templates


def test_a_template_in_jinja_fills_the_frame_as_the_simple_one_does() -> None:
    some = [hit("a", "tea"), hit("b", "x" * 500), hit("c", "ale")]

    result = fill(some, frame=replace(FRAME, template=LOOP))

    assert result.text == "- [since 2026-05-03] tea\n- [since 2026-05-03] ale\n"
    assert ids(result) == ["a", "c"]


def test_what_a_template_hides_is_not_said_to_be_shown() -> None:
    frame = replace(FRAME, template="{% for h in hits[:1] %}{{ h.line }}\n{% endfor %}")

    result = fill([hit("a", "tea")], guaranteed=[hit("g1", "one"), hit("g2", "two")], frame=frame)

    assert ids(result) == ["g1"]
    assert why(result)["g2"] == "guaranteed, and the template does not show it as it is"
    assert why(result)["a"] == "the template does not show it as it is"
    assert not result.is_whole


def test_a_frame_whose_template_fails_is_refused() -> None:
    with refuses("value", "'task'", "'nothing'", "line 2"):
        fill([hit("a", "tea")], frame=replace(FRAME, template="{{ blocks }}\n{{ nothing }}"))
    with refuses("required", "'task'"):
        fill([hit("a", "tea")], frame=replace(FRAME, template="nothing here"))


# Whatever comes


trusts = st.sampled_from(["human", "agent", "import", "tool", "web", "?"])
facts = st.one_of(hostile, st.sampled_from(["tea", "Tea.", "port 1", "port 2", "port 3"]), st.text("ab ", max_size=200))


@st.composite
def some_hits(draw: st.DrawFn) -> list[Hit]:
    return [
        hit(
            f"h{number}{draw(hostile)}",
            draw(facts),
            what=draw(st.sampled_from(["belief", "episode"])),
            trust=draw(trusts),
            agent=draw(hostile),
            confidence=draw(st.floats(0, 1)),
            is_standing=draw(st.booleans()),
            sources=tuple(f"{number}.{each}" for each in range(draw(st.integers(0, 3)))),
            seq=number,
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@given(
    some_hits(), st.data(), st.sampled_from(sorted(COUNTS)), st.integers(-1, 400),
    st.sampled_from([FRAME.template, "{blocks}", LOOP, "a\n\n{blocks}\nand {blocks}", "<m>\n{{ blocks }}\n</m>\n"]),
)  # fmt: skip
def test_a_frame_is_within_its_budget_and_every_hit_is_shown_or_dropped_with_a_reason(
    every: list[Hit], data: st.DataObject, counted: str, budget: int, template: str
) -> None:
    must = data.draw(st.lists(st.sampled_from(every), unique_by=id)) if every else []
    ranked = data.draw(st.permutations(every))
    given = {"guaranteed": must, "count": COUNTS[counted], "budget": budget, "frame": replace(FRAME, template=template)}

    result = fill(ranked, **given)

    assert not result.text or COUNTS[counted](result.text) <= budget
    assert result.used == (COUNTS[counted](result.text) if result.text else 0)
    assert sorted([*ids(result), *(each.id for each in result.dropped)]) == sorted({each.id for each in every})
    assert {each.id for each in result.dropped if each.guaranteed} == {each.id for each in must} - set(ids(result))
    assert all(isinstance(each, Dropped) and each.why and each.tokens >= 0 for each in result.dropped)
    assert all(each.text in str(every) or len(each.text) <= 80 for each in result.dropped)
    assert bool(result.text) == bool(result.hits)
    assert fill(ranked, **given) == result


@given(some_hits(), st.integers(1, 300))
def test_a_frame_has_its_heading_and_a_line_for_each_hit_and_no_other_line(every: list[Hit], budget: int) -> None:
    result = fill(every, budget=budget)
    if not result.text:
        return

    first, second, *lines = result.text.splitlines()
    assert (first, second) == ("## What", "")
    assert len(lines) == len(result.hits)
    assert all(line.startswith("- [") for line in lines)


@given(some_hits(), st.sampled_from(["letters, four to a token", "floored", "words"]), st.integers(5, 200))
def test_nothing_that_would_fit_easily_is_left_out(every: list[Hit], counted: str, budget: int) -> None:
    result = fill(every, count=COUNTS[counted], budget=budget)

    spent = result.used or COUNTS[counted]("## What\n\n\n")
    for each in result.dropped:
        if "used up" in each.why:
            assert each.tokens + 2 > budget - spent


@pytest.mark.parametrize("counted", ["letters, four to a token", "more together than apart"])
def test_the_letters_that_are_counted_grow_with_the_hits_and_not_with_their_square(counted: str) -> None:
    def letters(number: int) -> int:
        seen = 0

        def count(text: str) -> int:
            nonlocal seen
            seen += len(text)
            return COUNTS[counted](text)

        some = [hit(f"h{each}", f"memory number {each} of some length") for each in range(number)]
        fill(some, count=count, budget=12 * number, is_repeat=lambda *_: False, conflict=lambda *_: "")
        return seen

    assert letters(800) < 10 * letters(200)


@pytest.mark.parametrize("piece", ["x <|y ", "```"])
def test_a_long_text_is_dropped_in_time_that_grows_with_it(piece: str) -> None:
    def dropped(text: str) -> None:
        assert ids(fill([hit("a", text), hit("b", "tea")], guaranteed=[hit("g", text)])) == ["b"]

    assert_text_linear(dropped, piece)
