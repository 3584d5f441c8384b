"""Whoever follows a channel hears of each delta that was emitted to it, once, and of nothing else."""

import threading
from datetime import timedelta

import pytest

from tallystick import Memory
from tallystick.records.delta import AddDelta, DeltaScope
from tallystick.records.fact import Fact
from tallystick.records.rule import ConsolidationRule
from tests.memory.told import ALL, NEW_YEAR, OTHER, held, tell


def kinds(memory, channel="people", **how):
    return [delta.kind for delta in memory.facts.follow(channel, **how)]


def test_each_kind_is_heard_with_what_it_says(memory):
    tell(memory, "Ana works_at Acme", id="e1")
    tell(memory, "Ana works_at Acme", id="e2", day=1)
    tell(memory, "Ana works_at Initech", id="e3", day=2)
    memory.observe("gone", id="e4", at=NEW_YEAR + timedelta(days=3), metadata={"intent": "delete", "replaces": "e3"})
    memory.observe("seen", id="e5", at=NEW_YEAR + timedelta(days=4), metadata={"intent": "noop"})
    made = memory.consolidate(ALL).deltas

    heard = list(memory.facts.follow("people"))

    assert [delta.kind for delta in heard] == ["add", "noop", "update", "delete", "noop"]
    for one, other in zip(heard, made, strict=True):
        same = ("source_episode_ids", "promotion_ts", "rule_id", "confidence", "scope", "channels")
        assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
    assert heard[2].fact_payload == made[2].fact_payload
    assert heard[1].corroborates == [memory._folder.state.facts("me")[0].key]


def test_a_rule_may_emit_to_several_channels_and_one_that_no_rule_names_is_silent(memory):
    tell(memory, "Ana works_at Acme")
    memory.consolidate(ConsolidationRule(id="r", then_emits=["a", "b/%"]))
    memory.consolidate(OTHER)
    assert kinds(memory, "a") == kinds(memory, "b/%") == ["add"]
    assert kinds(memory) == kinds(memory, "") == kinds(memory, "peopl") == []


@pytest.mark.parametrize(
    "then",
    [
        lambda m, name: m.revise(name, "in other words"),
        lambda m, name: m.revise(name, confidence=0.1, reason="in doubt"),
        lambda m, name: m.remember("anew", key=name),
        lambda m, name: m.facts.unpin(name),
        lambda m, name: m.invalidate("ground", "it was not so"),
        lambda m, name: m.facts.pin(
            Fact(id="copy", user="me", payload={"text": "x"}, lineage=m.facts.get(name).lineage, confidence=1.0,
                 pinned_at=NEW_YEAR)
        ),
    ],
    ids=["said otherwise", "weakened", "remembered anew", "unpinned", "what it rests on fell", "its lineage copied"],
)  # fmt: skip
def test_what_a_person_does_to_a_fact_afterwards_is_no_delta(memory, then):
    memory.remember("the ground", key="ground")
    tell(memory, "Ana works_at Acme")
    [fact] = memory.consolidate(ALL).facts
    memory.revise(fact.id, rests_on=["ground"])
    then(memory, fact.id)
    assert kinds(memory) == ["add"]


def test_what_waits_is_heard_when_a_person_has_said_yes(memory):
    tell(memory, "Ana works_at Acme")
    tell(memory, "Ana works_at Initech", trust="web", day=1)
    [review] = memory.consolidate(ALL).waiting
    assert kinds(memory) == ["add"]
    memory.reviews.approve(review)
    assert kinds(memory) == ["add", "update"]


def test_running_again_is_not_heard_again_and_who_comes_late_begins_where_they_say(memory):
    tell(memory, "Ana works_at Acme")
    for _ in range(3):
        memory.consolidate(ALL, since_last=False)
    assert kinds(memory) == ["add"]
    start = memory.status().events
    tell(memory, "Ana works_at Initech", day=1)
    memory.consolidate(ALL)
    assert kinds(memory, start=start) == ["update"]


def test_no_channel_crosses_users(memory):
    memory.observe("x", user="ana", metadata={"subject": "Ana", "predicate": "likes", "object": "tea"})
    memory.consolidate(ALL, user="ana")
    assert kinds(memory) == []
    with Memory(memory.folder, user="ana") as anas:
        assert kinds(anas) == ["add"]


def test_whatever_somebody_else_put_in_the_same_place_is_passed_over(memory):
    for number, view in enumerate(
        [1, "x", [], {"lineage": 1}, {"lineage": [1, {"kind": "add", "channels": ["people"]}]}]
    ):
        said = {"text": f"odd {number}", "key": f"k{number}", "user": "me", "path": "", "trust": None}
        memory._context.gate.put({**said, "views": {"fact": view}, "reason": "add by rule None"}, "")
    assert kinds(memory) == []
    assert all(fact.episodes == [] for fact in memory.facts.query())


def test_a_follower_hears_what_another_process_emits(memory):
    heard, enough = [], threading.Event()

    def listen():
        with Memory(memory.folder) as listener:
            for delta in listener.facts.follow("people", follow=True, pause=0.01):
                heard.append(delta.kind)
                if len(heard) == 2:
                    enough.set()
                    return

    thread = threading.Thread(target=listen)
    thread.start()
    tell(memory, "Ana works_at Acme")
    memory.consolidate(ALL)
    tell(memory, "Ana works_at Initech", day=1)
    memory.consolidate(ALL)
    assert enough.wait(120)
    thread.join()
    assert heard == ["add", "update"]


def test_a_programs_own_delta_is_heard_in_the_channels_it_names(memory):
    memory.facts.apply_delta(
        AddDelta(fact_payload={"text": "x"}, source_episode_ids=["e"], promotion_ts=NEW_YEAR, rule_id="r",
                 confidence=0.5, scope=DeltaScope(user="me"), channels=["own"])
    )  # fmt: skip
    assert kinds(memory, "own") == ["add"]
    assert held(memory) != []
