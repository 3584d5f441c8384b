"""A folder written by chronomemory v0.1 becomes one of ours.

The old file is checked by its own rule first; one that fails is left exactly as it is. Its events are recorded anew, in
their order, behind a first line that holds the old file's digest; the old file itself stays in `sealed/` until an
erasure removes it. The new ledger is finished beside the old one and takes its place in one rename, so a crash leaves
the old folder or the new one.

A record that our rules refuse (a confidence of 7.5, an empty id) is reported and left out; the old file still has it.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keepsake.decide import belief as decide
from keepsake.exchange import chronomemory
from keepsake.ledger.disk import Disk, copy
from keepsake.ledger.folder import Folder
from keepsake.ledger.lock import Lock
from keepsake.ledger.read import first_line
from keepsake.records.chrono import ChronoRecord
from keepsake.records.errors import Damaged, Refused
from keepsake.records.event import Draft
from keepsake.stores.shelf import Shelf

_GROUP = 500


class SkippedRecord(UserWarning):
    """A record was left out, and why."""


def is_old(folder: Path) -> bool:
    """Whether chronomemory wrote what is at `folder`."""
    try:
        return chronomemory.looks_like(first_line(folder / "events.wal"))
    except FileNotFoundError:
        return False


def take_over(root: Path, disk: Disk | None = None, **options: Any) -> None:
    """Make the old folder ours, once. A second process that comes meanwhile finds it done."""
    disk, folder = disk or Disk(), Folder(root)
    lock = Lock(folder.lock, disk, patience=30.0)
    try:
        with lock.exclusive():
            if is_old(root):
                _take_over(disk, folder, options)
    finally:
        lock.close()


def _take_over(disk: Disk, folder: Folder, options: dict[str, Any]) -> None:
    old = _read(folder.wal)
    kept = f"chronomemory-{old.digest[:12]}"
    workshop = folder.root / "takeover.new"
    shutil.rmtree(workshop, ignore_errors=True)
    source = {
        "taken_over": {"format": "chronomemory/0.1", "sha256": old.digest, "events": len(old.events), "kept": kept}
    }
    shelf = Shelf(workshop, disk=disk, begin_with=source, **options)
    try:
        _record_anew(shelf, list(_wishes(old, folder.snapshot)))
    finally:
        shelf.close()
    disk.make_folder(folder.sealed)
    for path, name in ((folder.wal, f"{kept}.wal"), (folder.snapshot, f"{kept}.snapshot.json")):
        if path.exists():
            (folder.sealed / name).unlink(missing_ok=True)
            copy(disk, path, folder.sealed / name)
    disk.sync_folder(folder.sealed)
    disk.sync_folder(folder.root)
    disk.rename(Folder(workshop).wal, folder.wal)
    disk.sync_folder(folder.root)
    folder.snapshot.unlink(missing_ok=True)  # only now: until the rename, the old ledger may need it
    shutil.rmtree(workshop)


def _read(path: Path) -> chronomemory.OldLedger:
    data = path.read_bytes()
    try:
        old = chronomemory.read(data)
        return _with_its_end(data, old) if old.torn else old
    except ValueError as error:
        raise Damaged(
            f"{path} was written by chronomemory and fails its own check ({error}); it is left as it is"
        ) from None


def _with_its_end(data: bytes, old: chronomemory.OldLedger) -> chronomemory.OldLedger:
    """A last line that is whole but for its newline was written; a shorter one never was."""
    try:
        whole = chronomemory.read(data + b"\n")
    except ValueError:
        return old
    return chronomemory.OldLedger(whole.events, old.digest, b"")


def _wishes(old: chronomemory.OldLedger, snapshot: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the old ledger says, in order: (op, record). What it had compacted stands in its snapshot alone."""
    if old.events and old.events[0].op == "compact" and snapshot.exists():
        try:
            yield from (("upsert", record) for record in chronomemory.read_snapshot(snapshot.read_bytes()))
        except ValueError as error:
            raise Damaged(f"{snapshot} holds what chronomemory compacted and cannot be read ({error})") from None
    for event in old.events:
        if event.op == "upsert" and event.record is not None:
            yield "upsert", event.record
        elif event.op == "delete":
            yield "delete", {"id": event.record_id}


def _record_anew(shelf: Shelf, wishes: list[tuple[str, dict[str, Any]]]) -> None:
    for start in range(0, len(wishes), _GROUP):
        with shelf.ledger.batch():
            for op, raw in wishes[start : start + _GROUP]:
                _record_one(shelf, op, raw)


def _record_one(shelf: Shelf, op: str, raw: dict[str, Any]) -> None:
    def drafts() -> list[Draft]:
        if op == "delete":
            return decide.tombstone(shelf.book, raw["id"]) if shelf.book.find(raw["id"]) else []
        fields = {**ChronoRecord.from_dict(raw).to_fields(), "trust": "import"}
        return decide.put(shelf.book, fields, shelf.draw())

    try:
        shelf.ledger.write(drafts)
    except (Refused, TypeError) as error:
        message = f"{raw.get('id', '?')!r} was left out: {error}; it is still in the old file under sealed/"
        warnings.warn(message, SkippedRecord, stacklevel=2)
