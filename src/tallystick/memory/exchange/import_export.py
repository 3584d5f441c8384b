"""What `tallystick export` wrote, brought in like what other systems keep: a file of lines, or a folder of Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tallystick.exchange.ndjson import LONGEST, looks_like as looks_like
from tallystick.memory.exchange.export_reader import ExportReader
from tallystick.memory.exchange.restore_export import take_in
from tallystick.records.export import TakenIn

if TYPE_CHECKING:
    from tallystick.memory.exchange.importer import ImportRun
    from tallystick.memory.exchange.sources import Source


def bring(bringing: ImportRun, source: Source) -> None:
    """Bring in one file of lines, all of it or nothing."""
    taking = ExportReader(bringing.folder, bringing.gate, bringing.user, mine=bringing.mine)
    lines = source.every_line(LONGEST)
    with bringing.gate.masks.counted() as masked:
        done = take_in(taking, lines, dry_run=bringing.dry_run)
    tell(bringing, done, source.name, masked)


def tell(bringing: ImportRun, done: TakenIn, name: str, masked: Iterable[str] = ()) -> None:
    """Count what came in, and name what did not, or came in otherwise."""
    for what, number in (("beliefs", done.beliefs), ("episodes", done.episodes), ("known", done.known)):
        bringing.count(what, "human", number)
    bringing.count("beliefs", "human", 0, masked)
    bringing.count("quarantined", "human", done.quarantined)
    bringing.note_source(done.source if done.quarantined else "")
    for place, why in (*done.kept, *done.left):
        bringing.skip(f"{name}, {place}", why)

