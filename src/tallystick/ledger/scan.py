"""Checking the lines of a chain from start to end, every byte of them, wherever they are kept.

A scan stops at the first line that is malformed, does not match its own hash, or does not follow the line above. A
line whose *data* does not match its digest is listed as hollow and the scan goes on: it is valid if an erase event,
possibly much later, names it, and damage otherwise (`Scan.first_bad`). Groups are whole or absent: `end` is the place
after the last line with `left:0`.

This is the hot loop of opening and of verifying, so lines are checked a block at a time, at a third of the cost. That
check finds every line of the block good, or has no opinion. Then the lines are checked one by one, and only that check
ever calls a line bad. Neither parses any JSON but that of the rare events that the ledger writes about itself.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.merkle import Range
from tallystick.records.progress import Progress

# Events that name lines whose data is gone: erased here, erased from a copy that was restored, or lost to damage.
NAMING = frozenset({fmt.ERASE.encode(), fmt.RESTORE.encode(), fmt.REPAIR.encode()})
# Events that a scan returns as notes, for whoever judges the whole ledger.
_NOTABLE = NAMING | {op.encode() for op in (fmt.BEGIN, fmt.SEAL, fmt.PRUNE, fmt.STATE, fmt.SNAPSHOT, fmt.ERASED)}

_MANY = 1 << 10  # the tree takes that many aligned leaves at once, for half of what they cost one by one

GARBLED = "its data is neither what was written nor what erasure leaves"


class LedgerNote(NamedTuple):
    """An event that the ledger wrote about itself."""

    seq: int
    op: str
    body: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """The lines that the event names as erased or lost."""
        return names(self.body)

    @property
    def left_behind(self) -> list[dict[str, Any]]:
        """The heads that a restore or a repair left behind."""
        heads = (self.body.get("abandoned"), *self.body.get("earlier", ()))
        return [head for head in heads if isinstance(head, dict)]


class Place(NamedTuple):
    """The end of the last whole group before some point."""

    offset: int
    seq: int
    hash: str
    ts: str = ""

    @classmethod
    def before(cls, line: fmt.Line) -> Place:
        """The place that the first line of a file follows."""
        return cls(0, line.seq - 1, line.prev)


START = Place(0, -1, fmt.ZERO)


class Bad(NamedTuple):
    """The first thing that is wrong."""

    offset: int
    seq: int  # of the event that belongs there
    why: str
    before: Place


@dataclass(slots=True)
class Scan:
    """The result of reading a file between two offsets."""

    end: Place
    lines: int = 0
    bad: Bad | None = None
    open_group: bool = False  # whole, linked lines follow `end`, of a group that is not finished
    hollow: dict[str, Bad] = field(default_factory=dict)  # by line hash
    garbled: set[str] = field(default_factory=set)  # hollow lines that do not look as erasure leaves them
    named: set[str] = field(default_factory=set)  # hashes of the lines that erase events name
    notes: list[LedgerNote] = field(default_factory=list)

    def first_bad(self, named: Iterable[str] = (), erased: Collection[str] | None = None) -> Bad | None:
        """The first bad line, counting hollow lines that neither this scan nor `named` explains.

        Lines whose erasure was finished (within this scan, or as `erased` says) must look erased: other bytes in them
        are damage too.
        """
        named = self.named.union(named)
        wrong = [bad for hashed, bad in self.hollow.items() if hashed not in named]
        for hashed in self.garbled.intersection(finished_erasures(self.notes) if erased is None else erased):
            wrong.append(self.hollow[hashed]._replace(why=GARBLED))
        if self.bad:
            wrong.append(self.bad)
        return min(wrong, key=lambda bad: bad.offset, default=None)


def finished_erasures(notes: Iterable[LedgerNote]) -> set[str]:
    """The lines whose erasure is recorded as done or came with a restore."""
    notes = list(notes)
    done = {str(note.body.get("of")) for note in notes if note.op == fmt.ERASED}
    over = [note for note in notes if note.op == fmt.RESTORE or (note.op == fmt.ERASE and str(note.seq) in done)]
    return {line for note in over for line in note.lines}


def names(body: dict[str, Any]) -> list[str]:
    """The lines that the body of an event names."""
    lines = body.get("lines")
    return [str(line) for line in lines] if isinstance(lines, list) else []


_MOST = 1 << 63


class Roots:
    """The Merkle tree as far as needed, and its roots at the sizes in `wanted`.

    `base` is the tree of the events before, if they were not read.
    """

    def __init__(self, begin: int, wanted: Iterable[int], *, all: bool = False, base: Range | None = None) -> None:
        self.range, self.all = base.copy() if base else Range(begin), all
        self.wanted = sorted(size for size in set(wanted) if size > self.range.end)
        self.until = _MOST if all else max(self.wanted, default=0)
        self.marks: dict[int, Range] = {}

    @property
    def any(self) -> bool:
        return self.all or bool(self.wanted)

    @property
    def end(self) -> int:
        return self.range.end

    def behind(self, begin: int) -> Roots:
        """The same for events from `begin` on, to be merged into this one later."""
        return Roots(max(begin, self.range.end), self.wanted, all=self.all)

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
        """Add the result of the next part."""
        for size, part in other.marks.items():
            whole = self.range.copy()
            whole.merge(part)
            self.marks[size] = whole
        if other.range.begin == self.range.end:
            self.range.merge(other.range)

    def at(self, size: int) -> bytes | None:
        """The root of the first `size` events, if that was wanted and is known."""
        mark = self.marks.get(size)
        return mark.root() if mark and mark.begin == 0 else None

    def at_end(self, size: int) -> bytes | None:
        """The root of the first `size` events, if the tree ends there."""
        return self.range.root() if self.any and self.range.begin == 0 and self.range.end == size else None


class Walk:
    """The running state of one scan: what the next line has to follow."""

    def __init__(self, start: Place, leaves: Roots | None = None) -> None:
        """The Merkle leaves of the events `leaves.end` to `leaves.until - 1` go to `leaves`, in order."""
        self.found, self.leaves = Scan(start), leaves
        self.offset, self.seq, self.hash = start.offset, start.seq, start.hash.encode()
        self.left, self.batch = b"0", b""  # of the line above; no batch: unknown
        self._waiting, self._ripe = list[bytes](), 0  # leaves, and how many of them belong to whole groups

    def through(self, blocks: Iterable[bytes], on_progress: Progress | None = None) -> Scan:
        """Check everything in these blocks of bytes, which may end anywhere in a line."""
        self._read(blocks, on_progress)
        if self.leaves is not None:
            self._give(self._ripe)
        self.found.open_group = self.found.bad is None and self.offset > self.found.end.offset
        return self.found

    def _read(self, blocks: Iterable[bytes], on_progress: Progress | None) -> None:
        rest = b""
        for block in blocks:
            buffer = rest + block if rest else block
            cut = buffer.rfind(b"\n") + 1
            rest = buffer[cut:]
            if cut and (cut > fmt.MAX_LINE or not self._take_block(memoryview(buffer)[:cut])):
                self._take_lines(buffer[:cut])
            if self.found.bad:
                return
            if on_progress:
                on_progress(len(block))
            if len(rest) > fmt.MAX_LINE:
                break
        if rest:
            self._stop(fmt.why_not(rest))

    def _stop(self, why: str) -> None:
        self.found.bad = Bad(self.offset, self.seq + 1, why, self.found.end)

    # -- all lines at once -------------------------------------------------------------------------------------------

    def _take_block(self, lines: memoryview) -> bool:
        """Take all lines if every one is plainly good; False, and nothing changed, if one needs a closer look."""
        block = _columns(lines)
        if block is None or not _is_plain(block, self.seq, self.hash, self.left, self.batch):
            return False
        notes = list[tuple[int, bytes, dict[str, Any]]]()
        if not _NOTABLE.isdisjoint(_distinct(block.ops)):
            numbered = enumerate(zip(block.ops, block.datas, strict=True), self.seq + 1)
            try:
                notes = [(seq, op, fmt.body_of(data)) for seq, (op, data) in numbered if op in _NOTABLE]
            except fmt.BadLine:
                return False
        for note in notes:
            self._note(*note)
        if self.leaves is not None:
            self._grow(block.heads, block.lefts)
        if b"0" in block.lefts:
            last = len(block.lefts) - 1 - block.lefts[::-1].index(b"0")
            end = self.offset + len(lines) - _length(block, last + 1)
            self.found.end = Place(end, self.seq + 1 + last, block.hashes[last].decode(), block.stamps[last].decode())
        self._step(len(lines), len(block.heads), block.hashes[-1], block.lefts[-1], block.batches[-1])
        return True

    def _grow(self, heads: Sequence[bytes], lefts: Sequence[bytes]) -> None:
        """Keep the leaves of these lines, and pass on many of those that belong to whole groups."""
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

    def _take_lines(self, lines: bytes) -> None:
        """Check the lines one by one, as far as they are good."""
        for raw in lines.split(b"\n")[:-1]:
            self._take_line(raw + b"\n")
            if self.found.bad:
                return

    def _take_line(self, raw: bytes) -> None:
        line = fmt.LINE.fullmatch(raw)
        if line is None or len(raw) > fmt.MAX_LINE:
            return self._stop(fmt.why_not(raw))
        number, ts, op, _, _, batch, left, digest, prev, hashed, data = line.groups()
        head = raw[: line.start(fmt.HASH_GROUP) - fmt.BEFORE_HASH]
        if why := self._why_not(head, int(number), batch, left, prev, hashed):
            return self._stop(why)
        if sha256(data).hexdigest().encode() != digest:
            self.found.hollow[hashed.decode()] = Bad(self.offset, self.seq + 1, fmt.NO_MATCH, self.found.end)
            if not fmt.is_hollow(data):
                self.found.garbled.add(hashed.decode())
        elif op in _NOTABLE:
            try:
                self._note(self.seq + 1, op, fmt.body_of(data))
            except fmt.BadLine as bad:
                return self._stop(str(bad))
        if self.leaves is not None:
            self._grow((head,), (left,))
        if left == b"0":
            self.found.end = Place(self.offset + len(raw), self.seq + 1, hashed.decode(), ts.decode())
        return self._step(len(raw), 1, hashed, left, batch)

    def _why_not(self, head: bytes, number: int, batch: bytes, left: bytes, prev: bytes, hashed: bytes) -> str:
        """The reason why a well-formed line is wrong here."""
        if number != self.seq + 1:
            return f"it is event {number} where event {self.seq + 1} belongs"
        if prev != self.hash:
            return "it does not follow the line above"
        if sha256(head).hexdigest().encode() != hashed:
            return "its hash does not match its header"
        if self.left != b"0" and int(left) != int(self.left) - 1:
            return "it belongs to another group than the line above"
        if batch != self.batch and int(batch) != number and (self.batch or int(batch) > number):
            return "its batch is neither the one above nor a new one"
        return ""

    def _step(self, length: int, lines: int, hashed: bytes, left: bytes, batch: bytes) -> None:
        self.offset, self.seq, self.found.lines = self.offset + length, self.seq + lines, self.found.lines + lines
        self.hash, self.left, self.batch = hashed, left, batch

    def _note(self, seq: int, op: bytes, body: dict[str, Any]) -> None:
        if op in NAMING:
            self.found.named.update(names(body))
        if op in _NOTABLE:
            self.found.notes.append(LedgerNote(seq, op.decode(), body))


# -- checking a block of lines -----------------------------------------------------------------------------------------

# A line, loosely: each part is compared below with what it must be.
_LINE = re.compile(
    rb'(\{"seq":([^,]+),"ts":"((?s:.{27}))","op":"([^"]+)","id":"((?s:.{26}))","by":"([^"]+)","batch":([^,]+),"left":([^,]+)'
    rb',"digest":"((?s:.{64}))","prev":"((?s:.{64}))"),"hash":"((?s:.{64}))","data":(.*)\}\n'
)
_PARTS = 13
_FRAME = len(b',"hash":"') + 64 + len(b'","data":') + len(b"}\n")
_OP = re.compile(rb"[a-z]+(?:\.[a-z]+)*/[1-9]\d{0,3}")
_BY = re.compile(rb"[a-z]+:[0-9a-z]{1,32}")
_NUMBER = re.compile(rb"0|[1-9]\d{0,15}")
_STAMP, _STAMP_DIGITS = b"0000-00-00T00:00:00.000000Z", bytes.maketrans(b"0123456789", b"0" * 10)
_ID, _ID_LETTERS = b"0" * 26, bytes.maketrans(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", b"0" * 32)


class _Columns(NamedTuple):
    """The parts of many lines, in order."""

    heads: list[bytes]
    numbers: list[bytes]
    stamps: list[bytes]
    ops: list[bytes]
    ids: list[bytes]
    sources: list[bytes]
    batches: list[bytes]
    lefts: list[bytes]
    digests: list[bytes]
    prevs: list[bytes]
    hashes: list[bytes]
    datas: list[bytes]


def _columns(lines: memoryview) -> _Columns | None:
    """Split whole lines into their parts; None if there is anything between them."""
    parts = _LINE.split(lines)  # what is between two lines, then the parts of a line, and so on
    count = len(parts) // _PARTS
    if not count or parts[::_PARTS].count(b"") != count + 1:
        return None
    return _Columns(*[parts[at::_PARTS] for at in range(1, _PARTS)])


def _length(block: _Columns, start: int) -> int:
    """The bytes of the lines from number `start` on."""
    count = len(block.heads) - start
    return sum(map(len, block.heads[start:])) + sum(map(len, block.datas[start:])) + _FRAME * count


def _is_plain(block: _Columns, seq: int, above: bytes, left: bytes, batch: bytes) -> bool:
    """True if the lines are good after a line of that seq, hash and batch, with `left` more to come in its group."""
    return (
        b",".join(block.numbers) == _numbers(seq + 1, seq + 1 + len(block.numbers))
        and block.prevs == [above, *block.hashes[:-1]]
        and b"".join(block.stamps).translate(_STAMP_DIGITS) == _STAMP * len(block.stamps)
        and b"".join(block.ids).translate(_ID_LETTERS) == _ID * len(block.ids)
        and all(map(_OP.fullmatch, _distinct(block.ops)))
        and all(map(_BY.fullmatch, _distinct(block.sources)))
        and _are_batches(block.numbers, block.batches, batch)
        and _are_groups(block.lefts, int(left))
        and _digests(block.heads) == b"".join(block.hashes)
        and _digests(block.datas) == b"".join(block.digests)
    )


def _are_batches(numbers: list[bytes], batches: list[bytes], batch: bytes) -> bool:
    """True if each line belongs to the batch of the line above, or begins one."""
    if batches == numbers or batches.count(batch) == len(batches):
        return True
    for number, own in zip(numbers, batches, strict=True):
        if own not in (batch, number):
            return False
        batch = own
    return True


def _are_groups(lefts: list[bytes], left: int) -> bool:
    """True if each line continues the group of the line above, or begins one."""
    if left == 0 and lefts.count(b"0") == len(lefts):
        return True
    at, count = 0, len(lefts)
    while at < count:
        if left == 0:
            if not _NUMBER.fullmatch(lefts[at]):
                return False
            left, at = int(lefts[at]), at + 1
        run = min(left, count - at)
        if b",".join(lefts[at : at + run]) != _numbers(left - 1, left - 1 - run, -1):
            return False
        left, at = left - run, at + run
    return True


def _distinct(texts: list[bytes]) -> set[bytes]:
    """The distinct values. Mostly there is one."""
    return {texts[0]} if texts.count(texts[0]) == len(texts) else set(texts)


def _numbers(start: int, stop: int, step: int = 1) -> bytes:
    """The numbers of a range as the ledger writes them, with commas between."""
    numbers = range(start, stop, step)
    return (b"%d," * len(numbers) % tuple(numbers))[:-1]


def _digests(texts: Iterable[bytes]) -> bytes:
    """The SHA-256 of each, in hex, concatenated."""
    return hexlify(b"".join([sha256(text).digest() for text in texts]))
