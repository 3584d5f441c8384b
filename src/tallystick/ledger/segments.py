"""The files of a chain, read one after the other as far as it holds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tallystick.ledger import format as fmt, parallel_scan as parts
from tallystick.ledger.chain import first_line
from tallystick.ledger.layout import Folder, Segment
from tallystick.ledger.parallel_scan import Roots
from tallystick.ledger.scan import Bad, Place, Scan
from tallystick.records.progress import Progress


class Finding(NamedTuple):
    """What is wrong first, and where. `seq` is -1 if it is not a line of the ledger."""

    file: str
    line: int
    byte: int
    seq: int
    why: str

    def __str__(self) -> str:
        where = f", line {self.line} (event {self.seq}, byte {self.byte})" if self.seq >= 0 else ""
        return f"{self.file}{where}: {self.why}"


class Read(NamedTuple):
    """One stretch, read."""

    segment: Segment
    size: int
    found: Scan


def segments_of(folder: Folder) -> list[Segment]:
    """The files of the chain in order, each by the event it should begin with."""
    found = folder.sealed_segments()
    if folder.wal.is_file():
        after = found[-1].last + 1 if found and found[-1].last is not None else 0
        found.append(Segment(folder.wal, _first(folder.wal, after), None))
    return found


def _first(path: Path, otherwise: int) -> int:
    try:
        return fmt.parse(first_line(path)).seq
    except fmt.BadLine:
        return otherwise


def read_all(
    segments: list[Segment], living_size: int, roots: Roots, processes: int, on_progress: Progress | None
) -> list[Read]:
    """Read the stretches until one is bad or missing. The first that is here is taken to follow what came before it."""
    reads: list[Read] = []
    place = Place(0, segments[0].first - 1, _prev_of(segments[0]))
    for segment in segments:
        if segment.first != place.seq + 1:
            break
        size = living_size if segment.last is None else segment.path.stat().st_size
        found = parts.scan_file(segment.path, Place(0, place.seq, place.hash), size, roots, processes, on_progress)
        reads.append(Read(segment, size, found))
        place = found.end
        if found.bad or found.open_group:
            break
    return reads


def _prev_of(segment: Segment) -> str:
    """What the first stretch follows: nothing, or a line that was moved away and is taken on trust."""
    if segment.first == 0:
        return fmt.ZERO
    try:
        return fmt.parse(first_line(segment.path)).prev
    except fmt.BadLine:
        return fmt.ZERO


def finding(read: Read, bad: Bad) -> Finding:
    return Finding(name_of(read.segment), bad.seq - read.segment.first + 1, bad.offset, bad.seq, bad.why)


def name_of(segment: Segment) -> str:
    return segment.path.name if segment.last is None else f"sealed/{segment.path.name}"


def hash_at(reads: list[Read], seq: int) -> str | None:
    """The hash of an event that was read; None if it was moved away."""
    for read in reads:
        if read.segment.first <= seq <= read.found.end.seq:
            return parts.hash_of(read.segment.path, read.found.end.offset, seq)
        if seq == read.segment.first - 1:
            return _prev_of(read.segment)
    return None

