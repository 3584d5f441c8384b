"""Scanning one file, by one process or by several side by side.

A part begins behind a line that ends a group, and is told what that line says. The part before it ends with that line, or
the parts do not fit and the file is scanned again by one process: only that one's word on what is wrong counts.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keepsake.ledger import format as fmt
from keepsake.ledger.merkle import Range
from keepsake.ledger.read import last_line, offset_of, raw_lines
from keepsake.ledger.scan import Place, Progress, Scan, Walk

SMALLEST = 8 << 20  # a file below this is not worth starting a process for


class Roots:
    """The Merkle tree, as far as someone asks for its root, and its roots at the sizes that are asked for."""

    def __init__(self, begin: int, wanted: Iterable[int]) -> None:
        self.wanted = sorted(set(wanted))
        self.range = Range(begin)
        self.until = max(self.wanted, default=0)
        self.marks: dict[int, Range] = {}

    @property
    def end(self) -> int:
        return self.range.end

    def extend(self, leaves: Sequence[bytes]) -> None:
        at = 0
        for size in self.wanted:
            if self.range.end < size <= self.range.end + len(leaves) - at:
                stop = at + size - self.range.end
                self.range.extend(leaves[at:stop])
                self.marks[size] = self.range.copy()
                at = stop
        self.range.extend(leaves[at:])

    def merge(self, other: Roots) -> None:
        """Take in what the next part found."""
        for size, part in other.marks.items():
            whole = self.range.copy()
            whole.merge(part)
            self.marks[size] = whole
        if other.range.begin == self.range.end:
            self.range.merge(other.range)

    def at(self, size: int) -> bytes | None:
        """The root of the first `size` events, if it was asked for and can be known."""
        mark = self.marks.get(size)
        return mark.root() if mark and mark.begin == 0 else None

    def copy(self) -> Roots:
        other = Roots(self.range.begin, self.wanted)
        other.range, other.marks = self.range.copy(), dict(self.marks)
        return other


def scan_file(
    path: Path, start: Place, size: int, roots: Roots, processes: int = 1, progress: Progress | None = None
) -> Scan:
    """Scan a file up to `size`; its leaves go to `roots`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if processes > 1 and size >= SMALLEST:
            before = roots.copy()
            if found := _side_by_side(path, fd, start, size, roots, processes, progress):
                return found
            roots.range, roots.marks = before.range, before.marks
        return Walk(start, roots if roots.wanted else None).through(fd, size, progress)
    finally:
        os.close(fd)


def hash_of(path: Path, end: int, seq: int) -> str | None:
    """The hash of the line of event `seq`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for _, raw in raw_lines(fd, offset_of(fd, end, seq), end):
            return fmt.parse(raw).hash
        return None
    except fmt.BadLine:
        return None
    finally:
        os.close(fd)


def _side_by_side(
    path: Path, fd: int, start: Place, size: int, roots: Roots, processes: int, progress: Progress | None
) -> Scan | None:
    """The scan of a file that is plainly good; None if one process has to look."""
    cuts = [cut for number in range(1, processes) if (cut := _cut(fd, start.offset + number * (size - start.offset) // processes, size))]
    ends = [cut[0].offset for cut in cuts[1:]] + [size]
    workers = [_begin_part(path, place, batch, end, roots.wanted) for (place, batch), end in zip(cuts, ends, strict=True)]
    try:
        first = Walk(start, roots if roots.wanted else None)
        whole = first.through(fd, cuts[0][0].offset if cuts else size, progress)
        for (place, _), worker, end in zip(cuts, workers, ends, strict=True):
            part, leaves = _end_part(worker)
            if not _joins(whole, place) or part is None or part.bad or whole.bad:
                return None
            _add(whole, part)
            roots.merge(leaves)
            if progress:
                progress(end - place.offset)
        return whole
    finally:
        for worker in workers:
            _stop(worker)


def _cut(fd: int, near: int, size: int) -> tuple[Place, bytes] | None:
    """A place behind a line that ends a group, at or after `near`, and that line's batch."""
    lines = raw_lines(fd, near, min(size, near + 4 * fmt.MAX_LINE))
    next(lines, None)
    for offset, raw in lines:
        try:
            line = fmt.parse(raw)
        except fmt.BadLine:
            return None
        if line.left == 0 and offset + len(raw) < size:
            return Place(offset + len(raw), line.seq, line.hash, line.ts), str(line.batch).encode()
    return None


def _joins(whole: Scan, place: Place) -> bool:
    end = whole.end
    return (end.offset, end.seq, end.hash) == (place.offset, place.seq, place.hash) and not whole.open_group


def _add(whole: Scan, part: Scan) -> None:
    whole.end, whole.open_group = part.end, part.open_group
    whole.lines += part.lines
    whole.hollow.update(part.hollow)
    whole.garbled |= part.garbled
    whole.named |= part.named
    whole.told += part.told
    whole.snapshot = part.snapshot or whole.snapshot


def _begin_part(path: Path, place: Place, batch: bytes, end: int, wanted: list[int]) -> subprocess.Popen[bytes]:
    code = "import sys; sys.path[:0] = [sys.argv[1]]; from keepsake.ledger.parts import run_part; run_part()"
    home = str(Path(__file__).parents[2])
    worker = subprocess.Popen([sys.executable, "-c", code, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    worker.stdin.write(pickle.dumps((path, place, batch, end, wanted)))
    worker.stdin.close()
    worker.stdin = None
    return worker


def _end_part(worker: subprocess.Popen[bytes]) -> tuple[Scan | None, Roots]:
    answer, _ = worker.communicate()
    if worker.returncode:
        return None, Roots(0, ())
    found: tuple[Any, Any] = pickle.loads(answer)
    return found


def _stop(worker: subprocess.Popen[bytes]) -> None:
    """See to it that no worker outlives the check."""
    if worker.poll() is None:
        worker.kill()
        worker.wait()
    if worker.stdout is not None:
        worker.stdout.close()


def run_part() -> None:
    """What a worker does: reads what to scan from its input and writes what it found to its output."""
    path, place, batch, end, wanted = pickle.load(sys.stdin.buffer)
    roots = Roots(place.seq + 1, [size for size in wanted if size > place.seq + 1])
    walk = Walk(place, roots if roots.wanted else None)
    walk.batch = batch
    with open(path, "rb") as file:
        found = walk.through(file.fileno(), end)
    sys.stdout.buffer.write(pickle.dumps((found, roots)))
