"""What is this file: clean, torn, rolled back or damaged?

The order matters and is the order of the questions below.

1. A witness names an event that is not there, or has another hash there: **rolled back**. Refuse to write.
2. Every line is good and the last group is whole: **clean**.
3. Nothing a witness vouches for is wrong, no readable line after the first bad one belongs to a later sync, and what
   is left over is what a crash can leave (a proper prefix of a line, a 512-byte cell of zeros, the beginning of a
   group): **torn**. It was never acknowledged to anyone. The bytes are kept, the file is cut back.
4. Anything else: **damaged**. Nothing repairs it silently.

A flipped bit never looks torn: it leaves a whole line with a wrong hash, or an end that is no prefix of any line.
"""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.chain import raw_lines
from tallystick.ledger.lock import Witness
from tallystick.ledger.scan import Bad, Place, Scan

CELL = 512

class Verdict(NamedTuple):
    """What was found at the end of a ledger, and how far it is good."""

    kind: Literal["clean", "torn", "rolled back", "damaged"]
    end: Place
    why: str = ""
    bad: Bad | None = None


def judge(fd: int, size: int, found: Scan, bad: Bad | None, witness: Witness | None) -> Verdict:
    """The verdict on a living stretch that was scanned to `size`, as far as its own witness can tell.

    Whether a witness agrees with the chain on the events that are there is asked apart (`contradicts`).
    """
    end = bad.before if bad else found.end
    if witness and end.seq < witness.seq:
        if bad and bad.offset < witness.length <= size:
            return _damaged(end, bad)
        why = f"it ends at event {end.seq}, and {witness.name} has seen event {witness.seq}"
        return Verdict("rolled back", end, why, bad)
    if end.offset == 0:  # a stretch gets its name with its first line whole in it: no crash can have cut that one
        return _damaged(end, bad or Bad(0, end.seq + 1, "there is nothing in it", end))
    if bad is None:
        return Verdict("torn", end, "the last group is not whole") if found.open_group else Verdict("clean", end)
    if witness and bad.offset < witness.length:
        return _damaged(end, bad)
    if _synced_later(fd, bad, size) or not _crash_can_leave(fd, bad, size):
        return _damaged(end, bad)
    return Verdict("torn", end, f"the last write was not finished ({bad.why})", bad)


def _damaged(end: Place, bad: Bad) -> Verdict:
    return Verdict("damaged", end, f"event {bad.seq} at byte {bad.offset}: {bad.why}", bad)


def _synced_later(fd: int, bad: Bad, size: int) -> bool:
    """Whether a readable line further on belongs to a later sync: then the bad one had been acknowledged."""
    for _, raw in raw_lines(fd, bad.offset, size):
        try:
            if fmt.parse(raw).batch > bad.seq:
                return True
        except fmt.BadLine:
            continue
    return False


def _crash_can_leave(fd: int, bad: Bad, size: int) -> bool:
    return _has_empty_cell(fd, bad.offset, size) or is_prefix_of_line(_tail(fd, bad.offset, size))


def _tail(fd: int, start: int, size: int) -> bytes:
    return os.pread(fd, min(size - start, fmt.MAX_LINE + 1), start)


def _has_empty_cell(fd: int, start: int, size: int) -> bool:
    """Whether some 512-byte cell of the file, as far as it lies in [start, size), is all zeros."""
    at = start
    while at < size:
        stop = min(size, (at // CELL + 1) * CELL)
        if not os.pread(fd, stop - at, at).strip(b"\0"):
            return True
        at = stop
    return False


def is_prefix_of_line(rest: bytes) -> bool:
    """Whether `rest` is a line that was cut short: its newline, at least, is missing."""
    if b"\n" in rest or len(rest) >= fmt.MAX_LINE:
        return False
    header = fmt.HEADER.match(rest)
    if header is None:
        return _is_cut_header(rest)
    return _is_cut_object(rest[header.end() :])


def _is_cut_object(rest: bytes) -> bool:
    """Whether `rest` is the beginning of one JSON object and the closing brace of its line."""
    depth, quoted, escaped = 0, False, False
    for at, byte in enumerate(rest):
        if byte < 0x20:
            return False
        if quoted:
            quoted, escaped = (byte != 0x22 or escaped), (byte == 0x5C and not escaped)
        elif byte == 0x22:
            quoted = True
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
        if depth == 0 and not quoted:
            return byte in b"}" and rest[at + 1 :] in (b"", b"}")
    return True


def _is_cut_header(rest: bytes) -> bool:
    """Whether `rest` is a beginning of a header, cut anywhere."""
    at = 0
    for literal, field in _HEADER_PARTS:
        if at + len(literal) >= len(rest):
            return literal.startswith(rest[at:])
        if not rest.startswith(literal, at):
            return False
        found = field.match(rest, at + len(literal))
        if found is None:
            return False
        at = found.end()
    return at == len(rest)


_NUMBER, _HEX = re.compile(rb"\d{1,16}"), re.compile(rb"[0-9a-f]{1,64}")
_HEADER_PARTS = (
    (b'{"seq":', _NUMBER),
    (b',"ts":"', re.compile(rb"[-0-9T:.Z]{1,27}")),
    (b'","op":"', re.compile(rb"[a-z./0-9]{1,64}")),
    (b'","id":"', re.compile(rb"[0-9A-Z]{1,26}")),
    (b'","by":"', re.compile(rb"[a-z:0-9]{1,64}")),
    (b'","batch":', _NUMBER),
    (b',"left":', _NUMBER),
    (b',"digest":"', _HEX),
    (b'","prev":"', _HEX),
    (b'","hash":"', _HEX),
    (b'","data":', re.compile(rb"")),
)
