"""Repairing damaged lines: first the plan, which changes nothing, then on disk. Lost data is named; cut bytes are kept.

Each file of the chain is treated in this order, and only as far as necessary:

1. A backup that has the line puts it back. Nothing is lost. A backup holds the same segments, byte for byte, up to the
   moment it was made. If our file goes on exactly where the backup's ends (the next line names the hash of the backup's
   last one), then the backup's bytes and ours together are what was written. If only the data of a line is damaged, any
   other copy of that line will do, in whatever file: its hash and digest show that it is the same line, and whole.
2. Only the data of a line is damaged: it is given up. The line stays in the chain, empty, like an erased one.
3. The chain itself is broken, in the live segment: it is cut after the last good group, and what can be read after that
   is recorded again. In a sealed segment this is refused: everything after it depends on it.

After a broken link the chain proves nothing, but most lines can still be read: each carries its own hash and the digest
of its data. The events of callers are recorded again in their order, with their own time, id and data; only their place
and links are new. Groups stay groups. A doubled line is recorded once; of two lines with the same seq, the one that
another line names is taken. A last group without its end was never acknowledged, and is left out. Of the ledger's own
events only those are recorded again that are still needed: what was erased, and where copies and segments went.

The order on disk: the damaged bytes are kept under `sealed/damaged-…`; the new live segment is finished under its
`.new` name, ending in a `ledger.repair/1` event that names every line that has lost its data; one rename puts it in
place. Only then are sealed files put back or emptied. A crash before the rename leaves everything as it was; after it,
a file that is still to be put back is found damaged again, and data that is still to be emptied is on record as given
up.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, append, copy, remove_all, remove_if_there, write_new
from tallystick.ledger.folder import sealed_state
from tallystick.ledger.folder.chain import file_lines, first_line, raw_lines
from tallystick.ledger.folder.erase_everywhere import hollow_out_file, keep_bytes
from tallystick.ledger.folder.layout import Folder, free_name
from tallystick.ledger.folder.recover import ledger_id
from tallystick.ledger.folder.scan import scan, scan_path
from tallystick.ledger.lock import Lock
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.scan import Place
from tallystick.records.errors import Damaged
from tallystick.repair.check import Look, contradictions
from tallystick.repair.scan import Flaw, Item, Reading, items
from tallystick.repair.witness import ledger_in_state

Piece = tuple[Path, int, int]  # bytes of a file, from and to

_STATE = f'"op":"{fmt.STATE}"'.encode()
_STILL_NEEDED = frozenset({fmt.ERASE, fmt.ERASED, fmt.COPY, fmt.PRUNE})
_LEDGER = re.compile(rb'"ledger":"([0-9a-f]{32})"')
_MOST_RANGES = 2000  # of lost events, in one event


@dataclass(frozen=True, slots=True)
class Graft:
    """The backup's file up to `end`, then ours from the offset `resume`."""

    source: Path
    end: Place
    resume: int

    def heals(self, flaw: Flaw) -> bool:
        return flaw.offset < self.resume


@dataclass(slots=True)
class Behind:
    """The lines after the break."""

    again: list[fmt.Line] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)  # events that cannot be read: from, to
    last: tuple[int, str] = (-1, fmt.ZERO)  # the last line that can be read

    def lose(self, first: int, last: int) -> None:
        if first > last:
            return
        if self.lost and self.lost[-1][1] == first - 1:
            first = self.lost.pop()[0]
        self.lost.append((first, last))


@dataclass(slots=True)
class Cure:
    """The repair of one file."""

    reading: Reading
    graft: Graft | None
    place: Place  # up to where the file will be good, in its own bytes
    broken: bool  # the chain breaks there
    behind: Behind = field(default_factory=Behind)
    spares: dict[str, Piece] = field(default_factory=dict)  # copies of lines that lost their data here, by hash

    @property
    def healed(self) -> list[Flaw]:
        """The lines that are put back."""
        grafted = [flaw for flaw in self.reading.flaws if self.graft and self.graft.heals(flaw)]
        return grafted + [flaw for flaw in self._without_data() if flaw.hash in self.spares]

    @property
    def emptied(self) -> list[Flaw]:
        """The lines that keep their place and lose their data."""
        return [flaw for flaw in self._without_data() if flaw.hash not in self.spares]

    def _without_data(self) -> list[Flaw]:
        start, end = self.graft.resume if self.graft else 0, self.place.offset
        return [flaw for flaw in self.reading.flaws if flaw.hash and start <= flaw.offset < end]

    @property
    def loses_first_line(self) -> bool:
        return self.place.seq == self.reading.start.seq

    def pieces(self) -> Iterator[Piece]:
        """The parts of the repaired file."""
        at, path = 0, self.reading.path
        if self.graft:
            at = self.graft.resume
            yield self.graft.source, 0, self.graft.end.offset
        for flaw in self._without_data():
            if spare := self.spares.get(flaw.hash):
                yield path, at, flaw.offset
                yield spare
                at = flaw.offset + len(flaw.read())
        yield path, at, self.place.offset

    def lines(self) -> Iterator[bytes]:
        for piece in self.pieces():
            yield from (raw for _, raw in file_lines(*piece))


@dataclass(slots=True)
class Operation:
    """The repair of the ledger, or the reason why none is possible."""

    look: Look
    cures: list[Cure]
    refusal: str = ""

    @property
    def live(self) -> Cure:
        return self.cures[-1]

    @property
    def emptied(self) -> list[Flaw]:
        return [flaw for cure in self.cures for flaw in cure.emptied]

    @property
    def lost(self) -> list[tuple[int, int]]:
        """The events whose data is lost: from, to."""
        given_up = [flaw.seq for flaw in self.emptied if flaw.hash not in self.look.survey.named]
        return [(seq, seq) for seq in given_up] + self.live.behind.lost


def operation(look: Look) -> Operation:
    """Plan the repair of the damaged lines. Reads, and changes nothing."""
    cures = [_cure(look, reading) for reading in look.survey.readings]
    found = Operation(look, cures)
    erased = look.survey.named.union(*(reading.senseless for reading in look.survey.readings))
    paths = (path for folder in (look.folder, *look.folder.copies()) for path in folder.chain_files())
    spares = _spares(paths, {flaw.hash for flaw in found.emptied} - erased)
    for cure in cures:
        cure.spares = spares
    found.refusal = _refusal(look, cures)
    has_state = not look.survey.gaps or sealed_state.is_there(look.folder, *_recorded_state(found.live))
    if not found.refusal and not has_state:
        why = "earlier events were moved away, and without them it could not be opened"
        found.refusal = f"{why}: put them back, or {look.restore}"
    return found


def _spares(paths: Iterable[Path], wanted: Collection[str]) -> dict[str, Piece]:
    """Whole copies of the lines with those hashes."""
    found: dict[str, Piece] = {}
    for path in paths if wanted else ():
        with suppress(OSError):
            for offset, raw in file_lines(path):
                header = fmt.HEADER.match(raw)
                if header and (hashed := header[fmt.HASH_GROUP].decode()) in wanted:
                    line = fmt.try_parse(raw)
                    if line and line.sound:
                        found[hashed] = (path, offset, offset + len(raw))
    return found


# -- one file ----------------------------------------------------------------------------------------------------------


def _cure(look: Look, reading: Reading) -> Cure:
    taken = _graft(look.good, reading) if reading.flaws else None
    start = taken.end._replace(offset=taken.resume) if taken else reading.start
    with open(reading.path, "rb") as file:
        fd = file.fileno()
        found = scan(fd, start, reading.size)
        if reading.last is not None:
            return Cure(reading, taken, found.end, bool(found.bad) or found.end.seq != reading.last)
        if look.survey.torn:
            return Cure(reading, taken, look.survey.torn.end, False)
        if not found.bad:
            return Cure(reading, taken, found.end, False)
        place, witness = _before_impostors(fd, start, found.end, reading.size), look.survey.trusted_witness
        rest = items(fd, place, reading.size, 0)
        behind = _gather(rest, place, look.survey.named, reading.senseless, witness.seq if witness else -1)
        return Cure(reading, taken, place, True, behind)


def _graft(good: list[Folder], reading: Reading) -> Graft | None:
    """The newest of the good backups that heals something in this file; None if there is none."""
    for copied in reversed(good):
        firsts = ((source, fmt.parse(first_line(source))) for source in copied.chain_files())
        source, line = next((each for each in firsts if each[1].seq == reading.start.seq + 1), (None, None))
        if source and line:
            end = scan_path(source, Place.before(line)).end
            resume = _where_ours_goes_on(reading, end, same_start=line.prev == reading.start.hash)
            graft = None if resume is None else Graft(source, end, resume)
            if graft and any(graft.heals(flaw) for flaw in reading.flaws):
                return graft
    return None


def _where_ours_goes_on(reading: Reading, end: Place, *, same_start: bool) -> int | None:
    """The offset of our line that follows `end`; the end of our file if the backup has all that ours ever had."""
    reach = reading.last if reading.last is not None else max(flaw.seq for flaw in reading.flaws)
    with open(reading.path, "rb") as file:
        for item in items(file.fileno(), reading.start, reading.size, 0):
            if item.parsed and (item.parsed.seq, item.parsed.prev) == (end.seq + 1, end.hash):
                return item.offset
            reach = max(reach, item.parsed.seq if item.parsed else -1)
    return reading.size if same_start and end.seq >= reach else None


def _before_impostors(fd: int, start: Place, end: Place, size: int) -> Place:
    """The place up to which the chain is the one that the following lines continue.

    A line that was slipped in breaks the chain after itself. It shows by its rival: a line of the same seq after the
    break, which the lines after it name.
    """
    behind = [item.parsed for item in items(fd, end, size, 0) if item.parsed]
    named = {line.prev for line in behind}
    rivals = {line.seq: line.hash for line in behind if line.seq <= end.seq and line.hash in named}
    for offset, raw in raw_lines(fd, start.offset, end.offset) if rivals else ():
        line = fmt.parse(raw)
        if rivals.get(line.seq, line.hash) != line.hash:
            return scan(fd, start, offset).end
    return end


def _gather(
    rest: Iterable[Item], place: Place, named: Collection[str], senseless: Collection[str], seen_up_to: int
) -> Behind:
    """Sort the lines after `place`. Erased lines are `named`, those that were never valid `senseless`.

    A witness knows of events up to `seen_up_to`.
    """
    every = _acknowledged(list(rest), seen_up_to)
    lines = _one_each([item.parsed for item in every if item.parsed and item.parsed.seq > place.seq])
    behind = Behind(last=(lines[-1].seq, lines[-1].hash) if lines else (-1, fmt.ZERO))
    expected = place.seq + 1
    for line in lines:
        behind.lose(expected, line.seq - 1)
        expected = line.seq + 1
        if line.hash in named:
            continue
        if not line.sound or line.hash in senseless:
            behind.lose(line.seq, line.seq)
        elif line.op in _STILL_NEEDED or line.op not in fmt.HOUSEKEEPING:
            behind.again.append(line)
    behind.lose(expected, max([seen_up_to, *(item.seq for item in every if item.parsed is None)]))
    return behind


def _acknowledged(every: list[Item], seen_up_to: int) -> list[Item]:
    """Without a last group that was never finished: whole lines, or the beginning of one, that no witness knows."""
    ends = [
        at for at, item in enumerate(every)
        if (item.parsed and item.parsed.left == 0) or item.why not in ("", fmt.NO_END)
    ]  # fmt: skip
    open_group = every[ends[-1] + 1 if ends else 0 :]
    return every[: -len(open_group)] if open_group and open_group[0].seq > seen_up_to else every


def _one_each(lines: list[fmt.Line]) -> list[fmt.Line]:
    """In order of seq, each seq once: preferably one that another line names, or one with its data."""
    named, rivals = {line.prev for line in lines}, dict[int, list[fmt.Line]]()
    for line in lines:
        rivals.setdefault(line.seq, []).append(line)
    return [max(rivals[seq], key=lambda line: (line.hash in named, line.sound)) for seq in sorted(rivals)]


# -- the whole ledger --------------------------------------------------------------------------------------------------


def _refusal(look: Look, cures: Sequence[Cure]) -> str:
    """The reason why this must not be tried; empty if it may."""
    survey = look.survey
    if survey.live is None or survey.unreadable:
        return f"the ledger cannot be read completely; {look.restore}"
    for why in contradictions(look):
        return f"the ledger was rolled back or replaced: {why}; {look.restore}"
    if survey.standing.strange:
        return "the ledger holds events of a newer tallystick; upgrade tallystick, then repair"
    for cure in cures[:-1]:
        if cure.broken:
            return f"no good backup here has what is damaged in sealed/{cure.reading.path.name}; {look.restore}"
    live = cures[-1]
    if live.broken and live.loses_first_line and live.place.seq >= 0 and survey.gaps:
        return f"its first line is damaged, and events before it are missing: put those back, or {look.restore}"
    for witness in look.witnesses if live.broken else ():  # recording again gives events other hashes
        if witness.seq > live.place.seq:
            why = f"{witness.name} has seen event {witness.seq}, but the chain is broken after event {live.place.seq}"
            return f"{why}; only a restore replaces a checkpoint: {look.restore}"
    return ""


def _recorded_state(cure: Cure) -> tuple[int, str]:
    """The state file that the newest event about one records, in what stays of the live segment."""
    lines = (fmt.parse(raw) for raw in cure.lines() if _STATE in raw)
    bodies = [fmt.body_of(line.data) for line in lines if line.op == fmt.STATE and line.sound]
    return (int(bodies[-1]["seq"]), str(bodies[-1]["digest"])) if bodies else (-1, "")


# -- on disk -----------------------------------------------------------------------------------------------------------


def perform(found: Operation, disk: Disk, lock: Lock, ts: str, by: str) -> None:
    """Carry out the repair, under the exclusive lock."""
    folder = found.look.folder
    kept = _keep(found, disk, ts)
    end = _write_live(found, disk, kept, ts, by)
    remove_all(disk, folder.state_files())  # they are of the old chain, and are rebuilt
    disk.rename(folder.new_wal, folder.wal)
    disk.sync_folder(folder.root)
    lock.settle(end.seq, end.hash, end.offset)
    for cure in found.cures[:-1]:
        _fix_sealed(disk, cure, found.look.survey.named)


def _keep(found: Operation, disk: Disk, ts: str) -> list[str]:
    """Copy what will be cut or overwritten, and return the names under `sealed/`."""
    folder, live = found.look.folder, found.live
    name = "damaged-" + ts[:19].replace("-", "").replace(":", "")
    kept = []
    disk.make_folder(folder.sealed)
    if live.broken:
        kept.append(keep_bytes(disk, folder, f"{name}.wal", 0).name)
    elif live.place.offset < live.reading.size and not live.graft:
        kept.append(keep_bytes(disk, folder, f"torn-{live.place.seq + 1:012d}", live.place.offset).name)
    lines = [flaw for cure in found.cures if not cure.broken for flaw in cure.reading.flaws]
    if lines:
        target = free_name(folder.sealed, f"{name}.lines")
        kept.append(target.name)
        write_new(disk, target, b"".join(flaw.read() for flaw in lines))
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    return kept


def _write_live(found: Operation, disk: Disk, kept: list[str], ts: str, by: str) -> Place:
    """Write the new live segment, whole, under its `.new` name; return its end."""
    live, fresh = found.live, found.look.folder.new_wal
    encoder = fmt.LineEncoder(live.place.seq, live.place.hash)
    again = live.behind.again
    at = again[0].ts if again else ts
    if live.place.seq < 0:  # nothing stays, so the line that opens the segment is written again
        encoder.add(fmt.BEGIN, [{"ledger": _identity(found.look), "format": fmt.FORMAT, "begun": at}], at, by)
    elif live.loses_first_line:
        encoder.add(fmt.SEAL, [_seal(found)], at, by)
    moved: dict[int, int] = {}  # old seq → new seq
    for _, group in groupby(again, key=lambda line: line.seq + line.left):  # a group ends at one event
        lines = list(group)
        encoder.add_group([(line.op, line.id, line.by, line.ts, _data(line, moved)) for line in lines])
        moved |= {line.seq: encoder.seq - len(lines) + at for at, line in enumerate(lines, 1)}
    _write_pieces(disk, live, fresh, encoder.take())
    hollow_out_file(disk, fresh, found.look.survey.named.union(flaw.hash for flaw in found.emptied))
    encoder.add(fmt.REPAIR, _bodies(found, kept, _unexplained(found, fresh)), ts, by)
    append(disk, fresh, encoder.take())
    repaired = scan_path(fresh)
    if bad := repaired.first_bad(_named_in_sealed(found)):  # nothing damaged is ever put in place
        raise Damaged(f"the repaired file would be damaged at event {bad.seq} ({bad.why}); nothing was changed")
    return repaired.end


def _data(line: fmt.Line, moved: dict[int, int]) -> bytes:
    """The data of a line that is recorded again. The end of an erasure names the erasure by its seq."""
    if line.op != fmt.ERASED:
        return line.data
    body = fmt.body_of(line.data)
    return fmt.data_of({**body, "of": moved.get(body["of"], body["of"])})


def _seal(found: Operation) -> dict[str, Any]:
    """The first line of a segment, about the one before it."""
    before, tree = found.cures[-2].reading, Range()
    for cure in found.cures[:-1]:
        tree.extend(leaf_hash(fmt.parse(raw).slice) for raw in cure.lines())
    segment = {"first": before.start.seq + 1, "last": before.last, "head": found.live.place.hash}
    count = found.live.place.seq - before.start.seq
    root = tree.root().hex()
    return {"ledger": _identity(found.look), "stretch": segment, "events": count, "root": root}


def _identity(look: Look) -> str:
    """The id of the ledger: from a first line, its own or a backup's, or from a state file; else from what is left."""
    names = [look.survey.standing.ledger, ledger_id(look.folder), *map(ledger_id, reversed(look.good))]
    names += [str(each.standing["ledger"]) for each in sealed_state.found_in(look.folder)]
    names.append(ledger_in_state(look.folder.state))
    left = _LEDGER.search(first_line(look.folder.wal))
    return next(filter(None, names), left[1].decode() if left else os.urandom(16).hex())


def _bodies(found: Operation, kept: list[str], lines: list[str]) -> list[dict[str, Any]]:
    """The bodies of the repair events: as many as it takes to name every line without data."""
    live, witness = found.live, found.look.survey.witness
    first: dict[str, Any] = {
        "ledger": _identity(found.look), "kept": kept, "lost": found.lost[:_MOST_RANGES],
        "again": len(live.behind.again),
        "healed": sum(len(cure.healed) for cure in found.cures),
    }  # fmt: skip
    if live.broken:  # the head left behind, which the lock file may still name, as after a restore: else the last line
        seq, hashed = (witness.seq, witness.hash) if witness and witness.seq > live.place.seq else live.behind.last
        first |= {"after": live.place.seq, "abandoned": {"seq": seq, "hash": hashed}}
    parts = [lines[at : at + fmt.PER_ERASURE] for at in range(0, max(len(lines), 1), fmt.PER_ERASURE)]
    return [{**(first if number == 0 else {}), "lines": part} for number, part in enumerate(parts)]


def _unexplained(found: Operation, fresh: Path) -> list[str]:
    """The lines without data that no event in the new file or in the sealed ones names."""
    live, survey = scan_path(fresh), found.look.survey
    named = live.named | _named_in_sealed(found)
    sealed = [hashed for cure in found.cures[:-1] for hashed in cure.reading.hollow if hashed in survey.named]
    wanted = dict.fromkeys([*live.hollow, *sealed, *(flaw.hash for flaw in found.emptied), *survey.left_standing])
    return [hashed for hashed in wanted if hashed not in named]


def _named_in_sealed(found: Operation) -> set[str]:
    return set[str]().union(*(cure.reading.found.named for cure in found.cures[:-1]))


def _write_pieces(disk: Disk, cure: Cure, target: Path, more: bytes = b"") -> None:
    remove_if_there(disk, target)
    for path, start, end in cure.pieces():
        copy(disk, path, target, start, end)
    append(disk, target, more)


def _fix_sealed(disk: Disk, cure: Cure, named: set[str]) -> None:
    """Put back what a backup had, and empty what is on record as given up."""
    path = cure.reading.path
    if cure.healed:
        fresh = path.with_name(path.name + ".new")
        _write_pieces(disk, cure, fresh)
        hollow_out_file(disk, fresh, named)
        disk.rename(fresh, path)
        disk.sync_folder(path.parent)
    if cure.emptied:
        hollow_out_file(disk, path, [flaw.hash for flaw in cure.emptied])
