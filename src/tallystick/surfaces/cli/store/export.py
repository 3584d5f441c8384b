"""`tallystick store export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.stores.phase.workspace import open_workspace, unread, write_file
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import summed
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.store.given import folder, store_command
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown, shown_in_json
from tallystick.surfaces.present.time import count

_PARTS = ("nodes", "edges", "paths", "events")


@store_command(
    "export",
    example="""
tallystick store export notes graph-of-notes.json
tallystick store export notes > also.json""",
    exits={4: "some of it could not be read and is not in the envelope: run `tallystick store diagnose`"},
)
@folder
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@pass_call
def export(call: Call, folder: str, file: str | None, force: bool) -> int:
    """Write the whole graph as one envelope, the same bytes each time

    Prints the envelope of DIR, or writes it to FILE, whole or not at all, and prints what is in it. Activation plans
    and the audit stay behind. `tallystick store import` is the way back.
    """
    runtime = open_workspace(folder)
    with waiting("Writing …"):
        envelope, lost = runtime.export(), unread(runtime)
        data = envelope.to_bytes()
    if lost:
        call.note(
            f"tallystick: this is not all: {count(lost, 'place')} could not be read; "
            "see `tallystick store diagnose`"
        )
    if file is None:
        _print(data)
    else:
        if Path(file).exists() and not force:
            raise Refused(f"{file} is there already; choose another name, or replace it with --force", "exists")
        write_file(Path(file), data)
        answer = {"file": file, "bytes": len(data), **_counts(envelope)}
        call.answer(answer, lambda: [f"{dim('Wrote')} {bold(summed(_counts(envelope)))} {dim('to')} {shown(file)}"])
    return 4 if lost else 0


def _print(data: bytes) -> None:
    """The bytes as they are; on a terminal, nothing that it would obey."""
    if sys.stdout.isatty():
        click.echo(shown_in_json(data.decode()), nl=False)
    else:
        click.echo(data, nl=False)


def _counts(envelope: GraphEnvelope) -> dict[str, int]:
    profiles = len(envelope.profiles) + (envelope.profile is not None)
    return {"profiles": profiles, **{part: len(envelope.records(part)) for part in _PARTS}}
