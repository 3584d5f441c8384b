"""Repairing what `check` found: first as a plan, then on disk.

Only what was named by its code is repaired, except what every opening for writing does anyway (a torn end is set aside,
an interrupted compaction, restore or erasure is finished). If one of the named codes cannot be repaired, nothing is
changed at all, and the reason names the way out. Every repair is an event.

A crash leaves a folder in which `check` finds what is still to be done, and a second repair does it.
"""

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from tallystick.ledger import checkpoint, format as fmt
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.disk import Disk, remove_all
from tallystick.ledger.folder.erase_everywhere import hollow_out_file
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.lock import Lock, read_locked
from tallystick.projections.index.file import IndexFile
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.table_set import TableSet
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.display import Displayable
from tallystick.records.errors import NotWritable, Refused
from tallystick.records.event import Draft
from tallystick.repair import check, files, lines, references
from tallystick.repair.check import Look
from tallystick.repair.findings import CODES, OF_DERIVED, OF_INDEX, OF_PAGES, OF_VECTORS, Finding, check_codes
from tallystick.repair.lines import Operation, operation
from tallystick.state.state import State

LINE = "line-damaged"

_ANY_TIME = "2000-01-01T00:00:00.000000Z"  # for ids that are only tried
_BLOCKING = frozenset({"rolled-back", "file-unreadable", "newer-events"})


@dataclass(frozen=True, slots=True)
class Step(Displayable):
    """One step of a repair, or, if `refused`, why it cannot be done."""

    code: str
    place: str
    text: str
    refused: bool = False


def plan(root: Path, codes: Sequence[str], *, keyring: Keyring | None = None) -> list[Step]:
    """The steps of `apply` for these codes. Changes nothing. No steps if there is nothing to do."""
    check_codes(codes)
    folder = Folder(root)
    if odd := list(files.special(folder)):
        what = f"not a regular file, and nothing was read; {CODES['file-unreadable'].remedy}"
        return [Step("file-unreadable", str(path.relative_to(root)), what, refused=True) for path in odd]
    derived = OF_DERIVED & set(codes)
    with ExitStack() as opened:
        with read_locked(folder.lock) as witness:
            look = opened.enter_context(check.look_at(folder, witness, keyring, only=derived or None))
            findings = check.findings_in(look)
            if "claim-false" in codes and look.survey.whole:
                findings += check.verified(look, keyring)
        if derived and not (look.survey.flaws or look.survey.unreadable) and look.survey.live:
            findings += check.findings_by_events(look)
        return list(_steps(look, findings, frozenset(codes)))


def _steps(look: Look, findings: list[Finding], codes: frozenset[str]) -> Iterator[Step]:
    wanted = [finding for finding in findings if finding.code in codes]
    blocked = _blocked(look, findings, codes) if wanted else ""
    if LINE in codes and look.survey.flaws and not blocked:
        yield from _describe(operation(look))
    for finding in wanted:
        if finding.code == LINE and not blocked:
            continue
        fix = CODES[finding.code].fix
        yield Step(finding.code, finding.place, blocked or fix or finding.remedy, refused=bool(blocked) or not fix)


def _blocked(look: Look, findings: list[Finding], codes: frozenset[str]) -> str:
    """The reason why nothing can be repaired: a repair is an event, and this ledger may not be written."""
    for finding in findings:
        missing = finding.code == "segment-missing"
        ahead = finding.code == "state-ahead" and not codes & {finding.code, LINE}  # repairing lines removes it
        if finding.code in _BLOCKING or missing or ahead:
            return f"blocked by {finding.code}, {finding.place}: {finding.text}; {finding.remedy}"
    if look.survey.flaws and LINE not in codes:
        return f"repair the damaged lines first: tallystick repair {LINE}"
    if look.survey.whole:  # try the events that would fix references
        state = look.survey.state
        try:
            references.drafts(look.survey.links, state, codes, references.fresh_ids(state, _ANY_TIME))
        except Refused as error:
            return str(error)
    return ""


def _describe(found: Operation) -> Iterator[Step]:
    """The steps of a repair of damaged lines."""
    if found.refusal:
        yield Step(LINE, found.look.survey.flaws[0].path.name, found.refusal, refused=True)
        return
    for cure in found.cures:
        name, count = cure.reading.path.name, len(cure.healed)
        if count:
            paths = [cure.spares[flaw.hash][0] for flaw in cure.healed if flaw.hash in cure.spares]
            paths += [cure.graft.source] if cure.graft else []
            sources = ", ".join(sorted({f"{path.parent.name}/{path.name}" for path in paths}))
            yield Step(LINE, name, f"restore {count} line{'s' if count > 1 else ''} from {sources}")
        for flaw in cure.emptied:
            if flaw.hash in found.look.survey.named:
                text = f"empty the line of event {flaw.seq} again; its data was erased before"
            else:
                text = f"give up the data of event {flaw.seq} ({flaw.op}); its line stays in the chain, empty"
            yield Step(LINE, name, text)
    if found.live.broken:
        behind, lost = found.live.behind, found.live.behind.lost
        text = f"cut it after event {found.live.place.seq} and record again what follows: {len(behind.again)} events"
        if lost:
            ranges = [str(first) if first == last else f"{first}–{last}" for first, last in lost[:20]]
            text += f"; lost: {', '.join(ranges)}{'…' if len(lost) > 20 else ''}"
        yield Step(LINE, found.live.reading.path.name, text)
    yield Step(LINE, "sealed/", "keep the damaged bytes there, until an erasure removes them")


def apply(
    root: Path, codes: Sequence[str], *, keyring: Keyring | None = None, by: str = "python:local",
    clock: Clock = system_clock, disk: Disk | None = None, timeout: float = 30.0,
) -> list[Step]:  # fmt: skip
    """Repair what these codes name; return what was done. Refused, and nothing changed, if one cannot be repaired."""
    steps = plan(root, codes, keyring=keyring)
    for step in steps:
        if step.refused:
            raise Refused(f"{step.code}, {step.place}: {step.text}", "state")
    if not steps:
        return steps
    folder, disk, fixed = Folder(root), disk or Disk(), {step.code for step in steps}

    def opened(state: State) -> FolderLedger:
        """Opening finishes what was begun."""
        pins = None if keyring is None else lambda ledger: checkpoint.witnesses(root, ledger, keyring)
        return FolderLedger(root, state, by=by, clock=clock, disk=disk, timeout=timeout, pins=pins)

    if folder.restore_ready.exists() or not folder.wal.exists():
        opened(State()).close()  # else the chain could not be read
    lock, state = Lock(folder.lock, disk, timeout=timeout), State()
    with ExitStack() as looked:
        with closing(lock):
            if not lock.writable:
                raise NotWritable(f"{root} is read-only here; ask its owner")
            with lock.exclusive():
                look = looked.enter_context(check.look_at(folder, lock.witness(), keyring))
                _fix_files(look, fixed, disk)
                if LINE in fixed:
                    found = operation(look)
                    if found.refusal:
                        raise Refused(found.refusal, "state")
                    if look.survey.flaws:
                        lines.perform(found, disk, lock, stamp(clock()), by)
        with closing(opened(state)) as ledger:
            _record(ledger, look, state, Counter(step.code for step in steps if step.code != LINE))
    if "modes-wide" in fixed:
        for path, _ in list(files.wide(folder)):
            files.narrow(path)
    return steps


def _fix_files(look: Look, codes: set[str], disk: Disk) -> None:
    """Do what an open ledger cannot do to itself."""
    if "erasure-unfinished" in codes:
        for hashed, at in look.survey.left_standing.items():
            hollow_out_file(disk, at.path, [hashed])
    if "leftover" in codes:
        for path in check.unused(look):
            shutil.rmtree(path) if path.is_dir() else disk.remove(path)
    if codes & {"state-ahead", "index-damaged", "pages-damaged", "state-differs"}:
        remove_all(disk, look.folder.state_files())
    elif codes & OF_INDEX:
        _empty(look, IndexFile, disk)
    if codes & OF_PAGES and look.folder.state.exists():
        _empty(look, PagesFile, disk)
    if "audit-ahead" in codes:
        remove_all(disk, [look.folder.audit])
    if codes & OF_VECTORS and (look.folder.root / "vectors").is_dir():
        shutil.rmtree(look.folder.root / "vectors")


def _empty(look: Look, kind: type[TableSet], disk: Disk) -> None:
    """Empty one set of tables; if that fails, remove all of them."""
    try:
        with closing(kind(look.folder.state)) as rows:
            rows.empty()
    except sqlite3.Error:
        remove_all(disk, look.folder.state_files())


def _record(ledger: FolderLedger, look: Look, state: State, fixed: Counter[str]) -> None:
    """Record the events that fix references, and what was repaired, in one group."""
    if ledger.trouble is not None:
        raise ledger.trouble
    if fixed:
        summary = Draft(fmt.REPAIR, {"mended": dict(fixed)})
        new_id = references.fresh_ids(state, ledger.now())
        ledger.write(lambda: [*references.drafts(look.survey.links, state, fixed, new_id), summary])
