"""`tallystick graph`: who and what memories are about, and how they are related."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Group
from tallystick.surfaces.cli.map import GRAPH, GRAPH_GROUP, PACKAGE


@click.group("graph", cls=Group, sections=(("Commands", GRAPH),), within=f"{PACKAGE}.graph", help=GRAPH_GROUP.line)
def graph() -> None:
    """See map.py."""
