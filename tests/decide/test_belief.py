"""Decisions about beliefs: pure, and each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.decide import beliefs as decide
from tallystick.records.errors import KeyReused, Moved, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.state.beliefs import Beliefs
from tests.decide.desk import Desk
from tests.refusals import refuses
from tests.strategies import confidences, names, texts


@pytest.fixture
def desk() -> Desk:
    return Desk(Beliefs())


def test_a_belief_without_a_key_is_known_by_its_first_id_for_good(desk: Desk) -> None:
    desk.put(text="tea")
    first = desk.known.query()[0].belief()
    desk.record(decide.revise(desk.known, first.id, {"text": "coffee"}, desk.draw))

    now = desk.known.get(first.id).belief()
    assert (now.key, now.text) == (first.id, "coffee")
    assert now.id != first.id
    assert desk.text(now.id[-6:]) == "coffee"


def test_a_known_key_is_superseded_and_the_same_again_is_no_event(desk: Desk) -> None:
    desk.put(key="k", text="tea", tags=("a",))
    assert desk.put(key="k", text="tea", tags=("a",)) == []
    (draft,) = desk.put(key="k", text="coffee")

    assert draft.op == "belief.supersede/1"
    assert desk.known.get("k").belief().tags == ()


def test_another_users_equal_key_is_another_belief(desk: Desk) -> None:
    desk.put(key="k", text="mine")
    desk.put(key="k", text="hers", user="ana")

    assert (desk.text("k"), desk.text("k", user="ana")) == ("mine", "hers")
    hers = desk.known.get("k", user="ana").belief().id
    with pytest.raises(NotFound):
        desk.known.get(hers)
    with pytest.raises(NotFound):
        decide.tombstone(desk.known, hers)


def test_an_idempotency_key_that_was_used_writes_nothing_and_is_refused_for_other_words(desk: Desk) -> None:
    key = {"idempotency_key": "r-1", "source": "test"}
    desk.record(decide.put(desk.known, {"text": "once"}, desk.draw, **key))
    assert decide.put(desk.known, {"text": "once"}, desk.draw, **key) == []
    with pytest.raises(KeyReused, match="'r-1'"):
        decide.put(desk.known, {"text": "twice"}, desk.draw, **key)
    assert decide.put(desk.known, {"text": "hers", "user": "ana"}, desk.draw, **key) != []
    assert decide.put(desk.known, {"text": "theirs"}, desk.draw, **{**key, "source": "mcp:1"}) != []


def test_revising_words_that_have_changed_since_is_refused_and_says_what_to_read(desk: Desk) -> None:
    desk.put(key="k", text="tea")
    read = desk.known.get("k").belief().id
    desk.record(decide.revise(desk.known, "k", {"text": "coffee"}, desk.draw))

    with pytest.raises(Moved, match=f"{read}.*{desk.known.get('k').belief().id}"):
        decide.revise(desk.known, read, {"text": "milk"}, desk.draw)


def test_a_version_that_changed_no_words_does_not_stand_in_the_way(desk: Desk) -> None:
    desk.put(key="k", text="tea", confidence=0.5)
    read = desk.known.get("k").belief().id
    desk.record(decide.revise(desk.known, "k", {"confidence": 0.9}, desk.draw))
    desk.record(decide.revise(desk.known, read, {"text": "green tea"}, desk.draw))

    assert desk.known.get("k").belief().confidence == 0.9
    assert desk.text("k") == "green tea"


def test_several_beliefs_become_one_and_every_name_leads_to_it(desk: Desk) -> None:
    for key in ("a", "b", "c"):
        desk.put(key=key, text=key)
    old = desk.known.get("b").belief().id
    desk.put(key="above", text="rests on b", rests_on=("b",))
    desk.record(decide.merge(desk.known, ["a", "b", "c"], {"text": "all three"}, desk.draw, reason="the same thing"))

    assert {desk.text(name) for name in ("a", "b", "c", old)} == {"all three"}
    assert [held.key for held in desk.known.query()] == ["a", "above"]
    assert [held.key for held in desk.known.resting_on(desk.known.get("c"))] == ["above"]


def test_a_name_leads_on_through_a_second_merge(desk: Desk) -> None:
    for key in ("a", "b", "c"):
        desk.put(key=key, text=key)
    desk.record(decide.merge(desk.known, ["b", "c"], {"text": "b and c"}, desk.draw))
    desk.record(decide.merge(desk.known, ["a", "b"], {"text": "all"}, desk.draw))

    assert {desk.text(name) for name in ("a", "b", "c")} == {"all"}
    again = Beliefs()
    again.load(desk.known.dump())
    assert again.get("c").key == "a"


def test_a_short_id_that_names_two_beliefs_is_refused(desk: Desk) -> None:
    for minute in ("0001", "0002"):
        desk.record(decide.put(desk.known, {"text": minute}, lambda minute=minute: f"20260101-{minute}-abcdef"))
    with refuses("ambiguous", "abcdef", "2"):
        desk.known.get("abcdef")


def test_forgetting_twice_is_forgetting_once_and_putting_again_brings_back(desk: Desk) -> None:
    desk.put(key="k", text="tea")
    desk.record(decide.tombstone(desk.known, "k", reason="private"))
    assert decide.tombstone(desk.known, "k") == []
    assert desk.known.get("k").belief().reason == "private"

    desk.put(key="k", text="tea")
    assert desk.known.get("k").status == "active"


def test_invalidating_needs_a_reason_and_something_held(desk: Desk) -> None:
    desk.put(key="k", text="tea")
    with refuses("required", "reason"):
        decide.invalidate(desk.known, "k", desk.draw, reason="")
    desk.record(decide.tombstone(desk.known, "k"))
    with refuses("state", "k is forgotten"):
        decide.invalidate(desk.known, "k", desk.draw, reason="wrong")


KEYS = st.sampled_from(["a", "b", "c", "d"])
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, texts, confidences, st.lists(KEYS, max_size=2)),
        st.tuples(st.just("forget"), KEYS),
        st.tuples(st.just("invalidate"), KEYS),
        st.tuples(st.just("revise"), KEYS, texts),
        st.tuples(st.just("merge"), KEYS, KEYS),
    ),
    max_size=25,
)


def _decide(desk: Desk, operation: tuple[Any, ...]) -> Sequence[Draft]:
    known, what, key = desk.known, operation[0], operation[1]
    if what == "put":
        _, _, text, confidence, below = operation
        fields = {"key": key, "text": text, "confidence": confidence, "rests_on": tuple(dict.fromkeys(below))}
        return decide.put(known, fields, desk.draw)
    acts: dict[str, Callable[[], Sequence[Draft]]] = {
        "forget": lambda: decide.tombstone(known, key),
        "invalidate": lambda: decide.invalidate(known, key, desk.draw, reason="wrong"),
        "revise": lambda: decide.revise(known, key, {"text": operation[2]}, desk.draw),
        "merge": lambda: decide.merge(known, list(dict.fromkeys([key, operation[2]])), {}, desk.draw),
    }
    return acts[what]()


def _run(desk: Desk, operations: list[tuple[Any, ...]]) -> None:
    for operation in operations:
        try:
            drafts = _decide(desk, operation)
        except (Refused, Moved):
            continue
        desk.record(drafts)


def _state(known: Beliefs) -> object:
    """All rows of all tables."""
    return [orjson.loads(row) for row in known.dump()]


@given(OPERATIONS)
def test_folding_the_events_again_gives_the_same_state(operations: list[tuple[Any, ...]]) -> None:
    desk = Desk(Beliefs())
    _run(desk, operations)
    again = Beliefs()
    for event in desk.events:
        again.apply(event)

    assert _state(again) == _state(desk.known)


@given(OPERATIONS)
def test_a_snapshot_read_back_is_the_same_state_and_goes_on_the_same_way(operations: list[tuple[Any, ...]]) -> None:
    desk, half = Desk(Beliefs()), len(operations) // 2
    _run(desk, operations[:half])
    loaded = Beliefs()
    loaded.load(desk.known.dump())
    assert _state(loaded) == _state(desk.known)

    already = len(desk.events)
    _run(desk, operations[half:])
    for event in desk.events[already:]:
        loaded.apply(event)
    assert _state(loaded) == _state(desk.known)


@given(OPERATIONS, OPERATIONS)
def test_a_rollback_leaves_no_trace(kept: list[tuple[Any, ...]], undone: list[tuple[Any, ...]]) -> None:
    desk = Desk(Beliefs())
    _run(desk, kept)
    before, answers = _state(desk.known), [held.key for held in desk.known.query(status="", min_confidence=0.2)]
    desk.known.begin()
    _run(desk, undone)
    desk.known.rollback()

    assert _state(desk.known) == before
    assert [held.key for held in desk.known.query(status="", min_confidence=0.2)] == answers


@given(OPERATIONS, confidences, st.sampled_from(["", "active", "tombstone", "invalidated"]))
def test_a_query_answers_as_a_plain_scan_would(operations: list[tuple[Any, ...]], least: float, status: str) -> None:
    desk = Desk(Beliefs())
    _run(desk, operations)
    scanned = [h for h in desk.known.all() if h.confidence >= least and status in ("", h.status)]

    found = desk.known.query(status=status, min_confidence=least)
    assert sorted(h.ref for h in found) == sorted(h.ref for h in scanned)


@given(names, names)
def test_any_text_is_a_legal_key(one: str, other: str) -> None:
    desk = Desk(Beliefs())
    desk.put(key=one, text="first")
    desk.put(key=other, text="second")

    assert desk.text(other) == "second"
    assert len(desk.known.query()) == len({one, other})
