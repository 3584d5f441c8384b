"""Reading a stretch of the chain from start to end, checking every byte of it on the way.

A scan stops at the first line that is not laid out right, does not carry its own hash, or does not follow the line
above. A line whose *data* fails its digest is set down as hollow and the scan goes on: it is sound if an erase event,
possibly much later, names it, and damage otherwise (`settle` tells). Groups are whole or absent: `end` is the place
after the last line with `left:0`.

This is the hot loop of opening and of verifying. So a *glance* (see glance.py) takes a block of lines at once, and
either finds every one of them plainly good or has no opinion. Then a *look* goes line by line, and it alone ever calls
something wrong. Neither parses any JSON but that of the rare events that the ledger writes about itself.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from tallystick.ledger import block_scan as glance, format as fmt
from tallystick.records.progress import Progress

BLOCK = 1 << 16  # what a glance takes in: small enough to stay in the processor's cache

# Events that name lines whose data is gone: erased here, erased from a copy that was restored, or lost to damage.
NAMING = frozenset({fmt.ERASE.encode(), fmt.RESTORE.encode(), fmt.REPAIR.encode()})
# Events that record the digest of a snapshot.
_SNAPPING = frozenset({fmt.SNAPSHOT.encode(), fmt.SEAL.encode()})
# Events that are handed on as they are, for whoever judges the whole ledger.
_NOTABLE = frozenset(
    op.encode() for op in (fmt.BEGIN, fmt.SEAL, fmt.PRUNE, fmt.ERASE, fmt.ERASED, fmt.RESTORE, fmt.REPAIR)
)
_TELLING = NAMING | _SNAPPING | _NOTABLE

_MANY = 1 << 10  # the tree takes in that many leaves at once, aligned, for half of what they cost one by one

_NO_FIT = "its data does not fit its digest"
_TOO_LONG = f"it is longer than {fmt.MAX_LINE:,} bytes"
GARBLED = "its data is neither what was written nor what erasure leaves"



class Leaves(Protocol):
    """Whoever wants leaves of the Merkle tree: those of the events `end` to `until - 1`, in order, as they come."""

    @property
    def end(self) -> int: ...
    @property
    def until(self) -> int: ...
    def extend(self, leaves: Sequence[bytes], /) -> None: ...


class LedgerNote(NamedTuple):
    """Something that the ledger says about itself."""

    seq: int
    op: str
    body: dict[str, Any]


class Place(NamedTuple):
    """The end of the last whole group before some point."""

    offset: int
    seq: int
    hash: str
    ts: str = ""


class Bad(NamedTuple):
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
    garbled: set[str] = field(default_factory=set)  # those of the hollow lines that do not look as erasure leaves them
    named: set[str] = field(default_factory=set)  # line hashes that erase events name
    told: list[LedgerNote] = field(default_factory=list)  # what the ledger says of itself here
    snapshot: str = ""  # the digest of the newest snapshot recorded here

    def settle(self, named: Iterable[str] = ()) -> Bad | None:
        """The first bad thing, counting hollow lines that neither this scan nor `named` explains.

        A line whose erasure was finished within this scan must look erased: changed bytes in it are damage too.
        """
        return settle(self, self.named.union(named), self.garbled & finished_erasures(self.told))


def settle(found: Scan, named: Collection[str], must_be_empty: Collection[str]) -> Bad | None:
    """The first bad thing in `found`, given the lines that may be hollow, and those that must look it."""
    wrong = [bad for hashed, bad in found.hollow.items() if hashed not in named]
    for hashed in found.garbled.intersection(must_be_empty):
        bad = found.hollow[hashed]
        wrong.append(Bad(bad.offset, bad.seq, GARBLED, bad.before))
    if found.bad:
        wrong.append(found.bad)
    return min(wrong, key=lambda bad: bad.offset, default=None)


def finished_erasures(told: Iterable[LedgerNote]) -> set[str]:
    """The lines that hold nothing any more, because their erasure is recorded as done or came with a restore."""
    told = list(told)
    done = {str(body.get("of")) for _, op, body in told if op == fmt.ERASED}
    over = [body for seq, op, body in told if op == fmt.RESTORE or (op == fmt.ERASE and str(seq) in done)]
    return {line for body in over for line in names(body)}


def blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        yield block
        start += len(block)


def scan(fd: int, start: Place, end: int, *, leaves: Leaves | None = None, on_progress: Progress | None = None) -> Scan:
    """Check the lines from `start` up to the offset `end`, and give their leaves to `leaves`.

    `start.seq` and `start.hash` are those of the line before. A group that `end` cuts is not an error here.
    """
    return Walk(start, leaves).through(fd, end, on_progress)


class Walk:
    """The running state of one scan: what the next line has to follow."""

    def __init__(self, start: Place, leaves: Leaves | None = None) -> None:
        self.found, self.leaves = Scan(start), leaves
        self.offset, self.seq, self.hash = start.offset, start.seq, start.hash.encode()
        self.left, self.batch = b"0", b""  # of the line above; no batch: not known
        self._waiting, self._ripe = list[bytes](), 0  # leaves, and how many of them belong to whole groups

    def through(self, fd: int, end: int, on_progress: Progress | None = None) -> Scan:
        """Check everything up to the offset `end`."""
        self._go(fd, end, on_progress)
        if self.leaves is not None:
            self._give(self._ripe)
        self.found.open_group = self.found.bad is None and self.offset > self.found.end.offset
        return self.found

    def _go(self, fd: int, end: int, on_progress: Progress | None) -> None:
        found, rest = self.found, b""
        for block in blocks(fd, self.offset, end):
            buffer = rest + block if rest else block
            cut = buffer.rfind(b"\n") + 1
            rest = buffer[cut:]
            if cut:
                self._take(memoryview(buffer)[:cut])
            if found.bad:
                return
            if on_progress:
                on_progress(len(block))
            if len(rest) > fmt.MAX_LINE:
                break
        if rest:
            self._refuse(rest)

    def _take(self, lines: memoryview) -> None:
        if len(lines) > fmt.MAX_LINE or not self._glance(lines):
            self._look(bytes(lines))

    def _refuse(self, raw: bytes) -> None:
        """Stop at something that is no line at all."""
        self._stop(_TOO_LONG if len(raw) > fmt.MAX_LINE else fmt.why_not(raw))

    def _stop(self, why: str) -> None:
        self.found.bad = Bad(self.offset, self.seq + 1, why, self.found.end)

    # -- all lines at once -------------------------------------------------------------------------------------------

    def _glance(self, lines: memoryview) -> bool:
        """Take in all lines if every one of them is plainly good; False, and nothing changed, if one needs a look."""
        seen = glance.columns(lines)
        if seen is None or not glance.is_plain(seen, self.seq, self.hash, self.left, self.batch):
            return False
        try:
            told = [*self._telling(seen)]
        except fmt.BadLine:
            return False
        for seq, op, body in told:
            self._tell(seq, op, body)
        if self.leaves is not None:
            self._grow(seen.heads, seen.lefts)
        self._close(seen, len(lines))
        self._step(len(lines), len(seen.heads), seen.hashes[-1], seen.lefts[-1], seen.sinces[-1])
        return True

    def _telling(self, seen: glance.Columns) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        if not _TELLING.isdisjoint(glance.kinds(seen.ops)):
            for seq, (op, data) in enumerate(zip(seen.ops, seen.datas, strict=True), self.seq + 1):
                if op in _TELLING:
                    yield seq, op, fmt.body_of(data)

    def _close(self, seen: glance.Columns, length: int) -> None:
        """Set down where the last whole group ends."""
        if b"0" not in seen.lefts:
            return
        last = len(seen.lefts) - 1 - seen.lefts[::-1].index(b"0")
        behind = glance.length(seen, last + 1)
        seq, hashed, ts = self.seq + 1 + last, seen.hashes[last].decode(), seen.stamps[last].decode()
        self.found.end = Place(self.offset + length - behind, seq, hashed, ts)

    def _grow(self, heads: Sequence[bytes], lefts: Sequence[bytes]) -> None:
        """Keep the leaves of these lines, and give on many of those that belong to whole groups."""
        assert self.leaves is not None
        skip = max(0, self.leaves.end + len(self._waiting) - self.seq - 1)
        stop = max(0, min(len(heads), self.leaves.until - self.seq - 1))
        self._waiting += [sha256(b"\0" + head).digest() for head in heads[skip:stop]]
        loose = next((count for count, left in enumerate(reversed(lefts)) if left == b"0"), None)
        if loose is not None:
            self._ripe = len(self._waiting) - max(0, loose - (len(heads) - stop))
        if self._ripe >= _MANY:
            self._give(self._ripe - (self.leaves.end + self._ripe) % _MANY)

    def _give(self, count: int) -> None:
        assert self.leaves is not None
        self.leaves.extend(self._waiting[:count])
        self._waiting, self._ripe = self._waiting[count:], self._ripe - count

    # -- line by line ------------------------------------------------------------------------------------------------

    def _look(self, lines: bytes) -> None:
        """Check the lines one by one, as far as they are good."""
        position = 0
        while position < len(lines) and not self.found.bad:
            cut = lines.index(b"\n", position) + 1
            self._look_at(lines[position:cut])
            position = cut

    def _look_at(self, raw: bytes) -> None:
        line = fmt.LINE.fullmatch(raw)
        if line is None or len(raw) > fmt.MAX_LINE:
            return self._refuse(raw)
        number, ts, op, _, _, since, left, digest, prev, hashed, data = line.groups()
        head = raw[: line.start(fmt.HASH_GROUP) - fmt.BEFORE_HASH]
        if why := self._why_not(head, int(number), since, left, prev, hashed):
            return self._stop(why)
        if sha256(data).hexdigest().encode() != digest:
            self._hollow(hashed.decode(), data)
        elif op in _TELLING:
            try:
                self._tell(self.seq + 1, op, fmt.body_of(data))
            except fmt.BadLine as bad:
                return self._stop(str(bad))
        if self.leaves is not None:
            self._grow((head,), (left,))
        if left == b"0":
            self.found.end = Place(self.offset + len(raw), self.seq + 1, hashed.decode(), ts.decode())
        return self._step(len(raw), 1, hashed, left, since)

    def _why_not(self, head: bytes, number: int, since: bytes, left: bytes, prev: bytes, hashed: bytes) -> str:
        """Why a line that is laid out right cannot stand here."""
        if number != self.seq + 1:
            return f"it is event {number} where event {self.seq + 1} should stand"
        if prev != self.hash:
            return "it does not follow the line above"
        if sha256(head).hexdigest().encode() != hashed:
            return "its hash does not fit its header"
        if self.left != b"0" and int(left) != int(self.left) - 1:
            return "it belongs to another group than the line above"
        if since != self.batch and int(since) != number and (self.batch or int(since) > number):
            return "its batch is neither the one above nor a new one"
        return ""

    def _hollow(self, hashed: str, data: bytes) -> None:
        self.found.hollow[hashed] = Bad(self.offset, self.seq + 1, _NO_FIT, self.found.end)
        if not fmt.is_hollow(data):
            self.found.garbled.add(hashed)

    # -- what both set down ------------------------------------------------------------------------------------------

    def _step(self, length: int, lines: int, hashed: bytes, left: bytes, batch: bytes) -> None:
        self.offset, self.seq, self.found.lines = self.offset + length, self.seq + lines, self.found.lines + lines
        self.hash, self.left, self.batch = hashed, left, batch

    def _tell(self, seq: int, op: bytes, body: dict[str, Any]) -> None:
        if op in NAMING:
            self.found.named.update(names(body))
        if op in _SNAPPING:
            self.found.snapshot = str(body.get("snapshot", ""))
        if op in _NOTABLE:
            self.found.told.append(LedgerNote(seq, op.decode(), body))


def names(body: dict[str, Any]) -> Iterable[str]:
    """The lines that an event names."""
    lines = body.get("lines")
    return map(str, lines) if isinstance(lines, list) else ()
