"""Everything that is wrong with a memory folder. It changes nothing, not even a time on a file.

It works on a folder that may only be read, and on one that is too damaged to open. It takes the shared lock, so that
nobody writes meanwhile, and reads every byte of the ledger and of the backups beside it.

What it cannot see: that the last events are gone together with every witness of them, or that whoever holds the folder,
the key and all checkpoints wrote everything anew.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.ledger import checkpoint, format as fmt, genesis as begin, restore, snapshot
from tallystick.ledger.chain import Chain, first_line
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.disk import Disk
from tallystick.ledger.erase_everywhere import is_foreign
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Lock, Witness
from tallystick.ledger.settings_file import read_toml
from tallystick.ledger.verify import verify
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Damaged, NotFound, TallystickError
from tallystick.records.progress import Progress
from tallystick.repair import audit, compare, content, derived as pages, files, secrets
from tallystick.repair.findings import OF_DERIVED, Finding, check_codes, found, limited, worst_first
from tallystick.repair.scan import Flaw, Survey, survey
from tallystick.repair.witness import index_in, seen_by_others

PATIENCE = 30.0

_NOT_WHOLE = ("restore-unfinished", "compaction-unfinished")
_BEFORE_RESTORE = "-before-restore"

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class OnlyLooking(Disk):
    """A disk that cannot be changed through here."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        if flags & _WRITING:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return super().open(path, flags, mode)


@dataclass(slots=True)
class Look:
    """A folder as it stands: its ledger, the backups that are good, and whoever outside the chain has seen it."""

    folder: Folder
    seen: Survey
    witnesses: list[Witness] = field(default_factory=list)  # outside the chain: checkpoints and pins
    good: list[Folder] = field(default_factory=list)  # backups, oldest first
    bad: list[tuple[Folder, str]] = field(default_factory=list)  # and those that are not, with the reason
    snapshots: dict[Path, str] = field(default_factory=dict)  # those that can be read, and their digests
    forged: list[tuple[str, str]] = field(default_factory=list)  # checkpoints that cannot be trusted: where, why
    index: Witness | None = None  # how far the index has read; unlike a checkpoint it may be thrown away
    others: list[Witness] = field(default_factory=list)  # how far the other derived files have

    @property
    def restore(self) -> str:
        """The command that goes back to the newest good backup."""
        if self.good:
            return f"tallystick restore {self.good[-1].root.name}"
        return "tallystick restore BACKUP, with one that is kept elsewhere: there is no good one in this folder"


def check(
    root: Path, *, keyring: Keyring | None = None, on_progress: Progress | None = None, only: Collection[str] = ()
) -> list[Finding]:
    """All that is wrong with the memory at `root`, the worst first; nothing if it is well. Or `only` these codes.

    With a keyring, the checkpoints of the ledger are witnesses too.
    """
    check_codes(only)
    folder, findings = Folder(root), list[Finding]()
    if not root.is_dir():
        raise NotFound(f"there is no memory at {root}")
    if odd := list(files.special(folder)):
        places = [str(path.relative_to(root)) for path in odd]
        return [found("file-unreadable", place, "it is no file; nothing was read") for place in places]
    try:
        with locked(folder) as witness:
            look = look_at(folder, witness, keyring, on_progress)
            findings += limited(findings_in(look))
            if not any(finding.severity == "error" or finding.code in _NOT_WHOLE for finding in findings):
                findings += verified(look, keyring)
        if not any(finding.severity == "error" or finding.code in _NOT_WHOLE for finding in findings):
            findings += derived_findings(look) if not only or OF_DERIVED & set(only) else []
            findings += limited(secrets.findings(folder)) if not only or "secret-found" in only else []
    except OSError as error:
        findings.append(found("file-unreadable", str(error.filename or root), error.strerror or str(error)))
    return worst_first([finding for finding in findings if not only or finding.code in only])


def derived_findings(look: Look) -> list[Finding]:
    """What is wrong with what is derived from the ledger. Nobody is kept waiting for it."""
    findings = compare.findings(look.folder, look.seen)
    if not any(other.name == look.folder.pages_index.name for other, _ in ahead(look)):
        findings += pages.findings(look.folder)
    return [*findings, *audit.findings(look.folder)]


def verified(look: Look, keyring: Keyring | None) -> list[Finding]:
    """Nothing is called well that `tallystick ledger verify` would not."""
    report = verify(look.folder.root, checkpoints=checkpoint.check(look.folder.root, keyring) if keyring else ())
    if report.bad is None:
        return []
    place = f"{report.bad.file}, line {report.bad.line}, byte {report.bad.byte}"
    return [found("claim-false", place, f"event {report.bad.seq}: {report.bad.why}", look.restore)]


@contextmanager
def locked(folder: Folder) -> Iterator[Witness | None]:
    """Nobody writes in the block; what the lock file has seen. Makes no lock file where there is none."""
    lock = Lock(folder.lock, OnlyLooking(), timeout=PATIENCE)
    try:
        with lock.shared():
            yield lock.witness()
    finally:
        lock.close()


def look_at(
    folder: Folder, witness: Witness | None, keyring: Keyring | None = None, on_progress: Progress | None = None
) -> Look:
    """Read everything, while nobody writes. Between the steps of a restore there is no ledger to be read."""
    look = Look(folder, Survey(folder, witness), index=index_in(folder.root))
    look.others = seen_by_others(folder.root)
    if keyring is not None:
        _ask(look, keyring)
    if not files.is_ready(folder):
        asked = {each.seq for each in (witness, look.index, *look.others, *look.witnesses) if each}
        look.seen = survey(folder, witness, asked, on_progress)
    look.snapshots = {each.path: each.digest for each in snapshot.candidates(folder)}
    for copied in folder.copies():
        if not copied.root.name.endswith(".new"):
            _look_at_copy(look, copied)
    return look


def _ask(look: Look, keyring: Keyring) -> None:
    """Call the witnesses: the pins of the ledger that is here and of the one that should be, and the checkpoint."""
    try:
        every = checkpoint.check(look.folder.root, keyring)
    except Damaged as error:  # the key itself
        look.forged.append(("the key outside the folder", str(error)))
        return
    for each in every:
        if each.checkpoint is None:
            place = each.name if each.outside else look.folder.checkpoint.name
            look.forged.append((place, each.trouble))
        else:
            look.witnesses.append(Witness(each.checkpoint.size - 1, each.checkpoint.head, name=each.name))


def _look_at_copy(look: Look, copied: Folder) -> None:
    try:
        if is_foreign(copied):
            return
        restore.check_copy(copied.root)
        _must_have_all(look, copied)
    except (TallystickError, fmt.BadLine, OSError) as error:
        look.bad.append((copied, str(error)))
    else:
        look.good.extend([copied] if _BEFORE_RESTORE not in copied.root.name else [])


def _must_have_all(look: Look, copied: Folder) -> None:
    """A copy has every stretch but those that were moved away. A damaged ledger cannot say which those were."""
    first, seen = Chain(copied).first, look.seen
    if first and seen.readings and not seen.flaws and not any(last >= first - 1 for _, last, _ in seen.pruned):
        raise Damaged(f"the copy is not whole: events 0 to {first - 1} are not in it; take another")


def findings_in(look: Look) -> list[Finding]:
    """All of them, in no order."""
    unfinished = found("restore-unfinished", "restoring/", "until it is finished, the ledger cannot be read")
    chain = [unfinished] if files.is_ready(look.folder) else _in_the_chain(look)
    return [*chain, *_beside_the_chain(look)]


def _in_the_chain(look: Look) -> Iterator[Finding]:
    seen = look.seen
    if not look.folder.wal.exists():
        yield _without_live_segment(look)
    for path, why in seen.unreadable:
        yield found("file-unreadable", _place(look, path), why)
    for flaw in seen.flaws:
        yield found("line-damaged", _line(look, flaw), _says(flaw))
    if seen.torn:
        whole = f"all up to event {seen.torn.end.seq} is whole"
        yield found("torn-end", _place(look, look.folder.wal), f"{seen.torn.why}; {whole}")
    yield from _rolled_back(look)
    yield from _missing(look)
    yield from _unfinished(look)
    yield from _newer(look)
    yield from _times(look)
    yield from content.findings(seen)


def _times(look: Look) -> Iterator[Finding]:
    times, wal = look.seen.standing.times, _place(look, look.folder.wal)
    if said := times.ahead(stamp(system_clock())):
        yield found("clock-behind", wal, said)
    if said := times.report():
        yield found("times-doubted", wal, said)


def _newer(look: Look) -> Iterator[Finding]:
    for op, spot in look.seen.strange.items():
        yield found("newer-events", content.place_of(spot), f"event {spot.seq}: this tallystick does not know {op}")
    if look.seen.standing.strange and not look.seen.strange:
        strange = look.seen.standing.strange
        yield found("newer-events", _place(look, look.folder.wal), f"this tallystick does not know {strange}")


def _without_live_segment(look: Look) -> Finding:
    if not look.seen.readings and look.seen.witness is None:
        raise NotFound(f"there is no memory at {look.folder.root}")
    if is_compacting(look.seen):
        return found("compaction-unfinished", "events.wal", "the new stretch is prepared and not in its place")
    return found("rolled-back", "events.wal", "it is gone, and other files speak of it", look.restore)


def is_compacting(seen: Survey) -> bool:
    """Whether a prepared stretch continues the last sealed one, and there is no living one."""
    if seen.folder.wal.exists() or not seen.readings or not seen.readings[-1].whole:
        return False
    try:
        line = fmt.parse(first_line(begin.fresh_wal(seen.folder)))
    except (OSError, Damaged, fmt.BadLine):
        return False
    end = seen.readings[-1].found.end
    return line.sound and (line.seq, line.prev) == (end.seq + 1, end.hash)


def _says(flaw: Flaw) -> str:
    lost = "; the rest of the chain holds" if flaw.hash else ""
    return f"event {flaw.seq}: {flaw.why}{lost}"


def _rolled_back(look: Look) -> Iterator[Finding]:
    for why in contradictions(look):
        yield found("rolled-back", _place(look, look.folder.wal), why, look.restore)
    for why in _contradicted(look, [look.index] if look.index else []):
        yield found("index-ahead", look.folder.index.name, why)
    for other, why in ahead(look):
        yield found("derived-ahead", other.name, why)


def ahead(look: Look) -> list[tuple[Witness, str]]:
    """The derived files, beside the index, that have seen what the ledger does not have."""
    return [(other, why) for other in look.others for why in _contradicted(look, [other])]


def contradictions(look: Look) -> Iterator[str]:
    """What a witness saw that is not so. If what it saw can be read, the chain may be broken, but its end is here."""
    mine = look.seen.trusted_witness
    return _contradicted(look, [*look.witnesses, *([mine] if mine else [])])


def _contradicted(look: Look, witnesses: Iterable[Witness]) -> Iterator[str]:
    seen = look.seen
    reach = max([seen.last, *(flaw.seq for flaw in seen.flaws)])
    for witness in witnesses:
        known = seen.hashes.get(witness.seq, set())
        if known and witness.hash not in known:
            yield f"event {witness.seq} is not the one that {witness.name} has seen"
        elif not known and look.folder.wal.exists() and _is_shorter(seen, witness, reach):
            yield f"it ends at event {reach}, and {witness.name} has seen event {witness.seq}"


def _is_shorter(seen: Survey, witness: Witness, reach: int) -> bool:
    """The lock file knows the length too, so that a damaged end is not taken for a missing one."""
    if witness is seen.trusted_witness:
        return seen.verdict is not None and seen.verdict.kind == "rolled back"
    return witness.seq > reach


def _missing(look: Look) -> Iterator[Finding]:
    stands = has_snapshot(look)
    for first, last in look.seen.gaps:
        text = f"events {first} to {last} are not in the folder"
        places = {place for start, end, place in look.seen.pruned if start <= last and end >= first}
        pruned = any(start <= last <= end for start, end, _ in look.seen.pruned)
        if pruned and stands:
            yield found("stretch-pruned", "sealed/", f"{text}: they were moved to {', '.join(sorted(places))}")
        elif pruned:
            text += f", and neither is a snapshot that stands for them; they were moved to {', '.join(sorted(places))}"
            yield found("stretch-missing", "sealed/", text)
        else:
            yield found("stretch-missing", "sealed/", f"{text}, and no event says that they were moved away")


def has_snapshot(look: Look) -> bool:
    """Whether there is a snapshot that the ledger records."""
    return look.seen.snapshot in look.snapshots.values()


def _unfinished(look: Look) -> Iterator[Finding]:
    seen = look.seen
    if seen.witness and seen.witness.recover:
        yield found("sync-failed", "lock", f"the last event that is surely on disk is {seen.witness.seq}")
    under_way = {line for lines in seen.standing.erasing.values() for line in lines}
    for seq in seen.standing.erasing:
        yield found("erasure-unfinished", f"event {seq}", "the erasure it records was not finished")
    for hashed, at in seen.left_standing.items():
        if hashed not in under_way:
            text = f"event {at.seq} is recorded as having no words, and they still stand"
            yield found("erasure-unfinished", _line(look, at), text)


def _beside_the_chain(look: Look) -> Iterator[Finding]:
    folder = look.folder
    for copied, why in look.bad:
        code = "left-behind-damaged" if _BEFORE_RESTORE in copied.root.name else "backup-damaged"
        yield found(code, _place(look, copied.root), why)
    for place, why in look.forged:
        yield found("checkpoint-bad", place, why)
    yield from _settings(folder)
    yield from _snapshot(look)
    for path in unused(look):
        yield found("leftover", _place(look, path), "half made")
    for path, mode in files.wide(folder):
        yield found("modes-wide", _place(look, path), f"its mode is {mode:04o}")
    for path in [*look.seen.overlapping, *files.foreign(folder)]:
        yield found("foreign-file", _place(look, path), "not a file of this memory")
    for path in files.links(folder):
        yield found("foreign-file", _place(look, path), "a link; what it leads to is not a part of this memory")
    kinds = {name.partition("-")[0] for name in look.seen.kept}  # a repair may cut off the event that spoke of another
    for path in files.set_aside(folder) if look.seen.readings else ():
        if path.name.partition("-")[0] not in kinds:
            yield found("kept-loose", _place(look, path), "it was set aside, and no event speaks of it")
    if look.seen.witness is None and look.seen.readings:
        there = folder.lock.exists()
        yield found("lock-missing", folder.lock.name, "it says nothing" if there else "it is not there")


def unused(look: Look) -> list[Path]:
    """What is half made and will not be used. A recorded snapshot or a prepared stretch only waits for its name."""
    waiting = {path for path, digest in look.snapshots.items() if digest == look.seen.snapshot}
    if is_compacting(look.seen):
        waiting |= {begin.fresh_wal(look.folder), snapshot.fresh_path(look.folder)}
    return [path for path in files.half_made(look.folder) if path not in waiting]


def _settings(folder: Folder) -> Iterator[Finding]:
    try:
        read_toml(folder.settings)
    except ValueError as error:
        yield found("settings-unreadable", folder.settings.name, str(error))


def _snapshot(look: Look) -> Iterator[Finding]:
    folder = look.folder
    if not folder.snapshot.exists() or not folder.wal.exists() or files.is_ready(folder):
        return
    usable = {path: digest == look.seen.snapshot for path, digest in look.snapshots.items()}
    if usable.get(folder.snapshot):
        if look.seen.is_other and not look.seen.standing.erasing:  # whoever finishes an erasure makes a new one
            yield found("snapshot-differs", folder.snapshot.name, "it does not say what the events up to it say")
        return
    text = "it is not the one that the ledger records" if folder.snapshot in usable else "it cannot be read"
    if usable.get(snapshot.fresh_path(folder)):
        text = "the one that the ledger records is written and not in its place"
    yield found("snapshot-stale", folder.snapshot.name, text)


def is_stale(look: Look) -> bool:
    """Whether the snapshot is of no use, and no other waits for its place."""
    return any(True for _ in _snapshot(look)) and not has_snapshot(look)


def _place(look: Look, path: Path) -> str:
    """`path` as a person says it: from the folder on."""
    inside = path.relative_to(look.folder.root)
    return str(inside) if inside.parts else str(look.folder.root)


def _line(look: Look, flaw: Flaw) -> str:
    return f"{_place(look, flaw.path)}, line {flaw.line}, byte {flaw.offset}"
