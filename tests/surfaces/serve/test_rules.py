"""The server runs consolidation rules when they are due, in its own name, and goes on when one fails."""

import asyncio
from functools import partial

import pytest

from tallystick import Memory
from tallystick.records.errors import Refused
from tallystick.records.rule import ConsolidationRule
from tallystick.surfaces.serve.app import Rules
from tallystick.surfaces.server.worker import MemoryWorker


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "notes") as memory:
        memory.rules.put(ConsolidationRule(id="people", cadence={"every": 1}))
        memory.observe("Ana likes tea", metadata={"subject": "Ana", "predicate": "likes", "object": "tea"})
    return tmp_path / "notes"


def run(folder, opens, until, **how):
    done, failed = [], []

    async def scene():
        hold, other = MemoryWorker(opens), MemoryWorker(partial(Memory, folder))
        rules = Rules(hold, other, done=done.append, failed=failed.append, every=0.02, **how)
        rules.start()
        for _ in range(500):
            if until(done, failed):
                break
            await asyncio.sleep(0.01)
        rules.stop()
        await hold.close()
        await other.close()

    asyncio.run(asyncio.wait_for(scene(), 120))
    return done, failed


def test_what_is_due_is_run_once_through_a_door_of_its_own(folder):
    done, failed = run(folder, partial(Memory, folder, by="rules:local"), lambda done, _: done)
    assert ([each.rule for each in done], failed) == (["people"], [])
    with Memory(folder) as memory:
        [fact] = [event for event in memory.log() if event.op.startswith("belief.")]
        assert fact.by == "rules:local"


def test_what_goes_wrong_is_told_in_a_line_and_tried_again(folder):
    tries = []

    def opens():
        tries.append(1)
        if len(tries) < 3:
            raise Refused("the disk is full; make room")
        return Memory(folder, by="rules:local")

    done, failed = run(folder, opens, lambda done, _: done)
    assert failed == ["rules could not be run: the disk is full; make room"] * 2
    assert [each.rule for each in done] == ["people"]


def test_without_a_rule_no_memory_is_opened_for_them_until_there_is_one(tmp_path):
    folder, opened, looks = tmp_path / "empty", [], []

    def opens():
        opened.append(1)
        return Memory(folder)

    def until(done, _):
        looks.append(1)
        if len(looks) == 10:
            assert opened == []
            with Memory(folder) as memory:
                memory.rules.put(ConsolidationRule(id="people", cadence={"every": 1}))
                memory.observe("Ana likes tea")
        return done

    done, failed = run(folder, opens, until)
    assert (len(opened), len(done), failed) == (1, 1, [])


def test_it_stops_before_it_began_and_twice(folder):
    one, other = (MemoryWorker(partial(Memory, folder)) for _ in range(2))
    rules = Rules(one, other, done=print, failed=print)
    rules.stop()
    rules.stop()
