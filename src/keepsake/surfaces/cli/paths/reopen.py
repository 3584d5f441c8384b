"""`keepsake paths reopen`."""

from __future__ import annotations

import click

from keepsake.surfaces.cli.belief_options import speaker, whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import PATHS
from keepsake.surfaces.cli.tab import complete_path
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.text import shown


@command(
    PATHS[5],
    example="""
keepsake paths branch try-b
keepsake paths abandon try-b --reason "it led nowhere"
keepsake paths reopen try-b --reason "it did lead somewhere" """,
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
