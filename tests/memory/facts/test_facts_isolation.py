"""No read, consolidation, update or delete of one user ever shows or touches another's, whatever they are called."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory, TallystickError
from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta
from tallystick.records.episode import Episode
from tallystick.records.fact import Fact
from tests.memory.told import ALL, NEW_YEAR
from tests.strategies import names

ALIKE = [
    "a", "A", "a/", "/a", "%", "_", "a%", "a/session/s", "a' OR '1'='1", "me", "😀", "\u00e1", "a\u0301", " a", "a\x00",
]  # fmt: skip
ids = st.one_of(st.sampled_from(ALIKE), names)
WORKS = {"subject": "Ana", "predicate": "works_at"}


def all_of(memory: Memory, user: str) -> dict:
    """Everything that can be read of one user."""
    return {
        "recent": [memory.episodes.recent(user, limit=50)],
        "facts": memory.facts.query(user=user),
        "then": memory.facts.query(user=user, as_of="2026-01-01T12:00:00Z"),
        "history": [memory.facts.history(fact.id, user=user) for fact in memory.facts.query(user=user)],
        "proposed": [
            delta.model_dump(exclude={"promotion_ts"}) for delta in memory.episodes.consolidate(ALL, user=user)
        ],
        "findings": memory.rules.findings(user=user),
        "marks": memory._folder.state.rules.marks(user),
    }


def text_of(memory: Memory, user: str) -> str:
    with Memory(memory.folder, user=user) as theirs:
        followed, log = list(theirs.facts.follow("people")), [event for event in theirs.log() if event.body]
        mine = [event.body for event in log if event.op.startswith(("belief", "episode", "rule", "delta", "review"))]
        hits = [hit.text for hit in theirs.recall("secret Acme works", quarantined=True)]
        return f"{all_of(memory, user)} {followed} {mine} {hits} {theirs.reviews.all()}"


@settings(max_examples=12)
@given(one=ids, two=ids, episode=ids, other=ids, session=ids, agent=ids, rule=ids)
def test_whatever_one_user_does_to_the_others_names_the_other_sees_none_of_it(
    one, two, episode, other, session, agent, rule
):
    if one == two:
        two += "2"
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        for user, where in ((one, "secret-one"), (two, "secret-two")):
            for number, name in enumerate(dict.fromkeys((episode, other))):
                memory.episodes.put(
                    Episode(id=name, content=where, timestamp=NEW_YEAR + timedelta(days=number),
                            metadata={**WORKS, "object": f"{where}-{number}"}),
                    user=user, session=session, agent=agent,
                )  # fmt: skip
            memory.consolidate(ALL, user=user)
        before = all_of(memory, one)
        theirs = memory.facts.query(user=one)

        ids_of_facts = [name for fact in theirs for name in (fact.id, fact.version)]
        reach_for(memory, two, [one, episode, other, *ids_of_facts], agent)
        with suppress(TallystickError):
            memory.consolidate(ALL, user=two, since_last=False)
        with suppress(TallystickError):
            memory.episodes.retract(episode, user=two, withdraw=True)
        with suppress(TallystickError):
            memory.erase(other, user=two)

        assert all_of(memory, one) == before
        assert "secret-two" not in text_of(memory, one)
        assert "secret-one" not in text_of(memory, two)
        assert memory.ledger.verify().ok


def reach_for(memory: Memory, user: str, targets: list[str], agent: str) -> None:
    """Try everything that names something, on names that are somebody else's."""
    said = {
        "source_episode_ids": targets, "promotion_ts": NEW_YEAR, "rule_id": "r", "confidence": 0.9,
        "scope": DeltaScope(user=user, agent=agent),
    }  # fmt: skip
    payload = {**WORKS, "object": "secret-two-3"}
    for target in targets:
        for attempt in (
            lambda t=target: memory.facts.apply_delta(UpdateDelta(fact_payload=payload, replaces=[t], **said)),
            lambda t=target: memory.facts.apply_delta(AddDelta(fact_payload={**payload, "id": t}, **said)),
            lambda t=target: memory.facts.apply_delta(NoopDelta(corroborates=[t], **said)),
            lambda t=target: memory.facts.apply_delta(DeleteDelta(replaces=[t], **said)),
            lambda t=target: memory.facts.unpin(t, user=user),
            lambda t=target: memory.forget(t, user=user),
            lambda t=target: memory.invalidate(t, "no", user=user),
            lambda t=target: memory.revise(t, "secret-two", user=user),
            lambda t=target: memory.facts.pin(
                Fact(id=t, user=user, payload=payload, confidence=1.0, pinned_at=NEW_YEAR,
                     lineage=[{"sources": targets, "source_episode_ids": targets, "kind": "add"}])
            ),
        ):  # fmt: skip
            with suppress(TallystickError):
                attempt()


def test_the_same_episode_id_is_another_episode_for_another_user_session_or_agent(memory):
    places = [("ana", "s", "a"), ("bob", "s", "a"), ("ana", "t", "a"), ("ana", "s", "b"), ("Ana", "s", "a")]
    for place in places:
        user, session, agent = place
        told = Episode(id="e1", content="/".join(place), timestamp=NEW_YEAR, metadata={**WORKS, "object": user})
        memory.episodes.put(told, user=user, session=session, agent=agent)

    for user, session, agent in places:
        [found] = memory.episodes.recent(user, session, agent, limit=9)
        assert found.content == f"{user}/{session}/{agent}"
    assert len(memory.episodes.recent("ana", limit=9)) == 3
    assert len(memory.episodes.recent("ana", agent="a", limit=9)) == 2


def test_a_metadata_that_names_anothers_fact_is_a_finding(memory):
    memory.observe("x", user="ana", id="a1", metadata={**WORKS, "object": "Acme"})
    [anas] = memory.consolidate(ALL, user="ana").facts
    for number, name in enumerate((anas.id, anas.version, "a1")):
        for intent in ("update", "delete"):
            memory.observe(f"{number}{intent}", user="bob", metadata={"intent": intent, "replaces": [name]})

    came_to = memory.consolidate(ALL, user="bob")

    assert (len(came_to.findings), came_to.facts) == (6, [])
    assert memory.facts.query(user="ana") == [anas]
    assert len(memory.rules.findings(user="bob")) == 6
    assert memory.rules.findings(user="ana") == memory.rules.findings() == []


def test_an_agents_facts_are_its_own(memory):
    for agent, where in (("a", "Acme"), ("b", "Initech")):
        memory.observe(where, agent=agent, metadata={**WORKS, "object": where})
    memory.consolidate(ALL)
    memory.observe("moved", agent="a", metadata={**WORKS, "object": "Umbrella"})
    memory.consolidate(ALL)

    found = {fact.agent: fact.payload["object"] for fact in memory.facts.query(subject="Ana")}
    assert found == {"a": "Umbrella", "b": "Initech"}


@pytest.mark.parametrize("other", ["ana", "Me", "me ", "%", ""])
def test_a_rule_reads_the_episodes_of_one_user(memory, other):
    if other:
        memory.observe("secret", user=other, metadata={**WORKS, "object": "secret"})
    memory.observe("mine", metadata={**WORKS, "object": "Acme"})
    came_to = memory.consolidate(ALL)
    assert (came_to.read, [fact.payload["object"] for fact in came_to.facts]) == (1, ["Acme"])
