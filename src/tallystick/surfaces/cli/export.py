"""`tallystick export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.given_files import summed
from tallystick.surfaces.cli.map import MOVE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown, shown_in_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tallystick.memory.memory import Memory

_FORMATS = ("ndjson", "markdown", "graph")
_OUT = "-"  # standard output
_SEVERAL = {"trust": "trust settings", "graph": "graph records", "pages": "pages", "episodes": "episodes"}


@command(
    next(entry for entry in MOVE if entry.name == "export"),
    example="""
tallystick export > everything.ndjson
tallystick export --format markdown --to everything""",
)
@click.option("--format", type=click.Choice(_FORMATS), default="ndjson", help="What is written.  [ndjson]")
@click.option("--to", metavar="PATH", help="The file or folder to write.  [standard output]")
@click.option("--no-history", is_flag=True, help="Only what is there now, and not how it came to be so.")
@click.option("--force", is_flag=True, help="Replace what is at PATH, if it is a file or such a folder.")
@whose
@pass_call
def export(call: Call, format: str, to: str | None, no_history: bool, force: bool, user: str | None) -> None:
    """Write down everything, to read it elsewhere or to leave

    Prints it, or writes it to PATH and prints how much of what there is. ndjson is all of it: a JSON object a line,
    what is there now and every event that made it so; `tallystick import` of such a file gives the same memory.
    markdown is a folder: the pages, what happened day by day, and an index. graph is the envelope of `tallystick graph
    export`.

    Only this user's memory is written. What was erased is in none of it, and secrets are masked as they were recorded.
    A file or folder is there whole or not at all.
    """
    if to in (None, _OUT) and format == "markdown":
        raise click.UsageError("markdown is a folder of files: name it with --to")
    with call.memory(user=user) as memory:
        if to is None or to == _OUT:
            _print(memory, format, history=not no_history)
            return
        with waiting("Writing …"):
            done = memory.export(to, format=format, history=not no_history, replace=force)
    told = summed({_SEVERAL.get(kind, f"{kind}s"): number for kind, number in done.counts.items()})
    call.answer(done.to_dict(), lambda: [f"{dim('Wrote')} {bold(told)} {dim('to')} {shown(done.place)}"])


def _print(memory: Memory, format: str, *, history: bool) -> None:
    """The bytes as they are; on a terminal, nothing that it would obey."""
    lines: Iterable[bytes] = memory.export_lines(history=history)
    if format == "graph":
        lines = [memory.graph.export_envelope().to_bytes()]
    is_terminal = sys.stdout.isatty()
    for line in lines:
        click.echo(shown_in_json(line.decode()) if is_terminal else line, nl=False)
