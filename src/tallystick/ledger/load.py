"""Loading a folder: from the rows of its state if they can be used, else from its lines.

The lines are those from the first on; if the first segments were moved away, the state file that stands for them and
the lines after it. Two passes. The first checks (scan), so that nothing is applied that a later line shows to be
damaged; the second applies what the verdict allows. Reading changes nothing on disk.

Metadata of the ledger (its id, erasures, the places of copies, which times are in doubt) is folded from its own events.
It is kept with the rows and in a state file, so that an erasure that a crash cut short is finished whatever came after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import orjson

from tallystick.ledger import format as fmt, recover, sealed_state
from tallystick.ledger.chain import Chain, file_lines, first_line, first_of, last_line, missing, raw_lines
from tallystick.ledger.disk import Disk
from tallystick.ledger.erase_everywhere import erased_in_copy
from tallystick.ledger.layout import Folder, Segment
from tallystick.ledger.lock import Witness
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.recover import Verdict
from tallystick.ledger.scan import START, Bad, Place, Scan, scan, scan_path
from tallystick.records.errors import Busy, Damaged, TallystickError
from tallystick.records.event import Event, Position
from tallystick.records.times import Times

_SHORT = 1 << 16  # bytes of a segment that is checked from its first line on whenever it is opened
_MANY = 5_000  # lines, after which what they changed is written
REFUSED_WRITE = "the last write was refused and could not be removed"


class StateStore(Protocol):
    """Where a state is stored between openings: rows in a file, and their position. The ledger says when."""

    @property
    def is_bad(self) -> bool:
        """True if the file could not be read, or is not in its place any more."""

    @property
    def head(self) -> str:
        """The hash of the last event that the rows on disk have followed."""

    def look(self, *, writable: bool) -> Position | None:
        """The position of the rows on disk; None if there are none that can be used. What is not saved is discarded."""

    def compare_with(self, recorded: Callable[[Iterable[int]], dict[int, Event | None]]) -> None:
        """Compare rows with these events whenever they are read."""

    def has_moved(self) -> bool:
        """True if others wrote rows since the last look, or the file cannot be used any more."""

    def restart(self, *, alone: bool) -> None:
        """Begin with empty tables: on disk, if nobody else uses the folder and nothing is in its place yet.

        A file that cannot be used is replaced by the next `save`, when it is known that the ledger is in order.
        """

    def spill(self) -> None:
        """Write what is many, without a position: if this process dies now, all is folded again."""

    def save(self, position: Position) -> None:
        """Write all that is not written, with the position; what cannot be written stays in memory."""

    def pin(self, seq: int) -> bool:
        """Until `unpin`, read the rows as they are now. False, if others wrote some of later events than this."""

    def unpin(self) -> None: ...
    def rewrite(self) -> None:
        """Replace the file by one in which nothing is left of removed rows."""

    def close(self) -> None: ...


class Folded(Protocol):
    """The state that events are applied to. The ledger feeds it and never looks inside.

    Between `begin` and `commit` it can `rollback` to where it was.
    """

    def apply(self, event: Event) -> None: ...
    def knows(self, op: str) -> bool: ...
    def dump(self) -> Iterable[bytes]:
        """Every row as a line without its newline."""

    def load(self, rows: Iterable[bytes]) -> None:
        """Replace all with rows that `dump` gave. ValueError, if a row is not of this state."""

    def clear(self) -> None: ...
    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


Scratch = Callable[[], AbstractContextManager[tuple[Folded, StateStore | None]]]  # an empty state, for one use


@dataclass(slots=True)
class LedgerMetadata:
    """Metadata of a ledger. Applying the same events in the same order always gives the same metadata."""

    ledger: str = ""
    version: int = fmt.FORMAT
    begun: str = ""
    erasing: dict[int, list[str]] = field(default_factory=dict)  # seq of the erase event → line hashes
    erasures: int = 0
    copies: list[str] = field(default_factory=list)  # places outside the folder that hold copies
    abandoned: list[tuple[int, str]] = field(default_factory=list)  # heads that a restore or a repair left behind
    sealed_state: tuple[int, str] = (-1, "")  # the event up to which the newest one goes, and its digest
    epoch: int = 0  # how often the ledger was compacted
    callers: int = 0  # events that callers wrote, in the live segment
    strange: str = ""  # an unknown kind of event: the ledger is read-only for this program
    times: Times = field(default_factory=Times)

    def apply(self, event: Event, ts: str) -> None:
        """Apply an event. `ts` is the time of its line, also if it was first recorded elsewhere."""
        self.times.take(event.seq, ts)
        if event.op not in fmt.HOUSEKEEPING:
            self.callers += 1
        elif event.body is not None:
            self._apply_own(event, event.body)

    def _apply_own(self, event: Event, body: dict[str, Any]) -> None:
        """Apply an event that the ledger wrote about itself."""
        match event.op:
            case fmt.BEGIN:
                self.ledger, self.version, self.begun = body["ledger"], body["format"], event.ts
                if self.version > fmt.FORMAT:
                    self.strange = f"ledger format {self.version}"
            case fmt.SEAL:
                self.callers, self.epoch = 0, self.epoch + 1
            case fmt.STATE:
                self.sealed_state = (int(body["seq"]), str(body["digest"]))
            case fmt.ERASE:
                self.erasing[event.seq] = list(body["lines"])
                self.erasures += 1
            case fmt.ERASED:
                self.erasing.pop(body["of"], None)
            case fmt.COPY | fmt.PRUNE:
                if body["place"] not in self.copies:
                    self.copies.append(body["place"])
            case fmt.RESTORE:
                self._leave_behind(body)
            case fmt.REPAIR:
                self.ledger = self.ledger or str(body.get("ledger", ""))
                if "abandoned" in body:
                    self._leave_behind(body)
            case fmt.TIME:
                self.times.note(event.seq, event.ts, body)

    def _leave_behind(self, body: dict[str, Any]) -> None:
        self.abandoned += [(head["seq"], head["hash"]) for head in (body["abandoned"], *body.get("earlier", ()))]

    def dump(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger, "version": self.version, "begun": self.begun,
            "erasing": {str(seq): lines for seq, lines in self.erasing.items()}, "erasures": self.erasures,
            "copies": self.copies, "abandoned": self.abandoned, "epoch": self.epoch,
            "callers": self.callers, "strange": self.strange, "times": self.times.dump(), "state": self.sealed_state,
        }  # fmt: skip

    @classmethod
    def load(cls, raw: dict[str, Any], ts: str) -> LedgerMetadata:
        """Load what `dump` wrote at an event of the time `ts`."""
        return cls(
            ledger=raw["ledger"], version=raw["version"], begun=raw["begun"],
            erasing={int(seq): list(lines) for seq, lines in raw["erasing"].items()}, erasures=raw["erasures"],
            copies=list(raw["copies"]), abandoned=[(seq, hashed) for seq, hashed in raw["abandoned"]],
            epoch=raw["epoch"], callers=raw["callers"], strange=raw["strange"],
            times=Times.load(raw.get("times", {}), ts), sealed_state=_pair(raw.get("state", (-1, ""))),
        )  # fmt: skip


def _pair(raw: Any) -> tuple[int, str]:
    seq, digest = raw
    return int(seq), str(digest)


@dataclass(slots=True)
class Loaded:
    """A ledger as it was found."""

    verdict: Verdict
    standing: LedgerMetadata
    tree: Range  # of everything up to the verdict's end
    segment: int  # first seq of the live segment
    saved: int = -1  # the last event of the rows that were kept
    began: int = -1  # the event of the state file that the rows began with; -1: they began with the first line
    erased: set[str] = field(default_factory=set)  # lines and ids, if the lines were read
    seen: Witness | None = None  # the last event that rows have seen, whether they were used or not


def load(
    folder: Folder, fd: int, size: int, state: Folded, witness: Witness | None, store: StateStore | None = None, *,
    alone: bool = False, writable: bool = False,
) -> Loaded:  # fmt: skip
    """Apply the folder to `state`, as far as it is good. Raises Missing or Damaged if nothing can be shown at all."""
    line, sealed = fmt.try_parse(first_line(folder.wal)), folder.sealed_segments()
    first = line.seq if line else (sealed[-1].last or 0) + 1 if sealed else 0
    if witness and witness.seq < first:
        witness = witness._replace(length=-1)  # it is the length of an earlier segment
    is_refused = witness is not None and witness.mark == "refused" and 0 <= witness.length < size
    size = witness.length if witness and is_refused else size
    position = store.look(writable=writable) if store else None
    found = usable(position, fd, first, size)
    loaded = None
    if store and found and not _is_damaged_before(found.place, fd, size, line, erased_in_copy(folder)):
        with suppress(Busy, Damaged):  # a row is not what the ledger says, or one of the two cannot be read
            loaded = _from_rows(found, fd, size, state, witness, store, erased_in_copy(folder))
    if store and not loaded:
        store.restart(alone=alone)
    loaded = loaded or _from_lines(folder, fd, size, first, state, witness, store)
    if is_refused and loaded.verdict.kind == "clean":
        loaded.verdict = Verdict("torn", loaded.verdict.end, REFUSED_WRITE)
    saved = Saved.read(position) if position else None
    if saved and saved.standing.ledger == loaded.standing.ledger:  # else it is another memory's
        loaded.seen = Witness(saved.place.seq, saved.place.hash, name="state.db")
    return loaded


class Saved(NamedTuple):
    """A position as the ledger keeps it with the rows."""

    place: Place
    segment: int
    tree: Range
    standing: LedgerMetadata
    began: int = -1  # see Loaded

    def position(self) -> Position:
        place, standing = self.place, self.standing
        return Position(place.seq, place.hash, orjson.dumps({
            "offset": place.offset, "ts": place.ts, "segment": self.segment, "tree": self.tree.to_json(),
            "standing": standing.dump(), "began": self.began,
        }))  # fmt: skip

    @classmethod
    def read(cls, position: Position) -> Saved | None:
        try:
            raw = orjson.loads(position.saved)
            place = Place(int(raw["offset"]), position.seq, position.hash, str(raw["ts"]))
            standing = LedgerMetadata.load(raw["standing"], place.ts)
            return cls(place, int(raw["segment"]), Range.from_json(raw["tree"]), standing, int(raw["began"]))
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            return None


def usable(position: Position | None, fd: int, first: int, size: int) -> Saved | None:
    """What was saved, if it is a place in this ledger, whose live segment begins with event `first`."""
    saved = Saved.read(position) if position else None
    if saved is None:
        return None
    if saved.segment < first == saved.place.seq + 1:  # it was compacted just there
        return saved._replace(place=saved.place._replace(offset=0), segment=first)
    offset = saved.place.offset
    line = fmt.try_parse(last_line(fd, offset)) if saved.segment == first and 0 < offset <= size else None
    is_there = line is not None and (line.seq, line.hash) == (saved.place.seq, saved.place.hash)
    return saved if is_there else None


def _is_damaged_before(place: Place, fd: int, size: int, first: fmt.Line | None, erased: set[str]) -> bool:
    """True if a live segment that is short, so that it can be checked each time, is damaged before that place."""
    if size > _SHORT or not place.offset:
        return False
    bad = scan(fd, Place(0, first.seq - 1, first.prev), size).first_bad(erased) if first else None
    return first is None or (bad is not None and bad.offset < place.offset)


def _from_rows(
    saved: Saved, fd: int, size: int, state: Folded, witness: Witness | None, store: StateStore, erased: set[str]
) -> Loaded:  # fmt: skip
    found = scan(fd, saved.place, size)
    verdict = recover.judge(fd, size, found, found.first_bad(erased), witness)
    lines = raw_lines(fd, saved.place.offset, verdict.end.offset)
    saved.tree.extend(_apply(lines, state, saved.standing, store))
    return Loaded(verdict, saved.standing, saved.tree, saved.segment, saved=saved.place.seq, began=saved.began)


def _from_lines(
    folder: Folder, fd: int, size: int, first: int, state: Folded, witness: Witness | None, store: StateStore | None,
    last: int | None = None,
) -> Loaded:  # fmt: skip
    """Check all lines, and apply them; those up to event `last`, if that is given."""
    earlier, scans, start = _scan_sealed(folder, first)
    live = scan(fd, start, size)
    named = live.named.union(erased_in_copy(folder), *(found.named for found in scans))
    for segment, found in zip(earlier, scans, strict=True):
        if bad := found.first_bad(named):
            raise _bad_segment(segment, bad)
    verdict = recover.judge(fd, size, live, live.first_bad(named), witness)
    begin = earlier[0].first if earlier else first
    notes = [note for each in (*scans, live) for note in each.notes]
    base = sealed_state.find(folder, notes, begin) if begin else None
    standing, tree = based_on(base, folder, state, store)
    for segment in earlier:
        tree.extend(_apply(file_lines(segment.path), state, standing, store, tree.end, last))
    tree.extend(_apply(raw_lines(fd, 0, verdict.end.offset), state, standing, store, tree.end, last))
    erased = sealed_state.erased_by(notes).union(base.erased if base else ())
    return Loaded(verdict, standing, tree, first, began=base.place.seq if base else -1, erased=erased)


def write_state(disk: Disk, folder: Folder, fd: int, end: Place, first: int, last: int, scratch: Scratch) -> str:
    """Write the state after event `last` as a state file under its `.new` name, made of the lines and of the state
    file before it, and return its digest. The live segment, which begins with event `first`, goes to `end`."""
    with scratch() as (state, store):
        loaded = _from_lines(folder, fd, end.offset, first, state, None, store, last)
        if loaded.verdict.kind != "clean":
            raise Damaged(f"events.wal is damaged: {loaded.verdict.why}; run `tallystick check`")
        line = Chain(folder, end.offset).line(last)
        place = Place(0, line.seq, line.hash, line.ts)
        standing, erased = loaded.standing.dump(), loaded.erased
        return sealed_state.write_fresh(disk, folder, place, loaded.tree, standing, erased, state.dump())


def based_on(
    base: sealed_state.SealedState | None, folder: Folder, state: Folded, store: StateStore | None
) -> tuple[LedgerMetadata, Range]:  # fmt: skip
    """Begin with a state file; with nothing, if there is none."""
    state.clear()
    if base is None:
        return LedgerMetadata(), Range()
    try:
        if Chain(folder).hash_at(base.place.seq) != base.place.hash or base.tree.end != base.place.seq + 1:
            raise ValueError("it is not of this ledger")
        state.load(_spilling(base.rows(), store))
        return LedgerMetadata.load(base.standing, base.place.ts), base.tree.copy()
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"{base.path.name} is as it was recorded, but not valid ({error}); upgrade tallystick") from None


def _spilling(rows: Iterable[bytes], store: StateStore | None) -> Iterator[bytes]:
    for number, row in enumerate(rows, 1):
        if store and number % _MANY == 0:
            store.spill()
        yield row


def _scan_sealed(folder: Folder, first: int) -> tuple[list[Segment], list[Scan], Place]:
    """Check the sealed segments before event `first`; return them, and where the live one starts."""
    earlier = [segment for segment in folder.sealed_segments() if segment.last is not None and segment.last < first]
    path = earlier[0].path if earlier else folder.wal
    place = Place.before(first_of(path)) if (earlier[0].first if earlier else first) else START
    scans = list[Scan]()
    for segment in earlier:
        if segment.first != place.seq + 1:
            raise missing(folder, place.seq + 1, segment.first)
        found = scan_path(segment.path, Place(0, place.seq, place.hash))
        scans.append(found)
        place = found.end
        if found.bad or found.open_group or place.seq != segment.last:
            raise _bad_segment(segment, found.bad or Bad(place.offset, place.seq + 1, "it ends too soon", place))
    if place.seq + 1 != first:
        raise missing(folder, place.seq + 1, first)
    return earlier, scans, Place(0, place.seq, place.hash)


def _bad_segment(segment: Segment, bad: Bad) -> Damaged:
    place = f"sealed/{segment.path.name}, event {bad.seq} at byte {bad.offset}"
    return Damaged(f"{place}: {bad.why}; run `tallystick check`")


def _apply(
    lines: Iterator[tuple[int, bytes]], state: Folded, standing: LedgerMetadata, store: StateStore | None,
    first: int = 0, last: int | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Apply the lines of the events `first` to `last` one by one, and return their leaves."""
    for number, (_, raw) in enumerate(lines, 1):
        if store and number % _MANY == 0:
            store.spill()
        line = fmt.parse(raw)
        if last is not None and line.seq > last:
            return
        if line.seq >= first:
            fold_line(line, state, standing)
            yield leaf_hash(line.slice)


def fold_line(line: fmt.Line, state: Folded, standing: LedgerMetadata) -> Event:
    """Apply the event of one line, in today's shape, and return it. An unknown kind makes the ledger read-only.

    Raises Damaged if the line is whole, but tallystick cannot have recorded that event.
    """
    try:
        event = lift(line.event())
        standing.apply(event, line.ts)
        if event.op in fmt.HOUSEKEEPING or state.knows(event.op):
            state.apply(event)
        else:
            standing.strange = event.op
    except (Busy, Damaged):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, TallystickError, fmt.BadLine):
        raise Damaged(f"event {line.seq} is whole, but not a valid {line.op}; run `tallystick check`") from None
    return event


# By op: a function that converts a body to the next version, like belief.put/1 to ("belief.put/2", body). The old event
# stays in the file forever; a ledger is never rewritten for a new shape.
LIFTS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {}


def lift(event: Event) -> Event:
    """Convert `event` to today's shape."""
    op, body = event.op, event.body
    while body is not None and op in LIFTS:
        op, body = LIFTS[op](body)
    return event if op is event.op else event._replace(op=op, body=body)
