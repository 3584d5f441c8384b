"""Reading a ledger that may be broken anywhere, from its first byte to its last.

The judgement is the ledger's own (`scan`, `recover.judge`): what they call good is good here. They stop at the first
bad line; a survey goes on after it, line by line, because a person wants to know all of the damage before deciding.
Nothing here writes, and nothing raises because of what it reads. What the events say is folded into the rows of a
temporary database, so that the length of the ledger makes no difference to the memory that is needed.

A *flaw* is one line that is not as it was written. If `hash` is set, only its data is wrong: header, hash and links are
valid, so the rest of the chain does not depend on it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.fold import LedgerMetadata, fold_event, lift
from tallystick.ledger.folder import sealed_state
from tallystick.ledger.folder.chain import file_lines, first_line, raw_lines
from tallystick.ledger.folder.layout import Folder, Segment
from tallystick.ledger.folder.load import REFUSED_WRITE, based_on
from tallystick.ledger.folder.recover import Verdict, judge
from tallystick.ledger.folder.scan import scan
from tallystick.ledger.lock import Witness
from tallystick.ledger.scan import GARBLED, NAMING, START, Bad, Place, Scan, finished_erasures, names
from tallystick.projections.database import ATTACHED, are_made_alike, have_same_rows, in_step
from tallystick.projections.tables.file import StateFile
from tallystick.projections.tables.sqlite import TablesInSqlite
from tallystick.records.errors import Busy, Damaged, TallystickError
from tallystick.records.event import Event, at_origin
from tallystick.records.progress import Progress
from tallystick.repair.references import Spot, Surveyor
from tallystick.repair.witness import content_of, in_state
from tallystick.state.state import State

_MANY = 2_000  # lines whose rows are in memory at once
_NEW = re.compile(rb'"belief":\{"id":"([0-9a-f-]+)"')
_NO_ROOM = "the check needs a temporary database ({}); make room in the temporary folder, and try again"
_PRUNED = f'"op":"{fmt.PRUNE}"'.encode()


@dataclass(frozen=True, slots=True)
class Flaw:
    """One line that is not as it was written, and its place."""

    path: Path
    line: int
    offset: int
    seq: int
    why: str
    hash: str = ""
    op: str = ""  # with `hash`: the kind of event that lost its data

    def read(self) -> bytes:
        """The flawed line, to its newline."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return file.readline()


@dataclass(frozen=True, slots=True)
class Item:
    """One line after the first bad one: parsed, or the reason why it cannot be read."""

    line: int
    offset: int
    seq: int  # of the event that belongs there
    parsed: fmt.Line | None
    why: str  # what is wrong with it or with its place; empty if it follows the one above


@dataclass(slots=True)
class Reading:
    """One file of the chain, as far as it is good (`found`), and every flaw in it."""

    path: Path
    start: Place
    last: int | None  # None: the live segment
    size: int
    found: Scan
    beyond: list[Flaw] = field(default_factory=list)  # flaws that break the chain, in order
    hollow: dict[str, Flaw] = field(default_factory=dict)  # by hash: lines whose data is erased or damaged
    senseless: set[str] = field(default_factory=set)  # by hash: those of them that are as they were written
    garbled: list[Flaw] = field(default_factory=list)  # erased lines that no longer look erased
    flaws: list[Flaw] = field(default_factory=list)  # all of them, in order, once `settle` was called

    @property
    def whole(self) -> bool:
        """True if the chain is unbroken in it (data may still be lost)."""
        return not self.beyond

    def settle(self, named: set[str], end: int | None = None) -> None:
        """Collect all flaws before offset `end`, given every line that is known to be erased."""
        loose = [flaw for hashed, flaw in self.hollow.items() if hashed not in named]
        every = sorted(loose + self.garbled + self.beyond, key=lambda flaw: flaw.offset)
        self.flaws = [flaw for flaw in every if end is None or flaw.offset < end]


class Extent(NamedTuple):
    """The events that a scan has found good: the last one, and by their hashes the lines without their data."""

    last: int
    hollow: frozenset[str]


@dataclass(slots=True)
class Survey:
    """All of one ledger, and what its own events say of it."""

    folder: Folder
    witness: Witness | None
    readings: list[Reading] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)  # first and last event that are not here
    overlapping: list[Path] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    verdict: Verdict | None = None  # on the live segment; None if there is none
    torn: Verdict | None = None  # the live segment ends in a write that was never acknowledged
    named: set[str] = field(default_factory=set)  # lines that lost their data on the record
    empty: set[str] = field(default_factory=set)  # those of them that have been overwritten
    standing: LedgerMetadata = field(default_factory=LedgerMetadata)
    pruned: list[tuple[int, int, str]] = field(default_factory=list)
    hashes: dict[int, set[str]] = field(default_factory=dict)  # of the wanted events
    left_standing: dict[str, Flaw] = field(default_factory=dict)  # by hash: erased on the record, but not in the file
    strange: dict[str, Spot] = field(default_factory=dict)  # unknown kinds of events
    kept: set[str] = field(default_factory=set)  # files under sealed/ that an event names
    base: int = -1  # the last event of the state file in place of those that were moved away
    baseless: str = ""  # why there is none, if there should be one
    state_seq: int = -1  # the last event of state.db
    state_differs: str = ""  # from the events up to it: where
    last: int = -1  # the last event that can be read
    state: State = field(init=False)
    links: Surveyor = field(init=False)  # the references between events
    along: list[Callable[[Sequence[Event]], None]] = field(default_factory=list)  # who takes the events, some at a time
    _rows: StateFile = field(init=False)  # of the state: a temporary database
    _names: TablesInSqlite = field(default_factory=TablesInSqlite)  # of the references, in the same database

    def __post_init__(self) -> None:
        self._rows = StateFile(self.folder.state)
        self.state = State(self._rows.tables)
        self.links = Surveyor(self._names, self.state)
        self._rows.restart(alone=False)
        self._names.attach(self._rows.tables.db, is_new=True)

    def close(self) -> None:
        self._rows.close()

    def write(self) -> None:
        """Write the rows that are in memory. Busy, if the temporary database cannot be used."""
        try:
            for tables in (self._rows.tables, self._names):
                tables.save(None)
        except sqlite3.Error as error:
            raise Busy(_NO_ROOM.format(error)) from error

    def must_be_usable(self) -> None:
        """Busy, if the temporary database cannot be read: what was not folded for that reason is not damaged."""
        if self._rows.tables.is_bad or self._names.is_bad:
            raise Busy(_NO_ROOM.format("it cannot be read"))

    @property
    def extent(self) -> Extent:
        """What the scans say of all events, before they are folded."""
        hollow = frozenset(hashed for reading in self.readings for hashed in reading.found.hollow)
        return Extent(self.readings[-1].found.end.seq if self.readings else -1, hollow)

    @property
    def is_unbroken(self) -> bool:
        """True if the scans have read every line to the end of its file, and each follows the line above."""
        ends = ((reading.found.end.offset, reading.size) for reading in self.readings)
        return self.live is not None and not self.unreadable and all(end == size for end, size in ends)

    @property
    def live(self) -> Reading | None:
        return self.readings[-1] if self.readings and self.readings[-1].last is None else None

    @property
    def trusted_witness(self) -> Witness | None:
        """The witness in the lock file, unless the ledger itself left that head behind since."""
        left = self.witness and (self.witness.seq, self.witness.hash) in self.standing.abandoned
        return None if left else self.witness

    @property
    def flaws(self) -> list[Flaw]:
        return [flaw for reading in self.readings for flaw in reading.flaws]

    @property
    def whole(self) -> bool:
        """True if every event that was ever recorded can be read here."""
        return not (self.flaws or self.gaps or self.unreadable) and self.live is not None


def scan_ledger(survey: Survey, wanted: set[int], on_progress: Progress | None = None) -> None:
    """Check every line. The hashes of the events in `wanted` are kept, once the lines are folded too."""
    folder = survey.folder
    survey.hashes = {seq: set() for seq in wanted}
    for segment in _segments(folder, survey):
        try:
            _read_one(survey, segment, on_progress)
        except OSError as error:
            survey.unreadable.append((segment.path, error.strerror or str(error)))


def fold_ledger(survey: Survey) -> None:
    """Fold the lines that were scanned into the state, and judge what is wrong with the others."""
    folder, readings = survey.folder, survey.readings
    kept = in_state(folder.state) if folder.state.is_file() else None
    survey.state_seq = kept[0] if kept else -1
    survey.named = set[str]().union(*(reading.found.named for reading in readings))
    survey.empty = finished_erasures(note for reading in readings for note in reading.found.notes)
    if readings and survey.gaps and survey.gaps[0][0] == 0:
        _begin_with_state(survey, survey.gaps[0][1] + 1)
    for reading in readings:
        _apply(survey, reading, reading.start, reading.found.end.offset)
    if survey.live:
        _judge(survey, survey.live)
    for reading in readings:
        if reading.beyond:
            _apply(survey, reading, reading.found.end, reading.size)
        reading.settle(survey.named, survey.torn.end.offset if survey.torn and reading.last is None else None)


def _segments(folder: Folder, survey: Survey) -> list[Segment]:
    """The files of the chain in order. A sealed one that overlaps another is not one of them."""
    live = [Segment(folder.wal, _live_first(folder), None)] if folder.wal.exists() else []
    chain, behind = list[Segment](), -1
    for segment in folder.sealed_segments():
        last = segment.last if segment.last is not None else segment.first
        if segment.first <= behind or last < segment.first or (live and last >= live[0].first):
            survey.overlapping.append(segment.path)
        else:
            chain.append(segment)
            behind = last
    return chain + live


def _live_first(folder: Folder) -> int:
    """The event with which the live segment begins, or should: its first line may be lost."""
    with suppress(OSError, Damaged):
        line = fmt.try_parse(first_line(folder.wal))
        if line and line.op in (fmt.BEGIN, fmt.SEAL):
            return line.seq
    if sealed := folder.sealed_segments():
        return 1 + (sealed[-1].last or 0)
    last = -1  # of the segments that the live one says were moved away
    for _, raw in file_lines(folder.wal):
        moved = fmt.try_parse(raw) if _PRUNED in raw else None
        if moved and moved.op == fmt.PRUNE and moved.sound:
            with suppress(fmt.BadLine):
                last = max(last, int(fmt.body_of(moved.data).get("last", -1)))
    return 1 + last


def _read_one(survey: Survey, segment: Segment, on_progress: Progress | None) -> None:
    start = _start(survey, segment)
    behind = survey.readings[-1].last if survey.readings else -1
    if behind is not None and segment.first > behind + 1:
        survey.gaps.append((behind + 1, segment.first - 1))
    if start.seq in survey.hashes:
        survey.hashes[start.seq].add(start.hash)
    with open(segment.path, "rb") as file:
        fd, size, witness = file.fileno(), os.fstat(file.fileno()).st_size, survey.witness
        if segment.last is None and witness and witness.mark == "refused" and witness.seq >= segment.first:
            size = min(size, witness.length)  # what was written after that was refused to its writer
        reading = Reading(segment.path, start, segment.last, size, scan(fd, start, size, on_progress=on_progress))
        for hashed, bad in reading.found.hollow.items():
            header = fmt.HEADER.match(os.pread(fd, 1 << 10, bad.offset))
            op = header[3].decode() if header else ""
            reading.hollow[hashed] = Flaw(segment.path, bad.seq - start.seq, bad.offset, bad.seq, bad.why, hashed, op)
        reading.beyond = list(_beyond(fd, reading))
    survey.readings.append(reading)


def _start(survey: Survey, segment: Segment) -> Place:
    """The place that the first line has to follow: the end of the segment before, if that is here and whole."""
    before = survey.readings[-1] if survey.readings else None
    if before and before.whole and before.found.end.seq == segment.first - 1:
        return before.found.end._replace(offset=0)
    if segment.first == 0:
        return START
    with suppress(OSError, Damaged, fmt.BadLine):
        return Place(0, segment.first - 1, fmt.parse(first_line(segment.path)).prev)
    return Place(0, segment.first - 1, fmt.ZERO)


def _beyond(fd: int, reading: Reading) -> Iterator[Flaw]:
    """The flaws that break the chain: the first as the ledger's own scan has it, then the others."""
    bad, end = reading.found.bad, reading.found.end
    if not bad and reading.last is not None and (end.seq != reading.last or reading.found.open_group):
        why = "it ends too soon" if end.seq < reading.last else "it is longer than its name says"
        bad = Bad(end.offset, end.seq + 1, why, end)
    if bad is None:
        return
    yield Flaw(reading.path, bad.seq - reading.start.seq, bad.offset, bad.seq, bad.why)
    for item in items(fd, bad.before, reading.size, bad.before.seq - reading.start.seq):
        line = item.parsed
        if item.why and item.offset > bad.offset:
            yield Flaw(reading.path, item.line, item.offset, item.seq, item.why)
        if line and not line.sound:
            flaw = Flaw(reading.path, item.line, item.offset, line.seq, fmt.NO_MATCH, line.hash, line.op)
            reading.hollow.setdefault(line.hash, flaw)
        elif line and line.op.encode() in NAMING:
            with suppress(fmt.BadLine):
                reading.found.named.update(names(fmt.body_of(line.data)))


def items(fd: int, place: Place, size: int, lines_before: int) -> Iterator[Item]:
    """Every line from `place` on, readable or not."""
    expected, above, end, number = place.seq + 1, place.hash, place.offset, lines_before
    for offset, raw in raw_lines(fd, place.offset, size):
        number, end = number + 1, offset + len(raw)
        try:
            line = fmt.parse(raw)
        except fmt.BadLine as bad:
            yield Item(number, offset, expected, None, str(bad))
            expected, above = expected + 1, ""
            continue
        why = ""
        if line.seq != expected:
            why = f"it is event {line.seq} where event {expected} belongs"
        elif above and line.prev != above:  # after an unreadable line only the seq can tell
            why = "it does not follow the line above"
        yield Item(number, offset, expected, line, why)
        expected, above = line.seq + 1, line.hash
    if end < size:
        yield Item(number + 1, end, expected, None, fmt.NO_END)


def _judge(survey: Survey, reading: Reading) -> None:
    """Tell damage in the live segment from what a crash left. A torn end may follow damaged data."""
    witness, found = survey.trusted_witness, reading.found
    if witness and witness.seq <= reading.start.seq:
        witness = witness._replace(length=-1)  # it is the length of an earlier segment
    with open(reading.path, "rb") as file:
        fd = file.fileno()
        survey.verdict = judge(fd, reading.size, found, found.first_bad(survey.named), witness)
        links = judge(fd, reading.size, found, found.bad, witness)
        refused = os.fstat(fd).st_size > reading.size
    if refused and links.kind == "clean":
        links = Verdict("torn", links.end, REFUSED_WRITE)
    torn = [verdict for verdict in (survey.verdict, links) if verdict.kind == "torn"]
    if torn:
        survey.torn, reading.beyond = torn[0], []
    elif survey.verdict.kind == "rolled back" and reading.beyond and reading.beyond[-1].why == fmt.NO_END:
        del reading.beyond[-1]  # where it was cut, not a flaw of its own


_KEPT = ("graph.first", "graph.last", "use.receipt", "use.group", "use.held", "use.served")


def _begin_with_state(survey: Survey, first: int) -> None:
    """Begin with the state file in place of the events before `first`. What records it may be behind damage."""
    notes = [note for reading in survey.readings for note in reading.found.notes]
    if not sealed_state.recorded(notes)[1] and not all(reading.whole for reading in survey.readings):
        return
    try:
        base = sealed_state.find(survey.folder, notes, first)
        survey.standing, _ = based_on(base, survey.folder, survey.state, None)
        survey.base = base.place.seq
    except TallystickError as error:
        survey.baseless = str(error)


def _apply(survey: Survey, reading: Reading, start: Place, end: int) -> None:
    """Apply the lines between two places, as far as they are what was written; and compare the rows of the state.

    Those that the scan has found good are not checked again. Their events are given to whoever reads along.
    """
    number, is_checked = start.seq - reading.start.seq, end <= reading.found.end.offset
    for some in _portions(survey, file_lines(reading.path, start.offset, end)):
        events = list[Event]()
        for offset, raw in some:
            number += 1
            event = _apply_raw(survey, reading, (number, offset), raw, is_checked=is_checked)
            if event is None:
                continue
            events.append(event)
            seq = event.seq
            if seq == survey.state_seq and seq >= survey.base and (survey.base >= 0 or not survey.gaps):
                survey.write()
                is_whole = not survey.standing.erasures  # of a few tables nothing with words in it goes with an erasure
                tables, but = survey._rows.tables, () if is_whole else _KEPT
                survey.state_differs = difference(survey.folder.state, tables, but, is_whole=survey.base < 0)
        for take in survey.along if is_checked else ():
            take(events)
        survey.write()


_STRANGE = tuple(
    f"SELECT 1 FROM {ATTACHED}.{each} WHERE tab NOT IN (SELECT id FROM {ATTACHED}.state_table)"
    for each in ("state_row", "state_past")
)
_SOME = (("state_row", ("key",), ("value",)),)  # rows, what names them besides their table, and what must be the same
_ALL = ("state_row", ("key",), ("value", "since")), ("state_past", ("key", "until"), ("value", "since"))


def difference(path: Path, tables: TablesInSqlite, but: Collection[str] = (), *, is_whole: bool = True) -> str:
    """The first table in which the rows of state.db are not these; empty if there is none.

    `is_whole`: these follow from all events, and so does what was there before.
    """
    db = tables.db
    try:
        with content_of(path) as content:
            db.execute(f"ATTACH ? AS {ATTACHED}", (content,))
            try:
                return _differing(db, tables, but, _ALL if is_whole else _SOME)
            finally:
                db.execute(f"DETACH {ATTACHED}")
    except (OSError, sqlite3.Error) as error:
        return str(error)


def _differing(
    db: sqlite3.Connection, tables: TablesInSqlite, but: Collection[str],
    parts: Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]],
) -> str:  # fmt: skip
    numbers = dict(db.execute(f"SELECT name, id FROM {ATTACHED}.state_table").fetchall())
    have_keys = are_made_alike(db, "state_row", "state_past")
    for name, table in tables.tables.items():
        places = ("main", table.number), (ATTACHED, numbers.get(name, -1))
        for rows, keys, values in parts if name not in but else ():
            of = ", ".join((*keys, *values))
            mine, theirs = (f"SELECT {of} FROM {place}.{rows} WHERE tab = {number:d}" for place, number in places)
            if have_keys and have_same_rows(db, mine, theirs, keys, values):
                continue
            in_order = (db.execute(f"{each} ORDER BY {of}") for each in (mine, theirs))
            if any(in_step(rows, *in_order)):
                return name
    return "a table that is not known" if any(db.execute(each).fetchone() for each in _STRANGE) else ""


def _portions(survey: Survey, lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Lines, so many at a time as have their rows in memory; the new beliefs of each portion are looked up at once."""
    while some := list(islice(lines, _MANY)):
        survey.state.tables.tables["belief"].prefetch([name.decode() for _, raw in some for name in _NEW.findall(raw)])
        yield some


def _apply_raw(
    survey: Survey, reading: Reading, place: tuple[int, int], raw: bytes, *, is_checked: bool
) -> Event | None:  # fmt: skip
    """Apply the line at a place, its number and offset, and return its event; None, if it has none."""
    hollow = reading.found.hollow
    try:
        event = fmt.split_event(raw) if is_checked else None
    except fmt.BadLine:
        event = None
    if event and event.hash not in survey.named and event.hash not in hollow:
        return _apply_event(survey, reading, Spot(reading.path, *place, event.seq), at_origin(event), event.ts)
    line = fmt.split(raw) if is_checked else fmt.try_parse(raw)
    if line is None:
        return None
    if is_checked and line.hash in hollow:
        line = line._replace(sound=False)
    spot = Spot(reading.path, *place, line.seq)
    if line.hash in survey.named:
        return _apply_erased(survey, reading, spot, line)
    try:
        return _apply_event(survey, reading, spot, line.event(), line.ts)
    except fmt.BadLine:
        _note(survey, line.seq, line.hash)
        _call_senseless(reading, spot, line)
        return None


def _apply_erased(survey: Survey, reading: Reading, spot: Spot, line: fmt.Line) -> Event:
    """Apply a line that lost its data on the record, as if it were gone; and return its event as it still is."""
    _note(survey, line.seq, line.hash)
    flaw = _flaw(spot, line)
    if line.hash in survey.empty and not line.sound and not fmt.is_hollow(line.data):
        reading.garbled.append(replace(flaw, why=GARBLED))
    elif not fmt.is_hollow(line.data):
        survey.left_standing[line.hash] = flaw
    erased = Event(line.seq, line.ts, line.op, line.id, line.by, line.hash, None)
    if line.seq > survey.base:
        survey.links.take(erased, spot)
        survey.state.apply(erased)
    with suppress(fmt.BadLine):
        return lift(line.event())
    return erased


def _apply_event(survey: Survey, reading: Reading, spot: Spot, event: Event, ts: str) -> Event | None:
    _note(survey, event.seq, event.hash)
    try:
        if event.seq > survey.base:
            event = fold_event(event, ts, survey.state, survey.standing)
            survey.links.take(event, spot)
        else:
            event = lift(event)
        _apply_own(survey, event)
    except Damaged:
        survey.must_be_usable()
        if not (reading.beyond and _makes_sense(event, ts)):
            _call_senseless(reading, spot, event)
        return None
    if survey.standing.strange == event.op:
        survey.strange.setdefault(event.op, spot)
    return event


def _note(survey: Survey, seq: int, hashed: str) -> None:
    survey.last = max(survey.last, seq)
    if seq in survey.hashes:
        survey.hashes[seq].add(hashed)


def _call_senseless(reading: Reading, spot: Spot, of: fmt.Line | Event) -> None:
    reading.hollow[of.hash] = _flaw(spot, of)
    reading.senseless.add(of.hash)


def _flaw(spot: Spot, of: fmt.Line | Event) -> Flaw:
    return Flaw(*spot, f"its data is not a valid {of.op}", of.hash, of.op)


def _makes_sense(event: Event, ts: str) -> bool:
    """True if an event is valid by itself. Where the chain is broken, it may be there twice."""
    try:
        fold_event(event, ts, State(), LedgerMetadata())
    except Damaged:
        return False
    return True


def _apply_own(survey: Survey, event: Event) -> None:
    """Keep what the ledger's own events say of its files."""
    body = event.body or {}
    if event.op in (fmt.TORN, fmt.REPAIR):
        kept = body.get("kept")
        paths = kept if isinstance(kept, list) else [kept]
        survey.kept.update(Path(path).name for path in paths if isinstance(path, str))
    elif event.op == fmt.PRUNE:
        survey.pruned.append((int(body.get("first", -1)), int(body.get("last", -1)), str(body.get("place", "?"))))
