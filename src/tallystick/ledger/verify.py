"""Is every line as it was written? Reads all of a folder's chain and changes nothing.

The folder need not be whole, nor even openable. What is found wrong first is named by file, line and byte. A torn end
is no damage: it was never acknowledged, and the next writer sets it aside.

What it can say depends on who else has seen the ledger. The chain shows that nothing inside it was changed; only a
witness (the lock file, a checkpoint, a pin) shows that its end is not gone, and only one outside the folder that it was
not rewritten whole. The report says which witnesses there were.

Nobody is kept from writing meanwhile. If something looks wrong and the folder has changed, it is read again.

With several processes a long file is read in parts, side by side. Whatever is not plainly good is read again by one, so
the report is the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.ledger import format as fmt, parallel_scan as parts, recover
from tallystick.ledger.chain import first_line, raw_lines
from tallystick.ledger.erase_everywhere import erased_in_copy
from tallystick.ledger.kept_checkpoint import IN_FOLDER, CheckpointWitness
from tallystick.ledger.layout import Folder, Segment
from tallystick.ledger.lock import Witness, look
from tallystick.ledger.parallel_scan import Roots
from tallystick.ledger.scan import NAMING, Bad, LedgerNote, Place, finished_erasures, names, settle
from tallystick.ledger.segments import Finding, Read, finding, hash_at, name_of, read_all, segments_of
from tallystick.records.display import Displayable
from tallystick.records.errors import Busy, NotFound
from tallystick.records.progress import Progress

_ATTEMPTS = 3

NO_WITNESS = (
    "nobody outside this folder has seen it: had its last events been cut off, or all of it been rewritten, this check"
    " could not tell; `tallystick ledger checkpoint` makes a witness"
)


ONLY_INSIDE = (
    "the checkpoint in the folder vouches for the events up to {}; but had the whole folder been put back to an older"
    " state, this check could not tell; `tallystick ledger checkpoint` pins one outside"
)


@dataclass(frozen=True, slots=True)
class Report(Displayable):
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
        return {**asdict(self), "bad": self.bad._asdict() if self.bad else None}


class Heard(NamedTuple):
    """What someone says of the ledger. A `doubt` is why that cannot be believed."""

    witness: Witness
    root: bytes | None = None
    outside: bool = False
    doubt: str = ""


def _as_heard(seen: CheckpointWitness) -> Heard:
    if seen.checkpoint is None:
        return Heard(Witness(-1, "", name=seen.name), None, seen.outside, seen.trouble)
    said = seen.checkpoint
    return Heard(Witness(said.size - 1, said.head, name=seen.name), said.root, seen.outside)


def verify(
    root: Path,
    *,
    processes: int = 1,
    witnesses: Sequence[Witness] = (),
    checkpoints: Sequence[CheckpointWitness] = (),
    tree: bool = False,
    on_progress: Progress | None = None,
) -> Report:
    """Check a folder, or a copy.

    `witnesses` are others who have seen the ledger from within the folder, such as bookmarks. The root at the head
    costs half as much again; it is computed if a checkpoint or a seal asks for it, or if `tree` does.
    """
    folder = Folder(root)
    heard = [*map(_as_heard, checkpoints), *(Heard(each) for each in witnesses)]  # the strongest first
    report = None
    for _ in range(_ATTEMPTS):
        before = _state(folder)
        with suppress(FileNotFoundError):  # sealed or moved away meanwhile
            report = _check(folder, heard, processes, tree, on_progress)
            if report.ok or _state(folder) == before:
                break
    if report is None:
        raise Busy(f"the files of {folder.root} are being moved; try again in a moment")
    return report


def _state(folder: Folder) -> list[tuple[str, int, int]]:
    """What changes when someone writes."""
    files = [*(segment.path for segment in folder.sealed_segments()), folder.wal]
    seen = [(path, path.stat()) for path in files if path.exists()]
    return [(path.name, stat.st_ino, stat.st_size) for path, stat in seen]


def _check(folder: Folder, heard: Sequence[Heard], processes: int, tree: bool, on_progress: Progress | None) -> Report:
    size, witness = look(folder.lock, folder.wal)
    segments = segments_of(folder)
    if not segments:
        raise NotFound(f"there is no ledger at {folder.root}")
    wanted = {each.witness.seq + 1 for each in heard if each.root}
    wanted |= {segment.last + 1 for segment in segments if segment.last is not None}
    roots, notes = Roots(0, wanted, all=tree), list[str]()
    if segments[0].first > 0:
        asked = tree or any(each.root for each in heard)
        roots = _from_snapshot(folder, segments[-1], roots) if asked else Roots(0, ())
    if witness and witness.mark == "refused" and 0 <= witness.length < size:
        notes.append(f"the last {size - witness.length} bytes were refused to their writer; the next sets them aside")
        size = witness.length
    reads = read_all(segments, size, roots, processes, on_progress)
    if segments[0].first > 0 and roots.snapshot != reads[-1].found.snapshot:
        roots = Roots(0, ())
    return _judge(folder, reads, segments, witness, heard, roots, notes)


def _from_snapshot(folder: Folder, living: Segment, roots: Roots) -> Roots:
    """Where the first events were moved away, the newest snapshot still has the tree of what came before it."""
    from tallystick.ledger import snapshot

    for candidate in snapshot.candidates(folder):
        if candidate.segment == living.first:
            return Roots(0, roots.wanted, all=roots.all, base=candidate.tree, snapshot=candidate.digest)
    return Roots(0, ())


def _judge(
    folder: Folder, reads: list[Read], segments: list[Segment], witness: Witness | None, heard: Sequence[Heard],
    roots: Roots, notes: list[str],
) -> Report:  # fmt: skip
    if (folder.restoring / "ready").exists():
        notes.append("a restore is under way; the next one who opens the memory finishes it")
    witness = None if witness and _was_left(reads, witness) else witness
    bad = _first_bad(folder, reads, segments, witness, notes)
    bad = bad or _missing(folder, reads, segments, notes) or _false_claim(reads, roots)
    end, first = reads[-1].found.end, segments[0].first
    agreed = list[Heard]()
    if not bad:
        bad, agreed = _hear(reads, ([Heard(witness)] if witness else []) + [*heard], roots, notes)
    if folder.checkpoint.exists() and not any(each.witness.name == IN_FOLDER for each in heard):
        notes.append(f"{IN_FOLDER} was not asked: its key is not at hand")
    _say_who_was_heard(agreed, end.seq, notes)
    outside = any(each.outside for each in agreed)
    names = tuple(f"{each.witness.name}, at event {each.witness.seq}" for each in agreed)
    root = roots.at_end(end.seq + 1)
    return Report(
        bad is None, end.seq - first + 1, first, end.seq, end.hash, root.hex() if root else None, names, outside, bad,
        tuple(notes),
    )  # fmt: skip


def _say_who_was_heard(agreed: Sequence[Heard], last: int, notes: list[str]) -> None:
    """How much the witnesses cover, and what nobody could notice."""
    outside = max((each.witness.seq for each in agreed if each.outside), default=None)
    signed = max((each.witness.seq for each in agreed if each.root), default=None)
    if outside is None and signed is None:
        notes.append(NO_WITNESS)
    elif outside is None:
        notes.append(ONLY_INSIDE.format(signed))
    elif outside < last:
        notes.append(f"no witness outside the folder has seen what came after event {outside}")


def _was_left(reads: list[Read], witness: Witness) -> bool:
    """Whether the ledger says that a restore or a repair left behind what the lock file has seen, and died there."""
    told = [told.body for read in reads for told in read.found.told]
    left = [head for body in told for head in (body.get("abandoned"), *body.get("earlier", ()))]
    return {"seq": witness.seq, "hash": witness.hash} in left


def _first_bad(
    folder: Folder, reads: list[Read], segments: list[Segment], witness: Witness | None, notes: list[str]
) -> Finding | None:
    copied = erased_in_copy(folder)
    named = copied.union(*(read.found.named for read in reads))
    empty = copied | finished_erasures(told for read in reads for told in read.found.told)
    if reads[-1].found.bad and any(hashed not in named for read in reads for hashed in read.found.hollow):
        named |= _named_behind(reads[-1], segments[len(reads) :])
    for read in reads:
        bad = settle(read.found, named, empty)
        if read.segment.last is not None:
            bad = bad or _unfinished(read)
            if bad:
                return finding(read, bad)
        elif wrong := _judge_living(read, bad, witness, notes):
            return wrong
    return None


def _unfinished(read: Read) -> Bad | None:
    end = read.found.end
    if read.found.open_group or end.seq != read.segment.last:
        return Bad(end.offset, end.seq + 1, "the stretch ends too soon", end)
    return None


def _judge_living(read: Read, bad: Bad | None, witness: Witness | None, notes: list[str]) -> Finding | None:
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
        return finding(read, verdict.bad or Bad(end.offset, end.seq + 1, f"{verdict.kind}: {verdict.why}", end))
    return None


def _named_behind(read: Read, later: Sequence[Segment]) -> set[str]:
    """The lines that events behind the damage say are erased: they are not what is wrong."""
    named = set[str]()
    for path, start in ((read.segment.path, read.found.end.offset), *((segment.path, 0) for segment in later)):
        with open(path, "rb") as file:
            for _, raw in raw_lines(file.fileno(), start, os.fstat(file.fileno()).st_size):
                header = fmt.HEADER.match(raw)
                if header and header[3] in NAMING:
                    named |= _names_in(raw)
    return named


def _names_in(raw: bytes) -> set[str]:
    try:
        return set(names(fmt.body_of(fmt.parse(raw).data)))
    except fmt.BadLine:
        return set()


def _missing(folder: Folder, reads: list[Read], segments: list[Segment], notes: list[str]) -> Finding | None:
    """Events that are not here: before the first stretch, between two, or behind the last."""
    first, end = segments[0], reads[-1].found.end
    if first.first == 0 and (bad := _nameless(reads[0])):
        return bad
    if first.first > 0:
        told = [told for read in reads for told in read.found.told]
        if not any(each.op == fmt.PRUNE and each.body.get("last") == first.first - 1 for each in told):
            why = f"events 0 to {first.first - 1} should come before it, and no event says that they were moved away"
            return Finding(name_of(first), 1, 0, first.first, why)
        notes.append(f"events 0 to {first.first - 1} were moved away; the line before {first.first} is taken on trust")
    if len(reads) < len(segments):
        gap = segments[len(reads)]
        return Finding(name_of(gap), 1, 0, gap.first, _why_no_successor(end.seq + 1, gap.first))
    if segments[-1].last is not None and not _is_prepared(folder, end, notes):
        return Finding("events.wal", 1, 0, segments[-1].last + 1, "it is gone")
    return None


def _nameless(read: Read) -> Finding | None:
    """A ledger begins with a line that names it, unless that one lost its words on the record."""
    begins = [told for told in read.found.told if told.op == fmt.BEGIN and told.seq == 0]
    if begins or any(bad.seq == 0 for bad in read.found.hollow.values()):
        return None
    return finding(read, Bad(0, 0, "the first line does not name the ledger", read.found.end))


def _why_no_successor(expected: int, first: int) -> str:
    if first < expected:
        return f"it begins with event {first}, and event {expected} should come next"
    return f"events {expected} to {first - 1} are missing before it"


def _is_prepared(folder: Folder, end: Place, notes: list[str]) -> bool:
    """Whether a compaction stopped between its two renames, with the next stretch ready."""
    from tallystick.ledger.genesis import fresh_wal

    try:
        line = fmt.parse(first_line(fresh_wal(folder)))
    except (OSError, fmt.BadLine):
        return False
    if not line.sound or (line.seq, line.prev) != (end.seq + 1, end.hash):
        return False
    notes.append("a compaction was interrupted; the next one who opens the memory finishes it")
    return True


def _false_claim(reads: list[Read], roots: Roots) -> Finding | None:
    """A seal line that does not tell the truth about the stretch before it. One that lost its words says nothing."""
    for before, read in pairwise(reads):
        if any(bad.offset == 0 for bad in read.found.hollow.values()):
            continue  # on the record, or it would have been found bad by now
        seals = [told for told in read.found.told if told.op == fmt.SEAL and told.seq == read.segment.first]
        if why := "it does not say what it closes" if not seals else _lie(seals[0], before, roots):
            return finding(read, Bad(0, read.segment.first, why, before.found.end))
    return None


def _lie(seal: LedgerNote, before: Read, roots: Roots) -> str:
    end, first = before.found.end, before.segment.first
    truth = {"first": first, "last": end.seq, "head": end.hash}
    if (seal.body.get("stretch"), seal.body.get("events")) != (truth, end.seq - first + 1):
        return "what it says of the stretch before it is not so"
    known = roots.at(end.seq + 1)
    return "the root it claims is not the tree's" if known and known.hex() != seal.body.get("root") else ""


def _hear(
    reads: list[Read], heard: Sequence[Heard], roots: Roots, notes: list[str]
) -> tuple[Finding | None, list[Heard]]:
    """Ask every witness. The first that disagrees, or cannot be believed, is the finding."""
    agreed = list[Heard]()
    for each in heard:
        seq, name = each.witness.seq, each.witness.name
        if each.doubt:
            return Finding("the pin" if each.outside else "checkpoint", 1, 0, -1, each.doubt), agreed
        if why := _disagreement(reads, each.witness, each.root, roots):
            return _contradicted(reads, seq, why), agreed
        if hash_at(reads, seq) or roots.at(seq + 1):
            agreed.append(each)
        else:
            notes.append(f"{name} has seen event {seq}, which was moved away: it could not be asked")
    return None, agreed


def _contradicted(reads: list[Read], seq: int, why: str) -> Finding:
    for read in reads:
        if read.segment.first <= seq <= read.found.end.seq:
            offset = parts.offset_in(read.segment.path, read.found.end.offset, seq)
            return finding(read, Bad(offset, seq, why, read.found.end))
    end = reads[-1].found.end
    return finding(reads[-1], Bad(end.offset, end.seq + 1, why, end))


def _disagreement(reads: list[Read], witness: Witness, root: bytes | None, roots: Roots) -> str:
    end = reads[-1].found.end
    if witness.seq > end.seq:
        return f"rolled back: it ends at event {end.seq}, and {witness.name} has seen event {witness.seq}"
    hashed = hash_at(reads, witness.seq)
    if hashed is not None and hashed != witness.hash:
        return f"rolled back or rewritten: event {witness.seq} is not the one that {witness.name} has seen"
    known = roots.at(witness.seq + 1)
    return f"its tree is not the one that {witness.name} has signed" if root and known and known != root else ""
