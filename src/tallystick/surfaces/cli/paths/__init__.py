"""`tallystick paths`: the paths of a conversation, as a tree; and what can be done to one."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.cli.command import Group, everywhere
from tallystick.surfaces.cli.map import PACKAGE, PATHS, PATHS_GROUP

HELP = f"""{PATHS_GROUP.line}

Prints the tree: each path, whether it is open, merged, abandoned or closed, how many beliefs and episodes were said on
it, and since when. A branch sees what stands above it, also what is learned there later; nobody above or beside it sees
what is said on it until it is merged. `main` is where every path begins."""


@click.group(
    "paths", cls=Group, sections=(("Commands", PATHS),), within=f"{PACKAGE}.paths", help=HELP,
    invoke_without_command=True, params=[*everywhere()],
)  # fmt: skip
@whose
@click.pass_context
def paths(ctx: click.Context, user: str | None) -> None:
    """See map.py."""
    if ctx.invoked_subcommand is not None:
        return
    from tallystick.surfaces.cli.paths.page import tree_page

    call = ctx.ensure_object(Call)
    with call.memory(user=user, read_only=True) as memory:
        tree = memory.paths.tree()
    call.answer(tree.to_dict(), lambda: tree_page(tree))
