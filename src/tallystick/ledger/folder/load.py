"""Loading a folder: from the rows of its state if they can be used, else from its lines.

The lines are those from the first on; if the first segments were moved away, the state file that stands for them and
the lines after it. Two passes. The first checks (scan), so that nothing is applied that a later line shows to be
damaged; the second applies what the verdict allows. Reading changes nothing on disk.

The metadata of the ledger is kept with the rows and in a state file, so that an erasure that a crash cut short is
finished whatever came after.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk
from tallystick.ledger.fold import Folded, LedgerMetadata, Scratch, StateStore, fold_line
from tallystick.ledger.folder import sealed_state
from tallystick.ledger.folder.chain import Chain, file_lines, first_line, first_of, last_line, missing, raw_lines
from tallystick.ledger.folder.erase_everywhere import erased_in_copy
from tallystick.ledger.folder.layout import Folder, Segment
from tallystick.ledger.folder.recover import Verdict, judge
from tallystick.ledger.folder.scan import scan, scan_path
from tallystick.ledger.lock import Witness
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import START, Bad, Place, Scan
from tallystick.records.errors import Busy, Damaged, Missing
from tallystick.records.event import Position

_SHORT = 1 << 16  # bytes of a segment that is checked from its first line on whenever it is opened
_MANY = 5_000  # lines, after which what they changed is written
_LONG = 1 << 20  # bytes of lines that are folded under the lock; longer ones are folded outside it
REFUSED_WRITE = "the last write was refused and could not be removed"


class RowsNeeded(Exception):
    """The rows of the state cannot be used, and there are many lines to make them of."""


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
    alone: bool = False, writable: bool = False, at_length: bool = True,
) -> Loaded:  # fmt: skip
    """Apply the folder to `state`, as far as it is good. Raises Missing or Damaged if nothing can be shown at all.

    Raises RowsNeeded if many lines would be folded, and that is not to be done `at_length`.
    """
    begin, sealed = first_line(folder.wal), folder.sealed_segments()
    line = fmt.try_parse(begin)
    first = _first_of_live(folder, line)
    if witness and witness.seq < first:
        witness = witness._replace(length=-1)  # it is the length of an earlier segment
    is_refused = witness is not None and witness.mark == "refused" and 0 <= witness.length < size
    size = witness.length if witness and is_refused else size
    position = store.look(writable=writable) if store else None
    found, loaded = usable(position, fd, first, size), None
    if found and (sealed[0].first if sealed else first) <= found.began:  # lines from before the rows were put back
        found = None
    if store and found and not _is_damaged_before(found.place, fd, size, line, erased_in_copy(folder)):
        erasures = found.standing.erasures + len(found.standing.erasing)
        with suppress(Busy, Damaged):  # a row is not what the ledger says, or one of the two cannot be read
            loaded = _from_rows(found, fd, size, state, witness, store, erased_in_copy(folder))
            if loaded.standing.erasures + len(loaded.standing.erasing) > erasures:  # it has words that are erased now
                loaded = None
    if store and not loaded:
        if not at_length and sum(path.stat().st_size for path in folder.chain_files() if path.exists()) > _LONG:
            raise RowsNeeded
        store.restart(alone=alone, had_events=bool(sealed) or size > len(begin), refused=found is not None)
    loaded = loaded or _from_lines(folder, fd, size, first, state, witness, store)
    if is_refused and loaded.verdict.kind == "clean":
        loaded.verdict = Verdict("torn", loaded.verdict.end, REFUSED_WRITE)
    saved = Saved.read(position) if position else None
    if saved and saved.standing.ledger == loaded.standing.ledger:  # else it is another memory's
        loaded.seen = Witness(saved.place.seq, saved.place.hash, name="state.db")
    return loaded


def _first_of_live(folder: Folder, line: fmt.Line | None) -> int:
    """The first event of the live segment, whose first line may be damaged."""
    if line is not None:
        return line.seq
    sealed = folder.sealed_segments()
    return (sealed[-1].last or 0) + 1 if sealed else 0


def build_rows(
    folder: Folder, witness: Witness | None, scratch: Scratch, on_progress: Callable[[int, int], None]
) -> None:
    """Fold all lines into rows at `folder.building`, up to what the witness has seen.

    Damage is not reported here: whoever reads the folder under its lock finds it. `on_progress` gets the number of
    events and how many of them are folded.
    """
    for path in folder.building_files():
        path.unlink(missing_ok=True)
    with open(folder.wal, "rb") as file, scratch(folder.building) as (state, store):
        fd, first = file.fileno(), _first_of_live(folder, fmt.try_parse(first_line(folder.wal)))
        size = os.fstat(fd).st_size
        size = witness.length if witness and 0 <= witness.length <= size and witness.seq >= first else size
        end = fmt.try_parse(last_line(fd, size))
        with suppress(Damaged, Missing):
            total = end.seq if end else 0
            loaded = _from_lines(folder, fd, size, first, state, None, store, on_progress=partial(on_progress, total))
            if store and loaded.verdict.kind == "clean":
                store.save(Saved(loaded.verdict.end, first, loaded.tree, loaded.standing, loaded.began).position())


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
            standing = LedgerMetadata.load(raw["standing"])
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
    verdict = judge(fd, size, found, found.first_bad(erased), witness)
    lines = raw_lines(fd, saved.place.offset, verdict.end.offset)
    saved.tree.extend(_apply(lines, state, saved.standing, store))
    return Loaded(verdict, saved.standing, saved.tree, saved.segment, saved=saved.place.seq, began=saved.began)


def _from_lines(
    folder: Folder, fd: int, size: int, first: int, state: Folded, witness: Witness | None, store: StateStore | None,
    last: int | None = None, on_progress: Callable[[int], None] | None = None,
) -> Loaded:  # fmt: skip
    """Check all lines, and apply them; those up to event `last`, if that is given."""
    earlier, scans, start = _scan_sealed(folder, first)
    live = scan(fd, start, size)
    named = live.named.union(erased_in_copy(folder), *(found.named for found in scans))
    for segment, found in zip(earlier, scans, strict=True):
        if bad := found.first_bad(named):
            raise _bad_segment(segment, bad)
    verdict = judge(fd, size, live, live.first_bad(named), witness)
    begin = earlier[0].first if earlier else first
    notes = [note for each in (*scans, live) for note in each.notes]
    base = sealed_state.find(folder, notes, begin) if begin else None
    standing, tree = based_on(base, folder, state, store)
    for segment in earlier:
        tree.extend(_apply(file_lines(segment.path), state, standing, store, tree.end, last, on_progress))
    tree.extend(_apply(raw_lines(fd, 0, verdict.end.offset), state, standing, store, tree.end, last, on_progress))
    erased = sealed_state.erased_by(notes).union(base.erased if base else ())
    return Loaded(verdict, standing, tree, first, began=base.place.seq if base else -1, erased=erased)


def write_state(disk: Disk, folder: Folder, fd: int, end: Place, first: int, last: int, scratch: Scratch) -> str:
    """Write the state after event `last` as a state file under its `.new` name, made of the lines and of the state
    file before it, and return its digest. The live segment, which begins with event `first`, goes to `end`."""
    with scratch(None) as (state, store):
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
        return LedgerMetadata.load(base.standing), base.tree.copy()
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
    first: int = 0, last: int | None = None, on_progress: Callable[[int], None] | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Apply the lines of the events `first` to `last` one by one, and return their leaves."""
    for number, (_, raw) in enumerate(lines, 1):
        line = fmt.parse(raw)
        if store and number % _MANY == 0:
            store.spill()
            if on_progress is not None:
                on_progress(line.seq)
        if last is not None and line.seq > last:
            return
        if line.seq >= first:
            fold_line(line, state, standing)
            yield leaf_hash(line.slice)
