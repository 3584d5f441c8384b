"""`tallystick ledger`: the chain itself, for whoever wants it proved."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Group
from tallystick.surfaces.cli.map import LEDGER, PACKAGE, SPECIALIST


@click.group("ledger", cls=Group, sections=(("Commands", LEDGER),), within=f"{PACKAGE}.ledger", help=SPECIALIST[1].line)
def ledger() -> None:
    """See map.py."""
