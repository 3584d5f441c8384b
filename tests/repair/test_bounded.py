"""A check reads the events once for everything that is compared, and keeps no more of a long ledger in memory."""

from __future__ import annotations

import sqlite3
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.ledger import format as fmt
from tallystick.ledger.folder import chain
from tallystick.ledger.folder.chain import Chain
from tallystick.projections.tables import rows
from tallystick.projections.tables.sqlite import TablesInSqlite
from tallystick.records.errors import Busy
from tallystick.repair import derived, scan, secrets
from tallystick.repair.check import check
from tallystick.text.secrets.detect import find

pytestmark = pytest.mark.usefixtures("own_home")


def filled(root: Path, count: int) -> Path:
    with Memory(root) as memory, memory.batch():
        for number in range(count):
            memory.observe(f"episode {number}: the pressure in vessel {number % 7} was within bounds")
            version = memory.remember(f"reading {number} was taken", key=f"reading {number % (count // 2)}")
        memory.remember("the readings are complete", rests_on=[version.id])
    return root


def peak(root: Path) -> int:
    tracemalloc.start()
    try:
        assert check(root) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_ledger_ten_times_as_long_needs_no_more_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "_MANY", 20)
    monkeypatch.setattr(derived, "_AT_ONCE", 20)
    monkeypatch.setattr(rows, "_CACHED", 50)
    monkeypatch.setattr(chain, "_BLOCK", 1 << 14)
    small, large = filled(tmp_path / "small", 60), filled(tmp_path / "large", 600)
    for root in (small, large):
        (root / "state.db").unlink()  # a page is read whole
    check(small)  # what is imported later is here

    assert peak(large) < 1.5 * peak(small)


def test_the_events_are_read_once_for_all_that_is_compared(tmp_path, monkeypatch):
    root, read = filled(tmp_path / "memory", 20), list[int]()
    real = Chain.raw

    def counted(chain: Chain, start: int, stop: int | None = None):
        for each in real(chain, start, stop):
            read.append(stop is None)
            yield each

    monkeypatch.setattr(Chain, "raw", counted)

    assert check(root) == []
    assert sum(read) == len((root / "events.wal").read_bytes().splitlines())


def test_without_room_for_temporary_files_a_check_says_so_and_calls_nothing_damaged(tmp_path, monkeypatch):
    root = filled(tmp_path / "memory", 20)

    def full(_: TablesInSqlite, __: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(TablesInSqlite, "save", full)

    with pytest.raises(Busy, match="temporary"):
        check(root)


def test_a_line_is_split_as_it_is_parsed(tmp_path):
    root = filled(tmp_path / "memory", 20)
    with Memory(root) as memory:
        memory.erase(memory.remember("gone").id)
    lines = (root / "events.wal").read_bytes().splitlines(keepends=True)

    assert any(not fmt.parse(line).sound for line in lines)
    assert [fmt.split(line) for line in lines] == [fmt.parse(line) for line in lines]


@given(st.from_regex(secrets._OURS, fullmatch=True))
def test_ids_and_times_that_are_not_searched_for_secrets_are_none(text):
    assert find(text) == []
