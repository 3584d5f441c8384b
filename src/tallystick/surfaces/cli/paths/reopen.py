"""`tallystick paths reopen`."""

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
    PATHS[5],
    example="""
tallystick paths branch try-b
tallystick paths abandon try-b --reason "it led nowhere"
tallystick paths reopen try-b --reason "it did lead somewhere" """,
)
@click.argument("name", shell_complete=complete_path)
@click.option("--reason", metavar="TEXT", required=True, help="Why: it is what later readers have.")
@speaker
@whose
@pass_call
def reopen(call: Call, name: str, reason: str, trust: str | None, user: str | None) -> None:
    """Undo that a path was abandoned or compacted

    Prints the path. What was said on NAME is recalled there as before, and more may be said. Of a path that was both,
    what was done last is undone. A merge is not undone; a summary stays.
    """
    with call.memory(user=user, trust=trust) as memory:
        path = memory.paths.reopen(name, reason)
    call.answer(path.to_dict(), lambda: [f"{dim('Reopened')} {bold(shown(name))}"])
