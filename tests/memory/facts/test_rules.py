"""Rules are kept in the ledger and run when they are due: after so many episodes, or by the clock."""

from datetime import UTC, datetime, timedelta

import pytest

from tallystick import Memory, NotFound
from tallystick.records.errors import Busy, ConsolidationRuleError, NotWritable
from tallystick.records.rule import ConsolidationRule
from tests.memory.told import Reader, held, known, refolded, tell, told_of
from tests.refusals import not_approved


@pytest.fixture
def memory(home, clock):
    with Memory(clock=clock) as opened:
        yield opened


def rule(name="r", **cadence):
    return ConsolidationRule(id=name, cadence=cadence)


def due(memory, **how):
    return [status.rule.id for status in memory.rules.all(**how) if status.is_due]


def test_a_rule_is_kept_for_whoever_opens_the_memory_and_again_it_is_no_event(memory):
    every = {"every": 2}
    kept = memory.rules.put(ConsolidationRule(id="r", cadence=every, when_filter="content != ''", then_emits=["c"]))
    before = told_of(memory)
    with Memory(memory.folder) as other:
        assert other.rules.get("r") == kept
        assert (list(other.rules), len(other.rules)) == ([kept], 1)
    memory.rules.put(kept)
    assert told_of(memory) == before
    memory.rules.put(rule(every=3))
    assert memory.rules.get("r").cadence == {"every": 3}


@pytest.mark.parametrize(
    "wrong",
    [{"cadence": {"every": 0}}, {"cadence": {"cron": "at noon"}}, {"cadence": {"x": 1}}, {"when_filter": "SELECT 1"}],
)
def test_a_rule_that_cannot_be_read_is_refused_when_it_is_put(memory, wrong):
    with pytest.raises(ConsolidationRuleError):
        memory.rules.put(ConsolidationRule(id="r", **wrong))
    assert told_of(memory) == ["ledger.begin/1"]


def test_a_dropped_rule_runs_no_more_what_it_made_stands_and_put_again_it_goes_on_from_its_mark(memory):
    memory.rules.put(rule(every=1))
    tell(memory, "Ana likes tea")
    memory.run_due()
    memory.rules.drop("r")
    tell(memory, "Ana likes hiking")
    assert memory.run_due() == []
    assert held(memory) == ["Ana likes tea"]
    for ask in (memory.rules.drop, memory.rules.get):
        with pytest.raises(NotFound, match="'r'"):
            ask("r")
    memory.rules.put(rule(every=2))
    [status] = memory.rules.all()
    assert (status.waiting, status.is_due, status.runs, status.considered) == (1, False, 1, 1)


def test_an_agent_sets_no_rules(memory):
    with Memory(memory.folder, trust="agent") as agent:
        for ask in (lambda: agent.rules.put(rule()), lambda: agent.rules.drop("r")):
            with not_approved("refused", "agent", "a rule"):
                ask()


def test_where_nothing_may_be_written_rules_are_shown_and_not_run(memory):
    memory.rules.put(rule(every=1))
    tell(memory, "Ana likes tea")
    with Memory(memory.folder, read_only=True) as looking:
        assert due(looking) == ["r"]
        with pytest.raises(NotWritable, match=str(memory.folder)):
            looking.run_due()


# -- every so many -----------------------------------------------------------------------------------------------------


def test_a_count_is_due_when_enough_wait_and_not_again_until_then(memory):
    memory.rules.put(rule(every=2))
    assert due(memory) == []
    tell(memory, "Ana likes tea")
    assert due(memory) == []
    tell(memory, "Ana likes hiking")
    assert due(memory) == ["r"]

    [came_to] = memory.run_due()

    assert (came_to.read, due(memory), memory.run_due()) == (2, [], [])
    tell(memory, "Ana likes rain")
    assert memory.rules.waiting("r") == 1


def test_what_is_taken_back_or_erased_does_not_wait(memory):
    memory.rules.put(rule(every=2))
    for name in ("e1", "e2", "e3"):
        tell(memory, f"Ana likes {name}", id=name)
    memory.episodes.retract("e1")
    memory.erase("e2")
    assert (memory.rules.waiting("r"), due(memory)) == (1, [])
    assert known(memory._folder.state) == known(refolded(memory))
    memory.run_due()
    memory.consolidate(memory.rules.get("r"))
    memory.erase("e3")
    tell(memory, "Ana likes e4")
    assert memory.rules.waiting("r") == 1


def test_a_rule_without_a_cadence_runs_only_when_asked(memory):
    memory.rules.put(rule())
    tell(memory, "Ana likes tea")
    assert due(memory) == []
    assert memory.consolidate(memory.rules.get("r")).read == 1


# -- by the clock ------------------------------------------------------------------------------------------------------


def test_a_cron_is_due_at_its_time_and_once(memory, clock):
    memory.rules.put(rule(cron="0 9 * * *"))
    tell(memory, "Ana likes tea")
    assert (due(memory), memory.rules.all()[0].next) == ([], "2026-05-21T09:00:00.000000Z")
    clock.now = datetime(2026, 5, 21, 8, 59, tzinfo=UTC)
    assert due(memory) == []
    clock.now = datetime(2026, 5, 21, 9, 0, tzinfo=UTC)
    assert due(memory) == ["r"]
    memory.run_due()
    assert due(memory) == []
    tell(memory, "Ana likes rain")
    assert due(memory) == []
    clock.now += timedelta(days=1)
    assert due(memory) == ["r"]


def test_what_is_told_after_an_empty_time_waits_for_the_next(memory, clock):
    memory.rules.put(rule(cron="0 9 * * 1"))
    clock.now = datetime(2026, 5, 26, 10, tzinfo=UTC)  # a Tuesday; on Monday there was nothing to run for
    tell(memory, "Ana likes tea")
    assert (due(memory), memory.rules.all()[0].next) == ([], "2026-06-01T09:00:00.000000Z")
    clock.now = datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert due(memory) == ["r"]


def test_a_cron_goes_by_its_zone_and_nothing_is_due_while_nothing_waits(memory, clock):
    memory.rules.put(rule(cron="* * * * *"))
    clock.now += timedelta(days=1)
    assert due(memory) == []
    memory.rules.put(rule("s", cron="0 9 * * *", zone="Europe/Berlin"))
    tell(memory, "Ana likes tea")
    assert memory.rules.all()[1].next == "2026-05-22T07:00:00.000000Z"


# -- users, and what goes wrong ----------------------------------------------------------------------------------------


def test_each_rule_runs_over_its_own_users_episodes(memory):
    for user in ("ana", "bob"):
        memory.rules.put(rule(every=1), user=user)
        tell(memory, "Ana likes tea", user=user)
    assert (memory.run_due(), due(memory)) == ([], [])
    heard = []
    memory.run_due(everyone=True, notify=heard.append)
    assert [(each.user, each.read) for each in heard] == [("ana", 1), ("bob", 1)]
    assert memory.facts.query() == []
    assert len(memory.facts.query(user="ana")) == 1


def test_one_rule_that_fails_keeps_no_other_from_its_turn(memory):
    for name in ("a", "b"):
        memory.rules.put(rule(name, every=1), user=name)
        tell(memory, "Ana likes tea", user=name, metadata={"subject": ""})

    class Fails(Reader):
        def extract(self, episode):
            if episode.user == "a":
                raise Busy("no answer")
            return super().extract(episode)

    with pytest.raises(Busy, match="no answer"):
        memory.run_due(everyone=True, extractor=Fails())
    assert due(memory, everyone=True) == ["a"]


def test_rules_marks_and_findings_outlive_a_snapshot(memory):
    memory.rules.put(rule(every=1))
    tell(memory, "Ana likes tea")
    memory.observe("bad", id="bad", metadata={"intent": "delete"})
    memory.run_due()
    memory.episodes.retract("bad")
    memory.rules.put(rule("gone"))
    memory.rules.drop("gone")
    for number in range(70):
        memory.observe(f"filler {number}", metadata={"intent": "noop"})
    memory.consolidate(rule("r"))
    memory.ledger.compact()
    before = (memory.rules.all(), memory.rules.findings(), memory.facts.query())
    assert known(memory._folder.state) == known(refolded(memory))

    with Memory(memory.folder, clock=memory._folder.ledger._clock) as again:
        assert (again.rules.all(), again.rules.findings(), again.facts.query()) == before
        assert known(again._folder.state) == known(refolded(memory))
