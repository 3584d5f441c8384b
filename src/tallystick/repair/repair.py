"""Setting right what `check` found: first in words, then in deed.

Nothing is mended that was not asked for by its code, except what every opening for writing does anyway (a torn end is
set aside, an interrupted compaction, restore or erasure is finished). If one of the codes asked for cannot be mended,
nothing is changed at all, and the reason names the way out. Every mend is an event.

A crash leaves a folder in which `check` finds what is still to be done, and a second repair does it.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tallystick.ledger import checkpoint, format as fmt
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.disk import Disk, remove_all, remove_if_there
from tallystick.ledger.erase_everywhere import hollow_out_file
from tallystick.ledger.layout import Folder
from tallystick.ledger.ledger import Ledger
from tallystick.ledger.lock import Lock
from tallystick.ledger.reader import Pins
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.errors import NotWritable, Refused
from tallystick.records.event import Draft
from tallystick.repair import check, content, files, lines as surgery, references as settle
from tallystick.repair.check import Look
from tallystick.repair.findings import CODES, OF_DERIVED, OF_INDEX, OF_PAGES, OF_VECTORS, Finding, check_codes
from tallystick.repair.plan import Cure, Operation, operation
from tallystick.repair.scan import Flaw
from tallystick.state.state import State

LINE = "line-damaged"

_ANY_TIME = "2000-01-01T00:00:00.000000Z"  # for ids that are only tried
_BLOCKING = frozenset({"rolled-back", "file-unreadable", "newer-events"})


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a repair does, or, if `refused`, why it cannot."""

    code: str
    place: str
    text: str
    refused: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(root: Path, codes: Sequence[str], *, keyring: Keyring | None = None) -> list[Step]:
    """What `apply` would do about these codes, in words. Changes nothing. Nothing to do gives no steps."""
    check_codes(codes)
    folder = Folder(root)
    if odd := list(files.special(folder)):
        what = f"it is no file, and nothing was read; {CODES['file-unreadable'].remedy}"
        return [Step("file-unreadable", str(path.relative_to(root)), what, refused=True) for path in odd]
    with check.locked(folder) as witness:
        look = check.look_at(folder, witness, keyring)
        findings = check.findings_in(look)
        if "claim-false" in codes and content.is_whole(look.seen):
            findings += check.verified(look, keyring)
    if OF_DERIVED & set(codes) and not (look.seen.flaws or look.seen.unreadable) and look.seen.living:
        findings += check.derived_findings(look)
    return list(_steps(look, findings, frozenset(codes)))


def _cannot_be_told(look: Look, codes: frozenset[str]) -> str:
    """Why an event that would set something right cannot be written; nothing if all can."""
    try:
        settle.drafts(look.seen.links, look.seen.state, codes, settle.fresh_ids(look.seen.state, _ANY_TIME))
    except Refused as error:
        return str(error)
    return ""


def _steps(look: Look, findings: list[Finding], codes: frozenset[str]) -> Iterator[Step]:
    asked = [finding for finding in findings if finding.code in codes]
    blocked = _blocked(look, findings, codes) if asked else ""
    if LINE in codes and look.seen.flaws and not blocked:
        yield from _describe(operation(look))
    for finding in asked:
        if finding.code == LINE and not blocked:
            continue
        fix = CODES[finding.code].fix
        yield Step(finding.code, finding.place, blocked or fix or finding.remedy, refused=bool(blocked) or not fix)


def _blocked(look: Look, findings: list[Finding], codes: frozenset[str]) -> str:
    """Why nothing can be mended here: a mend is an event, and this ledger may not be written."""
    for finding in findings:
        missing = finding.code == "stretch-missing" and not check.has_snapshot(look)
        ahead = finding.code == "index-ahead" and not codes & {finding.code, LINE}  # mending lines removes the index
        if finding.code in _BLOCKING or missing or ahead:
            return f"{finding.place}: {finding.text}; {finding.remedy}"
    if look.seen.flaws and LINE not in codes:
        return f"mend the damaged lines first: tallystick repair {LINE}"
    return _cannot_be_told(look, codes) if content.is_whole(look.seen) else ""


def _describe(found: Operation) -> Iterator[Step]:
    """A repair of damaged lines, in words."""
    if found.refusal:
        yield Step(LINE, found.look.seen.flaws[0].path.name, found.refusal, refused=True)
        return
    for cure in found.cures:
        if cure.healed:
            yield Step(LINE, cure.reading.path.name, f"put back {_lines(len(cure.healed))} from {_sources(cure)}")
        for flaw in cure.emptied:
            yield Step(LINE, cure.reading.path.name, _describe_emptied(found, flaw))
    if found.living.broken:
        yield Step(LINE, found.living.reading.path.name, _describe_cut(found))
    if found.saved:
        text = f"record anew {len(found.saved)} of the lost versions, which the snapshot still has"
        yield Step(LINE, found.look.folder.snapshot.name, text)
    yield Step(LINE, "sealed/", "keep the damaged bytes there, until an erasure removes them")


def _sources(cure: Cure) -> str:
    spares = [cure.spares[flaw.hash].path for flaw in cure.healed if flaw.hash in cure.spares]
    grafted = [cure.graft.source] if cure.graft else []
    return ", ".join(sorted({f"{path.parent.name}/{path.name}" for path in spares + grafted}))


def _describe_emptied(found: Operation, flaw: Flaw) -> str:
    if flaw.hash in found.look.seen.named:
        return f"empty the line of event {flaw.seq} again; its words were erased before"
    return f"give up the words of event {flaw.seq} ({flaw.op}); its line stays in the chain, empty"


def _describe_cut(found: Operation) -> str:
    behind, lost = found.living.behind, found.living.behind.lost
    text = f"cut it behind event {found.living.place.seq} and record anew what follows: {len(behind.again)} events"
    if lost:
        ranges = [str(first) if first == last else f"{first}–{last}" for first, last in lost[:20]]
        text += f"; lost: {', '.join(ranges)}{'…' if len(lost) > 20 else ''}"
    return text


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def apply(
    root: Path,
    codes: Sequence[str],
    *,
    keyring: Keyring | None = None,
    by: str = "python:local",
    clock: Clock = system_clock,
    disk: Disk | None = None,
    timeout: float = 30.0,
) -> list[Step]:
    """Mend what these codes name; return what was done. If one cannot be mended: Refused, and nothing is changed."""
    steps = plan(root, codes, keyring=keyring)
    for step in steps:
        if step.refused:
            raise Refused(f"{step.code}, {step.place}: {step.text}", "state")
    disk = disk or Disk()
    how: dict[str, Any] = {"by": by, "clock": clock, "disk": disk, "timeout": timeout, "pins": _pins(root, keyring)}
    if steps:
        look = _fix_files(Folder(root), {step.code for step in steps}, keyring, how)
        _fix_the_rest(look, Counter(step.code for step in steps if step.code != LINE), how)
    return steps


def _pins(root: Path, keyring: Keyring | None) -> Pins | None:
    return None if keyring is None else lambda ledger: checkpoint.witnesses(root, ledger, keyring)


def _fix_files(folder: Folder, codes: set[str], keyring: Keyring | None, how: dict[str, Any]) -> Look:
    """What an open ledger cannot do to itself; return what was seen before."""
    if files.is_ready(folder) or not folder.wal.exists():
        Ledger(folder.root, State(), **how).close()  # finishes what hides the chain from being read
    lock = Lock(folder.lock, how["disk"], timeout=how["timeout"])
    try:
        if not lock.writable:
            raise NotWritable(f"{folder.root} may only be read here; ask its owner")
        with lock.exclusive():
            look = check.look_at(folder, lock.witness(), keyring)
            _clear_away(look, codes, how["disk"])
            if LINE in codes:
                _operate(look, lock, how)
            return look
    finally:
        lock.close()


def _clear_away(look: Look, codes: set[str], disk: Disk) -> None:
    if "erasure-unfinished" in codes:
        for hashed, at in look.seen.left_standing.items():
            hollow_out_file(disk, at.path, [hashed])
    if "leftover" in codes:
        for path in check.unused(look):
            shutil.rmtree(path) if path.is_dir() else disk.remove(path)
    if codes & OF_INDEX:
        remove_all(disk, look.folder.index_files())
    if codes & OF_PAGES:
        remove_all(disk, [path for path in files.derived(look.folder) if path.name.startswith("pages.db")])
    if "derived-ahead" in codes:
        ahead = tuple(other.name for other, _ in check.ahead(look))
        remove_all(disk, [path for path in files.derived(look.folder) if path.name.startswith(ahead)])
    if codes & OF_VECTORS and (look.folder.root / "vectors").is_dir():
        shutil.rmtree(look.folder.root / "vectors")
    if ("snapshot-stale" in codes and check.is_stale(look)) or "snapshot-differs" in codes:
        remove_if_there(disk, look.folder.snapshot)


def _operate(look: Look, lock: Lock, how: dict[str, Any]) -> None:
    found = operation(look)
    if found.refusal:
        raise Refused(found.refusal, "state")
    if look.seen.flaws:
        surgery.perform(found, how["disk"], lock, stamp(how["clock"]()), how["by"])


def _fix_the_rest(look: Look, fixed: Counter[str], how: dict[str, Any]) -> None:
    """Open it, which finishes what was begun; say what sets things right, and what was mended, in one group."""
    state = State()
    ledger = Ledger(look.folder.root, state, **how)
    try:
        if ledger.trouble is not None:
            raise ledger.trouble
        if fixed:
            told = Draft(fmt.REPAIR, {"mended": dict(fixed)})
            fresh = settle.fresh_ids(state, ledger.now())
            ledger.write(lambda: [*settle.drafts(look.seen.links, state, fixed, fresh), told])
    finally:
        ledger.close()
    if "modes-wide" in fixed:
        for path, _ in list(files.wide(look.folder)):
            files.narrow(path)
