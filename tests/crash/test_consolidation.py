"""Whoever dies while a rule is at work leaves each portion whole or not at all, and whoever goes on ends the same."""

import errno
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest

from tallystick import Memory
from tallystick.memory.facts import consolidate as consolidation
from tallystick.records.errors import NotWritten, Unfinished
from tallystick.records.rule import ConsolidationRule
from tallystick.stores import open_folder as folder
from tests.crash.disks import DIED, Child, DyingDisk, FailingDisk, Listing, Watched, in_a_child
from tests.crash.folder import SOAK, at_length

ALL = ConsolidationRule(id="all", then_emits=["people"])
START = datetime(2026, 1, 1, tzinfo=UTC)


def fill(root: Path, count: int) -> None:
    """Episodes of every kind, told out of order."""
    with Memory(root) as memory, memory.batch():
        for number in range(count):
            said = {"subject": f"S{number % 5}", "predicate": ("is", "likes")[number % 2], "object": f"o{number % 7}"}
            odd = {3: {"intent": "delete"}, 7: {"intent": "noop"}, 8: {"intent": "update", "replaces": "e0"}}
            memory.observe(
                f"told {number}", id=f"e{number}", at=START + timedelta(hours=(number * 7) % count),
                metadata={**said, **odd.get(number % 10, {})}, trust="web" if number % 11 == 10 else "human",
                session=f"s{number % 3}",
            )  # fmt: skip


def came_to(root: Path) -> list:
    """All that the rule has made, without what differs from run to run: times and drawn ids."""
    with Memory(root) as memory:
        assert memory.trouble == ""
        assert memory.ledger.verify().ok
        facts = sorted(
            (fact.triple, fact.episodes, fact.confidence, fact.valid_from, fact.valid_to, fact.status)
            for fact in map(memory.facts.get, [held.ref for held in memory._folder.state.facts("me")])
        )
        heard = [(delta.kind, delta.source_episode_ids) for delta in memory.facts.follow("people")]
        findings = [(each.source, each.reason) for each in memory.rules.findings()]
        waiting = len(memory.reviews)
        return [facts, heard, findings, waiting, portions(memory)]


def portions(memory: Memory) -> list[tuple[int, int]]:
    """How far the rule has come, portion by portion; each must be whole."""
    marks = [event.body for event in memory.log(op="rule.ran")]
    return [(mark["through"], mark["considered"]) for mark in marks]


def is_whole(root: Path, whole: list) -> int:
    """What is there is what an uninterrupted run had made by then. How many portions that is."""
    facts, heard, findings, _, marks = came_to(root)
    assert marks == whole[4][: len(marks)]
    assert heard == whole[1][: len(heard)]
    assert findings == whole[2][: len(findings)]
    with Memory(root) as memory:
        through = marks[-1][0] if marks else -1
        assert memory._folder.state.rules.mark("me", "all").through == through
        episodes = memory._folder.state.episodes
        considered = {name: each.seq for name in names_of(memory) for each in episodes.find("me", name)}
        made_of = {name for _, episodes, *_ in facts for name in episodes} | {n for _, each in heard for n in each}
        assert all(considered[name] <= through for name in made_of)
    return len(marks)


def names_of(memory: Memory) -> list[str]:
    return [event.body["episode"]["id"] for event in memory.log(op="episode.put")]


def run(
    root: Path, portion: int, disk: Watched | None = None, on_progress: Callable[[int], None] | None = None
) -> None:  # fmt: skip
    consolidation.PORTION = portion
    if disk is not None:
        folder.Disk = lambda: disk  # type: ignore[misc,assignment]
    with Memory(root) as memory:
        memory.consolidate(ALL, on_progress=on_progress)


def uninterrupted(base: Path, root: Path, portion: int) -> list:
    whole = base / "whole"
    shutil.copytree(root, whole)
    assert in_a_child(lambda: run(whole, portion)) == 0
    return came_to(whole)


def calls_of(base: Path, root: Path, portion: int) -> Listing:
    """The disk calls of a run in which nobody dies."""
    copied, disk = base / "listed", Listing()
    shutil.copytree(root, copied)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidation, "PORTION", portion)
        patch.setattr(folder, "Disk", lambda: disk)
        run(copied, portion)
    return disk


@pytest.mark.parametrize("halfway", [False, True], ids=["before the call", "halfway through it"])
def test_whoever_dies_at_any_disk_call_leaves_whole_portions_and_the_next_ends_the_same(tmp_path, halfway):
    root, now = tmp_path / "memory", tmp_path / "now"
    fill(root, 24)
    whole, calls, seen = uninterrupted(tmp_path, root, 8), calls_of(tmp_path, root, 8), set()
    everywhere = calls.writes if halfway else range(1, len(calls.listed) + 1)
    for at in everywhere if SOAK or halfway else calls.changed[::3]:
        shutil.copytree(root, now)
        disk = DyingDisk(at, halfway=halfway)
        died = in_a_child(lambda disk=disk: run(now, 8, disk)) == DIED
        assert died or at > len(calls.listed) - 8, "it may replace a file less than when it was listed"
        if died:
            seen.add(is_whole(now, whole))
            assert in_a_child(lambda: run(now, 8)) == 0
        assert came_to(now) == whole
        shutil.rmtree(now)
    assert {0, 1, 2} <= seen


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=["full", "failing"])
def test_a_disk_that_refuses_leaves_whole_portions_and_the_next_run_ends_the_same(tmp_path, code):
    root, seen = tmp_path / "memory", set()
    fill(root, 24)
    whole = uninterrupted(tmp_path, root, 8)
    for at in range(1, 9) if SOAK else range(1 + (code == errno.EIO), 9, 2):
        now = tmp_path / f"now{at}"
        shutil.copytree(root, now)
        disk = FailingDisk(("write",), at, code, for_good=True, short=True)
        assert in_a_child(lambda now=now, disk=disk: refused(now, disk)) == 0
        seen.add(is_whole(now, whole))
        assert in_a_child(lambda now=now: run(now, 8)) == 0
        assert came_to(now) == whole
    assert len(seen) > 1


def refused(root: Path, disk: FailingDisk) -> None:
    """Run the rule on a disk that gives out, unless it has done its last write before."""
    with suppress(NotWritten, Unfinished):
        run(root, 8, disk)


def killed(root: Path, drawn: random.Random) -> bool:
    """Whether a process that runs the rule was killed: some time after it was through with a portion or two."""
    worker, told = worker_on(root)
    with told:
        for _ in range(drawn.randint(1, 3)):
            told.readline()
        time.sleep(drawn.random() * 0.03)
        worker.kill()
        status = worker.wait()
    assert status in (0, -signal.SIGKILL)
    return status != 0


def worker_on(root: Path) -> tuple[Child, IO[bytes]]:
    """A process that runs the rule, and a line from it for each portion."""
    read, write = os.pipe()
    worker = Child(lambda: run(root, 10, on_progress=lambda _: os.write(write, b"a portion\n")))
    os.close(write)
    return worker, open(read, "rb")


@pytest.mark.parametrize(("rounds", "seed"), at_length(1, 25, seeds=4))
def test_a_rule_that_is_killed_over_and_over_ends_as_if_it_had_not_been(tmp_path, rounds, seed):
    root, drawn, seen = tmp_path / "memory", random.Random(seed), set()
    fill(root, 80)
    whole = uninterrupted(tmp_path, root, 10)
    for number in range(rounds):
        now = tmp_path / f"now{number}"
        shutil.copytree(root, now)
        for _ in range(20):
            if not killed(now, drawn):
                break
            seen.add(is_whole(now, whole))
        assert came_to(now) == whole
    assert len(seen) > 1


def test_two_processes_that_run_a_rule_at_once_consider_each_episode_once(root, tmp_path):
    fill(root, 80)
    whole = uninterrupted(tmp_path, root, 10)
    for worker, told in [worker_on(root) for _ in "ab"]:
        with told:
            assert told.readlines()
        assert worker.wait() == 0
    assert came_to(root) == whole
