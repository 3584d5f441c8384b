"""Verifying that every line is as it was written. Reads all of a folder's chain and changes nothing.

The folder need not be whole, nor even openable. The first thing that is wrong is named by file, line and byte. A torn
end is not damage: it was never acknowledged, and the next writer sets it aside.

The result depends on who else has seen the ledger. The chain shows that nothing inside it was changed; only a witness
(the lock file, a checkpoint, a pin) shows that its end is not missing, and only one outside the folder that it was not
rewritten whole. The report says which witnesses there were.

Others may write meanwhile. If something looks wrong and the folder has changed, it is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.checkpoint import IN_FOLDER, Claim, disagreement
from tallystick.ledger.folder import recover, scan
from tallystick.ledger.folder.chain import file_lines, first_line, offset_of
from tallystick.ledger.folder.erase_everywhere import erased_in_copy
from tallystick.ledger.folder.layout import Folder, Segment
from tallystick.ledger.folder.recover import is_prepared
from tallystick.ledger.folder.sealed_state import find, found_in, recorded
from tallystick.ledger.lock import Witness, read_locked
from tallystick.ledger.scan import NAMING, Bad, LedgerNote, Place, Roots, Scan, finished_erasures, names
from tallystick.records.errors import Busy, NotFound, TallystickError
from tallystick.records.progress import Progress
from tallystick.records.report import Defect, Report

_ATTEMPTS = 3

NO_WITNESS = (
    "no witness outside this folder: if its last events were cut off, or all of it was rewritten, this check cannot"
    " tell; `tallystick ledger checkpoint` makes a witness"
)
ONLY_INSIDE = (
    "the checkpoint in the folder covers the events up to {}; but if the whole folder was put back to an older state,"
    " this check cannot tell; `tallystick ledger checkpoint` pins one outside"
)


class Read(NamedTuple):
    """One segment as read."""

    segment: Segment
    size: int
    found: Scan

    def finding(self, bad: Bad) -> Defect:
        return Defect(_name(self.segment), bad.seq - self.segment.first + 1, bad.offset, bad.seq, bad.why)

    def has(self, seq: int) -> bool:
        return self.segment.first <= seq <= self.found.end.seq

    def offset_of(self, seq: int) -> int:
        with open(self.segment.path, "rb") as file:
            return offset_of(file.fileno(), self.found.end.offset, seq)


def _name(segment: Segment) -> str:
    return segment.path.name if segment.last is None else f"sealed/{segment.path.name}"


def verify(
    root: Path, *, processes: int = 1, witnesses: Sequence[Witness] = (), checkpoints: Sequence[Claim] = (),
    tree: bool = False, on_progress: Progress | None = None,
) -> Report:  # fmt: skip
    """Verify a folder, or a copy.

    `witnesses` are others inside the folder that have seen the ledger, such as bookmarks. The root at the head costs
    half as much again; it is computed if a checkpoint or a seal needs it, or with `tree`.
    """
    folder = Folder(root)
    claims = [*checkpoints, *map(Claim, witnesses)]  # the strongest first
    report = None
    for _ in range(_ATTEMPTS):
        before = _state(folder)
        with suppress(FileNotFoundError):  # sealed or moved away meanwhile
            report = _check(folder, claims, processes, tree, on_progress)
            if report.ok or _state(folder) == before:
                break
    if report is None:
        raise Busy(f"the files of {folder.root} are being moved; try again in a moment")
    return report


def _state(folder: Folder) -> list[tuple[str, int, int]]:
    """The sizes and inodes that change when someone writes."""
    found = [(path, path.stat()) for path in folder.chain_files() if path.exists()]
    return [(path.name, stat.st_ino, stat.st_size) for path, stat in found]


def _check(folder: Folder, claims: list[Claim], processes: int, tree: bool, on_progress: Progress | None) -> Report:
    with read_locked(folder.lock) as witness:
        size = folder.wal.stat().st_size if folder.wal.exists() else 0
    segments = _segments(folder)
    if not segments:
        raise NotFound(f"no ledger at {folder.root}")
    wanted = {claim.witness.seq + 1 for claim in claims if claim.root}
    wanted |= {segment.last + 1 for segment in segments if segment.last is not None}
    roots, notes = Roots(0, wanted, all=tree), list[str]()
    lent = ""
    if segments[0].first > 0:
        needs_tree = tree or any(claim.root for claim in claims)
        roots, lent = _from_state(folder, roots) if needs_tree else (Roots(0, ()), "")
    if witness and witness.mark == "refused" and 0 <= witness.length < size:
        refused, size = size - witness.length, witness.length
        notes.append(f"the last {refused} bytes were refused to their writer; the next one sets them aside")
    reads = _read_all(segments, size, roots, processes, on_progress)
    if lent and lent != recorded(_notes(reads))[1]:
        roots = Roots(0, ())
    return _judge(folder, reads, segments, witness, claims, roots, notes)


def _segments(folder: Folder) -> list[Segment]:
    """The files of the chain in order, each with the event it should begin with."""
    found = folder.sealed_segments()
    if folder.wal.is_file():
        line = fmt.try_parse(first_line(folder.wal))
        after = found[-1].last + 1 if found and found[-1].last is not None else 0
        found.append(Segment(folder.wal, line.seq if line else after, None))
    return found


def _from_state(folder: Folder, roots: Roots) -> tuple[Roots, str]:
    """The roots from a state file on, which has the tree up to there, and its digest: events were moved away."""
    for file in found_in(folder):
        return Roots(0, roots.wanted, all=roots.all, base=file.tree), file.digest
    return Roots(0, ()), ""


def _notes(reads: list[Read]) -> list[LedgerNote]:
    return [note for read in reads for note in read.found.notes]


def _read_all(
    segments: list[Segment], live_size: int, roots: Roots, processes: int, on_progress: Progress | None
) -> list[Read]:
    """Read the segments until one is bad or missing. The first one is trusted to follow what came before it."""
    reads: list[Read] = []
    place = Place(0, segments[0].first - 1, _prev_of(segments[0]))
    for segment in segments:
        if segment.first != place.seq + 1:
            break
        size = live_size if segment.last is None else segment.path.stat().st_size
        found = scan.scan_file(segment.path, Place(0, place.seq, place.hash), size, roots, processes, on_progress)
        reads.append(Read(segment, size, found))
        place = found.end
        if found.bad or found.open_group:
            break
    return reads


def _prev_of(segment: Segment) -> str:
    """The hash before a segment: none, or that of a line that was moved away and is trusted."""
    line = fmt.try_parse(first_line(segment.path)) if segment.first else None
    return line.prev if line else fmt.ZERO


def _hash_at(reads: list[Read], seq: int) -> str | None:
    """The hash of an event that was read; None if it was moved away."""
    for read in reads:
        if read.has(seq):
            _, raw = next(file_lines(read.segment.path, read.offset_of(seq), read.found.end.offset), (0, b""))
            line = fmt.try_parse(raw)
            return line.hash if line else None
        if seq == read.segment.first - 1:
            return _prev_of(read.segment)
    return None


def _judge(
    folder: Folder, reads: list[Read], segments: list[Segment], witness: Witness | None, claims: list[Claim],
    roots: Roots, notes: list[str],
) -> Report:  # fmt: skip
    if folder.restore_ready.exists():
        notes.append("a restore was interrupted; the next process that opens the memory finishes it")
    heads = [head for read in reads for note in read.found.notes for head in note.left_behind]
    if witness and {"seq": witness.seq, "hash": witness.hash} in heads:
        witness = None  # a restore or a repair left that head behind, and died there
    bad = _first_bad(folder, reads, segments, witness, notes)
    bad = bad or _missing(folder, reads, segments, notes) or _false_claim(reads, roots)
    end, first = reads[-1].found.end, segments[0].first
    agreed = list[Claim]()
    if not bad:
        bad, agreed = _ask(reads, ([Claim(witness)] if witness else []) + claims, roots, notes)
    if folder.checkpoint.exists() and not any(claim.witness.name == IN_FOLDER for claim in claims):
        notes.append(f"{IN_FOLDER} was not checked: its key is not available")
    outside = max((claim.witness.seq for claim in agreed if claim.outside), default=None)
    signed = max((claim.witness.seq for claim in agreed if claim.root), default=None)
    if outside is None:
        notes.append(NO_WITNESS if signed is None else ONLY_INSIDE.format(signed))
    elif outside < end.seq:
        notes.append(f"no witness outside the folder has seen the events after {outside}")
    names = tuple(f"{claim.witness.name}, at event {claim.witness.seq}" for claim in agreed)
    root = roots.at_end(end.seq + 1)
    return Report(
        bad is None, end.seq - first + 1, first, end.seq, end.hash, root.hex() if root else None, names,
        outside is not None, bad, tuple(notes),
    )  # fmt: skip


def _first_bad(
    folder: Folder, reads: list[Read], segments: list[Segment], witness: Witness | None, notes: list[str]
) -> Defect | None:
    copied = erased_in_copy(folder)
    named = copied.union(*(read.found.named for read in reads))
    erased = copied | finished_erasures(note for read in reads for note in read.found.notes)
    if reads[-1].found.bad and any(hashed not in named for read in reads for hashed in read.found.hollow):
        named |= _named_after(reads[-1], segments[len(reads) :])
    for read in reads:
        bad, end = read.found.first_bad(named, erased), read.found.end
        if read.segment.last is None:
            if wrong := _judge_live(read, bad, witness, notes):
                return wrong
        elif bad:
            return read.finding(bad)
        elif read.found.open_group or end.seq != read.segment.last:
            return read.finding(Bad(end.offset, end.seq + 1, "the segment ends too soon", end))
    return None


def _judge_live(read: Read, bad: Bad | None, witness: Witness | None, notes: list[str]) -> Defect | None:
    if witness and witness.seq < read.segment.first:
        witness = witness._replace(length=-1)
    with open(read.segment.path, "rb") as file:
        verdict = recover.judge(file.fileno(), read.size, read.found, bad, witness)
    if verdict.kind == "torn":
        torn = read.size - verdict.end.offset
        notes.append(f"the last {torn} bytes were never acknowledged; the next writer sets them aside")
        read.found.end = verdict.end
    elif verdict.kind != "clean":
        end = verdict.end
        return read.finding(verdict.bad or Bad(end.offset, end.seq + 1, f"{verdict.kind}: {verdict.why}", end))
    return None


def _named_after(read: Read, later: Sequence[Segment]) -> set[str]:
    """The lines that events after the damage name as erased: they are not what is wrong."""
    named = set[str]()
    for path, start in ((read.segment.path, read.found.end.offset), *((segment.path, 0) for segment in later)):
        for _, raw in file_lines(path, start):
            header = fmt.HEADER.match(raw)
            if header and header[3] in NAMING:
                with suppress(fmt.BadLine):
                    named.update(names(fmt.body_of(fmt.parse(raw).data)))
    return named


def _missing(folder: Folder, reads: list[Read], segments: list[Segment], notes: list[str]) -> Defect | None:
    """Events that are not here: before the first segment, between two, or after the last."""
    first, end = segments[0], reads[-1].found.end
    is_named = any(note.op == fmt.BEGIN and note.seq == 0 for note in reads[0].found.notes)
    is_hollow = any(bad.seq == 0 for bad in reads[0].found.hollow.values())  # it lost its data on the record
    if first.first == 0 and not is_named and not is_hollow:
        return reads[0].finding(Bad(0, 0, "the first line does not name the ledger", reads[0].found.end))
    if first.first > 0:
        before = first.first - 1
        moved = [note.body.get("last") for note in _notes(reads) if note.op == fmt.PRUNE]
        if before not in moved:
            why = f"events 0 to {before} are missing before it, and no event says that they were moved away"
            return Defect(_name(first), 1, 0, first.first, why)
        if (state := recorded(_notes(reads)))[0] >= 0:
            try:
                find(folder, _notes(reads), first.first)
            except TallystickError as error:
                return Defect(f"sealed/{folder.sealed_state(state[0]).name}", 1, 0, -1, str(error))
        notes.append(f"events 0 to {before} were moved away; the line before {first.first} is trusted")
    if len(reads) < len(segments):
        gap, expected = segments[len(reads)], end.seq + 1
        if gap.first < expected:
            why = f"it begins with event {gap.first}, but event {expected} comes next"
        else:
            why = f"events {expected} to {gap.first - 1} are missing before it"
        return Defect(_name(gap), 1, 0, gap.first, why)
    if segments[-1].last is not None:
        if not is_prepared(folder, end.seq, end.hash):
            return Defect("events.wal", 1, 0, segments[-1].last + 1, "it is missing")
        notes.append("a compaction was interrupted; the next process that opens the memory finishes it")
    return None


def _false_claim(reads: list[Read], roots: Roots) -> Defect | None:
    """A seal line that is wrong about the segment before it. One that lost its data says nothing."""
    for before, read in pairwise(reads):
        if any(bad.offset == 0 for bad in read.found.hollow.values()):
            continue  # on the record, or it would have been found bad by now
        seals = [note for note in read.found.notes if note.op == fmt.SEAL and note.seq == read.segment.first]
        if why := _wrong_in(seals[0], before, roots) if seals else "it does not describe the segment before it":
            return read.finding(Bad(0, read.segment.first, why, before.found.end))
    return None


def _wrong_in(seal: LedgerNote, before: Read, roots: Roots) -> str:
    end, first = before.found.end, before.segment.first
    truth = {"first": first, "last": end.seq, "head": end.hash}
    if (seal.body.get("stretch"), seal.body.get("events")) != (truth, end.seq - first + 1):
        return "its description of the segment before it is wrong"
    known = roots.at(end.seq + 1)
    return "its root is not the tree's" if known and known.hex() != seal.body.get("root") else ""


def _ask(reads: list[Read], claims: list[Claim], roots: Roots, notes: list[str]) -> tuple[Defect | None, list[Claim]]:
    """Compare every claim. The first that disagrees, or cannot be trusted, is the finding; else all that agree."""
    agreed = list[Claim]()
    for claim in claims:
        seq, name = claim.witness.seq, claim.witness.name
        if claim.doubt:
            return Defect("the pin" if claim.outside else "checkpoint", 1, 0, -1, claim.doubt), agreed
        if why := disagreement(claim, reads[-1].found.end.seq, partial(_hash_at, reads), roots):
            read, end = reads[-1], reads[-1].found.end
            bad = Bad(end.offset, end.seq + 1, why, end)
            for each in reads:
                if each.has(seq):
                    read, bad = each, Bad(each.offset_of(seq), seq, why, each.found.end)
            return read.finding(bad), agreed
        if _hash_at(reads, seq) or roots.at(seq + 1):
            agreed.append(claim)
        else:
            notes.append(f"{name} has seen event {seq}, which was moved away: it could not be compared")
    return None, agreed
