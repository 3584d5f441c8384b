"""Receipts, and what is known of the use of memories: folded from events, and no more than an erasure leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.ids import event_id
from tallystick.records.operations import EPISODE_FADE, RECEIPT_PUT
from tallystick.records.recall import LONGEST_QUESTION, Receipt
from tallystick.state.state import State
from tests.projections.index.ledgers import MadeUp, steps
from tests.state.rows import rows_of
from tests.strategies import json_objects, names, texts

AT = "2026-05-03T14:00:00.000000Z"
PLAIN = Receipt(id=event_id(AT), at=AT, head=(7, "ab"), hits=(("20260101-0000-c4f1a5", 0.5),), k=5)

receipts = st.builds(
    Receipt,
    id=names,
    at=st.just(AT),
    head=st.tuples(st.integers(0, 2**40), texts),
    hits=st.lists(st.tuples(names, st.floats(0, 1) | st.integers(0, 1)), max_size=4).map(tuple),
    k=st.integers(0, 100),
    user=names,
    frame=texts,
    embedder=texts,
    question=texts,
    asked=json_objects,
)


def event(seq: int, op: str, **body: Any) -> Event:
    return Event(seq, AT, op, f"e{seq}", "cli:local", "", orjson.loads(orjson.dumps(body)))


def folded(*events: Event) -> State:
    state = State()
    for each in events:
        state.apply(each)
    return state


# -- the receipt -------------------------------------------------------------------------------------------------------


@given(receipts)
def test_what_is_recorded_of_a_receipt_is_the_receipt(receipt):
    assert Receipt.from_body(orjson.loads(orjson.dumps(receipt.to_body()))) == receipt


def test_a_receipt_of_a_plain_recall_records_nothing_but_what_it_served():
    assert set(PLAIN.to_body()) == {"id", "at", "head", "hits", "k"}
    assert PLAIN.to_dict()["question"] == ""
    assert Receipt.from_body({**PLAIN.to_body(), "mood": "sunny"}) == PLAIN


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""}, {"at": ""}, {"user": ""}, {"user": 7}, {"question": None}, {"k": -1}, {"k": True}, {"k": 2.0},
        {"head": (1,)}, {"head": ("1", "ab")}, {"head": [1, "ab"]}, {"hits": (("", 0.5),)}, {"hits": (("x", "much"),)},
        {"hits": (("x", float("nan")),)}, {"hits": ("ab",)}, {"hits": (("x", True),)}, {"asked": {"k": float("inf")}},
        {"question": "\ud800"}, {"asked": {"session": "\udfff"}},
    ],
)  # fmt: skip
def test_a_receipt_that_is_made_is_valid(wrong):
    with pytest.raises(Refused, match=f"a receipt|{next(iter(wrong))}"):
        replace(PLAIN, **wrong)


@given(st.text(st.characters(), max_size=40), st.dictionaries(st.text(st.characters(), max_size=5), st.text()))
def test_a_question_of_any_characters_makes_a_receipt(question, asked):
    made = Receipt.made(at=AT, head=(1, "x"), hits=(), k=5, question=question, asked=asked)

    kept = "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in question)
    assert made.question == kept
    orjson.dumps(made.to_body())


def test_a_fresh_receipt_has_an_id_that_sorts_by_time_and_keeps_no_question_that_is_too_long():
    earlier = Receipt.made(at="2026-05-03T13:59:59.000000Z", head=(1, "x"), hits=(), k=5)
    now, again = (Receipt.made(at=AT, head=(1, "x"), hits=(), k=5) for _ in range(2))

    assert earlier.id < min(now.id, again.id)
    assert now.id != again.id
    for length in (LONGEST_QUESTION, LONGEST_QUESTION + 1):
        made = Receipt.made(at=AT, head=(1, "x"), hits=(), k=5, question="x" * length)
        assert made.question == ("x" * length if length <= LONGEST_QUESTION else "")


# -- what is known of use ----------------------------------------------------------------------------------------------


def test_a_receipt_is_found_in_the_event_that_holds_it_and_in_no_other():
    made = [replace(PLAIN, id=f"R{number}") for number in range(6)]
    state = folded(
        event(1, RECEIPT_PUT, receipts=[each.to_body() for each in made[:3]]),
        event(2, RECEIPT_PUT, receipts=[replace(each, user="ana").to_body() for each in made[3:]]),
    )

    assert [state.uses.where(each.id) for each in made] == [1] * 3 + [2] * 3
    assert state.uses.where("R9") is None
    assert [list(state.uses.receipts_of(user)) for user in ("me", "ana", "bob")] == [[1], [2], []]
    empty = folded(event(1, RECEIPT_PUT, receipts=[]), event(2, EPISODE_FADE, ids=["a"])._replace(body=None))
    assert rows_of(empty, "use.") == []


def test_a_write_that_did_not_reach_the_disk_is_forgotten():
    state = folded(event(1, EPISODE_FADE, ids=["a"]))
    before = list(state.dump())
    state.begin()
    state.apply(event(2, EPISODE_FADE, ids=["a", "b"]))
    state.apply(event(3, RECEIPT_PUT, receipts=[PLAIN.to_body()]))
    state.apply(event(4, "erase/1", ids=["a"], lines=[]))
    state.rollback()

    assert list(state.dump()) == before
    assert state.uses.is_faded("a")
    assert not state.uses.is_faded("b")


def test_an_erasure_takes_the_receipt_whose_question_is_kept_and_leaves_the_others():
    served = [["20260101-0000-c4f1a5", 0.5]]
    state = folded(
        event(1, RECEIPT_PUT, receipts=[{**PLAIN.to_body(), "id": "R1", "hits": served, "question": "tea?"}]),
        event(2, RECEIPT_PUT, receipts=[{**PLAIN.to_body(), "id": "R2", "hits": served}]),
        event(3, RECEIPT_PUT, receipts=[{**PLAIN.to_body(), "id": "R3", "hits": [["other", 0.5]], "question": "rum?"}]),
        event(4, EPISODE_FADE, ids=["e9", "e8"]),
        event(5, "erase/1", ids=["20260101-0000-c4f1a5", "e9"], lines=[]),
    )

    assert list(state.uses.receipts_of("me")) == [3, 2]
    assert (state.uses.is_faded("e9"), state.uses.is_faded("e8")) == (False, True)


@given(steps())
def test_what_is_known_is_the_same_when_it_followed_along_read_anew_or_came_from_a_snapshot(story):
    made = MadeUp()
    for step in story:
        made.say(step)
    loaded = State()
    loaded.load(made.state.dump())

    assert list(folded(*made.events).dump()) == list(made.state.dump()) == list(loaded.dump())
