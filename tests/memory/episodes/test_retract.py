"""What was taken back stays so: facts and episodes, however often a rule runs; and what is told anew counts anew."""

import pytest

from tallystick import Memory, NeedsApproval, NotFound
from tallystick.records.delta import DeleteDelta, DeltaScope
from tests.memory.conftest import files_with
from tests.memory.told import ALL, NEW_YEAR, OTHER, Reader, held, tell, told_of
from tests.refusals import refuses

BY_HAND = {"source_episode_ids": ["by hand"], "promotion_ts": NEW_YEAR, "rule_id": "r", "confidence": 1}
WAYS = {
    "unpin": lambda memory, name: memory.facts.unpin(name),
    "forget": lambda memory, name: memory.forget(name),
    "invalidate": lambda memory, name: memory.invalidate(name, "it was not so"),
    "delete": lambda memory, name: memory.facts.apply_delta(
        DeleteDelta(replaces=[name], scope=DeltaScope(user="me"), **BY_HAND)
    ),
}


def run_often(memory, **how):
    for rule in (ALL, OTHER, ALL):
        memory.consolidate(rule, since_last=False, **how)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_retracted_stays_so_however_often_rules_run_and_what_is_told_anew_holds(memory, way):
    tell(memory, "Ana works_at Acme", id="e1")
    tell(memory, "Ana works_at Acme", id="e2", day=1)
    [fact] = {fact.id: fact for fact in memory.consolidate(ALL).facts}.values()
    WAYS[way](memory, fact.id)
    before = told_of(memory)

    memory.consolidate(ALL, since_last=False)
    assert told_of(memory) == before
    run_often(memory)

    assert held(memory) == []
    tell(memory, "Ana works_at Acme", id="e3", day=30)
    memory.consolidate(ALL)
    [anew] = memory.facts.query()
    run_often(memory)

    assert memory.facts.query() == [anew]
    assert anew.episodes == ["e3"]
    assert memory.facts.get(fact.id).status != "active"


def test_a_fact_that_had_changed_and_words_without_a_claim_come_back_in_none_of_their_forms(memory):
    for day, where in enumerate(("Acme", "Initech", "Umbrella")):
        tell(memory, f"Ana works_at {where}", day=day)
    memory.observe("remember the milk", id="e1")
    memory.consolidate(ALL)
    for fact in memory.facts.query():
        memory.facts.unpin(fact.id)

    run_often(memory)

    assert held(memory) == []


def test_a_correction_also_of_one_of_several_stays_however_often_rules_run(memory):
    tell(memory, "Ana works_at Acme", id="e1")
    tell(memory, "Ana likes tea")
    tell(memory, "Ana likes hiking")
    job, tea, _ = memory.consolidate(ALL).facts
    memory.revise(job.id, "Ana works at Acme Corp.", triple=("Ana", "works_at", "Acme Corp."))
    memory.revise(tea.id, "Ana likes green tea", triple=("Ana", "likes", "green tea"))

    run_often(memory)

    assert held(memory) == ["Ana likes green tea", "Ana likes hiking", "Ana works_at Acme Corp."]
    assert memory.get(job.id).text == "Ana works at Acme Corp."


def test_what_was_denied_once_and_holds_again_is_not_closed_by_the_old_denial(memory):
    reader = Reader(yes=[{"object": "tea"}], no=[{"object": "tea", "is_denied": True}])
    for day, said in enumerate(("yes, tea", "no tea", "yes again")):
        memory.observe(said, at=f"2026-01-0{day + 1}")
        memory.consolidate(ALL, extractor=reader)
    before = memory.facts.query()

    run_often(memory, extractor=reader)

    assert held(memory) == ["Ana likes tea"]
    assert memory.facts.query() == before


def test_what_loses_its_ground_gives_no_deltas_reason_for_it(memory):
    memory.remember("the ground", key="ground")
    tell(memory, "Ana works_at Acme")
    [fact] = memory.consolidate(ALL).facts
    memory._context.gate.revise(fact.version, {"rests_on": ("ground",)}, reason="add by rule all", user="me", path="")
    [weaker] = memory.invalidate("ground", "it was not so")
    assert (weaker.reason, weaker.is_hypothesis) == ("", True)


# -- episodes ----------------------------------------------------------------------------------------------------------


def test_a_retracted_episode_is_neither_recent_nor_recalled_nor_consolidated(memory):
    tell(memory, "Ana works_at Acme", id="e1", session="s", agent="a")
    memory.episodes.retract("e1", reason="a joke")

    assert memory.episodes.recent(limit=9) == memory.episodes.recent(session="s", agent="a", limit=9) == []
    assert memory.recall("Acme") == []
    assert list(memory.episodes.consolidate(ALL)) == []
    assert memory.consolidate(ALL).facts == []
    assert memory.episodes.get("e1").content == "Ana works_at Acme"


def test_a_retraction_shows_what_rests_on_it_and_withdraws_only_if_asked(memory):
    tell(memory, "Ana works_at Acme", id="e1", session="1")
    tell(memory, "Ana likes tea", id="e2", session="1")
    tell(memory, "Ana likes tea", id="e3", session="2")
    memory.consolidate(ALL)

    shown = memory.episodes.retract("e1", "e2")
    assert [fact.payload["object"] for fact in shown.resting] == ["Acme"]
    assert [fact.payload["object"] for fact in shown.shared] == ["tea"]
    assert (shown.withdrawn, held(memory)) == (False, ["Ana likes tea", "Ana works_at Acme"])

    taken = memory.episodes.retract("e1", withdraw=True)
    assert (taken.withdrawn, held(memory)) == (True, ["Ana likes tea"])
    run_often(memory)
    assert held(memory) == ["Ana likes tea"]
    assert taken.to_dict()["resting"][0]["id"] == shown.resting[0].id
    assert len(memory.episodes.retract("e3").resting) == 1, "the last of its episodes goes, and it rests on nothing"


def test_taking_back_twice_is_one_event_and_what_nobody_told_is_not_found(memory):
    tell(memory, "Ana works_at Acme", id="e1")
    memory.episodes.retract("e1")
    before = told_of(memory)
    memory.episodes.retract("e1")
    assert told_of(memory) == before
    with pytest.raises(NotFound, match="'e7'"):
        memory.episodes.retract("e1", "e7")
    with refuses("required", "retract"):
        memory.episodes.retract()
    assert told_of(memory) == before


def test_a_withdrawal_that_needs_a_yes_takes_nothing_back_until_then(memory):
    with Memory(memory.folder, trust="agent", by="mcp:agent") as agent:
        tell(agent, "Ana works_at Acme", id="e1")
        [fact] = agent.consolidate(ALL).facts
        memory.revise(fact.id, "Ana works at Acme", trust="human")

        with pytest.raises(NeedsApproval):
            agent.episodes.retract("e1", withdraw=True)

    assert [episode.id for episode in memory.episodes.recent(limit=9)] == ["e1"]
    assert held(memory) == ["Ana works_at Acme"]
    assert len(memory.reviews) == 1


@pytest.mark.parametrize("how", ["retract", "erase"])
def test_what_is_taken_back_or_erased_while_a_rule_reads_is_left_out(memory, how):
    tell(memory, "Ana works_at Zanzibarco", id="e1")
    tell(memory, "Ana likes tea", id="e2")
    memory.observe("and a third, to be read")

    class TakesBack(Reader):
        def extract(self, episode):
            (memory.erase if how == "erase" else memory.episodes.retract)("e1")
            return super().extract(episode)

    memory.consolidate(ALL, extractor=TakesBack())

    assert held(memory) == ["Ana likes tea"]
    assert bool(files_with(memory.folder, "Zanzibarco")) is (how == "retract")
