"""A merge that is cut short leaves all of it or nothing, and can be done again."""

import os
from functools import partial
from pathlib import Path

import pytest

from tallystick import Memory, Refused
from tallystick.ledger.disk import Disk
from tests.crash.disks import DIED, at_once, in_a_child
from tests.crash.folder import fresh_copy, lose_witness, set_wal, wal
from tests.refusals import refuses


def held(memory: Memory, path: str = "") -> dict[str, tuple[str, str]]:
    return {each.key: (each.text, each.status) for each in memory.beliefs.query(path=path, status="")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder whose last write is a merge of five beliefs, one of them a conflict; and where that write begins."""
    root = tmp_path_factory.mktemp("merge") / "memory"
    with Memory(root) as memory:
        for key in "abc":
            memory.remember(f"at first {key}", key=key)
        memory.paths.branch("p")
        on = memory.on("p")
        on.revise("a", "changed")
        on.forget("b")
        on.revise("c", "theirs")
        on.remember("new", key="d")
        on.remember("newer", key="e", rests_on=["d"])
        memory.revise("c", "ours")
        start = len(wal(root))
        memory.paths.merge("p")
    return root, start


def test_a_merge_cut_at_any_byte_is_there_as_a_whole_or_not_at_all(folder, tmp_path):
    root, start = folder
    whole = wal(root)
    with Memory(fresh_copy(root, tmp_path / "whole"), read_only=True) as memory:
        after = held(memory)
    before = {"a": ("at first a", "active"), "b": ("at first b", "active"), "c": ("ours", "active")}
    assert after != before

    for end in [*range(start + 1, len(whole), 97), len(whole) - 1]:
        copy = fresh_copy(root, tmp_path / "cut")
        set_wal(copy, whole[:end])
        lose_witness(copy)
        for seen in (*copy.glob("*.db*"), *copy.glob("memory/*.md")):  # what is derived had not heard of it
            seen.unlink()
        with Memory(copy) as memory:
            assert held(memory) == before
            assert memory.paths.get("p").state == "open"
            assert list(memory.reviews) == []
    with Memory(copy) as memory:  # and it can be done again
        memory.paths.merge("p")
        assert held(memory) == after


class HalfAWrite(Disk):
    """The process ends in the middle of the first write."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        super().write(fd, data[: len(data) // 2])
        os._exit(DIED)


def test_whoever_dies_in_a_merge_leaves_the_path_open(root):
    with Memory(root) as memory:
        memory.remember("tea", key="a")
        memory.paths.branch("p")
        memory.on("p").revise("a", "coffee")
        memory.on("p").remember("new", key="b")

    def work() -> None:
        with Memory(root) as memory:
            memory._folder.ledger._disk = HalfAWrite()
            memory.paths.merge("p")

    assert in_a_child(work) == DIED
    with Memory(root) as memory:
        assert memory.paths.get("p").state == "open"
        assert held(memory) == {"a": ("tea", "active")}
        memory.paths.merge("p")
        assert held(memory) == {"a": ("coffee", "active"), "b": ("new", "active")}


def test_two_who_merge_the_same_path_at_once_bring_it_over_once(root, tmp_path):
    with Memory(root) as memory:
        memory.paths.branch("p")
        for number in range(5):
            memory.on("p").remember(f"number {number}", key=f"n{number}")

    def work(name: str) -> None:
        with Memory(root) as memory:
            try:
                told = str(len(memory.paths.merge("p").brought))
            except Refused as error:
                told = str(error)
        (tmp_path / name).write_text(told)

    assert at_once(*(partial(work, name) for name in "ab")) == [0, 0]
    assert sorted((tmp_path / name).read_text() for name in "ab") == ["5", "path 'p' is merged; it cannot be merged"]
    with Memory(root) as memory:
        assert len(held(memory)) == 5
        assert len(list(memory.log(op="path.merge"))) == 1


def test_a_program_that_has_the_folder_open_sees_a_path_end_in_another(root):
    with Memory(root) as one, Memory(root) as two:
        one.paths.branch("p")
        on = two.on("p")
        on.remember("tea", key="a")
        one.paths.abandon("p", "no")
        with refuses("state", "'p'", "abandoned"):
            on.remember("late", key="b")
        assert held(two, "p") == {}
