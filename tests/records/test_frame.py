"""A frame's definition, refused in a line that says what would be one, and what a filled frame promises by itself."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest

from tallystick.records.errors import Refused
from tallystick.records.recall import Dropped, FilledFrame, Frame, Hit
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"filters": {"tag_patterns": "self/%"}}, "tag_patterns must be a list of strings, not 'self/%'"),
        ({"filters": {"tag_patterns": [1]}}, "tag_patterns must be a list of strings"),
        ({"filters": {"categories": {"a": 1}}}, "categories must be a list of strings"),
        ({"filters": {"categories": None}}, "categories must be a list of strings"),
        (
            {"filters": {"search_window": "200"}},
            "search_window must be a number of active hours above 0, or null; not '200'",
        ),
        ({"filters": {"search_window": True}}, "search_window"),
        ({"filters": {"search_window": 0}}, "search_window"),
        ({"filters": {"search_window": math.nan}}, "search_window"),
        ({"filters": {"search_window": math.inf}}, "search_window"),
        ({"filters": {"user": "ana"}}, "not by 'user'"),
        ({"filters": {1: 2}}, "not by 1"),
        ({"filters": ["tag_patterns"]}, "filters must be an object"),
        ({"guarantees": "self/%"}, "guarantees must be a list of strings"),
        ({"guarantees": (1,)}, "guarantees must be a list of strings"),
        ({"template": None}, "template must be a string, not NoneType"),
        ({"cache": {}}, "ttl_seconds"),
        ({"cache": {"ttl_seconds": 0}}, "ttl_seconds"),
        ({"cache": {"ttl_seconds": False}}, "ttl_seconds"),
        ({"cache": {"ttl_seconds": 5, "more": 1}}, "ttl_seconds"),
        ({"cache": 60}, "ttl_seconds"),
        ({"token_budget": 0}, "token_budget"),
        ({"weights": {"recency": 10**400, "similarity": -1}}, "similarity must be a number from 0 up"),
    ],
)
def test_a_frame_that_makes_no_sense_is_refused_in_one_line(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as refused:
        Frame("mine", **({"weights": {"recency": 1.0}} | wrong))

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_frame_comes_back_from_the_ledger_as_it_was() -> None:
    filters = {"tag_patterns": ["self/%"], "categories": ["fact"], "search_window": 0.5}
    frame = Frame("mine", {"recency": 1.0}, filters, ("self/goal",), "# x\n{blocks}", 100, {"ttl_seconds": 1.5})
    plain = Frame("plain", {"recency": 1}, {"search_window": None, "tag_patterns": ()})

    assert Frame.from_body(frame.to_body()) == frame
    assert Frame.from_body(plain.to_body()).filters == {"search_window": None, "tag_patterns": []}


HIT = Hit("b1", "tea", 0.5, "says tea", "belief", "fact", "human", "", 0.7, "2026-05-03", 1, ("b1",), {"words": 1.0})


def test_a_frame_reads_as_its_text_and_tells_all_of_itself() -> None:
    dropped = Dropped("b2", "ale", "the budget is used up")
    framed = FilledFrame("task", "what?", "- [x] tea\n", (HIT,), (dropped,), 4, 10)

    assert str(framed) == "- [x] tea\n"
    assert repr(framed) == "<FilledFrame task: 1 shown, 1 dropped, 4 of 10 tokens>"
    assert repr(framed.dropped[0]) == "<Dropped b2 'ale': the budget is used up>"
    told = orjson.loads(orjson.dumps(framed.to_dict()))
    assert (told["hits"][0]["text"], told["dropped"][0]["id"], told["is_whole"]) == ("tea", "b2", True)
    assert set(told) == {
        "frame", "question", "text", "hits", "dropped", "used", "budget", "is_whole", "receipt", "more",
        "incomplete",
    }  # fmt: skip


def test_a_frame_is_whole_unless_something_guaranteed_is_said_by_nobody() -> None:
    twin = Dropped("b2", "tea", "says the same as b1", guaranteed=True, said_by="b1")
    lost = Dropped("b3", "ale", "guaranteed, and …", guaranteed=True)

    assert FilledFrame("task", "", "", (), (twin, Dropped("b4", "x", "y"))).is_whole
    assert not FilledFrame("task", "", "", (), (twin, lost)).is_whole
    assert "not all that is guaranteed" in repr(FilledFrame("task", "", "", (), (lost,)))
    with refuses("value", "11", "10"):
        FilledFrame("task", "", "words", used=11, budget=10)
