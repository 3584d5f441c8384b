"""Reading a ledger that may be broken anywhere, from its first byte to its last.

The judgement is the ledger's own (`scan`, `recover.judge`): what they call good is good here. They stop at the first
bad line; a survey goes on behind it, line by line, because a person wants to know all of the damage before deciding.
Nothing here writes, and nothing raises because of what it reads.

A *flaw* is one line that is not as it was written. If `hash` is set, only its data is wrong: header, hash and links
hold, so the rest of the chain does not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tallystick.ledger import format as fmt, recover, snapshot
from tallystick.ledger.chain import first_line, raw_lines
from tallystick.ledger.layout import Folder, Segment
from tallystick.ledger.load import START, fold_line
from tallystick.ledger.lock import Witness
from tallystick.ledger.metadata import LedgerMetadata
from tallystick.ledger.scan import GARBLED, Bad, Place, Scan, finished_erasures, scan
from tallystick.ledger.snapshot import Snapshot
from tallystick.records.errors import Damaged
from tallystick.records.event import Event
from tallystick.records.progress import Progress
from tallystick.repair.references import Spot, Surveyor
from tallystick.state.beliefs import Beliefs
from tallystick.state.state import State

_PRUNED = f'"op":"{fmt.PRUNE}"'.encode()
_NAMING = (fmt.ERASE, fmt.RESTORE, fmt.REPAIR)
NO_END = "it has no end"
NOT_ITS_DATA = "its data does not fit its digest"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One line that is not as it was written, and where it stands."""

    path: Path
    line: int
    offset: int
    seq: int
    why: str
    hash: str = ""
    op: str = ""  # with `hash`: what kind of event has lost its words


@dataclass(frozen=True, slots=True)
class Item:
    """One line behind the first bad one: what it says, or why it cannot be read."""

    line: int
    offset: int
    seq: int  # of the event that should stand there
    said: fmt.Line | None
    why: str  # what is wrong with it or with its place; nothing if it follows the one above


@dataclass(slots=True)
class Reading:
    """One file of the chain, as far as it is good (`found`), and every flaw in it."""

    path: Path
    start: Place
    last: int | None  # None: the living stretch
    size: int
    found: Scan
    beyond: list[Flaw] = field(default_factory=list)  # flaws that break the chain, in order
    hollow: dict[str, Flaw] = field(default_factory=dict)  # by hash: lines whose words are erased or damaged
    senseless: set[str] = field(default_factory=set)  # by hash: those of them that are as they were written
    garbled: list[Flaw] = field(default_factory=list)  # lines that were erased and no longer look it
    flaws: list[Flaw] = field(default_factory=list)  # all of them, in order, once `settle` was called

    @property
    def whole(self) -> bool:
        """Whether the chain runs through it unbroken (words may still be lost)."""
        return not self.beyond

    def settle(self, named: set[str], end: int | None = None) -> None:
        """Put together all flaws before offset `end`, given every line that is known to be erased."""
        loose = [flaw for hashed, flaw in self.hollow.items() if hashed not in named]
        every = sorted(loose + self.garbled + self.beyond, key=lambda flaw: flaw.offset)
        self.flaws = [flaw for flaw in every if end is None or flaw.offset < end]


@dataclass(slots=True)
class Survey:
    """All of one ledger, and what it says of itself."""

    folder: Folder
    witness: Witness | None
    readings: list[Reading] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)  # first and last event that are not here
    overlapping: list[Path] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    verdict: recover.Verdict | None = None  # on the living stretch; None if there is none
    torn: recover.Verdict | None = None  # the living stretch ends in a write that nobody was told of
    named: set[str] = field(default_factory=set)  # lines that have lost their words on the record
    empty: set[str] = field(default_factory=set)  # those of them that have been overwritten
    standing: LedgerMetadata = field(default_factory=LedgerMetadata)
    state: State = field(default_factory=State)
    pruned: list[tuple[int, int, str]] = field(default_factory=list)
    hashes: dict[int, set[str]] = field(default_factory=dict)  # of the events that were asked for
    left_standing: dict[str, Flaw] = field(default_factory=dict)  # by hash: erased on the record, and not in the file
    links: Surveyor = field(default_factory=Surveyor)  # what the events speak of
    strange: dict[str, Spot] = field(default_factory=dict)  # kinds of events that this program does not know
    kept: set[str] = field(default_factory=set)  # files under sealed/ that an event speaks of
    snapshot: str = ""  # the digest of the newest snapshot on record
    is_other: bool = False  # it does not say what the events up to it say
    last: int = -1  # the last event that can be read

    @property
    def living(self) -> Reading | None:
        return self.readings[-1] if self.readings and self.readings[-1].last is None else None

    @property
    def trusted_witness(self) -> Witness | None:
        """What the lock file has seen, unless the ledger itself says that it was left behind since."""
        left = self.witness and (self.witness.seq, self.witness.hash) in self.standing.abandoned
        return None if left else self.witness

    @property
    def flaws(self) -> list[Flaw]:
        return [flaw for reading in self.readings for flaw in reading.flaws]


def survey(folder: Folder, witness: Witness | None, asked: set[int], on_progress: Progress | None = None) -> Survey:
    """Read everything. The hashes of the events in `asked` are set down."""
    seen = Survey(folder, witness)
    seen.hashes = {seq: set() for seq in asked}
    for segment in _segments(folder, seen):
        try:
            _read_one(seen, segment, on_progress)
        except OSError as error:
            seen.unreadable.append((segment.path, error.strerror or str(error)))
    seen.named = set[str]().union(*(reading.found.named for reading in seen.readings))
    seen.empty = finished_erasures(told for reading in seen.readings for told in reading.found.told)
    told = next((each for each in snapshot.candidates(folder) if each.digest == _recorded(seen)), None)
    for reading in seen.readings:
        _tell(seen, reading, reading.start, reading.found.end.offset, told)
    if seen.living:
        _judge(seen, seen.living)
    for reading in seen.readings:
        if reading.beyond:
            _tell(seen, reading, reading.found.end, reading.size)
        reading.settle(seen.named, seen.torn.end.offset if seen.torn and reading.last is None else None)
    return seen


def _segments(folder: Folder, seen: Survey) -> list[Segment]:
    """The files of the chain in order. A sealed one that reaches into another's place is none of them."""
    living = [Segment(folder.wal, _living_first(folder), None)] if folder.wal.exists() else []
    chain, behind = list[Segment](), -1
    for segment in folder.sealed_segments():
        last = segment.last if segment.last is not None else segment.first
        if segment.first <= behind or last < segment.first or (living and last >= living[0].first):
            seen.overlapping.append(segment.path)
        else:
            chain.append(segment)
            behind = last
    return chain + living


def _living_first(folder: Folder) -> int:
    """The event with which the living stretch begins, or should: its first line opens it, and may be lost."""
    try:
        line = fmt.parse(first_line(folder.wal))
        if line.op in (fmt.BEGIN, fmt.SEAL):
            return line.seq
    except (OSError, Damaged, fmt.BadLine):
        pass
    sealed = folder.sealed_segments()
    return 1 + ((sealed[-1].last or 0) if sealed else _last_moved_away(folder.wal))


def _last_moved_away(wal: Path) -> int:
    """The last event of the stretches that the living one says were moved away; -1 if none were."""
    last = -1
    with open(wal, "rb") as file:
        for _, raw in raw_lines(file.fileno(), 0, os.fstat(file.fileno()).st_size):
            with suppress(fmt.BadLine):
                if _PRUNED in raw and (line := fmt.parse(raw)).op == fmt.PRUNE and line.sound:
                    last = max(last, int(fmt.body_of(line.data).get("last", -1)))
    return last


def _read_one(seen: Survey, segment: Segment, on_progress: Progress | None) -> None:
    start = _start(seen, segment)
    behind = seen.readings[-1].last if seen.readings else -1
    if behind is not None and segment.first > behind + 1:
        seen.gaps.append((behind + 1, segment.first - 1))
    if start.seq in seen.hashes:
        seen.hashes[start.seq].add(start.hash)
    with open(segment.path, "rb") as file:
        fd, size = file.fileno(), _size(seen, segment, os.fstat(file.fileno()).st_size)
        reading = Reading(segment.path, start, segment.last, size, scan(fd, start, size, on_progress=on_progress))
        for hashed, bad in reading.found.hollow.items():
            op = _op_at(fd, bad.offset)
            reading.hollow[hashed] = Flaw(segment.path, bad.seq - start.seq, bad.offset, bad.seq, bad.why, hashed, op)
        reading.beyond = list(_beyond(fd, reading))
    seen.readings.append(reading)


def _size(seen: Survey, segment: Segment, size: int) -> int:
    """Where a file ends. What was written behind a marked witness was refused to its writer."""
    witness = seen.witness
    refused = segment.last is None and witness and witness.mark == "refused" and witness.seq >= segment.first
    return min(size, witness.length) if refused and witness else size


def _op_at(fd: int, offset: int) -> str:
    header = fmt.HEADER.match(os.pread(fd, 1 << 10, offset))
    return header[3].decode() if header else ""


def _start(seen: Survey, segment: Segment) -> Place:
    """What the first line has to follow: the stretch before, if that is here and whole; else what it says itself."""
    before = seen.readings[-1] if seen.readings else None
    if before and before.whole and before.found.end.seq == segment.first - 1:
        return before.found.end._replace(offset=0)
    if segment.first == 0:
        return START
    try:
        return Place(0, segment.first - 1, fmt.parse(first_line(segment.path)).prev)
    except (OSError, Damaged, fmt.BadLine):
        return Place(0, segment.first - 1, fmt.ZERO)


def _beyond(fd: int, reading: Reading) -> Iterator[Flaw]:
    """The flaws that break the chain: the first as the ledger's own scan has it, the others as far as can be told."""
    bad = reading.found.bad or _wrong_end(reading)
    if bad is None:
        return
    yield Flaw(reading.path, bad.seq - reading.start.seq, bad.offset, bad.seq, bad.why)
    for item in items(fd, bad.before, reading.size, bad.before.seq - reading.start.seq):
        if item.why and item.offset > bad.offset:
            yield Flaw(reading.path, item.line, item.offset, item.seq, item.why)
        if item.said and not item.said.sound:
            said, why = item.said, NOT_ITS_DATA
            flaw = Flaw(reading.path, item.line, item.offset, said.seq, why, said.hash, said.op)
            reading.hollow.setdefault(said.hash, flaw)
        elif item.said and item.said.op in _NAMING:
            reading.found.named.update(_named_by(item.said))


def _named_by(line: fmt.Line) -> list[str]:
    try:
        names = fmt.body_of(line.data).get("lines")
    except fmt.BadLine:
        return []
    return [str(name) for name in names] if isinstance(names, list) else []


def bytes_of(flaw: Flaw) -> bytes:
    """A flawed line as it stands, to its newline."""
    with open(flaw.path, "rb") as file:
        file.seek(flaw.offset)
        return file.readline()


def _wrong_end(reading: Reading) -> Bad | None:
    """A sealed stretch ends where its name says."""
    end = reading.found.end
    if reading.last is None or (end.seq == reading.last and not reading.found.open_group):
        return None
    why = "it ends too soon" if end.seq < reading.last else "it goes on longer than its name says"
    return Bad(end.offset, end.seq + 1, why, end)


def items(fd: int, place: Place, size: int, lines_before: int) -> Iterator[Item]:
    """Every line from `place` on, readable or not."""
    expected, above, end, number = place.seq + 1, place.hash, place.offset, lines_before
    for offset, raw in raw_lines(fd, place.offset, size):
        number, end = number + 1, offset + len(raw)
        try:
            said = fmt.parse(raw)
        except fmt.BadLine as bad:
            yield Item(number, offset, expected, None, str(bad))
            expected, above = expected + 1, ""
        else:
            yield Item(number, offset, expected, said, _misplaced(said, expected, above))
            expected, above = said.seq + 1, said.hash
    if end < size:
        yield Item(number + 1, end, expected, None, NO_END)


def _misplaced(said: fmt.Line, expected: int, above: str) -> str:
    """Why a readable line does not belong where it stands. Behind an unreadable one only its number can tell."""
    if said.seq != expected:
        return f"it is event {said.seq} where event {expected} should stand"
    return "it does not follow the line above" if above and said.prev != above else ""


def _judge(seen: Survey, reading: Reading) -> None:
    """What is damage in the living stretch, and what a crash has left. A torn end may stand behind damaged words."""
    witness, found = seen.trusted_witness, reading.found
    if witness and witness.seq <= reading.start.seq:
        witness = witness._replace(length=-1)  # it tells the length of an earlier stretch
    with open(reading.path, "rb") as file:
        fd = file.fileno()
        seen.verdict = recover.judge(fd, reading.size, found, found.settle(seen.named), witness)
        links = recover.judge(fd, reading.size, found, found.bad, witness)
        refused = os.fstat(fd).st_size > reading.size
    if refused and links.kind == "clean":
        links = recover.Verdict("torn", links.end, "the last write was refused and could not be taken back")
    torn = [verdict for verdict in (seen.verdict, links) if verdict.kind == "torn"]
    if torn:
        seen.torn, reading.beyond = torn[0], []
    elif seen.verdict.kind == "rolled back" and reading.beyond and reading.beyond[-1].why == NO_END:
        del reading.beyond[-1]  # where it was cut, not a flaw of its own


def _recorded(seen: Survey) -> str:
    """The digest of the newest snapshot that the lines speak of."""
    return next((each.found.snapshot for each in reversed(seen.readings) if each.found.snapshot), "")


def _tell(seen: Survey, reading: Reading, start: Place, end: int, told: Snapshot | None = None) -> None:
    """What the lines between two places say, as far as they are what was written; and whether `told` says the same."""
    number = start.seq - reading.start.seq
    with open(reading.path, "rb") as file:
        for offset, raw in raw_lines(file.fileno(), start.offset, end):
            number += 1
            try:
                line = fmt.parse(raw)
            except fmt.BadLine:
                continue
            _take(seen, reading, Spot(reading.path, number, offset, line.seq), line)
            if told is not None and line.seq == told.place.seq:
                seen.is_other = not seen.gaps and not says_the_same(told, seen.state)


def _take(seen: Survey, reading: Reading, spot: Spot, line: fmt.Line) -> None:
    seen.last = max(seen.last, line.seq)
    if line.seq in seen.hashes:
        seen.hashes[line.seq].add(line.hash)
    if line.hash in seen.named:
        _take_erased(seen, reading, _flaw(spot, line), line)
        seen.links.take(Event(line.seq, line.ts, line.op, line.id, line.by, line.hash, None), spot)
        return
    try:
        event = fold_line(line, seen.state, seen.standing)
        seen.links.take(event, spot)
        if line.sound:
            _tell_of_itself(seen, line)
    except Damaged:
        if not (reading.beyond and _has_sense(line)):
            reading.hollow[line.hash] = _flaw(spot, line)
            reading.senseless.add(line.hash)
    if seen.standing.strange == line.op:
        seen.strange.setdefault(line.op, spot)


def _has_sense(line: fmt.Line) -> bool:
    """Whether a line says something by itself. Where the chain is broken, it may stand there twice."""
    try:
        fold_line(line, State(), LedgerMetadata())
    except Damaged:
        return False
    return True


def _flaw(spot: Spot, line: fmt.Line) -> Flaw:
    return Flaw(*spot, f"its words are not what {line.op} should be", line.hash, line.op)


def _take_erased(seen: Survey, reading: Reading, at: Flaw, line: fmt.Line) -> None:
    if line.hash in seen.empty and not line.sound and not fmt.is_hollow(line.data):
        reading.garbled.append(replace(at, why=GARBLED))
    elif not fmt.is_hollow(line.data):
        seen.left_standing[line.hash] = at


def _tell_of_itself(seen: Survey, line: fmt.Line) -> None:
    if line.op in (fmt.SNAPSHOT, fmt.SEAL):
        seen.snapshot = str(fmt.body_of(line.data).get("snapshot", ""))
    elif line.op in (fmt.TORN, fmt.REPAIR):
        seen.kept.update(_files_in(fmt.body_of(line.data).get("kept")))
    elif line.op == fmt.PRUNE:
        body = fmt.body_of(line.data)
        seen.pruned.append((int(body.get("first", -1)), int(body.get("last", -1)), str(body.get("place", "?"))))


def _files_in(kept: object) -> list[str]:
    names = kept if isinstance(kept, list) else [kept]
    return [Path(name).name for name in names if isinstance(name, str)]


# -- whether a snapshot says what the events up to it say --------------------------------------------------------------


def says_the_same(told: Snapshot, state: Beliefs) -> bool:
    """Whether a snapshot holds the beliefs that `state` holds. It counts what is told of them, not how it is put."""
    lines = told.state.partition(b"[\n")[2].rpartition(b"\n],")[0].split(b",\n")
    if set(lines) == {held.line for held in state.held.values()}:
        return True
    other = State()
    try:
        other.load(told.state)
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    return _bodies(state) == _bodies(other)


def _bodies(state: Beliefs) -> dict[str, object]:
    return {ref: held.body() for ref, held in state.held.items()}
