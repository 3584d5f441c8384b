"""What `tallystick export` wrote, brought in like what other systems keep: a file of lines, or a folder of Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tallystick.exchange.ndjson import LONGEST, looks_like as looks_like
from tallystick.memory.exchange.export_reader import ExportReader
from tallystick.memory.exchange.restore_export import import_lines
from tallystick.records.transfer import TakenIn

if TYPE_CHECKING:
    from tallystick.memory.exchange.importer import ImportRun
    from tallystick.memory.exchange.sources import Source


def bring(import_run: ImportRun, source: Source) -> None:
    """Bring in one file of lines, all of it or nothing."""
    taking = ExportReader(import_run.folder, import_run.gate, import_run.user, mine=import_run.mine)
    lines = source.every_line(LONGEST)
    with import_run.gate.masks.counted() as masked:
        done = import_lines(taking, lines, dry_run=import_run.dry_run)
    tell(import_run, done, source.name, masked)


def tell(import_run: ImportRun, done: TakenIn, name: str, masked: Iterable[str] = ()) -> None:
    """Count what came in, and name what did not, or came in otherwise."""
    for what, number in (("beliefs", done.beliefs), ("episodes", done.episodes), ("known", done.known)):
        import_run.count(what, "human", number)
    import_run.count("beliefs", "human", 0, masked)
    import_run.count("quarantined", "human", done.quarantined)
    import_run.note_source(done.source if done.quarantined else "")
    for place, why in (*done.kept, *done.left):
        import_run.skip(f"{name}, {place}", why)

