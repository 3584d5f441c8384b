"""`tallystick graph show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.graph.given import graph_command
from tallystick.surfaces.cli.graph.tree import tree
from tallystick.surfaces.cli.tab import complete_entity

if TYPE_CHECKING:
    from tallystick.stores.phase.graph.traverse import Expansion


@graph_command(
    "show",
    example="""
tallystick graph show Ana
tallystick graph show person-ana --hops 2 --limit 20""",
)
@click.argument("name", metavar="NAME", shell_complete=complete_entity)
@click.option("--hops", type=click.IntRange(0), default=1, metavar="N", help="How many steps to go.  [1]")
@click.option("--limit", type=click.IntRange(1), default=50, metavar="N", help="How many nodes to show at most.  [50]")
@whose
@pass_call
def show(call: Call, name: str, hops: int, limit: int, user: str | None) -> None:
    """Show an entity and what it is related to

    NAME is a node's id (a page is one: person-ana), or what it goes by: a label, an alias, a name in a belief. Shows
    what is told of it, and as a tree what it is related to: what leads away from it (->) and what leads to it (<-).
    What has ended says when.
    """
    with call.memory(user=user) as memory:
        found = memory.graph.show(name, hops, limit)
    call.answer(told(found), lambda: tree(found))


def told(found: Expansion) -> dict[str, Any]:
    return {
        "nodes": [node.to_dict() | {"distance": found.distance[node.id]} for node in found.nodes],
        "edges": [edge.to_dict() for edge in found.edges], "is_cut": found.is_cut,
    }  # fmt: skip
