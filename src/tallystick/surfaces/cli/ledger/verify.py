"""`tallystick ledger verify`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tallystick.memory.maintenance.ledger import verify_folder
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LEDGER
from tallystick.surfaces.cli.progress import progress
from tallystick.surfaces.present.terminal import bad, dim, good, row, warn
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.present.time import count


@command(
    LEDGER[0],
    example="""
tallystick ledger verify
tallystick ledger verify --processes 2
tallystick ledger checkpoint > kept.txt
tallystick ledger verify --checkpoint kept.txt""",
    exits={0: "done: every event is as it was written", 4: "not whole: file, line and byte are printed"},
)
@click.option(
    "--processes", type=click.IntRange(min=1), default=1, metavar="N", help="How many to read with at once.  [1]"
)
@click.option("--checkpoint", metavar="FILE", help="Also check against a signed checkpoint that you kept.")
@click.option("--key", metavar="VKEY", default="", help="Whose signature to expect on it; needed where no key is.")
@pass_call
def verify(call: Call, processes: int, checkpoint: str | None, key: str) -> int:
    """Read every event and check that none was changed

    Prints how many events there are, whether each is as it was written, and which witnesses could say that none is
    missing at the end. Without one from outside the folder it says so: a chain alone cannot show that.
    """
    folder = call.there()
    with progress("Verifying", _size(folder)) as on_progress:
        note = Path(checkpoint).read_text("utf-8", "replace") if checkpoint else ""
        report = verify_folder(folder, processes=processes, on_progress=on_progress, checkpoint=note, key=key)
    call.answer(report.to_dict(), lambda: _page(report))
    return 0 if report.ok else 4


def _size(folder: Path) -> int:
    """How many bytes there are to read."""
    return sum(path.stat().st_size for path in (*folder.glob("events.wal"), *folder.glob("sealed/*.wal")))


def _page(report: Any) -> Iterator[str]:
    if report.ok:
        yield good(f"Whole: {count(report.events, 'event')}, each as it was written")
    else:
        yield bad("Not whole")
    yield ""
    if report.bad:
        bad_line = report.bad
        yield from row("where", shown(f"{bad_line.file}, line {bad_line.line}, byte {bad_line.byte}"))
        yield from row("event", str(bad_line.seq))
        yield from row("what", shown(bad_line.why))
    yield from row("events", f"{report.first:,} to {report.last:,}")
    yield from row("head", dim(shown(report.head)))
    yield from row("root", dim(shown(report.root or "")))
    yield from row("witnesses", [shown(str(witness)) for witness in report.witnesses])
    paint = shown if report.outside else lambda note: warn(shown(note))
    yield from row("notes", [paint(note) for note in report.notes])
