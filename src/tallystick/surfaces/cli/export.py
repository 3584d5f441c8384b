"""`tallystick export`."""

from __future__ import annotations

import click

from tallystick.surfaces.cli.command import Call, command, print_bytes
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import counts

_FORMATS = ("ndjson", "markdown", "graph")
_STANDARD_OUTPUT = (None, "-")
_PLURALS = {"trust": "trust settings", "graph": "graph records", "pages": "pages", "episodes": "episodes"}


@command(
    "export",
    example="""
tallystick export > everything.ndjson
tallystick export --format markdown --to everything""",
)
@click.option("--format", type=click.Choice(_FORMATS), default="ndjson", help="The format to write.  [ndjson]")
@click.option("--to", metavar="PATH", help="The file or folder to write.  [standard output]")
@click.option("--no-history", is_flag=True, help="Only the current state, without its history.")
@click.option("--force", is_flag=True, help="Replace PATH, if it is a file or such a folder.")
@whose
def export(call: Call, format: str, to: str | None, no_history: bool, force: bool, user: str | None) -> None:
    """Export everything, to read it elsewhere or to leave

    Prints the export, or writes it to PATH and prints what is in it. ndjson is complete: a JSON object per line, the
    current state and every event that led to it; `tallystick import` of such a file gives the same memory. markdown is
    a folder: the pages, what happened day by day, and an index. graph is the envelope of `tallystick graph export`.

    Only this user's memory is written. Erased words are not in it, and secrets are masked as they were recorded. A file
    or folder is written completely or not at all.
    """
    if to in _STANDARD_OUTPUT and format == "markdown":
        raise click.UsageError("markdown is a folder of files: name it with --to")
    with call.memory(user=user) as memory:
        if to is None or to in _STANDARD_OUTPUT:
            is_graph = format == "graph"
            print_bytes(
                [memory.graph.export_envelope().to_bytes()] if is_graph else memory.export_lines(history=not no_history)
            )
            return
        with waiting("Writing …"):
            done = memory.export(to, format=format, history=not no_history, replace=force)
    written = counts({_PLURALS.get(kind, f"{kind}s"): number for kind, number in done.counts.items()})
    call.answer(done.to_dict(), lambda: [f"{dim('Wrote')} {bold(written)} {dim('to')} {shown(done.place)}"])
