"""`tallystick paths compact`."""

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
    PATHS[3],
    example="""
tallystick paths branch try-b
tallystick paths compact try-b --summary "we settled on Friday" """,
)
@click.argument("name", shell_complete=complete_path)
@click.option("--summary", metavar="TEXT", default="", help="What it came to; it is remembered there first.")
@speaker
@whose
@pass_call
def compact(call: Call, name: str, summary: str, trust: str | None, user: str | None) -> None:
    """Close a path; what is held there stays

    Prints the path. Nothing more is said on NAME, and what happened there is recalled no more, there or below; what is
    held true there stays.
    """
    with call.memory(user=user, trust=trust) as memory:
        path = memory.paths.compact(name, summary=summary)
    call.answer(path.to_dict(), lambda: [f"{dim('Closed')} {bold(shown(name))}"])
