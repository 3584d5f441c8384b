"""Reading a stretch of the chain from start to end, checking every byte of it on the way.

A scan stops at the first line that is not laid out right, does not carry its own hash, or does not follow the line
above. A line whose *data* fails its digest is set down as hollow and the scan goes on: it is sound if an erase event,
possibly much later, names it, and damage otherwise (`settle` tells). Groups are whole or absent: `end` is the place
after the last line with `left:0`.

This is the hot loop of opening and of verifying; it parses no JSON but that of the rare events that name erased lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from keepsake.ledger import format as fmt
from keepsake.ledger.merkle import Range

BLOCK = 1 << 22

# Events that name lines whose data is gone: erased here, erased from a copy that was restored, or lost to damage.
_NAMING = frozenset({fmt.ERASE.encode(), fmt.RESTORE.encode(), fmt.REPAIR.encode()})
# Events that record the digest of a snapshot.
_SNAPPING = frozenset({fmt.SNAPSHOT.encode(), fmt.SEAL.encode()})
_TELLING = _NAMING | _SNAPPING

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """The end of the last whole group before some point."""

    offset: int
    seq: int
    hash: str
    ts: str = ""


@dataclass(frozen=True, slots=True)
class Bad:
    """The first thing that is wrong."""

    offset: int
    seq: int  # of the line that should stand there
    why: str
    before: Place


@dataclass(slots=True)
class Scan:
    """What was found between two offsets of a file."""

    end: Place
    lines: int = 0
    bad: Bad | None = None
    open_group: bool = False  # whole, linked lines follow `end`, of a group that is not finished
    hollow: dict[str, Bad] = field(default_factory=dict)  # by line hash
    named: set[str] = field(default_factory=set)  # line hashes that erase events name
    snapshot: str = ""  # the digest of the newest snapshot recorded here

    def settle(self, named: Iterable[str] = ()) -> Bad | None:
        """The first bad thing, counting hollow lines that neither this scan nor `named` explains."""
        known = self.named.union(named)
        loose = [bad for hashed, bad in self.hollow.items() if hashed not in known]
        wrong = loose + ([self.bad] if self.bad else [])
        return min(wrong, key=lambda bad: bad.offset, default=None)


def blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        yield block
        start += len(block)


def scan(fd: int, start: Place, end: int, *, tree: Range | None = None, progress: Progress | None = None) -> Scan:
    """Check the lines from `start` up to the offset `end`, and add their leaves to `tree`.

    `start.seq` and `start.hash` are those of the line before. A group that `end` cuts is not an error here.
    """
    found = Scan(start)
    state = _Walk(found, start, tree)
    rest = b""
    for block in blocks(fd, start.offset, end):
        buffer = rest + block if rest else block
        done = state.walk(buffer)
        if found.bad:
            return found
        rest = buffer[done:]
        if progress:
            progress(done)
        if len(rest) > fmt.MAX_LINE:
            break
    if rest:
        state.stop(fmt.why_not(rest))
    found.open_group = state.offset > found.end.offset
    return found


class _Walk:
    """The running state of one scan."""

    def __init__(self, found: Scan, start: Place, tree: Range | None) -> None:
        self.found, self.tree = found, tree
        self.offset, self.seq, self.hash = start.offset, start.seq, start.hash.encode()
        self.left, self.batch = b"0", b""

    def stop(self, why: str) -> None:
        self.found.bad = Bad(self.offset, self.seq + 1, why, self.found.end)

    def walk(self, buffer: bytes) -> int:
        """Check the whole lines in `buffer`; return how many bytes they were. Long, because a call per line costs."""
        found, match, seq, above, group, batch = self.found, fmt.LINE.match, self.seq, self.hash, self.left, self.batch
        position, base, first = 0, self.offset, self.seq
        leaves: list[bytes] | None = None if self.tree is None else []
        whole = None  # the last line with left:0
        why = ""
        while line := match(buffer, position):
            number, ts, op, _, _, since, left, digest, prev, hashed, data = line.groups()
            head = buffer[position : line.start(fmt.HASH_GROUP) - fmt.BEFORE_HASH]
            if prev != above or int(number) != seq + 1:
                why = _not_next(int(number), seq + 1)
            elif sha256(head).hexdigest().encode() != hashed:
                why = "its hash does not fit its header"
            elif group != b"0" and int(left) != int(group) - 1:
                why = "it belongs to another group than the line above"
            elif since != batch and batch and int(since) != seq + 1:
                why = "its batch is neither the one above nor a new one"
            elif line.end() - position > fmt.MAX_LINE:
                why = fmt.why_not(buffer[position : line.end()])
            if why:
                break
            if sha256(data).hexdigest().encode() != digest:
                self._close(whole)
                found.hollow[hashed.decode()] = Bad(base + position, seq + 1, "its data does not fit its digest", found.end)
            elif op in _TELLING:
                self._tell(op, data)
            if leaves is not None:
                leaves.append(sha256(b"\0" + head).digest())
            position, seq, above, group, batch = line.end(), seq + 1, hashed, left, since
            if left == b"0":
                whole = (base + position, seq, hashed, ts, since)
        self._close(whole)
        self.offset, self.seq, self.hash, self.left, self.batch = base + position, seq, above, group, batch
        found.lines += seq - first
        if leaves and self.tree is not None:
            self.tree.extend(leaves)
        if not why and (cut := buffer.find(b"\n", position)) >= 0:
            why = fmt.why_not(buffer[position : cut + 1])
        if why:
            self.stop(why)
        return position

    def _close(self, whole: tuple[int, int, bytes, bytes, bytes] | None) -> None:
        if whole:
            offset, seq, hashed, ts, _ = whole
            self.found.end = Place(offset, seq, hashed.decode(), ts.decode())

    def _tell(self, op: bytes, data: bytes) -> None:
        body = fmt.body_of(data)
        if op in _NAMING:
            self.found.named.update(str(name) for name in body.get("lines", ()))
        if op in _SNAPPING:
            self.found.snapshot = str(body.get("snapshot", ""))


def _not_next(seq: int, expected: int) -> str:
    if seq != expected:
        return f"it is event {seq} where event {expected} should stand"
    return "it does not follow the line above"
