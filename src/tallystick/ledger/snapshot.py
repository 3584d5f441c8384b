"""Snapshots of the state, so that opening reads only the tail of the ledger.

A snapshot is derived: if it is lost, it is rebuilt. It is used only if an event records its digest, no later event
records another, and the file still matches: an edited, older or foreign one is never served.

Order: the new file, synced, as `snapshot.json.new`; then the event; then the rename. A crash before the event leaves
a file that nothing records; a crash after it leaves the right file under the `.new` name, which counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tallystick.ledger.disk import Disk, write_new
from tallystick.ledger.layout import Folder
from tallystick.ledger.merkle import Range
from tallystick.ledger.scan import Place

FORMAT = 1
_BOOK = b',"book":'
SMALLEST_GAP = 50


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot as read: its place in the ledger, and the state there."""

    place: Place
    segment: int  # first seq of the segment that `place.offset` is in
    tree: Range
    standing: dict[str, Any]
    state: bytes  # as dumped; parsed by whoever loads it, in parts if it is large
    digest: str
    path: Path


def due(events_since: int, records: int) -> bool:
    """True often enough that opening is quick, seldom enough that the cost of a write does not grow with the store."""
    return events_since >= max(SMALLEST_GAP, records // 10)


def write_fresh(
    disk: Disk, folder: Folder, place: Place, segment: int, tree: Range, standing: dict[str, Any], state: bytes
) -> str:
    """Write a snapshot under the `.new` name, synced, and return its digest.

    The nonce keeps the recorded digest from being a hash of texts alone.
    """
    head = {
        "format": FORMAT, "seq": place.seq, "hash": place.hash, "ts": place.ts, "offset": place.offset,
        "stretch": segment, "nonce": os.urandom(16).hex(), "tree": tree.to_json(), "standing": standing,
    }  # fmt: skip
    content = orjson.dumps(head)[:-1] + _BOOK + state + b"}\n"
    write_new(disk, folder.new_snapshot, content)
    disk.sync_folder(folder.root)
    return sha256(content).hexdigest()


def install(disk: Disk, folder: Folder) -> None:
    """Rename the recorded `.new` file to its final name."""
    disk.rename(folder.new_snapshot, folder.snapshot)
    disk.sync_folder(folder.root)


def candidates(folder: Folder) -> list[Snapshot]:
    """The readable snapshots here, newest first. None of them is trusted yet."""
    found = [_read(path) for path in (folder.new_snapshot, folder.snapshot)]
    return [snapshot for snapshot in found if snapshot is not None]


def _read(path: Path) -> Snapshot | None:
    try:
        content = path.read_bytes()
        head, found, state = content.partition(_BOOK)  # never inside a string: its quotes would be escaped
        raw = orjson.loads(head + b"}")
        if not found or not state.endswith(b"}\n") or raw["format"] != FORMAT:
            return None
        place = Place(int(raw["offset"]), int(raw["seq"]), str(raw["hash"]), str(raw["ts"]))
        if place.offset < 0:
            return None
        tree = Range.from_json(raw["tree"])
        digest = sha256(content).hexdigest()
        return Snapshot(place, int(raw["stretch"]), tree, raw["standing"], state[:-2], digest, path)
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None
