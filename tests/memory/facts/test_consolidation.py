"""A rule makes facts of what was told: each episode once, a portion whole or not at all, and again changes nothing."""

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory, NeedsApproval, Refused
from tallystick.memory.facts import consolidate as consolidation
from tallystick.records.errors import Busy, ConsolidationRuleError, NotWritable
from tallystick.records.rule import ConsolidationRule
from tests.conftest import at_most
from tests.memory.told import ALL, NEW_YEAR, OTHER, Reader, held, known, refolded, tell, told_of
from tests.refusals import refuses
from tests.strategies import json_objects, json_values

KEYS = ("intent", "replaces", "subject", "predicate", "object", "confidence", "hedged", "valid_from")
odd = st.one_of(
    json_values, st.sampled_from(["add", "update", "delete", "noop", "e0", ["e0"], ["e0", 1], "Ana", "works_at", 0.5])
)


def small_portions(monkeypatch, size=2):
    monkeypatch.setattr(consolidation, "PORTION", size)


def a_story(memory):
    """Something of everything."""
    tell(memory, "Ana works_at Acme", id="e1")
    tell(memory, "Ana works_at Acme", id="e2", day=1, session="s2")
    tell(memory, "Ana works_at Initech", id="e3", day=2)
    tell(memory, "Ana likes tea", id="e4")
    tell(memory, "Ana likes hiking", id="e5")
    tell(memory, "Bob works_at Acme", id="e6", agent="rag")
    memory.observe("a note", id="e7", at=NEW_YEAR)
    memory.observe("a better note", id="e8", at=NEW_YEAR, metadata={"intent": "update", "replaces": ["e7"]})
    memory.observe("seen", id="e9", at=NEW_YEAR, metadata={"intent": "noop"})
    memory.observe("gone", id="e10", at=NEW_YEAR, metadata={"intent": "delete", "replaces": "e5"})
    memory.observe("bad", id="e11", at=NEW_YEAR, metadata={"intent": "delete"})
    tell(memory, "Ana works_at Umbrella", id="e12", day=1.5, trust="web")
    tell(memory, "Ana works_at Acme", id="e13", day=3)


STANDS = ["Ana likes tea", "Ana works_at Acme", "Bob works_at Acme", "a better note"]


def test_a_story_comes_to_what_it_says(memory):
    a_story(memory)

    came_to = memory.consolidate(ALL)

    assert held(memory) == STANDS
    assert came_to.made == {"add": 5, "noop": 2, "update": 4, "delete": 1}
    assert ([each.episode_id for each in came_to.findings], len(came_to.waiting)) == (["e11"], 1)
    assert (came_to.read, came_to.considered) == (13, 13)
    assert [fact.payload["object"] for fact in memory.facts.history(memory.facts.query(subject="Ana")[0].id)] == [
        "Acme", "Acme", "Initech", "Acme"
    ]  # fmt: skip
    said = json.loads(json.dumps(came_to.to_dict()))  # it can be sent
    assert (said["rule"], said["read"], len(said["deltas"]), len(said["findings"])) == ("all", 13, 12, 1)


@pytest.mark.parametrize("how", [{}, {"extractor": "english"}], ids=["metadata alone", "with a reader"])
def test_again_and_again_by_two_rules_changes_nothing(memory, how):
    a_story(memory)
    memory.consolidate(ALL, **how)
    memory.consolidate(OTHER, **how)
    before, facts = told_of(memory), memory.facts.query()

    for rule in (ALL, OTHER, ALL):
        memory.consolidate(rule, since_last=False, **how)

    assert told_of(memory) == before
    assert memory.facts.query() == facts


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Ana", "Bob"]), st.sampled_from(["works_at", "likes"]), st.sampled_from("xyz"),
            st.integers(0, 6), st.sampled_from(["human", "human", "agent", "web"]), st.sampled_from(["", "a"]),
            st.sampled_from([{}, {}, {}, {"intent": "noop"}, {"hedged": True}, {"intent": "delete", "replaces": "e0"}]),
        ), min_size=1, max_size=9,
    ),
    st.integers(1, 4), st.booleans(),
)  # fmt: skip
def test_whatever_was_told_running_again_changes_nothing_and_a_refold_knows_the_same(
    tmp_path_factory, told, often, at_once
):
    with Memory(tmp_path_factory.mktemp("m")) as memory:
        for number, (who, how, what, day, trust, agent, more) in enumerate(told):
            tell(memory, f"{who} {how} {what}", id=f"e{number}", day=day, trust=trust, agent=agent, metadata=more)
            if not at_once and number % often == 0:
                memory.consolidate(ALL)
        memory.consolidate(ALL)
        before, facts = told_of(memory), memory.facts.query()

        for rule in (ALL, OTHER):
            assert len(memory.consolidate(rule, since_last=False).deltas) <= len(told)
        memory.consolidate(ALL, since_last=False)

        changed = [op for op in told_of(memory)[len(before) :] if op != "delta.noop/1"]
        assert changed in ([], ["rule.found/1"] * len(changed))  # the other rule's findings
        assert memory.facts.query() == facts
        assert known(memory._folder.state) == known(refolded(memory))
        claims = [(fact.agent, *fact.triple[:2]) for fact in facts if fact.triple[1:2] != ("likes",)]
        assert len(claims) == len(set(claims)), "one value holds at a time"


def test_a_person_who_corrects_a_fact_of_a_web_page_corrects_it_for_the_same_agent(memory):
    tell(memory, "Ana works_at Acme")
    tell(memory, "Ana works_at Acme", trust="web", agent="a")
    memory.consolidate(ALL)
    tell(memory, "Ana works_at Initech", agent="a")
    memory.consolidate(ALL)

    assert {(fact.agent, fact.triple[2]) for fact in memory.facts.query()} == {("", "Acme"), ("a", "Initech")}


def test_what_was_weighed_in_vain_is_not_weighed_anew_when_something_else_stands(memory):
    tell(memory, "Ana works_at Acme")
    tell(memory, "Ana works_at Acme", trust="agent")
    memory.consolidate(ALL)
    tell(memory, "Ana works_at Initech")
    memory.consolidate(ALL)
    before = told_of(memory)

    memory.consolidate(ALL, since_last=False)

    assert told_of(memory) == before
    with Memory(memory.folder) as again:
        again.consolidate(ALL, since_last=False)
    assert told_of(memory) == before


def test_what_is_said_to_be_gone_is_gone_in_whatever_order_it_is_told_to_have_happened(memory):
    tell(memory, "Ana works_at Acme", id="e1", day=2)
    memory.observe("gone", at=NEW_YEAR, metadata={"intent": "delete", "replaces": "e1"})
    assert memory.consolidate(ALL).findings == []
    assert held(memory) == []


def test_proposing_writes_nothing_and_applying_gives_the_same_facts_as_doing_both_at_once(memory, tmp_path):
    a_story(memory)
    memory.consolidate(ALL)
    with Memory(tmp_path / "by hand") as other:
        a_story(other)
        before = [event.op for event in other.log()]
        assert len(other.episodes.consolidate(ALL)) == 12
        assert len(other.episodes.consolidate(ALL).findings) == 1
        assert [event.op for event in other.log()] == before
        for delta in other.episodes.consolidate(ALL):
            with suppress(NeedsApproval):
                other.facts.apply_delta(delta)
        same = [(fact.triple, fact.agent, fact.valid_from, fact.valid_to) for fact in other.facts.query()]
        assert same == [(fact.triple, fact.agent, fact.valid_from, fact.valid_to) for fact in memory.facts.query()]
        assert held(other) == STANDS


# -- marks -------------------------------------------------------------------------------------------------------------


def test_each_episode_is_considered_once_by_whoever_runs_the_rule(memory, monkeypatch):
    small_portions(monkeypatch)
    for number in range(5):
        tell(memory, f"S{number} is x")
    ticks = []
    assert memory.consolidate(ALL, on_progress=ticks.append).read == 5
    assert ticks == [2, 2, 1]
    assert memory.consolidate(ALL).read == 0
    tell(memory, "S9 is x")
    with Memory(memory.folder) as other:
        assert other.consolidate(ALL).read == 1
    assert memory.consolidate(ALL).read == 0
    assert memory.consolidate(OTHER).read == 6


def test_whoever_is_cut_short_between_portions_goes_on_where_it_stopped(memory, monkeypatch):
    small_portions(monkeypatch)
    for number in range(5):
        tell(memory, f"S{number} is x")

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.consolidate(ALL, on_progress=stop)

    assert len(held(memory)) == 2
    assert memory.rules.waiting(ALL.id) == 3
    assert memory.consolidate(ALL).read == 3
    assert len(held(memory)) == 5
    assert memory.rules.waiting(ALL.id) == 0


def test_a_portion_that_cannot_be_finished_leaves_nothing_of_itself(memory, monkeypatch):
    small_portions(monkeypatch, 3)
    for number in range(6):
        tell(memory, f"S{number} is x")
    apply, calls = memory.facts.apply, []

    def fail(*given, **named):
        calls.append(given)
        if len(calls) == 5:
            raise Busy("the disk is busy")
        return apply(*given, **named)

    monkeypatch.setattr(memory.facts, "apply", fail)
    with pytest.raises(Busy):
        memory.consolidate(ALL)

    assert held(memory) == ["S0 is x", "S1 is x", "S2 is x"]
    monkeypatch.setattr(memory.facts, "apply", apply)
    assert memory.consolidate(ALL).read == 3
    assert len(held(memory)) == 6


def test_a_reader_that_cannot_be_reached_moves_no_mark(memory):
    memory.observe("words")

    class Away(Reader):
        def extract(self, episode):
            raise Busy("the server does not answer; try again")

    with pytest.raises(Busy):
        memory.consolidate(ALL, extractor=Away())
    assert [event.op for event in memory.log()][-1] == "episode.put/1"
    assert memory.consolidate(ALL, extractor=Reader()).read == 1


def test_an_episode_that_a_reader_cannot_read_is_a_finding(memory):
    class Picky(Reader):
        def extract(self, episode):
            if "bad" in episode.content:
                raise Refused("not one word of English")
            return super().extract(episode)

    memory.observe("bad words")
    memory.observe("love tea")
    came_to = memory.consolidate(ALL, extractor=Picky(love=[{"object": "tea"}]))
    assert [each.reason for each in came_to.findings] == ["stand-in could not read it: not one word of English"]
    assert held(memory) == ["Ana likes tea"]


@pytest.mark.parametrize("second", ["Ana likes hiking", "Bob likes tea"])
def test_two_claims_of_one_episode_are_two_facts(memory, second):
    subject, _, value = second.split()
    reader = Reader(I=[{"object": "tea"}, {"subject": subject, "object": value}])
    memory.observe("I like tea and so on")
    memory.consolidate(ALL, extractor=reader)
    assert held(memory) == sorted(["Ana likes tea", second])
    before = told_of(memory)
    assert memory.consolidate(ALL, extractor=reader, since_last=False).made == {"noop": 2}
    assert told_of(memory) == before


def test_what_takes_the_place_of_one_of_several_is_said_by_name(memory):
    reader = Reader(I=[{"object": "tea"}, {"object": "hiking"}], not_=[{"object": "coffee", "instead_of": "tea"}])
    memory.observe("I like tea and hiking", at="2026-01-01")
    memory.observe("not_ tea but coffee", at="2026-01-02")
    for _ in range(2):
        memory.consolidate(ALL, extractor=reader, since_last=False)
        assert held(memory) == ["Ana likes coffee", "Ana likes hiking"]


def test_a_filter_selects_and_what_it_leaves_out_is_considered_too(memory):
    a_story(memory)
    rule = ConsolidationRule(id="r", when_filter="metadata.subject = 'Bob' AND timestamp >= '2026-01-01'")
    came_to = memory.consolidate(rule)
    assert (came_to.read, came_to.considered, held(memory)) == (13, 1, ["Bob works_at Acme"])
    assert memory.consolidate(rule).read == 0
    with pytest.raises(ConsolidationRuleError):
        memory.consolidate(ConsolidationRule(id="r", when_filter="1; DROP TABLE episodes"))


def test_a_column_that_was_added_may_be_named_by_a_filter(memory):
    from tallystick.records.health import MigrationPlan

    rule = ConsolidationRule(id="r", when_filter="mood = 'glad'")
    tell(memory, "Ana likes tea", metadata={"mood": "glad"})
    tell(memory, "Ana likes rain", metadata={"mood": "sad"})
    with pytest.raises(ConsolidationRuleError):
        memory.consolidate(rule)
    memory.episodes.migrate(
        MigrationPlan(target_version=2, operations=[{"op": "add_column", "name": "mood", "nullable": True}])
    )
    memory.consolidate(rule)
    assert held(memory) == ["Ana likes tea"]


def test_in_a_batch_and_where_nothing_may_be_written_it_is_refused_in_a_line_and_looking_goes_on(memory):
    tell(memory, "Ana works_at Acme", id="e1")
    with memory.batch(), refuses("batch", "consolidate"):
        memory.consolidate(ALL)
    with Memory(memory.folder, read_only=True) as looking:
        with pytest.raises(NotWritable) as refusal:
            looking.consolidate(ALL)
        assert "read-only" in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert [episode.id for episode in looking.episodes.recent(limit=3)] == ["e1"]
        assert len(looking.episodes.consolidate(ALL)) == 1
        assert looking.facts.query(believed_at=0) == looking.facts.query() == []
        assert looking.episodes.health().ok


# -- nonsense ----------------------------------------------------------------------------------------------------------


@settings(max_examples=at_most(20))
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), odd, max_size=5) | json_objects, min_size=1, max_size=8))
def test_whatever_metadata_says_it_is_a_fact_or_a_finding_and_the_rest_goes_on(tmp_path_factory, said):
    with Memory(tmp_path_factory.mktemp("m")) as memory:
        memory.observe("first", id="e0", metadata={"subject": "Ana", "predicate": "works_at", "object": "Acme"})
        for number, metadata in enumerate(said):
            memory.observe(f"told {number}", metadata=metadata)
        tell(memory, "Zoe is last")

        came_to = memory.consolidate(ALL)

        assert len(came_to.deltas) + len(came_to.findings) == len(said) + 2
        assert all(each.reason and "\n" not in each.reason for each in came_to.findings)
        assert len(memory.rules.findings()) == len(came_to.findings)
        assert "Zoe is last" in held(memory)
        assert all(0 < fact.confidence <= 0.9 for fact in memory.facts.query())
        before = told_of(memory)
        memory.consolidate(ALL, since_last=False, extractor=Reader())
        assert told_of(memory) == before
        assert known(memory._folder.state) == known(refolded(memory))


@pytest.mark.parametrize(
    "found",
    [{"object": "\ud800"}, {"object": "x", "valid_from": "soon"}, {"object": "x", "valid_to": "2026-13-99"},
     {"object": "x", "valid_from": "2026-01-01T00:00:00"}, {"object": "x", "start": 10**9, "end": 10**9 + 1}],
)  # fmt: skip
def test_whatever_a_reader_finds_the_others_are_not_held_up_by_it(memory, found):
    memory.observe("odd one")
    memory.observe("love tea")
    memory.consolidate(ALL, extractor=Reader(odd=[found], love=[{"object": "tea"}]))
    assert "Ana likes tea" in held(memory)
    assert memory.ledger.verify().ok


def test_very_many_words_are_a_fact_and_too_many_for_one_are_a_finding(memory):
    memory.observe("x" * 400_000, id="long")
    assert len(memory.consolidate(ALL).facts[0].payload["content"]) == 400_000
    memory.observe("y" * 1_000_000, id="too long")
    memory.observe("y" * 800_000, metadata={"intent": "z" * 100_000})
    came_to = memory.consolidate(ALL)
    assert (len(came_to.findings), came_to.facts) == (2, [])
    assert all(len(each.reason) < 300 for each in came_to.findings)


def test_findings_are_kept_oldest_first_and_once(memory):
    for number in range(3):
        memory.observe(f"bad {number}", id=f"b{number}", metadata={"intent": "delete"})
    memory.consolidate(ALL)
    memory.consolidate(ALL, since_last=False)
    found = memory.rules.findings()
    assert [memory.episodes.get(each.source).id for each in found] == ["b0", "b1", "b2"]
    assert {each.rule for each in found} == {"all"}


# -- order -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 500])
def test_whatever_order_things_are_told_in_the_latest_holds(memory, monkeypatch, size):
    small_portions(monkeypatch, size)
    for day in (3, 1, 4, 0, 2):
        tell(memory, f"Ana lives_in City{day}", day=day)
    memory.consolidate(ALL)
    assert held(memory) == ["Ana lives_in City4"]
    for day in range(5):
        then = NEW_YEAR + timedelta(days=day, hours=1)
        assert held(memory, as_of=then) == [f"Ana lives_in City{day}"]


def test_of_two_that_happened_at_once_the_last_told_holds(memory):
    tell(memory, "Ana lives_in Oslo")
    tell(memory, "Ana lives_in Rome")
    memory.consolidate(ALL)
    assert held(memory) == ["Ana lives_in Rome"]
    assert held(memory, as_of=NEW_YEAR) == ["Ana lives_in Rome"]


def test_salience_decides_what_is_worth_it(memory):
    class Never:
        def score(self, candidate):
            return 0.0

    tell(memory, "Ana likes tea")
    assert memory.consolidate(ALL, salience=Never()).made == {"noop": 1}
    assert held(memory) == []
    memory.consolidate(ALL, since_last=False)
    assert held(memory) == ["Ana likes tea"]


def test_whoever_finds_that_another_ran_the_rule_meanwhile_reads_again(memory):
    tell(memory, "Ana likes tea")

    class Overtaken(Reader):
        def extract(self, episode):
            with Memory(memory.folder) as other:
                other.consolidate(ALL, extractor=Reader())
            return super().extract(episode)

    memory.observe("to be read")
    came_to = memory.consolidate(ALL, extractor=Overtaken())
    assert (came_to.read, came_to.deltas) == (0, [])
    assert [event.op for event in memory.log()].count("rule.ran/1") == 1
    assert held(memory) == ["Ana likes tea"]


def test_a_fact_that_is_told_again_and_again_grows_the_ledger_by_the_same_each_time(memory):
    rule = ConsolidationRule(id="r")
    for number in range(60):
        value = ("Acme", "Initech")[number % 2]
        claim = {"subject": "Ana", "predicate": "works_at", "object": value}
        memory.observe(f"Ana works at {value}", session=f"s{number:02}", agent="a", metadata=claim)
        memory.consolidate(rule)

    [fact] = memory.facts.query(subject="Ana")
    assert len(fact.episodes) == len(fact.lineage) == 60
    sizes = [len(str(event.body)) for event in memory.log(op="belief.supersede")]
    assert max(sizes) <= min(sizes) + 40


def test_where_a_fact_comes_from_is_the_same_after_opening_again(memory):
    rule = ConsolidationRule(id="r")
    for number in range(3):
        claim = {"subject": "Ana", "predicate": "works_at", "object": f"Acme {number}"}
        memory.observe(f"Ana works at Acme {number}", session=f"s{number}", agent="a", metadata=claim)
    memory.consolidate(rule)
    before = [fact.to_dict() for fact in memory.facts]
    memory.ledger.compact()

    with Memory(memory.folder) as again:
        assert [fact.to_dict() for fact in again.facts] == before
        assert len(before[0]["lineage"]) == 3


@pytest.mark.parametrize("other", [{}, {"subject": "Bob", "predicate": "owns", "object": "a dog"}])
def test_a_claim_whose_fact_speaks_of_something_else_by_now_does_not_come_back(memory, other):
    tell(memory, "Ana works_at Acme", id="e0")
    memory.observe("it was all about Bob", metadata={"intent": "update", "replaces": "e0", **other})
    memory.consolidate(ALL)

    before = told_of(memory)
    memory.consolidate(ALL, since_last=False)
    assert told_of(memory) == before
    assert memory.facts.query(subject="Ana") == []
