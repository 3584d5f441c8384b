"""What a fact's view holds is read with care: any program may have written there."""

import pytest
from hypothesis import given, strategies as st

from tallystick.records.belief import Belief
from tallystick.records.fact import claims_in, fact_of, grown, sources_in, steps_in, text_of, triple_of, view_of
from tests.strategies import json_objects, json_values

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


@pytest.mark.parametrize(
    "payload",
    [{}, {"subject": "a", "predicate": "b"}, {"subject": "a", "predicate": "b", "object": ""},
     {"subject": "a", "predicate": 1, "object": "c"}, {"subject": None, "predicate": "b", "object": "c"}],
)  # fmt: skip
def test_a_triple_is_whole_or_none(payload):
    assert triple_of(payload) == ()
    assert text_of(payload) == ""


def test_a_fact_in_words_is_its_own_words_or_its_triple():
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
