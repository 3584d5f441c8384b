"""`tallystick store`: a graph and its events in a folder of their own, for whoever wants just that part."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Group
from tallystick.surfaces.cli.map import PACKAGE, STORE, STORE_GROUP


@click.group("store", cls=Group, sections=(("Commands", STORE),), within=f"{PACKAGE}.store", help=STORE_GROUP.line)
def store() -> None:
    """See map.py."""
