"""The process that owns a memory runs its rules when they are due, and stops when it is told to."""

import threading
from datetime import timedelta

import pytest

from tallystick import Memory
from tallystick.memory.scheduler import Schedule
from tallystick.records.errors import Busy
from tallystick.records.rule import ConsolidationRule
from tests.memory.told import held, tell


@pytest.fixture
def memory(home, clock):
    with Memory(clock=clock) as opened:
        yield opened


def test_a_look_runs_what_is_due_for_everyone_and_tells(memory):
    heard = []
    for user in ("ana", "bob"):
        memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}), user=user)
        tell(memory, "Ana likes tea", user=user)
    schedule = Schedule(memory, done=heard.append)
    assert len(schedule.look()) == 2
    assert [each.user for each in heard] == ["ana", "bob"]
    assert schedule.look() == []


def test_a_cron_runs_when_the_clock_says_so(memory, clock):
    memory.rules.put(ConsolidationRule(id="r", cadence={"cron": "30 12 * * *"}))
    tell(memory, "Ana likes tea")
    schedule = Schedule(memory)
    assert schedule.look() == []
    clock.now += timedelta(minutes=30)
    assert len(schedule.look()) == 1
    assert held(memory) == ["Ana likes tea"]


def test_what_goes_wrong_is_told_and_tried_again(memory, monkeypatch):
    memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}))
    tell(memory, "Ana likes tea")
    failed, run = [], memory._consolidation.run

    def fail(*given, **named):
        raise Busy("the server does not answer; try again")

    monkeypatch.setattr(memory._consolidation, "run", fail)
    schedule = Schedule(memory, failed=failed.append)
    assert schedule.look() == []
    assert failed == ["the server does not answer; try again"]
    assert Schedule(memory).look() == []
    monkeypatch.setattr(memory._consolidation, "run", run)
    assert len(schedule.look()) == 1


def test_settings_that_cannot_be_read_are_told_too(memory):
    (memory.folder / "tallystick.toml").write_text('[consolidate]\nextractor = "no such reader"\n')
    memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}))
    tell(memory, "Ana likes tea")
    failed = []
    assert Schedule(memory, failed=failed.append).look() == []
    assert "no such reader" in failed[0]


def test_the_thread_looks_from_time_to_time_and_ends_promptly(memory):
    memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}))
    heard = threading.Event()
    with Schedule(memory, every=0.01, done=lambda _: heard.set()):
        tell(memory, "Ana likes tea")
        assert heard.wait(120)
    assert held(memory) == ["Ana likes tea"]
    assert not any(thread.name == "tallystick-schedule" for thread in threading.enumerate())


def test_stopping_does_not_wait_for_the_next_look(memory):
    schedule = Schedule(memory, every=3600)
    schedule.start()
    stopping = threading.Thread(target=schedule.stop, daemon=True)
    stopping.start()
    stopping.join(120)
    assert not stopping.is_alive()
    schedule.stop()


def test_a_memory_that_is_closed_meanwhile_is_told_and_ends_nothing_else(memory):
    failed = []
    memory.close()
    assert Schedule(memory, failed=failed.append).look() == []
    assert len(failed) == 1
