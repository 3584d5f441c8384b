"""A frame's definition: what cannot be one is refused in a line that says what would be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tallystick.records.errors import Refused
from tallystick.records.frame import Frame


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
