"""`tallystick paths show`."""

from __future__ import annotations

import click

from tallystick.records.path import MAIN
from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import PATHS
from tallystick.surfaces.cli.paths.page import how, said_line
from tallystick.surfaces.cli.tab import complete_path
from tallystick.surfaces.present.events import event_line
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import ago, count


@command(
    PATHS[4],
    example="""
tallystick paths branch try-b
tallystick paths show try-b""",
)
@click.argument("name", shell_complete=complete_path)
@whose
@pass_call
def show(call: Call, name: str, user: str | None) -> None:
    """Show what a path holds of its own, and its events

    Prints what became of NAME, what was said or changed on it that the one above it does not have, and every event that
    stands on it.
    """
    with call.memory(user=user, read_only=True) as memory:
        path, said = memory.paths.get(name), memory.paths.said(name)
        wanted = set(path.event_ids)
        events = [event for event in memory.log() if event.id in wanted]
        listed = [event_line(event, memory.get) for event in events]
    origin = shown(path.parent_id or MAIN)
    told = [
        f"{bold(shown(name))}  {how(path)}{dim(f', from {origin}, {ago(path.created_at)}')}",
        dim(f"holds {count(len(said), 'belief')} of its own"),
        *map(said_line, said), dim(count(len(events), "event")), *listed,
    ]  # fmt: skip
    value = {
        "path": path.to_dict(), "said": [belief.to_dict() for belief in said],
        "events": [event.to_dict() for event in events],
    }  # fmt: skip
    call.answer(value, lambda: told)
