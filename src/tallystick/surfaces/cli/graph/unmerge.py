"""`tallystick graph unmerge`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.graph.given import graph_command
from tallystick.surfaces.cli.tab import complete_entity
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import short

_NAME = 60


@graph_command("unmerge", example="tallystick graph unmerge person-anna")
@click.argument("node", metavar="NODE", shell_complete=complete_entity)
@whose
@pass_call
def unmerge(call: Call, node: str, user: str | None) -> None:
    """Take a merge back

    NODE stands for itself again, with its names and edges, as if it had never been part of another. What was changed
    since stays changed. Prints the node.
    """
    with call.memory(user=user) as memory:
        found = memory.graph.unmerge(node)
    call.answer(found.to_dict(), lambda: [f"{bold(short(found.id, _NAME))} {dim('stands for itself again')}"])
