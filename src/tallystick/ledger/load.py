"""From the files of a folder to what is held: snapshot if it may be used, else everything from the first line.

Two passes. The first checks (scan), so that nothing is folded that a later line shows to be damaged; the second folds
what the verdict let stand. Reading changes nothing on disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tallystick.ledger import format as fmt, recover, snapshot
from tallystick.ledger.chain import first_line, missing, raw_lines
from tallystick.ledger.erase_everywhere import erased_in_copy
from tallystick.ledger.layout import Folder, Segment
from tallystick.ledger.lock import Witness
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.metadata import LedgerMetadata
from tallystick.ledger.recover import Verdict
from tallystick.ledger.scan import Bad, Place, Scan, scan
from tallystick.ledger.upgrade import lift
from tallystick.records.errors import Damaged, Missing, TallystickError
from tallystick.records.event import Event
from tallystick.records.progress import Progress

START = Place(0, -1, fmt.ZERO)


class Folded(Protocol):
    """What is held, folded from events. The ledger feeds it and never looks inside.

    Between `begin` and `commit` it may be told to `rollback` to where it was.
    """

    def apply(self, event: Event) -> None: ...
    def knows(self, op: str) -> bool: ...
    def records(self) -> int: ...
    def dump(self) -> bytes: ...
    def load(self, dumped: bytes) -> None: ...
    def clear(self) -> None: ...
    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


@dataclass(slots=True)
class Loaded:
    """A ledger as it was found."""

    verdict: Verdict
    standing: LedgerMetadata
    tree: Range  # of everything up to the verdict's end
    segment: int  # first seq of the living stretch
    snapshot: snapshot.Snapshot | None


def load(
    folder: Folder, fd: int, size: int, state: Folded, witness: Witness | None, on_progress: Progress | None = None
) -> Loaded:
    """Fold the folder into `state`, as far as it is good. Raises Missing or Damaged if nothing can be shown at all."""
    first = _first_of_living(folder)
    if witness and witness.seq < first:
        witness = witness._replace(length=-1)  # it tells the length of an earlier stretch
    if not witness or witness.mark != "refused" or not 0 <= witness.length < size:
        return _load(folder, fd, size, first, state, witness, on_progress)
    loaded = _load(folder, fd, witness.length, first, state, witness, on_progress)
    if loaded.verdict.kind == "clean":
        loaded.verdict = Verdict("torn", loaded.verdict.end, "the last write was refused and could not be taken back")
    return loaded


def _load(
    folder: Folder, fd: int, size: int, first: int, state: Folded, witness: Witness | None, on_progress: Progress | None
) -> Loaded:
    for candidate in snapshot.candidates(folder):
        if candidate.segment == first and candidate.place.offset <= size:
            loaded = _from_snapshot(candidate, fd, size, state, witness, erased_in_copy(folder), on_progress)
            if loaded:
                return loaded
    return _from_the_first_line(folder, fd, size, first, state, witness, on_progress)


def _first_of_living(folder: Folder) -> int:
    """The seq with which `events.wal` begins; if its first line is bad, the one it should begin with."""
    try:
        return fmt.parse(first_line(folder.wal)).seq
    except fmt.BadLine:
        sealed = folder.sealed_segments()
        return (sealed[-1].last or 0) + 1 if sealed else 0


def _from_snapshot(
    candidate: snapshot.Snapshot, fd: int, size: int, state: Folded, witness: Witness | None, erased: set[str],
    on_progress: Progress | None,
) -> Loaded | None:  # fmt: skip
    """None if the ledger does not vouch for this snapshot."""
    found = scan(fd, candidate.place, size, on_progress=on_progress)
    if found.snapshot != candidate.digest:
        return None
    standing = LedgerMetadata.load(candidate.standing, candidate.place.seq, candidate.place.ts)
    state.clear()
    state.load(candidate.state)
    verdict = recover.judge(fd, size, found, found.settle(erased), witness)
    _fold(fd, candidate.place.offset, verdict.end.offset, state, standing, candidate.tree)
    return Loaded(verdict, standing, candidate.tree, candidate.segment, candidate)


def _from_the_first_line(
    folder: Folder, fd: int, size: int, first: int, state: Folded, witness: Witness | None, on_progress: Progress | None
) -> Loaded:
    earlier = [segment for segment in folder.sealed_segments() if segment.last is not None and segment.last < first]
    start, scans = _scan_sealed(folder, earlier, first, on_progress)
    living = scan(fd, start, size, on_progress=on_progress)
    named = living.named.union(erased_in_copy(folder), *(found.named for found in scans))
    for segment, found in zip(earlier, scans, strict=True):
        if bad := found.settle(named):
            raise _bad_segment(segment, bad)
    verdict = recover.judge(fd, size, living, living.settle(named), witness)
    standing, tree = LedgerMetadata(), Range()
    state.clear()
    for segment in earlier:
        with open(segment.path, "rb") as file:
            _fold(file.fileno(), 0, os.fstat(file.fileno()).st_size, state, standing, tree)
    _fold(fd, 0, verdict.end.offset, state, standing, tree)
    return Loaded(verdict, standing, tree, first, None)


def _scan_sealed(
    folder: Folder, earlier: list[Segment], first: int, on_progress: Progress | None
) -> tuple[Place, list[Scan]]:
    """Check the sealed stretches before event `first`; return where the living one starts."""
    place, scans = START, []
    for segment in earlier:
        if segment.first != place.seq + 1:
            break
        with open(segment.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            found = scan(file.fileno(), Place(0, place.seq, place.hash), size, on_progress=on_progress)
        scans.append(found)
        place = found.end
        if found.bad or found.open_group or place.seq != segment.last:
            raise _bad_segment(segment, found.bad or Bad(place.offset, place.seq + 1, "it ends too soon", place))
    if place.seq + 1 != first:
        raise Missing(missing(folder, place.seq + 1, first))
    return Place(0, place.seq, place.hash), scans


def _bad_segment(segment: Segment, bad: Bad) -> Damaged:
    return Damaged(
        f"sealed/{segment.path.name}, event {bad.seq} at byte {bad.offset}: {bad.why}; "
        "run `tallystick check`"
    )


def _fold(fd: int, start: int, end: int, state: Folded, standing: LedgerMetadata, tree: Range) -> None:
    tree.extend(_leaves_while_folding(fd, start, end, state, standing))


def _leaves_while_folding(fd: int, start: int, end: int, state: Folded, standing: LedgerMetadata) -> Iterator[bytes]:
    for _, raw in raw_lines(fd, start, end):
        line = fmt.parse(raw)
        fold_line(line, state, standing)
        yield leaf_hash(line.slice)


def fold_line(line: fmt.Line, state: Folded, standing: LedgerMetadata) -> Event:
    """Apply the event of one line, and return it. Raises Damaged if we cannot have recorded that, though the line is
    whole."""
    try:
        return _fold_event(line.event(), line.ts, state, standing)
    except (LookupError, TypeError, ValueError, AttributeError, TallystickError, fmt.BadLine):
        raise Damaged(f"event {line.seq} is whole, but not what {line.op} should be; run `tallystick check`") from None


def _fold_event(event: Event, ts: str, state: Folded, standing: LedgerMetadata) -> Event:
    """Apply one event, in today's shape, wherever it belongs. One that nobody knows makes the ledger read-only."""
    event = lift(event)
    standing.apply(event, ts)
    if event.op in fmt.HOUSEKEEPING or state.knows(event.op):
        state.apply(event)
    else:
        standing.strange = event.op
    return event

