"""`keepsake paths show`."""

from __future__ import annotations

import click

from keepsake.records.path import MAIN
from keepsake.surfaces.cli.belief_options import whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import PATHS
from keepsake.surfaces.cli.paths.page import how, said_line
from keepsake.surfaces.cli.tab import complete_path
from keepsake.surfaces.present.events import event_line
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.text import shown
from keepsake.surfaces.present.time import ago, count


@command(
    PATHS[4],
    example="""
keepsake paths branch try-b
keepsake paths show try-b""",
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
