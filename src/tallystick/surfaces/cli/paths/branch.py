"""`tallystick paths branch`."""

from __future__ import annotations

import click

from tallystick.records.path import MAIN
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import PATHS
from tallystick.surfaces.cli.tab import complete_path
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(
    PATHS[0],
    example="""
tallystick paths branch try-b
tallystick paths branch try-c --from try-b""",
)
@click.argument("name")
@click.option(
    "parent", "--from", metavar="PATH", default="", shell_complete=complete_path,
    help="The path that it begins from.  [main]",
)  # fmt: skip
@speaker
@whose
@pass_call
def branch(call: Call, name: str, parent: str, trust: str | None, user: str | None) -> None:
    """Begin a path that sees what another one sees

    Prints the path. NAME is one line of up to 200 characters that no other path has. What is said on it is seen there
    and below, and nowhere else until it is merged.
    """
    with call.memory(user=user, trust=trust) as memory:
        path = memory.paths.branch(name, parent)
    origin = shown(parent or MAIN)
    call.answer(path.to_dict(), lambda: [f"{dim('Branched')} {bold(shown(name))} {dim(f'from {origin}')}"])
