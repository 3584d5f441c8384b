"""Vectors among several processes, some of which are killed: none false, none lost, none of what was erased."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tallystick import Memory
from tallystick.projections.vectors.file import VectorFile
from tests.crash.disks import DIED, in_a_child
from tests.crash.folder import SOAK
from tests.crash.writers import Work, at_once, kill_at_once
from tests.projections.vectors.doubles import SIZE, Fast, Slow, traces

pytestmark = pytest.mark.usefixtures("own_home")

WORD = "zwiebelfischereien"
TOUCHES = ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir")


def is_true(root: Path, user: str = "me") -> None:
    """Every block of a user has its own vector, and nothing else has one."""
    fast = Fast()
    with Memory(root, embedder=fast) as m:
        m.recall("tea", user=user)
        texts = dict(m._context.index.level().db.execute("SELECT id, content FROM blocks JOIN index_lives"
            " ON id = block_id"))
    file = VectorFile(root / "vectors", fast.identity.key, SIZE, user)
    blocks = file.blocks_at(np.arange(len(file)))
    assert set(blocks) == texts.keys()
    assert np.array_equal(file.matrix, fast.embed([texts[block] for block in blocks]))
    left = [path.name for path in (root / "vectors" / fast.identity.key).iterdir()]
    assert len(left) == 4, left


class Touches:
    """An audit hook that is told of each touch of a file of vectors, and calls `reached` with its number, from 1 on.

    Everyday, it passes over what leaves all as it was: reading again, making a folder that is there, and being told
    twice of one call, as of an `open` with an opener.
    """

    def __init__(self, folder: Path, reached: Callable[[int], object]) -> None:
        self.folder, self.reached, self.count = str(folder), reached, 0
        self.last: tuple[str, object] = ("", "")

    def __call__(self, event: str, values: tuple[object, ...]) -> None:
        if event not in TOUCHES or self.folder not in str(values[0]):
            return
        reads = event == "open" and not int(str(values[2])) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        there = event == "os.mkdir" and Path(str(values[0])).is_dir()
        this = (event, "" if reads else values[0])
        if SOAK or not (there or this == self.last):
            self.last = this
            self.count += 1
            self.reached(self.count)


def every_death(
    tmp_path: Path, prepare: Callable[[Path], object], work: Callable[[Path], object]
) -> Iterator[tuple[Path, bool]]:
    """The folder after a death right before each touch of a file of vectors, and after none; and whether one died."""
    before, now, at = tmp_path / "before", tmp_path / "now", 0
    prepare(before)
    while True:
        at += 1
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(before, now)

        def die(at: int = at) -> None:
            sys.addaudithook(Touches(now / "vectors", lambda count: os._exit(DIED) if count == at else None))
            work(now)

        died = in_a_child(die) == DIED
        yield now, died
        if not died:
            break
    assert at > 4


def prepared(root: Path) -> None:
    with Memory(root, embedder=Fast()) as m:
        for number in range(6):
            m.remember(f"tea number{number}", key=f"k{number}")
        m.remember(f"we love {WORD}", key="secret")
        m.recall("tea")


@pytest.mark.parametrize("adds", [False, True], ids=["makes the first vectors", "adds"])
def test_wherever_a_writer_dies_the_next_finds_the_vectors_true(tmp_path: Path, adds: bool) -> None:
    def prepare(root: Path) -> None:
        prepared(root)
        if not adds:
            shutil.rmtree(root / "vectors")

    def recall(root: Path) -> None:
        with Memory(root, embedder=Fast()) as m:
            if adds:
                m.remember("tea and more of it")
            m.recall("tea")

    for root, _ in every_death(tmp_path, prepare, recall):
        is_true(root)


def test_wherever_one_dies_who_erases_no_vector_of_it_is_left_after_the_next_recall(tmp_path: Path) -> None:
    fast, other = Fast(), Slow("other")

    def with_two(root: Path) -> None:
        prepared(root)
        with Memory(root, embedder=other) as m:
            m.embed()

    def erase(root: Path) -> None:
        with Memory(root, embedder=Fast()) as m:
            m.erase("secret")

    for root, died in every_death(tmp_path, with_two, erase):
        if died:
            with Memory(root, embedder=Fast("another")) as m:
                assert m.get("secret") is None
                m.recall("tea", user="bob")
        for embedder in (fast, other):
            assert traces(root / "vectors", embedder.embed([f"we love {WORD}"])) == []
        is_true(root)


# -- several at once ---------------------------------------------------------------------------------------------------

def writer(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    number = 0
    while time.time() < until:
        number += 1
        m.remember(f"tea {name} number{number}")
        assert m.recall(f"tea {name} number{number}", k=3)
    assert told == [], told


def reader(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    while time.time() < until:
        for hit in m.recall("tea number3", k=20):
            assert "tea" in hit.text
    assert told == [], told


def eraser(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    number = 0
    while time.time() < until:
        number += 1
        said = m.remember(f"tea {WORD} {name} {number}")
        m.recall(said.text)
        m.erase(said.id)
        assert traces(root / "vectors", Fast().embed([said.text])) == []


def rebuilder(m: Memory, root: Path, name: str, until: float, told: list[str]) -> None:
    while time.time() < until:
        m.rebuild_index()
        m.recall("tea")
        time.sleep(0.05)


def together(root: Path, seconds: float, *works: Work) -> None:
    with Memory(root, embedder=Fast()) as m:
        m.remember("tea number3")
    at_once(root, seconds, works, embedder=Fast())
    is_true(root)


@pytest.mark.parametrize("works", [(writer, writer, reader, eraser), (writer, eraser, eraser, rebuilder)])
def test_several_add_read_and_erase_and_rebuild_the_index_at_once(tmp_path: Path, works: tuple[Work, ...]) -> None:
    together(tmp_path / "memory", 30 if SOAK else 1.5, *works)


def test_processes_killed_in_a_loop_leave_vectors_that_are_true_or_made_again(tmp_path: Path) -> None:
    root, drawn = tmp_path / "memory", random.Random(7)
    with Memory(root, embedder=Fast()) as m:
        m.remember("tea number3")
    for _ in range(25 if SOAK else 3):
        kill_at_once(root, drawn, (writer, writer, eraser), embedder=Fast())
        is_true(root)


def test_a_process_killed_while_it_embeds_goes_on_where_it_was(root: Path) -> None:
    with Memory(root, embedder=Fast()) as m, m.batch():
        for number in range(900):
            m.remember(f"tea number{number}")

    def embed() -> None:
        slow = Slow()
        slow._before = lambda: os._exit(DIED) if len(slow.asked) == 3 else None
        with Memory(root, embedder=slow) as m:
            m.embed()

    assert in_a_child(embed) == DIED
    slow = Slow()
    with Memory(root, embedder=slow) as m:
        assert m.missing_vectors() == 900 - 2 * 256
        assert m.embed() == 900 - 2 * 256
        assert m.missing_vectors() == 0
