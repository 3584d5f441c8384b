"""Checking a memory folder for everything that can be wrong. Changes nothing, not even a time on a file.

It works on a folder that is read-only, and on one that is too damaged to open. It takes the shared lock, so that nobody
writes meanwhile, and reads every byte of the ledger and of the backups in the folder.

What it cannot see: that the last events are missing together with every witness of them, or that someone who has the
folder, the key and all checkpoints rewrote everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tallystick.ledger import format as fmt
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.folder.backup import check_copy
from tallystick.ledger.folder.chain import Chain
from tallystick.ledger.folder.erase_everywhere import is_foreign
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.recover import is_prepared
from tallystick.ledger.folder.verify import verify
from tallystick.ledger.lock import Witness, read_locked
from tallystick.ledger.settings_file import SettingsFile
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Damaged, NotFound, TallystickError
from tallystick.records.progress import Progress
from tallystick.repair import derived, files, references
from tallystick.repair.audit import AuditReader
from tallystick.repair.findings import OF_DERIVED, OF_SEARCH, Finding, check_codes, found, limited, worst_first
from tallystick.repair.helper import Helper, compare_beside
from tallystick.repair.scan import Flaw, Survey, fold_ledger, scan_ledger
from tallystick.repair.secrets import SecretReader
from tallystick.repair.verify import checkpoints_of
from tallystick.repair.witness import audit_in, rows_in

_NOT_WHOLE = ("restore-unfinished", "compaction-unfinished")
_BEFORE_RESTORE = "-before-restore"


@dataclass(slots=True)
class Look:
    """A folder as it is: its ledger, its backups, and the witnesses outside the chain."""

    folder: Folder
    survey: Survey
    witnesses: list[Witness] = field(default_factory=list)  # outside the chain: checkpoints and pins
    good: list[Folder] = field(default_factory=list)  # backups, oldest first
    bad: list[tuple[Folder, str]] = field(default_factory=list)  # and damaged ones, with the reason
    forged: list[tuple[str, str]] = field(default_factory=list)  # checkpoints that cannot be trusted: where, why
    rows: Witness | None = None  # how far the tables have followed; unlike a checkpoint they may be removed
    audit: Witness | None = None  # how far the audit has
    kinds: Sequence[derived.Kind] = ()  # what is to be compared with the events: the index and the pages, or nothing
    helper: Helper | None = None  # which compares these meanwhile
    along: list[AuditReader | SecretReader] = field(default_factory=list)  # they take the events while they are folded

    @property
    def restore(self) -> str:
        """The command that goes back to the newest good backup."""
        if self.good:
            return f"tallystick restore {self.good[-1].root.name}"
        return "tallystick restore BACKUP, with one that is kept elsewhere: no good one is in this folder"


def check(
    root: Path, *, keyring: Keyring | None = None, on_progress: Progress | None = None, only: Collection[str] = ()
) -> list[Finding]:
    """Everything that is wrong with the memory at `root`, the worst first; with `only`, of these codes.

    With a keyring, the checkpoints of the ledger are witnesses too.
    """
    check_codes(only)
    folder, findings = Folder(root), list[Finding]()
    if not root.is_dir():
        raise NotFound(f"no memory at {root}")
    if odd := list(files.special(folder)):
        places = [str(path.relative_to(root)) for path in odd]
        return [found("file-unreadable", place, "not a regular file; nothing was read") for place in places]
    try:
        with ExitStack() as opened:
            with read_locked(folder.lock) as witness:
                look = opened.enter_context(look_at(folder, witness, keyring, on_progress, only))
                findings += limited(findings_in(look))
                if not _is_broken(findings):
                    findings += verified(look, keyring)
            if not _is_broken(findings):
                findings += findings_by_events(look)
    except OSError as error:
        findings.append(found("file-unreadable", str(error.filename or root), error.strerror or str(error)))
    return worst_first([finding for finding in findings if not only or finding.code in only])


def _is_broken(findings: list[Finding]) -> bool:
    return any(finding.severity == "error" or finding.code in _NOT_WHOLE for finding in findings)


def findings_by_events(look: Look) -> list[Finding]:
    """The derived files that differ from the events, and the secrets in these. Others may write meanwhile."""
    survey, kinds, helper = look.survey, look.kinds, look.helper
    if any(_contradicted(look, [look.rows])):  # there is nothing to compare the pages with
        kinds, helper = kinds[:1], None
    graph = partial(
        derived.GraphReader, distrusts=survey.state.distrusts.all(),
        ledger=survey.state.taken_in.zone.ledger or survey.standing.ledger,
    )  # fmt: skip
    unsound = derived.findings(look.folder, survey.extent, [derived.FileReader] if kinds else ())
    rest = [*(() if helper else kinds), *([graph] if kinds else ())]
    found_here = derived.findings(look.folder, survey.extent, rest)
    theirs = helper.findings() if helper else []
    if theirs is None:
        theirs = derived.findings(look.folder, survey.extent, kinds)
    compared = [*theirs, *found_here]
    if unsound:  # of such a file nothing else counts: it is made again
        compared = [*unsound, *(each for each in compared if each.code not in OF_SEARCH)]
    return [*compared, *(each for reader in look.along for each in reader.findings())]


def verified(look: Look, keyring: Keyring | None) -> list[Finding]:
    """The finding of `tallystick ledger verify`, if any."""
    checkpoints = checkpoints_of(look.folder.root, keyring) if keyring else []
    if not checkpoints and len(look.survey.readings) == 1 and not look.survey.gaps:
        return []  # no root to compute: every line of it was checked when it was read
    report = verify(look.folder.root, checkpoints=checkpoints)
    if report.bad is None:
        return []
    place = f"{report.bad.file}, line {report.bad.line}, byte {report.bad.byte}"
    return [found("claim-false", place, f"event {report.bad.seq}: {report.bad.why}", look.restore)]


# -- reading -----------------------------------------------------------------------------------------------------------


@contextmanager
def look_at(
    folder: Folder, witness: Witness | None, keyring: Keyring | None = None, on_progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> Iterator[Look]:  # fmt: skip
    """Read everything, while nobody writes. Between the steps of a restore there is no ledger to read.

    With `only`, what is found `by_events` of these codes, or of all if there are none, is looked for meanwhile.
    """
    with closing(Survey(folder, witness)) as survey, ExitStack() as opened:
        look = Look(folder, survey, rows=rows_in(folder.root), audit=audit_in(folder.root))
        if keyring is not None:
            _read_checkpoints(look, keyring)
        if only is not None:
            _look_along(look, only, opened)
        if not folder.restore_ready.exists():
            wanted = {each.seq for each in (witness, look.rows, look.audit, *look.witnesses) if each}
            scan_ledger(survey, wanted, on_progress)
            look.helper = opened.enter_context(compare_beside(folder, survey, look.kinds))
            fold_ledger(survey)
        for copied in folder.copies():
            if not copied.root.name.endswith(".new"):
                _read_copy(look, copied)
        yield look


def _look_along(look: Look, only: Collection[str], opened: ExitStack) -> None:
    """Prepare what takes the events of these codes."""
    if not only or OF_DERIVED & set(only):
        look.kinds = [derived.IndexReader, derived.PageReader]
        look.along.append(opened.enter_context(closing(AuditReader(look.folder))))
    if not only or "secret-found" in only:
        look.along.append(SecretReader(look.folder))
    look.survey.along += [reader.take for reader in look.along]


def _read_checkpoints(look: Look, keyring: Keyring) -> None:
    """The pins of the ledger that is here and of the one that should be, and the checkpoint."""
    try:
        every = checkpoints_of(look.folder.root, keyring)
    except Damaged as error:  # the key itself
        look.forged.append(("the key outside the folder", str(error)))
        return
    for each in every:
        if each.doubt:
            look.forged.append((each.witness.name if each.outside else look.folder.checkpoint.name, each.doubt))
        else:
            look.witnesses.append(each.witness)


def _read_copy(look: Look, copied: Folder) -> None:
    try:
        if is_foreign(copied):
            return
        check_copy(copied.root)
        first, survey = Chain(copied).first, look.survey  # all segments but those that were moved away are there
        is_explained = survey.flaws or any(last >= first - 1 for _, last, _ in survey.pruned)
        if first and survey.readings and not is_explained:
            raise Damaged(f"the copy is incomplete: events 0 to {first - 1} are not in it; use another")
    except (TallystickError, fmt.BadLine, OSError) as error:
        look.bad.append((copied, str(error)))
    else:
        look.good.extend([copied] if _BEFORE_RESTORE not in copied.root.name else [])


# -- the chain ---------------------------------------------------------------------------------------------------------


def findings_in(look: Look) -> list[Finding]:
    """All findings, in no order."""
    unfinished = found("restore-unfinished", "restoring/", "until it is finished, the ledger cannot be read")
    chain = [unfinished] if look.folder.restore_ready.exists() else _in_the_chain(look)
    return [*chain, *_around_the_chain(look)]


def _in_the_chain(look: Look) -> Iterator[Finding]:
    survey, wal = look.survey, _place(look, look.folder.wal)
    if not look.folder.wal.exists():
        yield _without_live_segment(look)
    for path, why in survey.unreadable:
        yield found("file-unreadable", _place(look, path), why)
    for flaw in survey.flaws:
        rest = "; the rest of the chain is valid" if flaw.hash else ""
        yield found("line-damaged", _line(look, flaw), f"event {flaw.seq}: {flaw.why}{rest}")
    if survey.torn:
        yield found("torn-end", wal, f"{survey.torn.why}; everything up to event {survey.torn.end.seq} is whole")
    rolled_back = list(contradictions(look))
    for why in rolled_back:
        yield found("rolled-back", wal, why, look.restore)
    is_known = rolled_back or survey.flaws or survey.torn
    for why in () if is_known else _contradicted(look, [look.rows]):  # it only says the same
        yield found("state-ahead", look.folder.state.name, why)
    for why in _contradicted(look, [look.audit]):
        yield found("audit-ahead", look.folder.audit.name, why)
    yield from _missing(look)
    yield from _unfinished(look)
    for op, spot in survey.strange.items():
        yield found("newer-events", str(spot), f"event {spot.seq}: this tallystick does not know {op}")
    if survey.standing.strange and not survey.strange:
        yield found("newer-events", wal, f"this tallystick does not know {survey.standing.strange}")
    if text := survey.standing.times.ahead(stamp(system_clock())):
        yield found("clock-behind", wal, text)
    if text := survey.standing.times.report():
        yield found("times-doubted", wal, text)
    if survey.whole:
        yield from references.findings(survey.links, survey.state)


def _without_live_segment(look: Look) -> Finding:
    if not look.survey.readings and look.survey.witness is None:
        raise NotFound(f"no memory at {look.folder.root}")
    if is_compacting(look.survey):
        return found("compaction-unfinished", "events.wal", "the new segment is prepared, but not in place")
    return found("rolled-back", "events.wal", "it is missing, and other files refer to it", look.restore)


def is_compacting(survey: Survey) -> bool:
    """True if a prepared segment continues the last sealed one, and there is no live one."""
    if survey.folder.wal.exists() or not survey.readings or not survey.readings[-1].whole:
        return False
    end = survey.readings[-1].found.end
    return is_prepared(survey.folder, end.seq, end.hash)


def contradictions(look: Look) -> Iterator[str]:
    """Differences from what witnesses have seen. An event that can be read is here, even if the chain is broken."""
    mine = look.survey.trusted_witness
    return _contradicted(look, [*look.witnesses, mine])


def _contradicted(look: Look, witnesses: Iterable[Witness | None]) -> Iterator[str]:
    survey = look.survey
    reach = max([survey.last, *(flaw.seq for flaw in survey.flaws)])
    for witness in filter(None, witnesses):
        known = survey.hashes.get(witness.seq, set())
        is_shorter = witness.seq > reach
        if witness is survey.trusted_witness:  # it knows the length too: a damaged end is not a missing one
            is_shorter = survey.verdict is not None and survey.verdict.kind == "rolled back"
        if known and witness.hash not in known:
            yield f"event {witness.seq} is not the one that {witness.name} has seen"
        elif not known and look.folder.wal.exists() and is_shorter:
            yield f"it ends at event {reach}, but {witness.name} has seen event {witness.seq}"


def _missing(look: Look) -> Iterator[Finding]:
    for first, last in look.survey.gaps:
        text = f"events {first} to {last} are not in the folder"
        places = {place for start, end, place in look.survey.pruned if start <= last and end >= first}
        moved = f"they were moved to {', '.join(sorted(places))}"
        if not any(start <= last <= end for start, end, _ in look.survey.pruned):
            yield found("segment-missing", "sealed/", f"{text}, and no event says that they were moved away")
        elif look.survey.baseless:
            yield found("segment-missing", "sealed/", f"{look.survey.baseless}; {moved}")
        else:
            yield found("segment-pruned", "sealed/", f"{text}: {moved}")


def _unfinished(look: Look) -> Iterator[Finding]:
    survey = look.survey
    if survey.witness and survey.witness.recover:
        yield found("sync-failed", "lock", f"the last event that is certainly on disk is {survey.witness.seq}")
    in_progress = {line for lines in survey.standing.erasing.values() for line in lines}
    for seq in survey.standing.erasing:
        yield found("erasure-unfinished", f"event {seq}", "the erasure it records was not finished")
    for hashed, at in survey.left_standing.items():
        if hashed not in in_progress:
            text = f"event {at.seq} is recorded as erased, but its data is still there"
            yield found("erasure-unfinished", _line(look, at), text)


# -- the other files ---------------------------------------------------------------------------------------------------


def _around_the_chain(look: Look) -> Iterator[Finding]:
    folder, survey = look.folder, look.survey
    for copied, why in look.bad:
        code = "left-behind-damaged" if _BEFORE_RESTORE in copied.root.name else "backup-damaged"
        yield found(code, _place(look, copied.root), why)
    for place, why in look.forged:
        yield found("checkpoint-bad", place, why)
    try:
        SettingsFile(folder.settings).read()
    except ValueError as error:
        yield found("settings-unreadable", folder.settings.name, str(error))
    if survey.state_differs and not (survey.flaws or survey.standing.erasing or survey.standing.strange):
        why = f"its rows differ from the events up to it, first in {survey.state_differs}"
        yield found("state-differs", folder.state.name, why)
    for path in unused(look):
        yield found("leftover", _place(look, path), "unfinished")
    for path, mode in files.wide(folder):
        yield found("modes-wide", _place(look, path), f"its mode is {mode:04o}")
    for path in [*survey.overlapping, *files.foreign(folder)]:
        yield found("foreign-file", _place(look, path), "not a file of this memory")
    for path in files.links(folder):
        yield found("foreign-file", _place(look, path), "a symlink; its target is not a part of this memory")
    kinds = {name.partition("-")[0] for name in survey.kept}  # a repair may cut off the event that names another
    for path in files.set_aside(folder) if survey.readings else ():
        if path.name.partition("-")[0] not in kinds:
            yield found("kept-loose", _place(look, path), "it was set aside, and no event names it")
    if survey.witness is None and survey.readings:
        yield found("lock-missing", folder.lock.name, "it is empty" if folder.lock.exists() else "it is missing")


def unused(look: Look) -> list[Path]:
    """Unfinished files that nothing will use. A recorded state or a prepared segment only waits for its name."""
    waiting = {look.folder.sealed_state(look.survey.standing.sealed_state[0]).with_suffix(".new")}
    if is_compacting(look.survey):
        waiting.add(look.folder.new_wal)
    return [path for path in files.half_made(look.folder) if path not in waiting]


def _place(look: Look, path: Path) -> str:
    """`path`, relative to the folder."""
    inside = path.relative_to(look.folder.root)
    return str(inside) if inside.parts else str(look.folder.root)


def _line(look: Look, flaw: Flaw) -> str:
    return f"{_place(look, flaw.path)}, line {flaw.line}, byte {flaw.offset}"
