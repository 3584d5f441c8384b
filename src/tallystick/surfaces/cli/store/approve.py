"""`tallystick store approve`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import click

from tallystick.records.errors import Refused
from tallystick.stores.phase.input_files import action_in
from tallystick.stores.phase.workspace import open_workspace
from tallystick.surfaces.cli.call import Call, pass_call, print_json
from tallystick.surfaces.cli.given_files import read_given
from tallystick.surfaces.cli.store.given import folder, store_command
from tallystick.surfaces.present.text import short, shown


@store_command("approve", example="tallystick store approve notes archive.json --by ana > yes.json")
@folder
@click.argument("action", type=click.Path(), metavar="ACTION")
@click.option("--by", required=True, metavar="NAME", help="Who says yes: not the one who asks.")
@click.option(
    "--hours", type=click.FloatRange(min=0, min_open=True, max=24 * 365), default=24.0, metavar="N",
    help="How long the yes lasts.  [24]",
)  # fmt: skip
@pass_call
def approve(call: Call, folder: str, action: str, by: str, hours: float) -> None:
    """Say yes to one action, as it stands

    ACTION is a file that says what is asked for: `kind`, `subject_ids`, `by`, and where it needs them `changes`,
    `reason` and `path_id`. Prints the yes, to be kept in a file: it counts once, for exactly this action on the records
    as they are in DIR now, until it ends. What is asked for is said on standard error.
    """
    runtime = open_workspace(folder)
    asked, saw = action_in(*read_given(action))
    shown_now = runtime.propose(
        asked.kind, asked.subject_ids, by=asked.by, changes=asked.changes, reason=asked.reason, path_id=asked.path_id
    )
    meant = asked if saw else replace(asked, seen=shown_now.seen)
    yes = runtime.approve(meant, by=by, lasts=timedelta(hours=hours))
    why_not = runtime.policy.why_not(meant, yes, yes.at)
    if why_not:
        raise Refused(f"{meant.label}: {why_not}")
    why = f", because {short(meant.reason, 200)}" if meant.reason else ""
    call.note(f"tallystick: {shown(by)} says yes to: {meant.label}, asked for by {shown(meant.by)}{why}")
    print_json({**yes.to_dict(), **({} if saw else {"seen": meant.seen})})
