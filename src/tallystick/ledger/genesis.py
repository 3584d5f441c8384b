"""The first line, and what to do when there is no living stretch.

A missing `events.wal` is a new memory only if nothing else speaks of an old one: no sealed stretch, no witness, no
snapshot, no checkpoint, no backup. If a compaction was interrupted between its two renames, it is finished by the line
that had been prepared. Anything else counts as rolled back. It is never a new beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.ledger.chain import first_line as first_line_of, last_line
from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Witness
from tallystick.records import ids
from tallystick.records.errors import RolledBack


def first_line(ts: str, by: str, extra: Mapping[str, Any] | None = None) -> bytes:
    """The line that names a new ledger."""
    body = {"ledger": os.urandom(16).hex(), "format": fmt.FORMAT, "begun": ts, **(extra or {})}
    return fmt.encode(0, ts, fmt.BEGIN, ids.event_id(ts), by, 0, 0, fmt.ZERO, fmt.data_of(body, fmt.fresh_salt()))[0]


def ledger_id(folder: Folder) -> str:
    """Which ledger lives in a folder, or in a copy: any stretch's first line names it. Nothing if it cannot be read."""
    paths = [*(segment.path for segment in folder.sealed_segments()), folder.wal]
    return next((found for path in paths if (found := named_in(path))), "")


def named_in(path: Path) -> str:
    """Which ledger a stretch belongs to, as its first line says. Nothing if that cannot be read."""
    try:
        line = fmt.parse(first_line_of(path))
        return str(fmt.body_of(line.data).get("ledger", "")) if line.sound else ""
    except (OSError, fmt.BadLine):
        return ""


def fresh_wal(folder: Folder) -> Path:
    return folder.wal.with_name(folder.wal.name + ".new")


def ensure(disk: Disk, folder: Folder, witness: Witness | None, first: Callable[[], bytes]) -> None:
    """There is an `events.wal` when this returns."""
    if folder.wal.exists():
        return
    sealed = folder.sealed_segments()
    if not sealed and witness is None and not _is_remembered(folder):
        write_new(disk, fresh_wal(folder), first())
    elif sealed and _continues(fresh_wal(folder), sealed[-1].last, sealed[-1].path):
        disk.sync_folder(folder.sealed)
    else:
        raise RolledBack(f"{folder.wal} is gone, and other files speak of it; put it back, or run `tallystick restore`")
    disk.rename(fresh_wal(folder), folder.wal)
    disk.sync_folder(folder.root)


def _is_remembered(folder: Folder) -> bool:
    """Whether something here was made from a ledger."""
    return folder.snapshot.exists() or folder.checkpoint.exists() or bool(folder.copies())


def _continues(fresh: Path, last: int | None, sealed: Path) -> bool:
    """Whether `fresh` is a prepared stretch that follows the end of the sealed one."""
    try:
        line = fmt.parse(first_line_of(fresh))
        return line.sound and line.seq == (last or 0) + 1 and line.prev == last_hash(sealed)
    except (OSError, fmt.BadLine):
        return False


def last_hash(path: Path) -> str:
    """The hash of a stretch's last event; nothing if that cannot be read."""
    with open(path, "rb") as file:
        try:
            return fmt.parse(last_line(file.fileno(), os.fstat(file.fileno()).st_size)).hash
        except fmt.BadLine:
            return ""
