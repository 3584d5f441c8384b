"""Whoever is killed while folding leaves the page as before or as after; two who fold at once fold once."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import time
import warnings
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.stores import open_folder
from tests.crash.disks import DIED, DyingDisk, in_a_child

FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.usefixtures("no_pins")


@pytest.fixture
def place(tmp_path) -> Path:
    """A memory with a page that can be folded."""
    with Memory(tmp_path / "before") as memory:
        first = memory.pages.append("topic-ports", "The port is 1.", ["port"])
        memory.pages.append("topic-ports", "Ana likes tea.", ["taste"])
        memory.pages.supersede("topic-ports", first.id, "The port is 2.")
        memory.pages.append("topic-ports", "Ana likes tea.", ["taste"])
        memory.pages.flag_compact("topic-ports")
    return tmp_path / "before"


def again(place: Path) -> Path:
    now = place.with_name("now")
    shutil.rmtree(now, ignore_errors=True)
    return Path(shutil.copytree(place, now))


def state(place: Path) -> tuple[tuple[str, ...], bool, int]:
    """What the page says once it is looked at: in its rows, in its file, and in what is held."""
    with Memory(place) as memory:
        assert memory.pages.sync().problems == ()
        page = memory.pages.read("topic-ports", include_superseded=True)
        told = tuple(each.text for each in page.entries)
        text = (memory.pages.folder / "topic-ports.md").read_text()
        assert text.count("## [") == page.info.entry_count == len(told)
        assert f"needs_compact: {str(page.info.needs_compact).lower()}" in text
        shown = {each.text for each in page.entries if each.is_current}
        assert shown == {each.text for each in memory.beliefs.query()}
        tokens = page.info.tokens
        assert memory.pages.rebuild().adopted == ()
        assert memory.pages.read("topic-ports").info.tokens == tokens
        return told, page.info.needs_compact, memory.status().events


def fold(place: Path) -> None:
    with Memory(place) as memory:
        memory.pages.compact("topic-ports")


@pytest.mark.parametrize("halfway", [False, True], ids=["before the call", "halfway through it"])
def test_whoever_dies_at_any_disk_call_leaves_the_old_or_the_new(place, monkeypatch, halfway):
    before = state(again(place))
    fold(done := again(place))
    after = state(done)
    assert before[:2] != after[:2]
    at, seen = 1, set()
    while True:
        base = again(place)
        with monkeypatch.context() as patch:
            patch.setattr(open_folder, "Disk", lambda at=at: DyingDisk(at, halfway=halfway))
            died = in_a_child(lambda base=base: fold(base)) == DIED
        found = state(base)
        assert found[:2] in (before[:2], after[:2])
        seen.add(found[:2])
        if not died:
            break
        at += 1
    assert len(seen) == 2
    assert at > 5


def fold_when_told(place: Path, line: Connection) -> None:
    with Memory(place) as memory:
        line.send("ready")
        line.recv()
        line.send(len(memory.pages.compact("topic-ports").changes))


def start(place: Path) -> tuple[ForkProcess, Connection]:
    """Another process that folds as soon as it is told to. Nothing in the folder may be open here."""
    line, theirs = FORK.Pipe()
    process = FORK.Process(target=fold_when_told, args=(place, theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on: other threads are not copied. None is used
        process.start()
    theirs.close()
    assert line.recv() == "ready"
    return process, line


def test_whoever_is_killed_at_any_moment_leaves_the_old_or_the_new(place):
    before = state(again(place))
    fold(done := again(place))
    wanted, drawn = (before[:2], state(done)[:2]), random.Random(5)
    for _ in range(6):
        base = again(place)
        process, line = start(base)
        line.send("go")
        time.sleep(drawn.random() * 0.06)
        process.kill()
        process.join()
        line.close()
        assert state(base)[:2] in wanted


def test_two_processes_that_fold_at_once_fold_once(place):
    base = again(place)
    both = [start(base) for _ in range(2)]
    for _, line in both:
        line.send("go")

    assert sorted(line.recv() for _, line in both) == [0, 3]
    for process, line in both:
        process.join()
        line.close()
    with Memory(base) as memory:
        ops = [event.op for event in memory.log()]
    assert ops.count("page.fold/1") == 1
    fold(alone := again(place))
    assert state(base)[:2] == state(alone)[:2]


def test_what_is_appended_meanwhile_is_not_lost(place):
    base = again(place)
    folding, line = start(base)
    with Memory(base) as memory:
        line.send("go")
        for number in range(10):
            memory.pages.append("topic-ports", f"Bob came by {number} times.", ["visit"])
    assert line.recv() == 3
    folding.join()
    line.close()

    assert len(state(base)[0]) == 12
