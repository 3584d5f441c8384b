"""Reading events: from any seq, across sealed segments, without reading the lines before it.

Lines are in order of seq, so the line of an event is found by bisection: a few reads, however long the file. Only bytes
that a scan has checked are read (up to `end` of the live segment); each line is still checked against its own hash and
digest, because the disk may have changed since. Others may compact meanwhile: a segment is identified by its first
event, and found again under its new name.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import zip_longest
from pathlib import Path

from tallystick.ledger import format as fmt
from tallystick.ledger.folder.layout import Folder, Segment
from tallystick.records.errors import Damaged, Missing, NotFound

_SEQ = re.compile(rb'\{"seq":(\d{1,16}),')
_OUR_KEYS = (b'"batch":', b'"left":', b'"digest":"', b'"prev":"')
_BEGINS = b'\n{"seq":'
_NEAR = 1 << 14
_BLOCK = 1 << 17  # bytes that are read at once, at most
_NOTHING = (0, b"")


def first_line(path: Path) -> bytes:
    """The first line of a file, with its newline if it has one. Damaged, if it is not a regular file."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe does not wait
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Damaged(f"{path} is not a regular file; put the ledger back there, or run `tallystick check`")
        with open(fd, "rb", closefd=False) as file:
            return file.readline(fmt.MAX_LINE + 1)
    finally:
        os.close(fd)


def first_of(path: Path) -> fmt.Line:
    """The first event of a segment. Raises Damaged."""
    return _checked(first_line(path), path, 0)


def is_ours(line: bytes) -> bool:
    """True if a line is of our format, damaged or not: a flipped bit hides one key of four."""
    return any(key in line for key in _OUR_KEYS)


def missing(folder: Folder, start: int, first: int) -> Missing:
    """The error for events `start` to `first - 1`, which are needed and not here."""
    return Missing(
        f"events {start} to {first - 1} are not in {folder.sealed}: they were moved away;"
        f" put their files back there (to see where they are, run tallystick log --op ledger.prune)"
    )


def file_lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file between two offsets, each with its own offset."""
    with open(path, "rb") as file:
        yield from raw_lines(file.fileno(), start, os.fstat(file.fileno()).st_size if end is None else end)


def raw_lines(fd: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines between two offsets, each with its own offset. The first few cost little."""
    pieces, at, reach = list[bytes](), start, 1 << 14  # of a line whose end is not read yet, and where it begins
    while start < end and (block := os.pread(fd, min(reach, end - start), start)):
        start, reach = start + len(block), min(2 * reach, _BLOCK)
        position = 0
        while (cut := block.find(b"\n", position)) >= 0:
            line = block[position : cut + 1]
            if pieces:
                line, pieces = b"".join([*pieces, line]), []
            yield at, line
            at, position = at + len(line), cut + 1
        if position < len(block):
            pieces.append(block[position:])


def last_line(fd: int, end: int) -> bytes:
    """The line that ends at offset `end`, with its newline; empty if there is none."""
    reach = 1 << 12
    while end:
        block = os.pread(fd, min(reach, end), max(0, end - reach))
        cut = block.rfind(b"\n", 0, len(block) - 1)
        if cut >= 0 or reach >= end:
            return block[cut + 1 :]
        reach *= 4
    return b""


def offset_of(fd: int, size: int, seq: int) -> int:
    """The offset at which the line of event `seq` begins, or would begin.

    Lines are about as long as each other, so the first guess is close; a bad one is followed by halving.
    """
    low, high, first, last = 0, size, _seq_in(os.pread(fd, 32, 0)), _seq_in(last_line(fd, size))
    wanted, is_guess = b'\n{"seq":%d,' % seq, True
    while high - low > _NEAR and first is not None and last is not None and first < seq <= last:
        share = (seq - first) / (last - first + 1) if is_guess else 0.5
        middle = max(low, min(low + int((high - low) * share), high) - _NEAR // 2)
        block = os.pread(fd, min(_NEAR, high - middle), middle)
        if (cut := block.find(wanted)) >= 0:
            return middle + cut + 1
        cut = block.find(_BEGINS)
        found = _seq_in(block[cut + 1 : cut + 33]) if cut >= 0 else None
        if found is not None and found < seq:
            low, first = middle + cut + 1, found
        elif found is not None:
            high, last = middle + cut + 1, found
        elif not is_guess:  # one long line
            break
        is_guess = not is_guess
    for at, raw in raw_lines(fd, low, size):
        if (found := _seq_in(raw)) is None or found >= seq:
            return at
    return size


def _seq_in(raw: bytes) -> int | None:
    found = _SEQ.match(raw)
    return int(found[1]) if found else None


class Chain:
    """The segments of one folder, from the oldest that is here to the live one up to `end`."""

    def __init__(self, folder: Folder, end: int | None = None) -> None:
        self.folder, self._end = folder, end
        live = []
        if end != 0:  # the live one first: if it is sealed meanwhile, it is found below
            with suppress(FileNotFoundError):
                live = [Segment(folder.wal, first_of(folder.wal).seq, None)]
        self.segments = [each for each in folder.sealed_segments() if not live or each.first < live[0].first] + live

    @property
    def first(self) -> int:
        """The first event that is still here."""
        return self.segments[0].first if self.segments else 0

    def lines(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[fmt.Line]:  # fmt: skip
        """The lines of events `start` … `stop - 1`. Raises Missing if they are not all here, Damaged if one is bad.

        With `having`, only lines with all of these bytes; with `naming`, only lines with one of these. Others are not
        checked.
        """
        for path, offset, raw in self.raw(start, stop):
            if any(part not in raw for part in having) or (naming and not any(part in raw for part in naming)):
                continue
            line = _checked(raw, path, offset)
            if stop is not None and line.seq >= stop:
                return
            yield line

    def slices(self, start: int, stop: int) -> Iterator[bytes]:
        """The hashed slice of each of these events. Nothing is checked: the caller compares the tree's root."""
        return (raw.partition(b',"hash":"')[0] for _, _, raw in self.raw(start, stop))

    def raw(self, start: int, stop: int | None = None) -> Iterator[tuple[Path, int, bytes]]:
        """The bytes of these lines, each with its file and offset; nothing is checked. Raises Missing."""
        for segment in self.segments:
            if segment.last is not None and segment.last < start:
                continue
            if stop is not None and segment.first >= stop:
                return
            if segment.first > start:
                raise missing(self.folder, start, segment.first)
            for path, offset, raw in self._raw_of(segment, start):
                if stop is not None and start >= stop:
                    return
                yield path, offset, raw
                if found := _SEQ.match(raw):
                    start = int(found[1]) + 1

    def _raw_of(self, segment: Segment, start: int) -> Iterator[tuple[Path, int, bytes]]:
        path, fd = self._open(segment)
        try:
            size = os.fstat(fd).st_size
            end = size if segment.last is not None or self._end is None else min(size, self._end)
            at = offset_of(fd, end, start) if start > segment.first else 0
            for offset, raw in raw_lines(fd, at, end):
                yield path, offset, raw
        finally:
            os.close(fd)

    def _open(self, segment: Segment) -> tuple[Path, int]:
        """Open the file that begins with the segment's first event, also if a compaction has moved it meanwhile."""
        for path in self._places_of(segment):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            found = _SEQ.match(os.pread(fd, 32, 0))
            if segment.last is not None or (found and int(found[1]) == segment.first):
                return path, fd
            os.close(fd)
        raise missing(self.folder, segment.first, (segment.last or segment.first) + 1)

    def _places_of(self, segment: Segment) -> Iterator[Path]:
        yield segment.path
        yield from (each.path for each in self.folder.sealed_segments() if each.first == segment.first)  # listed now

    def line(self, seq: int) -> fmt.Line:
        for found in self.lines(seq, seq + 1):
            return found
        raise NotFound(f"no event {seq}")

    def recorded(self, seqs: Iterable[int], heads: Collection[str]) -> dict[int, fmt.Line]:
        """The lines of these events that the next line follows; the last is one of `heads`. Raises Damaged."""
        wanted, found = sorted(set(seqs)), dict[int, fmt.Line]()
        for segment, after in zip_longest(self.segments, self.segments[1:]):
            last = wanted[-1] if segment.last is None and wanted else segment.last or -1
            if mine := [seq for seq in wanted if segment.first <= seq <= last]:
                path, fd = self._open(segment)
                try:
                    end = os.fstat(fd).st_size
                    for seq in mine:
                        lines = raw_lines(fd, offset_of(fd, end, seq), end)
                        (at, raw), (_, follower) = next(lines, _NOTHING), next(lines, _NOTHING)
                        if not raw:
                            continue
                        line = _checked(raw, path, at)
                        if not follower and after is not None:
                            follower = self._first_of(after)
                        if line.seq == seq and (follower or line.hash in heads):
                            _must_follow(follower, line, path)
                            found[seq] = line
                finally:
                    os.close(fd)
        return found

    def _first_of(self, segment: Segment) -> bytes:
        """The first line of a segment, wherever it is by now."""
        _, fd = self._open(segment)
        try:
            return next(raw_lines(fd, 0, os.fstat(fd).st_size), _NOTHING)[1]
        finally:
            os.close(fd)

    def dates(self) -> Callable[[int], str]:
        return cache(lambda seq: self.line(seq).ts)

    def hash_at(self, seq: int) -> str | None:
        """The hash of event `seq`; None if it is not in the chain, or in a segment that was moved away."""
        for segment in self.segments:
            if segment.first == seq + 1:
                return first_of(segment.path).prev
        try:
            return self.line(seq).hash
        except (NotFound, Missing):
            return None


def _must_follow(raw: bytes, line: fmt.Line, path: Path) -> None:
    """Raise Damaged, if there is a next line, and it is not one that follows this line."""
    prev = b',"prev":"%b"' % line.hash.encode()
    if raw and prev not in raw[: raw.find(b',"data":')]:
        raise Damaged(f"{path.name}: the line after event {line.seq} does not follow it; run `tallystick check`")


def _checked(raw: bytes, path: Path, offset: int) -> fmt.Line:
    try:
        return fmt.parse(raw)
    except fmt.BadLine as bad:
        raise Damaged(f"{path.name}, byte {offset}: {bad}; run `tallystick check`") from None
