"""What can be done about damaged lines. Everything here reads, and changes nothing.

Each file of the chain is treated in this order, and only as far as it has to be:

1. A backup that has the line puts it back (graft.py). Nothing is lost.
2. Only the words of a line are damaged: the words are given up. The line stays in the chain, empty, like an erased one.
3. The chain itself is broken, in the living stretch: cut behind the last good group, and what can be read behind it is
   recorded anew (again.py). In a sealed stretch this is refused: everything after it hangs on it.

Words that are lost and stand in the snapshot on record are recorded anew from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt, snapshot
from tallystick.ledger.chain import raw_lines
from tallystick.ledger.load import fold_line
from tallystick.ledger.metadata import LedgerMetadata
from tallystick.ledger.scan import Place, scan
from tallystick.records.errors import Damaged
from tallystick.repair import from_backup as graft
from tallystick.repair.check import Look, contradictions
from tallystick.repair.from_backup import Graft, Spare
from tallystick.repair.salvage import Behind, gather
from tallystick.repair.scan import Flaw, Item, Reading, bytes_of, items
from tallystick.state.state import State


@dataclass(slots=True)
class Cure:
    """What will be done to one file."""

    reading: Reading
    graft: Graft | None
    place: Place  # up to where the file will be good, counted in its own bytes
    broken: bool  # the chain breaks there
    behind: Behind = field(default_factory=Behind)
    spares: dict[str, Spare] = field(default_factory=dict)  # copies of lines that lost their words here, by hash

    @property
    def healed(self) -> list[Flaw]:
        """The lines that are put back."""
        grafted = [flaw for flaw in self.reading.flaws if self.graft and self.graft.heals(flaw)]
        return grafted + [flaw for flaw in self._wordless() if flaw.hash in self.spares]

    @property
    def emptied(self) -> list[Flaw]:
        """The lines that keep their place and lose their words."""
        return [flaw for flaw in self._wordless() if flaw.hash not in self.spares]

    def _wordless(self) -> list[Flaw]:
        start, end = self.graft.resume if self.graft else 0, self.place.offset
        return [flaw for flaw in self.reading.flaws if flaw.hash and start <= flaw.offset < end]

    @property
    def loses_first_line(self) -> bool:
        return self.place.seq == self.reading.start.seq

    def pieces(self) -> Iterator[tuple[Path, int, int]]:
        """What the mended file is made of: path, from, to."""
        at, path = 0, self.reading.path
        if self.graft:
            at = self.graft.resume
            yield self.graft.source, 0, self.graft.end.offset
        for flaw in self._wordless():
            if spare := self.spares.get(flaw.hash):
                yield path, at, flaw.offset
                yield spare.path, spare.start, spare.end
                at = flaw.offset + len(bytes_of(flaw))
        yield path, at, self.place.offset


@dataclass(slots=True)
class Operation:
    """What will be done to the ledger, or why nothing can be."""

    look: Look
    cures: list[Cure]
    saved: list[dict[str, Any]] = field(default_factory=list)  # versions that the snapshot still has
    refusal: str = ""

    @property
    def living(self) -> Cure:
        return self.cures[-1]

    @property
    def emptied(self) -> list[Flaw]:
        return [flaw for cure in self.cures for flaw in cure.emptied]

    @property
    def lost(self) -> list[tuple[int, int]]:
        """The events whose words are lost: from, to."""
        given_up = [flaw.seq for flaw in self.emptied if flaw.hash not in self.look.seen.named]
        return [(seq, seq) for seq in given_up] + self.living.behind.lost


def operation(look: Look) -> Operation:
    """What can be done about the damaged lines. Reads, and changes nothing."""
    cures = [_cure(look, reading) for reading in look.seen.readings]
    found = Operation(look, cures)
    meant = look.seen.named.union(*(reading.senseless for reading in look.seen.readings))
    spares = graft.spares(_everywhere(look), {flaw.hash for flaw in found.emptied} - meant)
    for cure in cures:
        cure.spares = spares
    found.refusal = _refusal(look, cures)
    if not found.refusal:
        found.saved = list(_saved(found))
        found.refusal = _could_not_be_opened(found)
    return found


def _everywhere(look: Look) -> Iterator[Path]:
    """Every file in the folder that may hold a copy of a line."""
    for folder in (look.folder, *look.folder.copies()):
        yield from graft.files_of(folder)


def _cure(look: Look, reading: Reading) -> Cure:
    taken = graft.find(look.good, reading) if reading.flaws else None
    start = taken.end._replace(offset=taken.resume) if taken else reading.start
    with open(reading.path, "rb") as file:
        fd = file.fileno()
        found = scan(fd, start, reading.size)
        if reading.last is not None:
            return Cure(reading, taken, found.end, bool(found.bad) or found.end.seq != reading.last)
        if look.seen.torn:
            return Cure(reading, taken, look.seen.torn.end, False)
        if not found.bad:
            return Cure(reading, taken, found.end, False)
        place = _before_impostors(fd, start, found.end, reading.size)
        return Cure(reading, taken, place, True, _behind(look, reading, items(fd, place, reading.size, 0), place))


def _behind(look: Look, reading: Reading, rest: Iterator[Item], place: Place) -> Behind:
    witness = look.seen.trusted_witness
    return gather(rest, place, look.seen.named, reading.senseless, witness.seq if witness else -1)


def _before_impostors(fd: int, start: Place, end: Place, size: int) -> Place:
    """Where the chain is still the one that what follows goes on from.

    A line that was slipped in breaks the chain behind itself. It shows by its rival: a line of the same number that
    stands behind the break, and that the lines after it name.
    """
    behind = [item.said for item in items(fd, end, size, 0) if item.said]
    named = {line.prev for line in behind}
    rivals = {line.seq: line.hash for line in behind if line.seq <= end.seq and line.hash in named}
    for offset, raw in raw_lines(fd, start.offset, end.offset) if rivals else ():
        line = fmt.parse(raw)
        if rivals.get(line.seq, line.hash) != line.hash:
            return scan(fd, start, offset).end
    return end


def _refusal(look: Look, cures: Sequence[Cure]) -> str:
    """Why this must not be tried; nothing if it may."""
    seen = look.seen
    if seen.living is None or seen.unreadable:
        return f"the ledger cannot be read through; {look.restore}"
    for why in contradictions(look):
        return f"the ledger was rolled back or replaced: {why}; {look.restore}"
    if seen.standing.strange:
        return "the ledger holds events of a newer tallystick; upgrade tallystick, then repair"
    for cure in cures[:-1]:
        if cure.broken:
            return f"no good backup here has what is damaged in sealed/{cure.reading.path.name}; {look.restore}"
    return _beyond_a_checkpoint(look, cures[-1]) if cures[-1].broken else ""


def _beyond_a_checkpoint(look: Look, cure: Cure) -> str:
    """Recording anew gives events other hashes. Where a checkpoint has seen them, only a restore sets it anew."""
    if cure.loses_first_line and cure.place.seq >= 0 and look.seen.gaps:
        return f"its first line is damaged, and not all before it is here: put that back, or {look.restore}"
    for witness in look.witnesses:
        if witness.seq > cure.place.seq:
            seen = f"{witness.name} has seen event {witness.seq}, and the chain is broken behind event {cure.place.seq}"
            return f"{seen}; only a restore sets a checkpoint anew: {look.restore}"
    return ""


def _saved(found: Operation) -> Iterator[dict[str, Any]]:
    """Versions whose event is lost and which the snapshot on record still has: as the body of an event each."""
    lost = found.lost
    state = _held_by_snapshot(found.look) if lost else State()
    for held in list(state.held.values()):
        if any(first <= held.seq <= last for first, last in lost):
            yield {"belief": held.body(), "replaces": state.ids_of(held)}


def _held_by_snapshot(look: Look) -> State:
    """The snapshot, and every event since that can be read."""
    state, living = State(), look.seen.living
    usable = [each for each in snapshot.candidates(look.folder) if each.digest == look.seen.snapshot]
    if not usable or living is None:
        return state
    state.load(usable[0].state)
    with open(living.path, "rb") as file:
        for item in items(file.fileno(), living.start, living.size, 0):
            if item.said and item.said.seq > usable[0].place.seq and item.said.hash not in look.seen.named:
                with suppress(Damaged):
                    fold_line(item.said, state, LedgerMetadata())
    return state


def _could_not_be_opened(found: Operation) -> str:
    """With stretches away, a ledger opens from its snapshot; so the event that records it has to stay."""
    look = found.look
    if not look.seen.gaps:
        return ""
    if _recorded_snapshot(found.living) in look.snapshots.values():
        return ""
    return f"earlier events were moved away, and without them it could not be opened: put them back, or {look.restore}"


def _recorded_snapshot(cure: Cure) -> str:
    """The digest of the newest snapshot on record in what stays of the living stretch."""
    digest = ""
    for path, start, end in cure.pieces():
        with open(path, "rb") as file:
            for _, raw in raw_lines(file.fileno(), start, end):
                header = fmt.HEADER.match(raw)
                if header and header[3].decode() in (fmt.SNAPSHOT, fmt.SEAL) and (line := fmt.parse(raw)).sound:
                    digest = str(fmt.body_of(line.data).get("snapshot", ""))
    return digest
