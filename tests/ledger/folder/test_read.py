"""Lines are read as they stand, however long; a ledger is followed for long; copies made at once have own names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder import backup, chain as read, reader as follow
from tallystick.ledger.folder.chain import raw_lines
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.event import Draft
from tallystick.state.state import State


def lines_of(path: Path, start: int = 0, end: int | None = None) -> list[tuple[int, bytes]]:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return list(raw_lines(file.fileno(), start, size if end is None else end))


@given(
    st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")), max_size=8),
    st.binary(max_size=9).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from([0, 1 << 14, (1 << 14) - 1, 3 << 14, 1 << 17]),
)
def test_whole_lines_come_as_they_stand_and_what_has_no_end_does_not(tmp_path_factory, parts, rest, long):
    path = tmp_path_factory.mktemp("read") / "file"
    lines = [part + b"\n" for part in (*parts, b"x" * long)]
    path.write_bytes(b"".join(lines) + rest)

    found = lines_of(path)

    assert [line for _, line in found] == lines
    assert [path.read_bytes()[at : at + len(line)] for at, line in found] == lines


def test_reading_ends_where_it_is_told_to(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\nthree\n")

    assert lines_of(path, 4) == [(4, b"two\n"), (8, b"three\n")]
    assert lines_of(path, 0, 9) == [(0, b"one\n"), (4, b"two\n")]


class Counted(bytes):
    """Bytes that know how many of them were gone through or joined again."""

    work = 0

    def find(self, *args: Any) -> int:
        Counted.work += len(self)
        return super().find(*args)

    def __radd__(self, other: bytes) -> Counted:
        Counted.work += len(self) + len(other)
        return Counted(other + bytes(self))


@pytest.mark.parametrize("has_end", [True, False])
def test_one_very_long_line_costs_no_more_than_many_short_ones(tmp_path, monkeypatch, has_end):
    path, size = tmp_path / "file", 40 << 20
    path.write_bytes(bytes(size) + b"\n" * has_end)
    pread = os.pread
    monkeypatch.setattr(read.os, "pread", lambda *args: Counted(pread(*args)))
    Counted.work = 0

    found = lines_of(path)

    assert [len(line) for _, line in found] == [size + 1] * has_end
    assert 0 < Counted.work < 3 * size


def test_a_file_that_is_taken_away_and_comes_back_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, asked, access = tmp_path / "memory", [], os.access
    FolderLedger(root, State()).close()

    def away_at_first(path: Path, mode: int) -> bool:
        if path != root / "events.wal":
            return access(path, mode)
        asked.append(path)
        return len(asked) > 1 and access(path, mode)

    monkeypatch.setattr(follow.os, "access", away_at_first)
    ledger = FolderLedger(root, State())
    ledger.close()

    assert ledger.writable
    assert len(asked) == 2


def test_what_is_kept_of_each_line_for_the_tree_does_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_MANY_SLICES", 10)
    writer, reader = FolderLedger(tmp_path, State()), FolderLedger(tmp_path, State())
    for number in range(25):
        writer.append([Draft("session.start/1", {"session": f"s{number}", "task_type": "general"})])
        reader.refresh()
        assert max(len(writer._slices), len(reader._slices)) < 10
    assert writer.tree().root() == reader.tree().root()
    writer.close()
    reader.close()


def test_a_copy_that_another_finishes_between_our_looks_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, taken = backup.free_name, []

    def slow(parent: Path, name: str) -> Path:
        """The first name it gives is taken before anybody can use it."""
        target = real(parent, name)
        if not taken:
            taken.append(target)
            target.mkdir()
            (target / "events.wal").write_text("another's")
        return target

    monkeypatch.setattr(backup, "free_name", slow)
    with backup.new_copy(Disk(), tmp_path, "2026-11-15T12:00:00.000000Z") as (making, target):
        (making / "events.wal").write_text("ours")

    assert target.name == "20261115T120000-2"
    assert [(path / "events.wal").read_text() for path in (taken[0], target)] == ["another's", "ours"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [taken[0].name, target.name]


def test_a_read_within_another_is_of_the_same_moment(tmp_path: Path) -> None:
    """What others write meanwhile is seen once the outermost read has ended."""
    with Memory(tmp_path) as reader, Memory(tmp_path) as writer:
        ledger = reader._folder.ledger
        with ledger.reading():
            first = ledger.head.seq
            writer.remember("the kettle is on")
            with ledger.reading():
                assert ledger.head.seq == first
                assert reader._folder.state.query() == []
        with ledger.reading():
            assert ledger.head.seq == first + 1
            assert [held.belief().text for held in reader._folder.state.query()] == ["the kettle is on"]
