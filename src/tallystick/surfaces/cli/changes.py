"""Changes: `tallystick undo` and `tallystick diff`."""

from __future__ import annotations

import click

from tallystick.records.belief import Moment
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import complete, complete_entity, on_path, option, speaker, whose
from tallystick.surfaces.present.changes import diff as diff_lines, undone
from tallystick.surfaces.present.names import read_moment


@command("undo", "tallystick undo", "tallystick undo 2d4f1a", "tallystick undo 7c01be --dry-run")
@click.argument("name", required=False, metavar="[EVENT]", shell_complete=complete)
@option("--reason TEXT", "Why it is undone.", default="")
@option("--dry-run", "Show what would be undone, and stop.")
@on_path
@speaker
def undo(call: Call, name: str | None, reason: str, dry_run: bool, path: str | None) -> None:
    """EVENT is the number of an event or its id, as in `tallystick log`; or a belief, whose last change is meant.
    Without it, your last change is undone, wherever you made it; doing it again undoes the one before.

    All that was recorded as one is put back: what was remembered is forgotten; what was revised, corrected, merged,
    forgotten or approved is as it was. Undoing is a new event: nothing leaves the history, and it can be undone itself.
    It is refused if later changes depend on it, which are named. An erasure cannot be undone. Prints what is put back.
    """
    with call.memory(read_only=dry_run) as memory:
        found = memory.undo(name, reason=reason, path=path or "", dry_run=dry_run)
    call.answer(found, undone(found))


@command(
    "diff", "tallystick diff yesterday", "tallystick diff 2026-05-01 2026-06-01 --about Ana", "tallystick diff 120 140"
)
@click.argument("since")
@click.argument("until", required=False)
@option("--about ENTITY", "Only what is about it.", default="", shell_complete=complete_entity)
@on_path
@whose
def diff(call: Call, since: str, until: str | None, about: str, path: str | None) -> None:
    """SINCE and UNTIL are an event's number or its id, a date, a time, or words such as "last week"; without UNTIL, it
    is now. Prints each belief that was stated (+), changed (~) or forgotten (-) between the two, what it said
    before, and who changed it last and why.
    """
    with call.memory(read_only=True) as memory:
        found = memory.diff(_moment(since), None if until is None else _moment(until), about, path=path or "")
    call.answer(found, diff_lines(found))


def _moment(said: str) -> Moment:
    """A number or a time, in this machine's zone; else the words."""
    try:
        return read_moment(said)
    except Refused:
        return said
