"""Whoever dies around a transaction of state.db leaves tables that go on from there, each set by itself."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tallystick import Memory
from tallystick.memory.pages import sync
from tallystick.projections import database, table_set
from tallystick.projections.tables import file, sqlite
from tallystick.records.graph.nodes import MemoryNode
from tallystick.repair.check import check
from tests.conftest import SOAK
from tests.crash.disks import DIED, in_a_child
from tests.crash.test_state import is_as_the_ledger_says

WORD = "zebrastripes"


def stop_at(at: int, patch: pytest.MonkeyPatch, seen: list[int]) -> None:
    """End the process at the `at`-th step of its transactions: before one begins, before it commits, and after that."""
    real = database.transaction

    def step() -> None:
        seen.append(len(seen))
        if len(seen) == at:
            os._exit(DIED)

    @contextmanager
    def watched(db: Any) -> Iterator[None]:
        step()
        with real(db):
            yield
            step()
        step()

    for module in (file, sqlite, table_set):
        patch.setattr(module, "transaction", watched)


def begun(root: Path) -> None:
    with Memory(root, embedder="none") as m:
        for number in range(6):
            m.remember(f"tea number {number}", key=f"k{number}", about="person-ana")
            m.observe(f"Ana drank tea {number}", id=f"e{number}", session="s")
        m.remember(f"we love {WORD}", key="secret", about="person-ana")
        m.graph.save_node(MemoryNode(id="shed", kind="place", label="The shed"))
        m.pages.sync()
        m.recall("tea", words=True)


def write(m: Memory) -> None:
    m.remember("tea at noon", key="noon", about="person-ana")
    m.revise("k1", "tea number one")
    with m.batch():
        for number in range(20):
            m.observe(f"Ben drank tea {number}", id=f"b{number}")
    m.graph.save_node(MemoryNode(id="house", kind="place", label="The house"))
    m.recall("tea", words=True)


def edit(m: Memory) -> None:
    path = m.folder / "memory" / "person-ana.md"
    path.write_text(path.read_text().replace("tea number 3", "tea number three, by hand"))
    m.pages.sync()


def rebuild(m: Memory) -> None:
    m.rebuild_index()
    m.pages.rebuild()


def care(m: Memory) -> None:
    m.ledger.compact()
    m.remember("and on", key="on")
    m.ledger.prune(m.folder.parent / "away")
    m.recall("tea", words=True)


STORIES: dict[str, Callable[[Memory], object]] = {
    "write": write, "edit a page": edit, "rebuild": rebuild, "compact and prune": care,
    "erase": lambda m: m.erase("secret"), "begin": lambda m: begun(m.folder),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_wherever_one_dies_around_a_transaction_the_next_one_finds_what_the_ledger_says(tmp_path, story):
    before, now, count = tmp_path / "before", tmp_path / "now", tmp_path / "count"
    if story == "begin":
        before.mkdir()
    else:
        begun(before)

    def work(at: int) -> None:
        seen: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            stop_at(at, patch, seen)
            patch.setattr(sync, "_AT_ONCE", 1e9)  # pages follow every write, however slow this machine is now
            with Memory(now, embedder="none") as m:
                STORIES[story](m)
        count.write_text(str(len(seen)))

    shutil.copytree(before, now)
    assert in_a_child(lambda: work(-1)) == 0
    last = int(count.read_text())
    assert last > 8
    for at in range(1, last + 1) if SOAK else sorted(random.Random(7).sample(range(1, last + 1), 8)):
        shutil.rmtree(now)
        shutil.rmtree(tmp_path / "away", ignore_errors=True)
        shutil.copytree(before, now)
        died = in_a_child(lambda at=at: work(at)) == DIED
        assert died or at > last - 8, "it may do a little less than when it was counted"

        with Memory(now, embedder="none") as m:
            found = {hit.text for hit in m.recall("tea number", words=True, k=20)}
            assert story == "begin" or "tea number 2" in found
            if story in ("edit a page", "rebuild", "erase"):
                assert "shed" in {node.id for node in m.graph.list_nodes()}
            m.pages.sync()
            erased = story == "erase" and m.get("secret") is None
        if story == "compact and prune":
            assert [finding.code for finding in check(now) if finding.severity == "error"] == []
        else:
            is_as_the_ledger_says(now)
        if erased:
            assert [path for path in now.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()] == []
