"""Is every line as it was written? Reads all of a folder's chain and changes nothing.

The folder need not be whole, nor even openable. What is found wrong first is named by file, line and byte. A torn end is
no damage: it was never acknowledged, and the next writer sets it aside.

What it can say depends on who else has seen the ledger. The chain shows that nothing inside it was changed; only a witness
(the lock file, a checkpoint, a pin) shows that its end is not gone, and only one outside the folder that it was not
rewritten whole. The report says which witnesses there were.

With several processes a long file is read in parts, side by side. Whatever is not plainly good is read again by one, so
the report is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keepsake.ledger import format as fmt
from keepsake.ledger import parts, recover
from keepsake.ledger.erase import erased_in_copy
from keepsake.ledger.folder import Folder, Stretch
from keepsake.ledger.lock import Witness, look
from keepsake.ledger.parts import Roots
from keepsake.ledger.read import first_line
from keepsake.ledger.scan import Bad, Place, Progress, Scan, Told, finished_erasures, settle
from keepsake.ledger.seen import Seen
from keepsake.records.errors import NotFound

NO_WITNESS = (
    "nobody outside this folder has seen it: had its last events been cut off, or all of it been rewritten, this check could"
    " not tell; `keepsake ledger checkpoint` makes a witness"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong first, and where."""

    file: str
    line: int
    byte: int
    seq: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line} (event {self.seq}, byte {self.byte}): {self.why}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found."""

    ok: bool
    events: int
    first: int
    last: int
    head: str
    root: str | None  # of the Merkle tree at the head, where a checkpoint or a seal made it worth computing
    witnesses: tuple[str, ...]
    outside: bool  # whether one of them is kept outside the folder
    bad: Finding | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class _Read:
    """One stretch, read."""

    stretch: Stretch
    size: int
    found: Scan


def verify(
    root: Path, *, processes: int = 1, checkpoints: Sequence[Seen] = (), progress: Progress | None = None
) -> Report:
    """Check a folder, or a copy."""
    folder = Folder(root)
    size, witness = look(folder.lock, folder.wal)
    stretches = _stretches(folder)
    if not stretches:
        raise NotFound(f"there is no ledger at {root}")
    wanted = {seen.checkpoint.size for seen in checkpoints}
    wanted |= {stretch.last + 1 for stretch in stretches if stretch.last is not None}
    roots = Roots(0, wanted if stretches[0].first == 0 else ())
    reads = _read_all(stretches, size, roots, processes, progress)
    return _judge(folder, reads, stretches, witness, checkpoints, roots)


def _stretches(folder: Folder) -> list[Stretch]:
    """The files of the chain in order, each by the event it should begin with."""
    found = folder.sealed_stretches()
    if folder.wal.is_file():
        after = found[-1].last + 1 if found and found[-1].last is not None else 0
        found.append(Stretch(folder.wal, _first(folder.wal, after), None))
    return found


def _first(path: Path, otherwise: int) -> int:
    try:
        return fmt.parse(first_line(path)).seq
    except fmt.BadLine:
        return otherwise


def _read_all(
    stretches: list[Stretch], living_size: int, roots: Roots, processes: int, progress: Progress | None
) -> list[_Read]:
    """Read the stretches until one is bad or missing. The first that is here is taken to follow what came before it."""
    reads: list[_Read] = []
    place = Place(0, stretches[0].first - 1, _prev_of(stretches[0]))
    for stretch in stretches:
        if stretch.first != place.seq + 1:
            break
        size = living_size if stretch.last is None else stretch.path.stat().st_size
        found = parts.scan_file(stretch.path, Place(0, place.seq, place.hash), size, roots, processes, progress)
        reads.append(_Read(stretch, size, found))
        place = found.end
        if found.bad or found.open_group:
            break
    return reads


def _prev_of(stretch: Stretch) -> str:
    """What the first stretch follows: nothing, or a line that was moved away and is taken on trust."""
    if stretch.first == 0:
        return fmt.ZERO
    try:
        return fmt.parse(first_line(stretch.path)).prev
    except fmt.BadLine:
        return fmt.ZERO


def _judge(
    folder: Folder, reads: list[_Read], stretches: list[Stretch], witness: Witness | None, checkpoints: Sequence[Seen],
    roots: Roots,
) -> Report:  # fmt: skip
    notes: list[str] = []
    bad = _first_bad(folder, reads, witness, notes) or _missing(reads, stretches) or _false_claim(reads, roots)
    end, events = reads[-1].found.end, sum(read.found.lines for read in reads)
    agreed: list[str] = []
    outside = False
    if not bad:
        bad, agreed, outside = _hear(reads, witness, checkpoints, roots)
    if stretches[0].first > 0:
        notes.append(f"events 0 to {stretches[0].first - 1} were moved away; the line before {stretches[0].first} is taken on trust")
    if not outside:
        notes.append(NO_WITNESS)
    tree = roots.range
    root = tree.root().hex() if tree.begin == 0 and tree.end == end.seq + 1 and roots.wanted else None
    return Report(
        bad is None, events, stretches[0].first, end.seq, end.hash, root, tuple(agreed), outside, bad, tuple(notes)
    )


def _first_bad(folder: Folder, reads: list[_Read], witness: Witness | None, notes: list[str]) -> Finding | None:
    told = [each for read in reads for each in read.found.told]
    copied = erased_in_copy(folder)
    named = copied.union(*(read.found.named for read in reads))
    empty = finished_erasures(told)
    for read in reads:
        bad = settle(read.found, named, empty)
        if read.stretch.last is not None:
            bad = bad or _unfinished(read)
            if bad:
                return _finding(read, bad)
        elif finding := _judge_living(read, bad, witness, notes):
            return finding
    return None


def _unfinished(read: _Read) -> Bad | None:
    end = read.found.end
    if read.found.open_group or end.seq != read.stretch.last:
        return Bad(end.offset, end.seq + 1, "the stretch ends too soon", end)
    return None


def _judge_living(read: _Read, bad: Bad | None, witness: Witness | None, notes: list[str]) -> Finding | None:
    if witness and witness.seq < read.stretch.first:
        witness = witness._replace(length=-1)
    with open(read.stretch.path, "rb") as file:
        verdict = recover.judge(file.fileno(), read.size, read.found, bad, witness)
    if verdict.kind == "torn":
        notes.append(f"the last {read.size - verdict.end.offset} bytes were never acknowledged; the next writer sets them aside")
        read.found.end = verdict.end
    elif verdict.kind != "clean":
        end = verdict.end
        return _finding(read, verdict.bad or Bad(end.offset, end.seq + 1, f"{verdict.kind}: {verdict.why}", end))
    return None


def _finding(read: _Read, bad: Bad) -> Finding:
    with open(read.stretch.path, "rb") as file:
        before = file.read(bad.offset).count(b"\n")
    name = read.stretch.path.name
    return Finding(name if read.stretch.last is None else f"sealed/{name}", before + 1, bad.offset, bad.seq, bad.why)


def _missing(reads: list[_Read], stretches: list[Stretch]) -> Finding | None:
    """A gap between two stretches, or no living one."""
    if len(reads) < len(stretches):
        gap = stretches[len(reads)]
        start = reads[-1].found.end.seq + 1
        return Finding(gap.path.name, 1, 0, gap.first, f"events {start} to {gap.first - 1} are missing before it")
    if stretches[-1].last is not None:
        return Finding("events.wal", 1, 0, stretches[-1].last + 1, "it is gone")
    return None


def _false_claim(reads: list[_Read], roots: Roots) -> Finding | None:
    """A seal line that does not tell the truth about the stretch before it."""
    for before, read in zip(reads, reads[1:], strict=False):
        seals = [told for told in read.found.told if told.op == fmt.SEAL and told.seq == read.stretch.first]
        if why := "it does not say what it closes" if not seals else _lie(seals[0], before, roots):
            return _finding(read, Bad(0, read.stretch.first, why, before.found.end))
    return None


def _lie(seal: Told, before: _Read, roots: Roots) -> str:
    end, stretch = before.found.end, seal.body.get("stretch", {})
    claimed = (stretch.get("first"), stretch.get("last"), stretch.get("head"), seal.body.get("events"))
    if claimed != (before.stretch.first, end.seq, end.hash, end.seq - before.stretch.first + 1):
        return "what it says of the stretch before it is not so"
    known = roots.at(end.seq + 1)
    return "the root it claims is not the tree's" if known and known.hex() != seal.body.get("root") else ""


def _hear(
    reads: list[_Read], witness: Witness | None, checkpoints: Sequence[Seen], roots: Roots
) -> tuple[Finding | None, list[str], bool]:
    """Ask every witness; the first that disagrees is the finding."""
    heard = [(Witness(s.checkpoint.size - 1, s.checkpoint.head, name=s.name), s.checkpoint.root, s.outside) for s in checkpoints]
    own = [(witness, None, False)] if witness else []
    agreed: list[str] = []
    outside = False
    for each, root, from_outside in [*own, *heard]:
        if why := _disagreement(reads, each, root, roots):
            end = reads[-1].found.end
            return _finding(reads[-1], Bad(end.offset, min(each.seq, end.seq + 1), why, end)), agreed, outside
        agreed.append(f"{each.name}, at event {each.seq}")
        outside = outside or from_outside
    return None, agreed, outside


def _disagreement(reads: list[_Read], witness: Witness, root: bytes | None, roots: Roots) -> str:
    end = reads[-1].found.end
    if witness.seq > end.seq:
        return f"rolled back: it ends at event {end.seq}, and {witness.name} has seen event {witness.seq}"
    hashed = _hash_at(reads, witness.seq)
    if hashed is not None and hashed != witness.hash:
        return f"rolled back or rewritten: event {witness.seq} is not the one that {witness.name} has seen"
    known = roots.at(witness.seq + 1)
    return f"its tree is not the one that {witness.name} has signed" if root and known and known != root else ""


def _hash_at(reads: list[_Read], seq: int) -> str | None:
    """The hash of an event that was read; None if it was moved away."""
    for read in reads:
        if read.stretch.first <= seq <= read.found.end.seq:
            return parts.hash_of(read.stretch.path, read.found.end.offset, seq)
        if seq == read.stretch.first - 1:
            return _prev_of(read.stretch)
    return None

