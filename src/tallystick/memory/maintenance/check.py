"""What is wrong with a memory, and setting it right, with the keys and pins of whoever asks.

It takes a folder, not an open `Memory`: what is too damaged to be opened is what it is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tallystick.memory import settings
from tallystick.records.clock import Clock, system_clock
from tallystick.records.errors import Damaged, Refused
from tallystick.records.progress import Progress
from tallystick.repair import check as checking, repair as fix
from tallystick.repair.findings import CODES, Finding, found, worst_first
from tallystick.repair.repair import Step
from tallystick.stores.places import is_old

__all__ = ["CODES", "Finding", "Step", "check", "plan", "repair"]


def check(folder: Path, codes: Sequence[str] = (), *, on_progress: Progress | None = None) -> list[Finding]:
    """All that is wrong with the memory at `folder`, the worst first; nothing if it is well. Changes nothing.

    With `codes`, only those are looked for.
    """
    if old := _old(folder):
        return [old] if not codes or old.code in codes else []
    findings = checking.check(folder, keyring=settings.keyring(), on_progress=on_progress, only=codes)
    known = {finding.code for finding in findings}
    around = [finding for finding in _around(folder) if finding.code not in known]
    return worst_first(findings + [finding for finding in around if not codes or finding.code in codes])


def plan(folder: Path, codes: Sequence[str]) -> list[Step]:
    """What `repair` would do about these codes, in words. Changes nothing."""
    if old := _old(folder):
        return [Step(old.code, old.place, f"{old.text}; {old.remedy}", refused=True)]
    steps = fix.plan(folder, codes, keyring=settings.keyring())
    known = {step.code for step in steps}
    around = [finding for finding in _around(folder) if finding.code in codes and finding.code not in known]
    return steps + [Step(each.code, each.place, f"{each.text}; {each.remedy}", refused=True) for each in around]


def repair(folder: Path, codes: Sequence[str], *, by: str = "python:local", clock: Clock = system_clock) -> list[Step]:
    """Repair what these codes name; return what was done. If one cannot be: Refused, and nothing is changed."""
    for step in plan(folder, codes):
        if step.refused:
            raise Refused(f"{step.code}, {step.place}: {step.text}", "state")
    return fix.apply(folder, codes, keyring=settings.keyring(), by=by, clock=clock)


def _old(folder: Path) -> Finding | None:
    """How a folder that chronomemory wrote stands, by its own rule; None if it did not."""
    try:
        if not is_old(folder):
            return None
    except (Damaged, OSError):  # no file is in the place of the ledger, or none that can be read: a finding of its own
        return None
    from tallystick.stores.esdb.migrate import examine

    try:
        old = examine(folder)
    except ValueError as error:
        return found("old-ledger-damaged", "events.wal", str(error))
    notes = "".join(f"; {note}" for note in old.notes)
    return found("old-ledger", "events.wal", f"its {len(old.log.events):,} lines are chronomemory's, and whole{notes}")


def _around(folder: Path) -> Iterator[Finding]:
    """What the ledger cannot know: settings that mean nothing, and a place that is not safe."""
    try:
        settings.read_settings(folder)
    except Refused as error:
        yield found("settings-unreadable", "tallystick.toml", str(error))
    if why := settings.unsafe_place(folder):
        yield found("unsafe-place", str(folder), why)
