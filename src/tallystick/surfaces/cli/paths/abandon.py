"""`tallystick paths abandon`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import PATHS
from tallystick.surfaces.cli.tab import complete_path
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(
    PATHS[2],
    example="""
tallystick paths branch try-b
tallystick paths abandon try-b --reason "it led nowhere" """,
)
@click.argument("name", shell_complete=complete_path)
@click.option("--reason", metavar="TEXT", required=True, help="Why: it is what later readers have.")
@speaker
@whose
@pass_call
def abandon(call: Call, name: str, reason: str, trust: str | None, user: str | None) -> None:
    """Give a path up, with all below it; it stays in history

    Prints the path. What was said on NAME is recalled no more, and what is seen above it is as it was before.
    """
    with call.memory(user=user, trust=trust) as memory:
        path = memory.paths.abandon(name, reason)
    call.answer(path.to_dict(), lambda: [f"{dim('Abandoned')} {bold(shown(name))}"])
