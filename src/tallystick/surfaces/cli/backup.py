"""`tallystick backup`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import CARE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(
    CARE[2],
    example="""
tallystick backup
tallystick backup --to copies""",
)
@click.option(
    "--to", type=click.Path(), metavar="DIR", help="A folder outside the memory, for example on another disk."
)
@pass_call
def backup(call: Call, to: str | None) -> None:
    """Make a checked copy

    The copy is read back from its first event to its last before it gets its name. Prints where it is: under `backup/`
    in the memory's folder, or under DIR. Others may go on writing meanwhile. `tallystick restore` goes back to it.
    """
    with call.memory() as memory, waiting("Copying, then reading the copy back …"):
        place = memory.backup(to)
    call.answer({"backup": str(place)}, lambda: [f"{dim('Copied to')} {bold(shown(str(place)))}"])
