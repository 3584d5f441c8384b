"""`tallystick ledger prune`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LEDGER
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown


@command(LEDGER[4], example="tallystick ledger prune --to sealed-elsewhere")
@click.option(
    "--to", required=True, type=click.Path(), metavar="DIR", help="Where they go: a folder outside the memory."
)
@pass_call
def prune(call: Call, to: str) -> None:
    """Move sealed files to another place

    What is held needs them no longer; the history of older beliefs, and a rebuild from the first event, do. Keep them.
    An erasure does not reach them there. Prints where each is now.
    """
    with call.memory() as memory, waiting("Moving …"):
        moved = memory.ledger.prune(to)
    call.answer({"moved": [str(path) for path in moved]}, lambda: _page(moved))


def _page(moved: list[Path]) -> Iterator[str]:
    if not moved:
        yield dim("nothing is sealed yet; `tallystick ledger compact` seals")
    yield from (f"{dim('Moved to')} {bold(shown(str(path)))}" for path in moved)
