"""A memory whose machine had a wrong clock: what is decided by time is decided by times that are believed."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.memory.maintenance.check import check
from tallystick.records.clock import stamp
from tallystick.records.rule import ConsolidationRule
from tallystick.surfaces.mcp.tools.read import recent
from tallystick.surfaces.present.events import event_line
from tests.memory.conftest import Clock
from tests.memory.told import tell
from tests.refusals import not_approved

DAY, TEN_YEARS = timedelta(days=1), timedelta(days=3653)


pytestmark = pytest.mark.usefixtures("clock")


def ahead_for_a_moment(memory: Memory, clock: Clock, work=lambda: None) -> None:
    """Something is written, and `work` done, by a clock that is ten years ahead."""
    right, clock.now = clock.now, clock.now + TEN_YEARS
    memory.remember("by a wrong clock", key="wrong")
    work()
    clock.now = right + timedelta(minutes=1)


def test_what_expires_next_year_is_recalled_after_a_write_by_a_clock_ten_years_ahead(memory, clock):
    ahead_for_a_moment(memory, clock)
    memory.remember("Ana drinks tea", key="tea", expires=stamp(clock.now + 365 * DAY))
    assert [hit.text for hit in memory.recall("what does Ana drink?")] == ["Ana drinks tea"]
    assert memory.get("tea").at == stamp(clock.now)
    clock.now += 366 * DAY
    assert not [hit for hit in memory.recall("what does Ana drink?") if hit.text == "Ana drinks tea"]


def test_a_memory_that_lived_years_by_a_wrong_clock_is_right_from_the_next_write_on(memory, clock):
    right, clock.now = clock.now, clock.now + TEN_YEARS
    for number in range(5):
        memory.remember(f"number {number}", key=str(number))
    last, clock.now = memory.ledger.size - 1, right
    memory.remember("tea", key="tea", expires=stamp(right + DAY))
    assert [(each.first, each.last) for each in memory.ledger.doubted()] == [(1, last)]
    assert memory.recall("tea")
    assert "tea" in [belief.key for belief in memory.beliefs.query(believed_at=right)]


def test_status_and_check_tell_of_doubted_times_and_the_log_marks_them(memory, clock, home):
    assert memory.status().times == ""
    clock.now = datetime.now(clock.now.tzinfo)
    ahead_for_a_moment(memory, clock)
    assert "set the clock" in memory.status().times
    assert [found.code for found in check(memory.folder)] == ["clock-behind"]
    memory.remember("tea")
    assert memory.status().times.startswith("the times of event 1 are doubted")
    [found] = check(memory.folder)
    assert (found.code, found.severity) == ("times-doubted", "note")
    said = [event_line(each, memory.get, is_doubted=memory.ledger.is_doubted(each.seq)) for each in memory.log()]
    assert [line for line in said if "? " in line] == [line for line in said if "by a wrong clock" in line]
    assert "the times of event 1 are doubted" in said[2]


def test_what_was_held_at_a_time_ignores_doubted_times(memory, clock):
    memory.remember("tea", key="drink")
    noon = clock.now
    ahead_for_a_moment(memory, clock, lambda: memory.revise("drink", "coffee"))
    clock.now += timedelta(hours=1)
    memory.revise("drink", "water")
    texts = [memory.beliefs.query(believed_at=at)[0].text for at in (noon, clock.now, clock.now + TEN_YEARS)]
    assert texts == ["tea", "water", "water"]
    changes = memory.diff(noon, clock.now)
    assert {(each.key, each.what) for each in changes} == {("drink", "changed"), ("wrong", "added")}


def test_recall_dates_what_a_wrong_clock_wrote_by_what_came_before_it(memory, clock):
    memory.remember("tea in the morning", key="before")
    noon = clock.now
    ahead_for_a_moment(memory, clock, lambda: memory.observe("coffee at the fair", session="s"))
    memory.remember("later", key="later")
    found = {hit.text: hit.at for hit in memory.recall("by a wrong clock coffee at the fair", k=9)}
    assert (found["by a wrong clock"], found["coffee at the fair"]) == (stamp(noon), stamp(noon))
    kept = memory.recall("coffee clock", filters={"until": stamp(noon + DAY)}, k=9)
    assert {"by a wrong clock", "coffee at the fair"} <= {hit.text for hit in kept}


def test_a_rule_that_ran_by_a_wrong_clock_runs_again_when_it_is_due(memory, clock):
    memory.rules.put(ConsolidationRule(id="daily", cadence={"cron": "0 9 * * *"}))

    def run() -> None:
        tell(memory, "Ana likes tea")
        clock.now += DAY
        assert memory.run_due()

    ahead_for_a_moment(memory, clock, run)
    tell(memory, "Ana likes hiking")
    assert not memory.run_due()
    clock.now += DAY
    assert memory.run_due()


def test_a_fact_that_comes_from_what_a_wrong_clock_dated_is_true_now_and_a_page_may_rest_some_day(memory, clock):
    def work() -> None:
        tell(memory, "Ana likes tea")
        memory.remember("Ana likes tea", about="person-ana")

    ahead_for_a_moment(memory, clock, work)
    memory.consolidate(ConsolidationRule(id="r"))
    [fact] = memory.facts.query()
    assert (fact.payload["subject"], fact.valid_from[:4]) == ("Ana", "2026")
    assert memory.pages.read("person-ana").info.updated[:4] == "2026"
    clock.now += 100 * DAY
    assert "person-ana.md" in [name for each in memory.tidy.proposals() for name in each.ids]


def test_an_approval_by_a_clock_far_ahead_is_not_kept_for_years(memory, agent, clock):
    memory.remember("tea", key="drink")
    asked = agent.propose(agent.action("forget", "drink", reason="it is old"))
    granted = []
    ahead_for_a_moment(memory, clock, lambda: granted.append(memory.reviews.grant(asked.id, digest=asked.digest)))
    with not_approved("expired"):
        agent.apply(asked.action, granted[0])
    assert [each.id for each in memory.reviews.waiting()] == [asked.id]


def test_hours_of_work_are_not_counted_by_a_wrong_clock(memory, clock):
    session = memory.work.start("a task")
    memory.remember("tea")
    ahead_for_a_moment(memory, clock)
    memory.remember("coffee")
    clock.now += timedelta(minutes=30)
    memory.remember("water")
    assert 0.5 <= memory.work.hours < 2
    clock.now += TEN_YEARS
    memory.work.end(session)
    assert memory.work.hours < 30


def test_a_model_that_asks_since_when_is_told_by_the_order_of_events(memory, clock):
    memory.remember("before", key="before")
    ahead_for_a_moment(memory, clock)
    clock.now += 2 * DAY
    memory.remember("after", key="after")
    usual = {"limit": 9, "session": None, "agent": None, "about": None, "path": ""}

    def told(since: datetime | None, until: datetime | None) -> list[str | None]:
        said = [stamp(each) if each else None for each in (since, until)]
        return [each.text for each in recent(memory, since=said[0], until=said[1], **usual)]

    assert told(clock.now - DAY, None) == ["by a wrong clock", "after"], "it was after the last that was before that"
    assert told(clock.now, None) == ["by a wrong clock", "after"]
    assert told(None, clock.now - DAY) == ["before"]
    assert told(clock.now + DAY, None) == []
    assert told(None, None) == ["before", "by a wrong clock", "after"]


@settings(max_examples=max(settings.default.max_examples // 3, 5))
@given(st.lists(st.sampled_from([0, 1, -1, 30, -30, 24 * 400, -24 * 400, -24 * 365 * 50]), min_size=2, max_size=5))
def test_derived_files_and_the_past_agree_whatever_the_clock_did(tmp_path_factory, steps):
    clock = Clock()
    right = clock.now
    with Memory(tmp_path_factory.mktemp("m") / "m", clock=clock) as memory:
        for number, hours in enumerate(steps):
            clock.now = right + timedelta(hours=number + hours)
            memory.remember(f"tea number {number}", key=f"k{number % 3}")
            memory.recall("tea")
        clock.now = right
        codes = {found.code for found in check(memory.folder)}
        assert codes <= {"times-doubted", "clock-behind"}
        for event in list(memory.log()):
            if not memory.ledger.is_doubted(event.seq):
                place = memory.seq_at(event.ts)
                assert place >= event.seq
                by_time, by_seq = (memory.beliefs.query(believed_at=moment) for moment in (event.ts, place))
                assert by_time == by_seq
