"""The process that owns a memory runs its rules when they are due, and stops when it is told to."""

import threading
from datetime import timedelta

import pytest

from tallystick.memory.scheduler import Schedule
from tallystick.records.errors import Busy
from tallystick.records.rule import ConsolidationRule
from tests.memory.told import held, tell

pytestmark = pytest.mark.usefixtures("clock")


def test_a_look_runs_what_is_due_for_everyone_and_tells_and_a_cron_when_the_clock_says_so(memory, clock):
    heard = []
    for user in ("ana", "bob"):
        memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}), user=user)
        tell(memory, "Ana likes tea", user=user)
    memory.rules.put(ConsolidationRule(id="r", cadence={"cron": "30 12 * * *"}))
    tell(memory, "Ana likes tea")
    schedule = Schedule(memory, done=heard.append)
    assert len(schedule.look()) == 2
    assert [each.user for each in heard] == ["ana", "bob"]
    assert schedule.look() == []
    clock.now += timedelta(minutes=30)
    assert len(schedule.look()) == 1
    assert held(memory) == ["Ana likes tea"]


def test_what_goes_wrong_is_told_and_tried_again(memory, monkeypatch):
    memory.rules.put(ConsolidationRule(id="r", cadence={"every": 1}))
    tell(memory, "Ana likes tea")
    failed = []
    schedule = Schedule(memory, failed=failed.append)

    def fail(*given, **named):
        raise Busy("the server does not answer; try again")

    with monkeypatch.context() as patch:
        patch.setattr(memory._consolidation, "run", fail)
        assert schedule.look() == Schedule(memory).look() == []
    assert failed == ["the server does not answer; try again"]
    settings = memory.folder / "tallystick.toml"
    settings.write_text('[consolidate]\nextractor = "no such reader"\n')
    assert schedule.look() == []
    assert "no such reader" in failed[1]
    settings.unlink()
    assert len(schedule.look()) == 1
    memory.close()
    assert schedule.look() == []
    assert len(failed) == 3


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
