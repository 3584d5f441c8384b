"""What hits say, each thing once: the better supported speaks, and what is against it is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tallystick.records.recall import Hit
from tests.recall.test_frame import COUNTS, fill, hit, ids, why, words

# Repeats


def test_what_is_said_twice_is_shown_once_by_the_better_supported() -> None:
    web, agent = hit("w", "Ana takes tea.", trust="web"), hit("p", "Ana takes tea", trust="agent")
    result = fill([web, hit("x", "else"), agent, hit("q", "ana takes tea", trust="tool", sources=("q", "r"))])

    assert ids(result) == ["p", "x"]  # in the place of the best ranked
    assert "- [since 2026-05-03 · agent · said 4 times] Ana takes tea\n" in result.text
    assert why(result) == {"w": "says the same as p", "q": "says the same as p"}
    assert {each.said_by for each in result.dropped} == {"p"}


def test_what_repeats_standing_memory_stands_where_that_would() -> None:
    result = fill([hit("x", "else"), hit("a", "be brief"), hit("s", "Be brief.", is_standing=True, trust="tool")])

    assert ids(result) == ["a", "x"]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"sources": ("1", "2")}, {"sources": ("3", "4", "5")}),
        ({"trust": "human"}, {"trust": "agent", "sources": ("1", "2")}),
        ({"trust": "tool", "sources": tuple("123456")}, {"trust": "human"}),
        ({"trust": "web", "sources": tuple("123456")}, {"trust": "tool"}),
        ({"trust": "import", "confidence": 0.6}, {"trust": "agent"}),
        ({"trust": "nobody knows", "confidence": 1.0}, {"trust": "web"}),
        ({"confidence": 0.6, "at": "2026-06-01"}, {"confidence": 0.8}),
        ({"at": "2026-04-01", "seq": 9}, {"at": "2026-05-01"}),
        ({"seq": 1}, {"seq": 2}),
    ],
)
def test_support_is_sources_then_trust_then_confidence_then_newness(less: dict[str, Any], more: dict[str, Any]) -> None:
    weak, strong = hit("weak", "tea", **less), hit("strong", "tea", **more)
    for pair in ([weak, strong], [strong, weak]):
        assert ids(fill(pair)) == ["strong"]
    weak, strong = replace(weak, text="port 1"), replace(strong, text="port 2")
    for pair in ([weak, strong], [strong, weak]):
        assert ids(fill(pair)) == ["strong"]


def test_a_guaranteed_one_is_not_dropped_for_one_that_is_not_however_well_supported() -> None:
    must, other = hit("g", "tea", trust="web", confidence=0.1), hit("a", "tea", sources=("a", "b", "c"))

    assert ids(fill([other], guaranteed=[must])) == ["g"]
    assert ids(fill([replace(other, text="port 1")], guaranteed=[replace(must, text="port 2")])) == ["g"]


def test_of_two_guaranteed_that_say_the_same_one_is_enough_as_long_as_it_is_shown() -> None:
    must = [hit("g1", "Tea", trust="web"), hit("g2", "tea", trust="human")]

    whole = fill([], guaranteed=must)
    assert (ids(whole), whole.is_whole, whole.dropped[0].guaranteed) == (["g2"], True, True)
    lost = fill([], guaranteed=must, budget=5)
    assert (ids(lost), lost.is_whole, {each.said_by for each in lost.dropped}) == ([], False, {""})


def test_the_same_memory_in_both_lists_is_one_and_two_spellings_of_a_block_are_two() -> None:
    kept = hit("g", "Password: ABC")

    both = fill([replace(kept, score=0.9, why="says password")], guaranteed=[kept], is_repeat=lambda *_: False)
    assert (ids(both), both.dropped) == (["g"], ())
    spelled = fill([hit("h", "password: abc", block="block-g")], guaranteed=[kept], is_repeat=lambda *_: False)
    assert ids(spelled) == ["g", "h"]
    told = fill([hit("1", "tea", block="", seq=1), hit("1", "ale", block="", seq=2)])  # two scopes, one name
    assert [each.text for each in told.hits] == ["tea", "ale"]


# Contradictions


def test_of_two_that_contradict_the_better_supported_is_shown_and_the_other_named_beside_it() -> None:
    result = fill([hit("old", "port 5432", trust="tool"), hit("x", "else"), hit("new", "port 6543")])

    assert ids(result) == ["new", "x"]  # the winner in the loser's place
    assert "- [since 2026-05-03] port 6543; against that: port 5432 [old]\n" in result.text
    assert why(result) == {"old": "contradicts new, which is better supported: 6543 against 5432"}


def test_what_is_against_a_line_is_left_out_where_there_is_no_room_for_it() -> None:
    pair = [hit("new", "port 6543"), hit("old", "port 5432", trust="tool")]

    result = fill(pair, count=words, budget=9)

    assert result.text == "## What\n\n- [since 2026-05-03] port 6543\n"
    assert list(why(result)) == ["old"]
    for budget in range(1, 40):
        for count in COUNTS.values():
            assert {"old"} <= set(why(fill(pair, count=count, budget=budget)))
    count = COUNTS["more together than apart"]
    for budget in range(count(result.text), 2 * count(result.text)):
        assert ids(fill(pair, count=count, budget=budget)) == ["new"]


def test_what_only_contradicts_something_that_is_not_shown_itself_is_shown() -> None:
    def next_to(one: Hit, other: Hit) -> str:
        return "near" if abs(int(one.text) - int(other.text)) == 1 else ""

    chain = [hit("a", "1", confidence=0.9), hit("b", "2", confidence=0.8), hit("c", "3", confidence=0.7)]

    assert ids(fill(chain, conflict=next_to)) == ["a", "c"]


def test_two_guaranteed_that_contradict_are_both_shown_and_one_says_so() -> None:
    result = fill([], guaranteed=[hit("g1", "port 1", trust="agent"), hit("g2", "port 2")])

    assert (ids(result), result.is_whole, result.dropped) == (["g1", "g2"], True, ())
    assert "port 1; against that: port 2 [g2]" in result.text
    assert result.text.count("against that") == 1


def test_what_is_guaranteed_has_the_room_before_what_is_against_another() -> None:
    must = [hit("g1", "port 1", trust="agent"), hit("g2", "port 2"), hit("g3", "tea")]

    result = fill([], guaranteed=must, count=words, budget=19)  # six words more would say what is against g1

    assert (ids(result), result.is_whole) == (["g1", "g2", "g3"], True)
    assert "against" not in result.text
    tight = fill([], guaranteed=must, count=words, budget=15)
    assert (ids(tight), list(why(tight))) == (["g1", "g2"], ["g3"])


def test_two_that_contradict_are_no_repeat_though_their_words_are_alike() -> None:
    result = fill([hit("a", "port 1"), hit("b", "port 2", trust="tool")], is_repeat=lambda *_: True)

    assert why(result)["b"].startswith("contradicts a")
