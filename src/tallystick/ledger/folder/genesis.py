"""The first line, and what to do when there is no live segment.

A missing `events.wal` is a new memory only if no other file was made from an old one: no sealed segment, witness,
snapshot, checkpoint or backup. If a compaction was interrupted between its two renames, it is finished with the line
that had been prepared. Anything else counts as rolled back. It is never a new beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.folder.chain import first_line as first_line_of, last_line
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.lock import Witness
from tallystick.records.errors import Damaged, RolledBack


def first_line(ts: str, by: str, extra: Mapping[str, Any] | None = None) -> bytes:
    """Encode the line that names a new ledger."""
    body = {"ledger": os.urandom(16).hex(), "format": fmt.FORMAT, "begun": ts, **(extra or {})}
    encoder = fmt.LineEncoder(-1, fmt.ZERO)
    encoder.add(fmt.BEGIN, [body], ts, by)
    return encoder.take()


def ledger_id(folder: Folder) -> str:
    """The id of the ledger in a folder or copy, from the first line of any segment; empty if none can be read."""
    return next((found for path in folder.chain_files() if (found := named_in(path))), "")


def named_in(path: Path) -> str:
    """The id of the ledger that a segment belongs to, from its first line; empty if that cannot be read."""
    try:
        line = fmt.parse(first_line_of(path))
        return str(fmt.body_of(line.data).get("ledger", "")) if line.sound else ""
    except (OSError, fmt.BadLine):
        return ""


def ensure(disk: Disk, folder: Folder, witness: Witness | None, first: Callable[[], bytes]) -> None:
    """Make sure that there is an `events.wal`."""
    if folder.wal.exists():
        return
    sealed = folder.sealed_segments()
    has_history = folder.snapshot.exists() or folder.checkpoint.exists() or bool(folder.copies())
    is_continued = False
    if sealed:
        with suppress(OSError):
            is_continued = is_prepared(folder, sealed[-1].last or 0, last_hash(sealed[-1].path))
    if is_continued:
        disk.sync_folder(folder.sealed)
    elif not sealed and witness is None and not has_history:
        write_new(disk, folder.new_wal, first())
    else:
        raise RolledBack(f"{folder.wal} is missing, but others refer to it; put it back, or run `tallystick restore`")
    disk.rename(folder.new_wal, folder.wal)
    disk.sync_folder(folder.root)


def is_prepared(folder: Folder, seq: int, hashed: str) -> bool:
    """True if a compaction stopped between its two renames, with a segment ready that follows event `seq`."""
    try:
        line = fmt.parse(first_line_of(folder.new_wal))
    except (OSError, Damaged, fmt.BadLine):
        return False
    return line.sound and (line.seq, line.prev) == (seq + 1, hashed)


def last_hash(path: Path) -> str:
    """The hash of a segment's last event; empty if that cannot be read."""
    with open(path, "rb") as file:
        line = fmt.try_parse(last_line(file.fileno(), os.fstat(file.fileno()).st_size))
    return line.hash if line else ""
