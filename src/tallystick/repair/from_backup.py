"""Putting a damaged line back from a backup that still has it.

A backup holds the same stretches, byte for byte, up to the moment it was made. If our file goes on exactly where the
backup's ends (the next line names the hash of the backup's last one), then the backup's bytes and ours together are
what was written. That heals everything: words, chain, checkpoints. It is tried before anything is given up.

Where only the words of a line are damaged, any other copy of that line will do, wherever it stands and whatever else is
wrong there: its hash says that it is the same line, and its digest that its words are whole.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tallystick.ledger import format as fmt
from tallystick.ledger.chain import first_line, raw_lines
from tallystick.ledger.layout import Folder
from tallystick.ledger.scan import Place, scan
from tallystick.repair.scan import Flaw, Reading, items


@dataclass(frozen=True, slots=True)
class Graft:
    """The backup's file up to `end`, then ours from the offset `resume`."""

    copied: Folder
    source: Path
    end: Place
    resume: int

    def heals(self, flaw: Flaw) -> bool:
        return flaw.offset < self.resume


def find(good: list[Folder], reading: Reading) -> Graft | None:
    """The newest of the good backups that heals something in this file; None if there is none."""
    for copied in reversed(good):
        graft = _from(copied, reading)
        if graft and any(graft.heals(flaw) for flaw in reading.flaws):
            return graft
    return None


@dataclass(frozen=True, slots=True)
class Spare:
    """Another copy of a line, from `start` to `end` of a file."""

    path: Path
    start: int
    end: int


def spares(paths: Iterable[Path], wanted: Collection[str]) -> dict[str, Spare]:
    """Whole copies of the lines with those hashes."""
    found: dict[str, Spare] = {}
    for path in paths if wanted else ():
        with suppress(OSError), open(path, "rb") as file:
            for offset, raw in raw_lines(file.fileno(), 0, os.fstat(file.fileno()).st_size):
                header = fmt.HEADER.match(raw)
                if header and (hashed := header[fmt.HASH_GROUP].decode()) in wanted and _is_whole(raw):
                    found[hashed] = Spare(path, offset, offset + len(raw))
    return found


def _is_whole(raw: bytes) -> bool:
    try:
        return fmt.parse(raw).sound
    except fmt.BadLine:
        return False


def _from(copied: Folder, reading: Reading) -> Graft | None:
    for source in files_of(copied):
        line = fmt.parse(first_line(source))
        if line.seq == reading.start.seq + 1:
            end = _end(source, Place(0, line.seq - 1, line.prev))
            resume = _where_ours_goes_on(reading, end, same_start=line.prev == reading.start.hash)
            return None if resume is None else Graft(copied, source, end, resume)
    return None


def files_of(copied: Folder) -> Iterator[Path]:
    """The files of a chain."""
    yield from (segment.path for segment in copied.sealed_segments())
    yield copied.wal


def _end(source: Path, start: Place) -> Place:
    with open(source, "rb") as file:
        return scan(file.fileno(), start, os.fstat(file.fileno()).st_size).end


def _where_ours_goes_on(reading: Reading, end: Place, *, same_start: bool) -> int | None:
    """The offset of our line that follows `end`; the end of our file if the backup has all that ours ever had."""
    reach = reading.last if reading.last is not None else max(flaw.seq for flaw in reading.flaws)
    with open(reading.path, "rb") as file:
        for item in items(file.fileno(), reading.start, reading.size, 0):
            if item.said and (item.said.seq, item.said.prev) == (end.seq + 1, end.hash):
                return item.offset
            reach = max(reach, item.said.seq if item.said else -1)
    return reading.size if same_start and end.seq >= reach else None
