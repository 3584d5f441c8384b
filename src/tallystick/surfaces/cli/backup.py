"""`tallystick backup`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import outcome


@command(
    "backup",
    example="""
tallystick backup
tallystick backup --to copies""",
)
@click.option(
    "--to", type=click.Path(), metavar="DIR", help="A folder outside the memory, for example on another disk."
)
def backup(call: Call, to: str | None) -> None:
    """Make a verified copy

    Reads the copy back from its first event to its last before it gets its name. Prints where it is: under `backup/` in
    the memory folder, or under DIR. Others can go on writing meanwhile. `tallystick restore` goes back to it.
    """
    with call.memory() as memory, waiting("Copying, then reading the copy back …"):
        place = memory.backup(to)
    call.answer({"backup": str(place)}, lambda: [outcome("Copied to", str(place))])
