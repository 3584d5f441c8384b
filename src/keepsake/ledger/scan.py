"""Reading a stretch of the chain from start to end, checking every byte of it on the way.

A scan stops at the first line that is not laid out right, does not carry its own hash, or does not follow the line
above. A line whose *data* fails its digest is set down as hollow and the scan goes on: it is sound if an erase event,
possibly much later, names it, and damage otherwise (`settle` tells). Groups are whole or absent: `end` is the place
after the last line with `left:0`.

This is the hot loop of opening and of verifying. So a *glance* takes a block of lines at once, and either finds every
one of them plainly good or has no opinion. Then a *look* goes line by line, and it alone ever calls something wrong.
What a glance lets pass, a look would have let pass. Neither parses any JSON but that of the rare events that the ledger
writes about itself.
"""

from __future__ import annotations

import os
import re
from binascii import hexlify
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from keepsake.ledger import format as fmt
from keepsake.ledger.leaves import Leaves

BLOCK = 1 << 16  # what a glance takes in: small enough to stay in the processor's cache

# Events that name lines whose data is gone: erased here, erased from a copy that was restored, or lost to damage.
_NAMING = frozenset({fmt.ERASE.encode(), fmt.RESTORE.encode(), fmt.REPAIR.encode()})
# Events that record the digest of a snapshot.
_SNAPPING = frozenset({fmt.SNAPSHOT.encode(), fmt.SEAL.encode()})
# Events that are handed on as they are, for whoever judges the whole ledger.
_NOTABLE = frozenset(
    op.encode() for op in (fmt.BEGIN, fmt.SEAL, fmt.PRUNE, fmt.ERASE, fmt.ERASED, fmt.RESTORE, fmt.REPAIR)
)
_TELLING = _NAMING | _SNAPPING | _NOTABLE

_NO_FIT = "its data does not fit its digest"
_TOO_LONG = f"it is longer than {fmt.MAX_LINE:,} bytes"
GARBLED = "its data is neither what was written nor what erasure leaves"

# A line, loosely: what is not looked at closely here is compared with what it must be.
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

Progress = Callable[[int], None]


class _Columns(NamedTuple):
    """The parts of many lines, in order."""

    heads: list[bytes]
    numbers: list[bytes]
    stamps: list[bytes]
    ops: list[bytes]
    ids: list[bytes]
    doors: list[bytes]
    sinces: list[bytes]
    lefts: list[bytes]
    digests: list[bytes]
    prevs: list[bytes]
    hashes: list[bytes]
    datas: list[bytes]


class Told(NamedTuple):
    """Something that the ledger says about itself."""

    seq: int
    op: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The end of the last whole group before some point."""

    offset: int
    seq: int
    hash: str
    ts: str = ""


NOWHERE = Place(-1, -1, "")  # before anything that is known here


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
    garbled: set[str] = field(default_factory=set)  # those of the hollow lines that do not look as erasure leaves them
    named: set[str] = field(default_factory=set)  # line hashes that erase events name
    told: list[Told] = field(default_factory=list)  # what the ledger says of itself here
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


def finished_erasures(told: Iterable[Told]) -> set[str]:
    """The lines that hold nothing any more, because their erasure is recorded as done or came with a restore."""
    told = list(told)
    done = {str(body.get("of")) for _, op, body in told if op == fmt.ERASED}
    over = [body for seq, op, body in told if op == fmt.RESTORE or (op == fmt.ERASE and str(seq) in done)]
    return {line for body in over for line in _names(body)}


def blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        yield block
        start += len(block)


def scan(fd: int, start: Place, end: int, *, leaves: Leaves | None = None, progress: Progress | None = None) -> Scan:
    """Check the lines from `start` up to the offset `end`, and give their leaves to `leaves`.

    `start.seq` and `start.hash` are those of the line before. A group that `end` cuts is not an error here.
    """
    return Walk(start, leaves).through(fd, end, progress)


class Walk:
    """The running state of one scan: what the next line has to follow."""

    def __init__(self, start: Place, leaves: Leaves | None = None) -> None:
        self.found, self.leaves = Scan(start), leaves
        self.offset, self.seq, self.hash = start.offset, start.seq, start.hash.encode()
        self.left, self.batch = b"0", b""  # of the line above; no batch: not known
        self.waiting: list[bytes] = []  # leaves of a group whose end is still to come

    def through(self, fd: int, end: int, progress: Progress | None = None) -> Scan:
        """Check everything up to the offset `end`."""
        found, rest = self.found, b""
        for block in blocks(fd, self.offset, end):
            buffer = rest + block if rest else block
            cut = buffer.rfind(b"\n") + 1
            rest = buffer[cut:]
            if cut:
                self.take(buffer[:cut] if rest else buffer)
            if found.bad:
                return found
            if progress:
                progress(len(block))
            if len(rest) > fmt.MAX_LINE:
                break
        if rest:
            self.refuse(rest)
        found.open_group = self.offset > found.end.offset
        return found

    def take(self, lines: bytes) -> None:
        """Check whole lines."""
        if len(lines) > fmt.MAX_LINE or not self._glance(lines):
            self._look(lines)

    def join(self, other: Walk) -> None:
        """Go on where `other` got to, which began behind the line that was taken last, whatever came before that."""
        found, more, here = self.found, other.found, self.found.end
        found.hollow |= {hashed: _behind(bad, here) for hashed, bad in more.hollow.items()}
        found.garbled |= more.garbled
        found.named |= more.named
        found.told += more.told
        found.snapshot = more.snapshot or found.snapshot
        found.bad = _behind(more.bad, here) if more.bad else None
        if self.leaves is not None and other.leaves is not None:
            self._join_leaves(other)
        if more.end != NOWHERE:
            found.end = more.end
        self._step(other.offset - self.offset, more.lines, other.hash, other.left, other.batch)

    def refuse(self, raw: bytes) -> None:
        """Stop at something that is no line at all."""
        self._stop(_TOO_LONG if len(raw) > fmt.MAX_LINE else fmt.why_not(raw))

    def _stop(self, why: str) -> None:
        self.found.bad = Bad(self.offset, self.seq + 1, why, self.found.end)

    # -- all lines at once -------------------------------------------------------------------------------------------

    def _glance(self, lines: bytes) -> bool:
        """Take in all lines if every one of them is plainly good; False, and nothing changed, if one needs a look."""
        parts = _LINE.split(lines)  # what stands between two lines, then the parts of a line, and so on
        count = len(parts) // _PARTS
        if not count or parts[::_PARTS].count(b"") != count + 1:
            return False
        seen = _Columns(*[parts[at::_PARTS] for at in range(1, _PARTS)])
        if not self._is_plain(seen, count):
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
        self._step(len(lines), count, seen.hashes[-1], seen.lefts[-1], seen.sinces[-1])
        return True

    def _is_plain(self, seen: _Columns, count: int) -> bool:
        return (
            b",".join(seen.numbers) == _numbers(self.seq + 1, self.seq + 1 + count)
            and seen.prevs == [self.hash, *seen.hashes[:-1]]
            and _all_fit(_STAMP, _STAMP_DIGITS, seen.stamps)
            and _all_fit(_ID, _ID_LETTERS, seen.ids)
            and all(map(_OP.fullmatch, _kinds(seen.ops)))
            and all(map(_BY.fullmatch, _kinds(seen.doors)))
            and self._are_batches(seen.numbers, seen.sinces)
            and self._are_groups(seen.lefts)
            and _digests(seen.heads) == b"".join(seen.hashes)
            and _digests(seen.datas) == b"".join(seen.digests)
        )

    def _telling(self, seen: _Columns) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        if not _TELLING.isdisjoint(_kinds(seen.ops)):
            for seq, (op, data) in enumerate(zip(seen.ops, seen.datas, strict=True), self.seq + 1):
                if op in _TELLING:
                    yield seq, op, fmt.body_of(data)

    def _close(self, seen: _Columns, length: int) -> None:
        """Set down where the last whole group ends."""
        if b"0" not in seen.lefts:
            return
        loose = seen.lefts[::-1].index(b"0")  # lines behind it
        last = len(seen.lefts) - 1 - loose
        behind = sum(map(len, seen.heads[last + 1 :])) + sum(map(len, seen.datas[last + 1 :])) + _FRAME * loose
        seq, hashed, ts = self.seq + 1 + last, seen.hashes[last].decode(), seen.stamps[last].decode()
        self.found.end = Place(self.offset + length - behind, seq, hashed, ts)

    def _are_batches(self, numbers: list[bytes], sinces: list[bytes]) -> bool:
        """Each line belongs to the batch of the line above, or begins one."""
        batch = self.batch
        if sinces == numbers or sinces.count(batch) == len(sinces):
            return True
        for number, since in zip(numbers, sinces, strict=True):
            if since != batch:
                if since != number:
                    return False
                batch = since
        return True

    def _are_groups(self, lefts: list[bytes]) -> bool:
        """Each line continues the group of the line above, or begins one."""
        if self.left == b"0" and lefts.count(b"0") == len(lefts):
            return True
        at, count = 0, len(lefts)
        left = int(self.left)
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

    def _grow(self, heads: Sequence[bytes], lefts: Sequence[bytes]) -> None:
        """Give on the leaves of whole groups; keep those of one that is still open."""
        assert self.leaves is not None
        skip = max(0, self.leaves.end + len(self.waiting) - self.seq - 1)
        stop = max(0, min(len(heads), self.leaves.until - self.seq - 1))
        self.waiting += [sha256(b"\0" + head).digest() for head in heads[skip:stop]]
        loose = next((count for count, left in enumerate(reversed(lefts)) if left == b"0"), -1)
        if loose >= 0:
            loose = max(0, loose - (len(heads) - stop))
            keep = len(self.waiting) - min(loose, len(self.waiting))
            self.leaves.extend(self.waiting[:keep])
            self.waiting = self.waiting[keep:]

    def _join_leaves(self, other: Walk) -> None:
        assert self.leaves is not None
        assert other.leaves is not None
        if other.found.end == NOWHERE:
            self.waiting += other.waiting
            return
        self.leaves.extend(self.waiting)
        self.leaves.join(other.leaves)
        self.waiting = other.waiting

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
            return self.refuse(raw)
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
        if op in _NAMING:
            self.found.named.update(_names(body))
        if op in _SNAPPING:
            self.found.snapshot = str(body.get("snapshot", ""))
        if op in _NOTABLE:
            self.found.told.append(Told(seq, op.decode(), body))



def _behind(bad: Bad, here: Place) -> Bad:
    """`bad` of someone who did not know what comes before."""
    return Bad(bad.offset, bad.seq, bad.why, here) if bad.before == NOWHERE else bad


def _all_fit(pattern: bytes, alike: bytes, texts: Sequence[bytes]) -> bool:
    """Whether each of `texts`, as long as `pattern`, is `pattern` once the bytes that count as alike are made alike."""
    return b"".join(texts).translate(alike) == pattern * len(texts)


def _kinds(texts: list[bytes]) -> set[bytes]:
    """The different ones among `texts`. Mostly they are all the same."""
    return {texts[0]} if texts.count(texts[0]) == len(texts) else set(texts)


def _numbers(start: int, stop: int, step: int = 1) -> bytes:
    """The numbers of a range as the ledger writes them, with commas between."""
    numbers = range(start, stop, step)
    return (b"%d," * len(numbers) % tuple(numbers))[:-1]


def _digests(texts: Iterable[bytes]) -> bytes:
    """The SHA-256 of each, in hex, one behind the other."""
    return hexlify(b"".join([sha256(text).digest() for text in texts]))


def _names(body: dict[str, Any]) -> Iterable[str]:
    """The lines that an event names."""
    lines = body.get("lines")
    return map(str, lines) if isinstance(lines, list) else ()
