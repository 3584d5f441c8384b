"""Lines are read from a file as they stand, however long they are, and each byte is taken up a few times at most."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.ledger import chain as read
from tallystick.ledger.chain import raw_lines


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
