"""`keepsake backup`."""

from __future__ import annotations

import click

from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import CARE
from keepsake.surfaces.cli.patience import waiting
from keepsake.surfaces.present.terminal import bold, dim
from keepsake.surfaces.present.text import shown


@command(
    CARE[2],
    example="""
keepsake backup
keepsake backup --to copies""",
)
@click.option(
    "--to", type=click.Path(), metavar="DIR", help="A folder outside the memory, for example on another disk."
)
@pass_call
def backup(call: Call, to: str | None) -> None:
    """Make a checked copy

    The copy is read back from its first event to its last before it gets its name. Prints where it is: under `backup/`
    in the memory's folder, or under DIR. Others may go on writing meanwhile. `keepsake restore` goes back to it.
    """
    with call.memory() as memory, waiting("Copying, then reading the copy back …"):
        place = memory.backup(to)
    call.answer({"backup": str(place)}, lambda: [f"{dim('Copied to')} {bold(shown(str(place)))}"])
