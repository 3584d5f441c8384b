"""A fact is valid once made, a pattern finds exactly what it names, and any program's view is read with care."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from tallystick.records.belief import Belief
from tallystick.records.errors import Refused
from tallystick.records.fact import (
    Fact,
    FactPattern,
    claims_in,
    fact_of,
    grown,
    sources_in,
    steps_in,
    text_of,
    triple_of,
    view_of,
)  # fmt: skip
from tests.strategies import json_objects, json_values

GOOD = {
    "id": "f", "user": "ana", "payload": {"subject": "Ana", "predicate": "likes", "object": "tea"}, "lineage": [],
    "confidence": 0.5, "pinned_at": datetime(2026, 1, 1, tzinfo=UTC),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("id", ""), ("id", 1), ("user", ""), ("user", None), ("agent", 1), ("payload", []), ("lineage", {}),
     ("metadata", "x"), ("confidence", 2), ("confidence", -1), ("confidence", True), ("confidence", float("nan")),
     ("pinned_at", datetime(2026, 1, 1))],
)  # fmt: skip
def test_a_fact_that_is_wrong_is_not_made(name, wrong):
    with pytest.raises(Refused):
        Fact(**{**GOOD, name: wrong})


def test_its_triple_and_its_episodes_are_read_off_it():
    steps = [{"source_episode_ids": ["e1", "e2"]}, {"source_episode_ids": ["e2"]}, {}]
    fact = Fact(**{**GOOD, "lineage": steps})
    assert (fact.triple, fact.episodes) == (("Ana", "likes", "tea"), ["e1", "e2"])
    assert Fact(**{**GOOD, "payload": {"subject": "Ana", "object": 1}}).triple == ()
    assert fact.to_dict()["pinned_at"] == "2026-01-01T00:00:00.000000Z"
    assert repr(fact) == "<Fact f 'Ana likes tea' active 0.5>"


def test_a_pattern_names_what_it_wants_and_none_is_any():
    payload = GOOD["payload"]
    assert FactPattern().fits({}) is FactPattern().fits(payload) is True
    assert FactPattern(subject="Ana", object="tea").fits(payload)
    for wrong in ({"subject": "ana"}, {"predicate": "like"}, {"object": "te_"}, {"object": ""}):
        assert not FactPattern(**wrong).fits(payload)


STEP = {"kind": "add", "sources": ["s1"], "source_episode_ids": ["e1"], "object": "tea"}


def a_belief(**more):
    return Belief(**{"id": "b1", "key": "k", "text": "words", "at": "2026-01-01T00:00:00.000000Z", **more})


lineages = st.fixed_dictionaries({"lineage": json_values})


@given(st.none() | json_objects | st.fixed_dictionaries({"fact": json_values | lineages}))
def test_whatever_stands_there_it_is_read_or_passed_over(views):
    assert isinstance(view_of(views), dict)
    assert all(isinstance(step, dict) for step in steps_in(views))
    assert all(isinstance(source, str) for source in sources_in(views))
    assert all(isinstance(value, str) for _, value in claims_in(views))
    fact = fact_of(a_belief(views=views or {}))
    assert fact.id == "k"
    assert isinstance(fact.payload, dict)
    assert grown(views or {}, [views]) == (views or {})


def test_a_step_names_the_events_of_its_episodes_or_the_names_of_those_nobody_told():
    views = {"fact": {"lineage": [STEP, {"source_episode_ids": ["e2"]}, {"sources": ["s3", 4]}, 5]}}
    assert list(claims_in(views)) == [("s1", "tea"), ("e2", ""), ("s3", "")]
    assert list(sources_in(views)) == ["s1", "e2", "s3"]


def test_what_takes_the_place_of_others_comes_from_where_they_came_from():
    before = [{"fact": {"lineage": [STEP]}}, None, {"fact": {"lineage": [STEP, {"kind": "noop"}]}}]
    own = {"fact": {"payload": {"a": 1}, "lineage": [{"kind": "update"}]}, "other": 1}
    now = grown(own, before)
    assert [step["kind"] for step in steps_in(now)] == ["add", "noop", "update"]
    assert (view_of(now)["payload"], now["other"]) == ({"a": 1}, 1)
    assert grown(now, before) == now
    assert steps_in(own) == [{"kind": "update"}]


def test_a_fact_in_words_is_its_own_words_or_its_whole_triple():
    for payload in (
        {}, {"subject": "a", "predicate": "b"}, {"subject": "a", "predicate": "b", "object": ""},
        {"subject": "a", "predicate": 1, "object": "c"}, {"subject": None, "predicate": "b", "object": "c"},
    ):  # fmt: skip
        assert (triple_of(payload), text_of(payload)) == ((), "")
    triple = {"subject": "Ana", "predicate": "works_at", "object": "Acme"}
    assert text_of(triple) == "Ana works at Acme"
    assert text_of({**triple, "content": "she is at Acme"}) == "she is at Acme"
    assert text_of({**triple, "text": " ", "content": 5}) == "Ana works at Acme"


def test_a_belief_without_a_view_is_a_fact_of_its_words():
    fact = fact_of(a_belief(triple=("Ana", "likes", "tea"), agent="rag", valid_from="2026-01-01"))
    assert fact.payload == {"text": "words", "subject": "Ana", "predicate": "likes", "object": "tea"}
    assert (fact.agent, fact.valid_from, fact.status) == ("rag", "2026-01-01", "active")
    assert (fact.version, fact.lineage) == ("b1", [])
    closed = fact_of(a_belief(), superseded_by="b2", until="2026-02-01")
    assert (closed.status, closed.superseded_by, closed.valid_to) == ("superseded", "b2", "2026-02-01")
