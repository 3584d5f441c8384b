"""`tallystick graph export`."""

from __future__ import annotations

import sys

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import summed
from tallystick.surfaces.cli.graph.given import counts, graph_command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown, shown_in_json


@graph_command(
    "export",
    example="""
tallystick graph export graph-of-mine.json
tallystick graph export --explicit > saved.json""",
)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--explicit", is_flag=True, help="Only what was saved, without what beliefs say and without merges.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@whose
@pass_call
def export(call: Call, file: str | None, explicit: bool, force: bool, user: str | None) -> None:
    """Write the graph as one envelope, the same bytes each time

    Prints the envelope, or writes it to FILE, whole or not at all, and prints what is in it. What follows from beliefs
    is marked as such. `tallystick graph import` is the way back, here or in another memory.
    """
    with call.memory(user=user) as memory, waiting("Writing …"):
        if file is not None:
            envelope = memory.graph.export_to(file, explicit=explicit, replace=force)
        else:
            envelope = memory.graph.export_envelope(explicit=explicit)
    if file is None:
        _print(envelope.to_bytes())
        return
    found = counts(envelope)
    call.answer({"file": file, **found}, lambda: [f"{dim('Wrote')} {bold(summed(found))} {dim('to')} {shown(file)}"])


def _print(data: bytes) -> None:
    """The bytes as they are; on a terminal, nothing that it would obey."""
    if sys.stdout.isatty():
        click.echo(shown_in_json(data.decode()), nl=False)
    else:
        click.echo(data, nl=False)
