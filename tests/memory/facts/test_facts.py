"""A fact is a belief with subject, predicate and object, and with where it comes from."""

from datetime import UTC, datetime, timedelta

import pytest

from tallystick import Memory, Refused
from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta
from tallystick.records.errors import MemoryScopeError, MigrationNotSupported
from tallystick.records.fact import Fact, FactPattern
from tallystick.records.health import MigrationPlan
from tests.memory.told import ALL, NEW_YEAR, held, tell, told_of
from tests.refusals import not_approved, refuses

ME = DeltaScope(user="me")


def said(name="e1", *, scope=ME, **more):
    return {
        "source_episode_ids": [name], "promotion_ts": NEW_YEAR, "rule_id": "r", "confidence": 0.8, "scope": scope,
    } | more  # fmt: skip


def claim(value, subject="Ana", predicate="works_at"):
    return {"subject": subject, "predicate": predicate, "object": value}


def a_fact(name="f1", user="me", **more):
    usual = {"payload": claim("Acme"), "lineage": [], "confidence": 0.9, "pinned_at": NEW_YEAR}
    return Fact(id=name, user=user, **(usual | more))


# -- one belief, seen in two ways --------------------------------------------------------------------------------------


def test_the_fact_the_belief_and_the_hit_are_the_same(memory):
    tell(memory, "Ana works_at Acme", id="e1")

    [fact] = memory.consolidate(ALL).facts

    belief = memory.get(fact.id)
    [hit] = [hit for hit in memory.recall("where does Ana work?") if hit.what == "belief"]
    assert (hit.id, hit.text) == (belief.id, belief.text)
    assert (belief.triple, belief.id) == (("Ana", "works_at", "Acme"), fact.version)
    assert fact.episodes == ["e1"]
    assert fact.lineage[0]["rule_id"] == "all"
    assert (fact.valid_from, fact.valid_to) == ("2026-01-01T00:00:00.000000Z", "")


def test_what_is_remembered_with_a_triple_is_a_fact(memory):
    memory.remember("Ana works at Acme", triple=("Ana", "works_at", "Acme"), key="job")

    assert held(memory, subject="Ana") == ["Ana works_at Acme"]
    assert memory.facts.get("job").payload["text"] == "Ana works at Acme"
    memory.remember("a belief of its own")
    assert len(memory.facts) == 1


def test_a_pinned_fact_is_recalled_and_an_unpinned_one_is_not(memory):
    pinned = memory.facts.pin(a_fact(payload={**claim("Acme"), "text": "Ana works at Acme"}, metadata={"by": "hand"}))

    assert pinned.metadata == {"by": "hand"}
    assert [hit.text for hit in memory.recall("Acme")] == ["Ana works at Acme"]
    memory.facts.unpin("f1", reason="she left")
    assert memory.recall("Acme") == []
    assert (held(memory), memory.facts.get("f1").status) == ([], "tombstone")


def test_pinning_the_same_again_writes_nothing_and_another_takes_its_place(memory):
    memory.facts.pin(a_fact())
    before = told_of(memory)
    memory.facts.pin(a_fact())
    assert told_of(memory) == before

    memory.facts.pin(a_fact(payload=claim("Initech")))

    assert held(memory) == ["Ana works_at Initech"]
    assert [fact.payload["object"] for fact in memory.facts.history("f1")] == ["Acme", "Initech"]


def test_a_query_compares_exactly_and_what_is_left_out_is_any(memory):
    for number, (who, what) in enumerate([("Ana", "tea"), ("ana", "tea"), ("Bob", "tea"), ("Ana", "te_")]):
        memory.facts.pin(a_fact(f"f{number}", payload=claim(what, who, "likes"), agent="rag" if number else ""))

    assert held(memory, subject="Ana") == ["Ana likes te_", "Ana likes tea"]
    assert held(memory, object="tea", agent="rag") == ["Bob likes tea", "ana likes tea"]
    assert held(memory, subject="Ana", predicate="likes", agent="") == ["Ana likes tea"]
    assert held(memory, subject="%") == []
    assert len(memory.facts.query(FactPattern(predicate="likes"))) == 4
    assert memory.facts.query(FactPattern(subject="Ana", user="bob")) == []
    with pytest.raises(MemoryScopeError):
        memory.facts.query(user="")
    with refuses("conflict", "pattern"):
        memory.facts.query(FactPattern(subject="Ana"), predicate="likes")


# -- deltas ------------------------------------------------------------------------------------------------------------


def test_a_delta_without_scope_is_the_memorys_own_and_of_its_path(memory):
    memory.facts.apply_delta(AddDelta(fact_payload=claim("Acme"), **said("e1", scope=None)))
    assert [fact.user for fact in memory.facts.query()] == ["me"]

    memory.paths.branch("draft")
    moved = UpdateDelta(fact_payload=claim("Initech"), replaces=["e1"], **said("e2", scope=None))
    memory.facts.on("draft").apply_delta(moved)

    assert held(memory) == ["Ana works_at Acme"]
    assert [fact.payload["object"] for fact in memory.facts.on("draft").query()] == ["Initech"]


def test_each_kind_of_delta_does_what_it_says(memory):
    [added] = memory.facts.apply_delta(AddDelta(fact_payload=claim("Acme"), **said("e1")))
    [moved] = memory.facts.apply_delta(
        UpdateDelta(
            fact_payload=claim("Initech"), replaces=[added.id], **said("e2", promotion_ts=NEW_YEAR + timedelta(9))
        )
    )
    assert (moved.id, moved.payload["object"], moved.episodes) == (added.id, "Initech", ["e1", "e2"])
    assert memory.facts.apply_delta(NoopDelta(**said("e3"))) == []

    [closed] = memory.facts.apply_delta(
        DeleteDelta(replaces=[added.id], **said("e4", promotion_ts=NEW_YEAR + timedelta(20)))
    )

    assert (closed.status, closed.valid_to[:10], held(memory)) == ("superseded", "2026-01-21", [])
    assert [fact.payload["object"] for fact in memory.facts.history(added.id)] == ["Acme", "Initech", "Initech"]
    assert told_of(memory).count("delta.noop/1") == 1


@pytest.mark.parametrize("is_told", [True, False])
def test_the_same_delta_twice_is_the_same_as_once(memory, is_told):
    if is_told:
        memory.observe("x", id="e1")
        memory.observe("y", id="e2")
    deltas = [
        AddDelta(fact_payload=claim("Acme"), **said("e1")),
        AddDelta(fact_payload={"text": "in words alone"}, **said("e1")),
        UpdateDelta(fact_payload=claim("Initech"), replaces=["e1"], **said("e2")),
    ]
    for delta in deltas:
        memory.facts.apply_delta(delta)
    before, facts = told_of(memory), memory.facts.query()

    for delta in deltas:
        assert memory.facts.apply_delta(delta) == []

    assert (told_of(memory), memory.facts.query()) == (before, facts)


def test_two_things_said_of_one_episode_are_two_facts(memory):
    memory.observe("x", id="e1")
    for words in ("one thing", "another"):
        memory.facts.apply_delta(AddDelta(fact_payload={"text": words}, **said("e1")))
    assert [fact.payload["text"] for fact in memory.facts.query()] == ["one thing", "another"]


def test_of_two_episodes_of_one_name_the_one_is_meant_that_claims_the_same(memory):
    """Or an unrelated fact would be closed: sessions may use the same names."""
    tell(memory, "Ana works_at Acme", id="e1", session="s1")
    tell(memory, "Bob drinks tea", id="e1", session="s2")
    tell(memory, "Ana works_at Initech", id="e2", session="s1", day=1)

    for delta in memory.episodes.consolidate(ALL):
        memory.facts.apply_delta(delta)

    assert held(memory) == ["Ana works_at Initech", "Bob drinks tea"]


def test_a_belief_that_is_called_like_an_episode_is_left_alone(memory):
    memory.remember("the build is green", key="e1")
    tell(memory, "Ana works_at Acme", id="e1")
    tell(memory, "Ana works_at Initech", id="e2", day=1)

    for delta in memory.episodes.consolidate(ALL):
        memory.facts.apply_delta(delta)

    assert memory.get("e1").text == "the build is green"
    assert held(memory) == ["Ana works_at Initech"]


@pytest.mark.parametrize(
    "payload",
    [
        {}, {"subject": "Ana"}, {"text": " "}, {"text": "x", "valid_from": "not a date"},
        {"text": "x", "valid_to": "soon"}, {"text": "\ud800"}, {"text": "x", "n": float("nan")},
        {"text": "x", "n": {1}}, {"text": "x", "n": 2**70},
    ],
)  # fmt: skip
def test_a_payload_that_cannot_be_a_fact_is_refused_and_nothing_is_written(memory, payload):
    with pytest.raises(Refused) as refusal:
        memory.facts.apply_delta(AddDelta(fact_payload=payload, **said()))
    assert "\n" not in str(refusal.value)
    assert told_of(memory) == ["ledger.begin/1"]


def test_a_delta_is_applied_whole_or_not_at_all(memory, monkeypatch):
    for name in ("f1", "f2"):
        memory.facts.pin(a_fact(name, payload=claim("Acme", name)))
    before, revise = told_of(memory), memory._context.gate.revise
    calls = []

    def fail_second(*given, **named):
        calls.append(given)
        if len(calls) == 2:
            raise Refused("no")
        return revise(*given, **named)

    monkeypatch.setattr(memory._context.gate, "revise", fail_second)
    with pytest.raises(Refused, match="^no$"):
        memory.facts.apply_delta(DeleteDelta(replaces=["f1", "f2"], **said()))

    assert (len(calls), told_of(memory), len(memory.facts)) == (2, before, 2)


def test_a_delta_in_a_batch_belongs_to_the_batch(memory):
    def cut_short():
        with memory.batch():
            memory.facts.apply_delta(AddDelta(fact_payload=claim("Acme"), **said()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cut_short()
    assert held(memory) == []


def test_who_is_not_sure_makes_no_fact_sure_by_saying_it_again(memory):
    for session in ("1", "2", "3"):
        tell(memory, "Ana works_at Acme", session=session, metadata={"hedged": True})
    memory.consolidate(ALL)
    [unsure] = memory.facts.query()
    assert 0.48 < unsure.confidence < 0.6

    tell(memory, "Ana works_at Acme", session="4")
    memory.consolidate(ALL)

    assert memory.facts.query()[0].confidence > 0.8


def test_saying_it_over_and_over_in_one_session_is_one_witness(memory):
    for _ in range(5):
        tell(memory, "Ana works_at Acme", session="1")
    memory.consolidate(ALL)
    assert memory.facts.query()[0].confidence == 0.8


# -- times as people write them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "since", ["2026-01-03", "20260103", "2026-01-03T00:00:00Z", "2026-01-03T02:00:00+02:00", "2026-01-03T00:00:00"]
)
def test_whatever_way_a_time_was_written_it_is_compared_as_the_time_it_names(memory, since):
    memory.remember("Ana works at Acme", triple=("Ana", "works_at", "Acme"), valid_from=since, valid_to="2099-01-01")

    assert held(memory) == ["Ana works_at Acme"]
    assert held(memory, as_of="2026-01-04") == held(memory, as_of="20260104") == ["Ana works_at Acme"]
    assert held(memory, as_of="2026-01-02T23:00:00Z") == []
    assert memory.recall("Acme", as_of=datetime(2026, 1, 3, 0, 30, tzinfo=UTC))
    assert memory.recall("Acme", as_of=datetime(2026, 1, 2, 23, 0, tzinfo=UTC)) == []


def test_what_will_end_some_day_stands_until_something_takes_its_place(memory):
    memory.remember("on a contract", triple=("Ana", "works_at", "Acme"), valid_to="2099-01-01")
    tell(memory, "Ana works_at Initech")
    memory.consolidate(ALL)
    assert held(memory) == ["Ana works_at Initech"]


def test_the_times_of_a_payload_are_kept_in_utc(memory):
    payload = {**claim("Acme"), "valid_from": "2026-01-01T02:00:00+02:00", "valid_to": "2026-02-01"}
    [fact] = memory.facts.apply_delta(AddDelta(fact_payload=payload, **said()))
    assert (fact.valid_from, fact.valid_to) == ("2026-01-01T00:00:00.000000Z", "2026-02-01")
    assert (held(memory), held(memory, as_of="2026-01-15")) == ([], ["Ana works_at Acme"])


# -- the store ---------------------------------------------------------------------------------------------------------


def test_facts_outlive_a_closed_memory_and_health_counts_those_that_are_held(memory):
    memory.facts.pin(a_fact("f1"))
    memory.facts.pin(a_fact("f2", payload=claim("tea", predicate="likes")))
    memory.facts.unpin("f1")
    health = memory.facts.health()
    assert (health.ok, health.fragment_count, health.version) == (True, 1, 1)
    with Memory(memory.folder) as again:
        assert again.facts.query() == memory.facts.query()
        assert repr(again.facts) == "<1 facts of me>"


def test_a_column_is_added_once_by_no_agent_and_nothing_else_is_supported(memory):
    plan = MigrationPlan(target_version=2, operations=[{"op": "add_column", "name": "mood", "nullable": True}])
    memory.facts.migrate(plan)
    memory.facts.migrate(plan)
    assert (memory.facts.health().version, memory.episodes.health().version) == (2, 1)
    with pytest.raises(MigrationNotSupported) as refusal:
        memory.facts.migrate(MigrationPlan(target_version=1))
    assert refusal.value.reason == "going-back"
    asking = not_approved("refused", "agent", "set a config")
    with Memory(memory.folder, trust="agent") as agent, asking:
        agent.facts.migrate(MigrationPlan(target_version=3))
    assert memory.facts.health().version == 2
