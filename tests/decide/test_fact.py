"""What becomes of a delta is decided on what is known, and touches no disk."""

from datetime import UTC, datetime

import pytest

from tallystick.consolidate.confidence import earned
from tallystick.decide import beliefs as decide_belief
from tallystick.decide.facts import Evidence, asked_before, is_above_its_asker, plans
from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta
from tallystick.records.errors import MemoryScopeError, NotFound
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_PUT
from tests.decide.desk import Desk
from tests.refusals import refuses

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
THEN = "2026-05-03T12:00:00.000000Z"


class FactDesk(Desk):
    """A desk at which episodes are told and deltas are planned."""

    def told(self, name, session=""):
        episode = {"id": name, "content": name, "timestamp": THEN, "session": session}
        self.record([Draft(EPISODE_PUT, {"episode": episode})])
        return self.known.episodes.find("me", name)[-1]

    def evidence(self, *names, trust="human", happened=THEN):
        told = tuple(each for name in names for each in self.known.episodes.find("me", name))
        return Evidence(told, trust, happened, lambda n: earned(trust=trust, witnesses=max(n, 1)))

    def plans(self, delta, *names, several=frozenset({"likes"}), **how):
        return plans(self.known, delta, self.evidence(*(names or delta.source_episode_ids), **how), several)

    def do(self, delta, *names, **how):
        for plan in self.plans(delta, *names, **how):
            if plan.act == "put":
                self.record(decide_belief.put(self.known, plan.fields, self.draw))
            elif plan.act != "note":
                self.record(decide_belief.revise(self.known, plan.name, plan.fields, self.draw, reason=plan.reason))


def said(name="e1", **more):
    return {"source_episode_ids": [name], "promotion_ts": NOON, "rule_id": "r", "confidence": 0.8,
            "scope": DeltaScope(user="me"), **more}  # fmt: skip


def add(value, name="e1", predicate="works_at", **more):
    payload = {"subject": "Ana", "predicate": predicate, "object": value}
    return AddDelta(fact_payload=payload | more.pop("payload", {}), **said(name, **more))


@pytest.fixture
def desk():
    made = FactDesk()
    for number in range(1, 5):
        made.told(f"e{number}", session=f"s{number}")
    return made


def acts(planned):
    return [plan.act for plan in planned]


def test_what_is_new_is_put_with_where_it_comes_from(desk):
    [plan] = desk.plans(add("Acme"))
    assert (plan.act, plan.fields["triple"], plan.fields["valid_from"]) == ("put", ("Ana", "works_at", "Acme"), THEN)
    [step] = plan.fields["views"]["fact"]["lineage"]
    assert (step["sources"], step["source_episode_ids"], step["object"]) == ([f"{0:026d}"], ["e1"], "Acme")
    assert plan.fields["reason"] == "add by rule r"


def test_the_same_again_says_nothing_and_another_episode_corroborates(desk):
    desk.do(add("Acme"))
    assert desk.plans(add("Acme")) == []
    [plan] = desk.plans(add("Acme", "e2"))
    assert (plan.act, plan.fields["confidence"]) == ("revise", 0.85)
    assert "text" not in plan.fields


def test_another_takes_its_place_by_the_version_that_stands(desk):
    for number, value in enumerate(("Acme", "Initech", "Umbrella"), 1):
        desk.do(add(value, f"e{number}"))
    [held] = desk.known.facts("me")
    assert (held.body()["triple"][2], held.key == held.body()["id"]) == ("Umbrella", False)
    [plan] = desk.plans(add("Hooli", "e4"))
    assert plan.name == held.body()["id"]


def test_what_happened_before_is_a_fact_that_has_ended(desk):
    desk.do(add("Acme", payload={"valid_from": "2026-05-02"}))
    [plan] = desk.plans(add("Initech", "e2", payload={"valid_from": "2026-01-01"}))
    assert (plan.act, plan.fields["valid_to"]) == ("put", "2026-05-02")
    [plan] = desk.plans(add("Initech", "e2", payload={"valid_from": "2026-01-01", "valid_to": "2026-02-01"}))
    assert plan.fields["valid_to"] == "2026-02-01"


def test_one_of_each_kind_is_refused_where_it_makes_no_sense(desk):
    with pytest.raises(MemoryScopeError):
        desk.plans(add("Acme", scope=None))
    with pytest.raises(NotFound):
        desk.plans(DeleteDelta(replaces=["nobody"], **said()))
    with refuses("required", "payload", "triple"):
        desk.plans(AddDelta(fact_payload={"n": 1}, **said()))
    with refuses("time", "'not a date'"):
        desk.plans(add("Acme", payload={"valid_from": "not a date"}))


@pytest.mark.parametrize("trust", ["web", "tool", "agent"])
def test_who_is_trusted_less_adds_no_weight(desk, trust):
    desk.do(add("Acme"))
    [plan] = desk.plans(add("Acme", "e2"), trust=trust)
    assert (plan.act, plan.fields["why"]) == ("note", "its source is trusted less than the current fact")


def test_a_noop_notes_what_it_saw_and_corroborates_what_it_names(desk):
    assert acts(desk.plans(NoopDelta(**said()))) == ["note"]
    desk.do(add("Acme"))
    assert acts(desk.plans(NoopDelta(corroborates=["e1"], **said("e2")))) == ["revise"]
    assert desk.plans(NoopDelta(corroborates=["e1"], **said("e1"))) == []


def test_an_update_of_what_is_gone_is_what_is_new_in_it(desk):
    desk.do(add("Acme"))
    desk.do(DeleteDelta(replaces=["e1"], **said("e2")))
    late = UpdateDelta(replaces=["e1"], fact_payload={"subject": "Ana", "predicate": "works_at", "object": "Initech"},
                       **said("e3"))  # fmt: skip
    assert acts(desk.plans(late)) == ["put"]


def test_a_path_sees_the_roots_facts_and_the_root_sees_none_of_a_paths(desk):
    desk.do(add("Acme"))
    draft = DeltaScope(user="me", path="draft")
    assert acts(desk.plans(DeleteDelta(replaces=["e1"], **said(scope=draft)))) == ["close"]
    assert acts(desk.plans(add("Initech", "e2", scope=draft))) == ["revise"]
    desk.do(add("Oslo", "e3", scope=DeltaScope(user="me", agent="other", path="draft")))
    with pytest.raises(NotFound):
        desk.plans(DeleteDelta(replaces=["e3"], **said(scope=DeltaScope(user="me", agent="other"))))


def test_whether_a_plan_reaches_above_its_asker_is_told_before_anything_is_done(desk):
    desk.do(add("Acme"))
    delta = add("Initech", "e2")
    [plan] = desk.plans(delta, trust="agent")
    assert is_above_its_asker(desk.known, plan, delta, desk.evidence("e2", trust="agent"))
    assert not is_above_its_asker(desk.known, plan, delta, desk.evidence("e2"))
    assert asked_before(desk.known, plan, desk.evidence("e2"), "me") is None
    [note] = desk.plans(NoopDelta(**said("e3")))
    assert not is_above_its_asker(desk.known, note, NoopDelta(**said("e3")), desk.evidence("e3", trust="web"))
