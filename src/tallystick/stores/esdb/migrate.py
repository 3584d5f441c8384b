"""Conversion of a folder written by chronomemory v0.1.

The old log is checked by its own rule first, and against its snapshot: if one of them says that events are missing, or
a line is not as it was written, the folder is refused and left exactly as it is. `tallystick import` imports what is
left of such a folder into another memory.

Its events are recorded again, in their order and with their times, after a first line with the old file's digest; the
old files stay in `sealed/` until an erasure removes them. What our rules have no place for (a confidence of 7.5, an
unknown field) is kept as data, see `chronomemory.fitted`, and reported by a `TakeoverWarning`. The new ledger is
completed next to the old one and replaces it in one rename, so a crash or a full disk leaves the old folder or the
new one.
"""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallystick.decide import beliefs as decide
from tallystick.exchange import chronomemory
from tallystick.exchange.chronomemory import OldLedger, Step, fitted
from tallystick.ledger.disk import Disk, copy
from tallystick.ledger.folder.chain import first_line, is_ours
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.lock import Lock
from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.errors import Damaged, NotWritable, NotWritten, Refused, Unfinished
from tallystick.records.esdb_record import ChronoRecord
from tallystick.records.event import ELSEWHERE, Draft
from tallystick.records.operations import IMPORT_DONE, IMPORT_TAKE
from tallystick.stores.open_folder import OpenFolder

RESCUE = "`tallystick import --format chronomemory` imports what is left of it into another memory"

_FILES = (chronomemory.WAL, chronomemory.SNAPSHOT, f"{chronomemory.WAL}.tmp", f"{chronomemory.SNAPSHOT}.tmp")
_GROUP = 500
_HEAD = 1 << 16  # bytes of a snapshot that are enough to recognise it
_WARNINGS = 100


class TakeoverWarning(UserWarning):
    """Something in a converted folder is not as it was, and how it is kept."""


@dataclass(frozen=True, slots=True)
class OldFolder:
    """A complete folder of chronomemory."""

    log: OldLedger
    steps: list[Step]
    notes: list[str]  # about the folder itself

    def records(self) -> list[ChronoRecord]:
        """The current records, without converting anything."""
        return [fitted(raw, nameless(self.log.digest))[0] for raw in chronomemory.state(self.steps).values()]


def is_old(folder: Path) -> bool:
    """True if chronomemory wrote `folder`: recognised by one line of its log, or by its snapshot."""
    with suppress(FileNotFoundError):
        line = first_line(folder / chronomemory.WAL)
        if is_ours(line):
            return False
        if chronomemory.looks_like(line) or (line and chronomemory.has_line((folder / chronomemory.WAL).read_bytes())):
            return True
    with suppress(OSError), open(folder / chronomemory.SNAPSHOT, "rb") as file:
        return chronomemory.is_snapshot(file.read(_HEAD))
    return False


def examine(root: Path) -> OldFolder:
    """The folder of chronomemory at `root`. Changes nothing. A `ValueError` says what is missing or damaged."""
    log = chronomemory.read(_bytes_of(root / chronomemory.WAL) or b"")
    snapshot, notes = None, list[str]()
    try:
        if (data := _bytes_of(root / chronomemory.SNAPSHOT)) is not None:
            snapshot = chronomemory.read_snapshot(data)
    except ValueError as error:
        if not log.events or log.events[0].op == "compact":
            raise ValueError(f"{chronomemory.SNAPSHOT} has the compacted events: {error}") from None
        notes.append(f"{chronomemory.SNAPSHOT}: {error}; the log has everything")
    chronomemory.compare(log.events, snapshot)
    steps, differ = chronomemory.steps(log.events, snapshot)
    notes += differ
    if log.torn:
        notes.append(f"the last line is cut off after {len(log.torn):,} bytes: it, and all after it, is lost")
    return OldFolder(log, steps, notes)


def _bytes_of(path: Path) -> bytes | None:
    """The bytes of a file; None if there is none. A `ValueError`, if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from None


def read_folder(root: Path) -> OldFolder:
    """The folder of chronomemory at `root`. Damaged, if it is incomplete."""
    try:
        return examine(root)
    except ValueError as error:
        why = f"{error}; it is left as it is; {RESCUE}"
        raise Damaged(f"{root} was written by chronomemory and is incomplete: {why}") from None


def nameless(digest: str) -> str:
    """The id of a record without one, in the log of that digest."""
    return f"no-id-{digest[:12]}"


def take_over(root: Path, disk: Disk | None = None, **options: Any) -> None:
    """Convert the old folder, once. A second process that comes meanwhile finds it done."""
    if options.get("read_only"):
        raise NotWritable(f"{root} was written by chronomemory; run `tallystick backup` to convert it, then read it")
    try:
        read_folder(root)  # before anything is written: a refusal leaves nothing behind
    except Damaged:
        if is_old(root):
            raise
        return  # another process has just converted it
    if not os.access(root, os.W_OK):
        raise _not_writable(root)
    disk, folder = disk or Disk(), Folder(root)
    try:
        lock = Lock(folder.lock, disk, timeout=30.0)
        try:
            with lock.exclusive():
                if is_old(root):
                    _take_over(disk, folder, options)
        finally:
            lock.close()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _not_writable(root) from error
        why = error.strerror or error
        raise NotWritten(
            f"{root} was not converted, and is as it was: {why}; free some space, then open it again"
        ) from error


def _not_writable(root: Path) -> NotWritable:
    return NotWritable(
        f"{root} was written by chronomemory and has to be converted first;"
        " make it writable, or copy it to a folder of your own"
    )


def _take_over(disk: Disk, folder: Folder, options: dict[str, Any]) -> None:
    old = read_folder(folder.root)
    kept = f"chronomemory-{old.log.digest[:12]}"
    workshop = Folder(folder.root / "takeover.new")
    source = {
        "taken_over": {
            "format": "chronomemory/0.1", "sha256": old.log.digest, "events": len(old.log.events), "kept": kept,
        }
    }  # fmt: skip
    shutil.rmtree(workshop.root, ignore_errors=True)
    try:
        notes = _record_again(workshop, old, disk=disk, begin_with=source, **options)
        old_files = [path for name in _FILES if (path := folder.root / name).is_file()]
        for path in old_files:
            copy(disk, path, workshop.root / f"{kept}.{path.name}")
        disk.make_folder(folder.sealed)
        for path in old_files:
            disk.rename(workshop.root / f"{kept}.{path.name}", folder.sealed / f"{kept}.{path.name}")
        disk.sync_folder(folder.sealed)
        for path in old_files:
            if path not in (folder.wal, folder.snapshot):  # chronomemory needs those two until they are replaced
                disk.remove(path)
        disk.sync_folder(folder.root)
        disk.rename(workshop.wal, folder.wal)
    finally:
        shutil.rmtree(workshop.root, ignore_errors=True)
    try:
        disk.sync_folder(folder.root)
        if folder.snapshot in old_files:
            disk.remove(folder.snapshot)
    except OSError as error:
        why = f"then the disk failed ({error.strerror}); open it again"
        raise Unfinished(f"{folder.root} is converted; {why}") from error
    notes = [*old.notes, *notes]
    for note in notes[:_WARNINGS]:
        warnings.warn(note, TakeoverWarning, stacklevel=2)
    if len(notes) > _WARNINGS:
        warnings.warn(f"and {len(notes) - _WARNINGS:,} more such notes", TakeoverWarning, stacklevel=2)


def _record_again(workshop: Folder, old: OldFolder, **options: Any) -> list[str]:
    """Write the new ledger. Returns a note for each kind of change, with the records that it happened to."""
    by = f"chronomemory:{old.log.digest[:12]}"
    changed: dict[str, list[str]] = {}
    open_folder = OpenFolder(workshop.root, **options)
    try:
        now = open_folder.ledger.now()
        times, remarks = chronomemory.times(old.steps, now)
        span = {"begun": min(times, default=now), "made": max(times, default=now)}
        body = {"user": OWNER, "ledger": old.log.digest, **span, "whole": True}
        open_folder.ledger.write(lambda: [Draft(IMPORT_TAKE, body)])
        count, dated = 0, list(zip(old.steps, times, remarks, strict=True))
        for start in range(0, len(dated), _GROUP):
            with open_folder.ledger.batch():
                for step, ts, remark in dated[start : start + _GROUP]:
                    written, notes = _record_one(open_folder, step, ts, by, nameless(old.log.digest))
                    count += written
                    for note in filter(None, [*notes, remark]):
                        changed.setdefault(note, []).append(str(step.record.get("id", "")))
        open_folder.ledger.write(lambda: [Draft(IMPORT_DONE, {"user": OWNER, "events": count})])
    finally:
        open_folder.close()
    return [
        f"{names[0]!r:.80}" + (f" and {others:,} more" if (others := len(set(names)) - 1) else "") + f": {note}"
        for note, names in changed.items()
    ]


def _record_one(open_folder: OpenFolder, step: Step, ts: str, by: str, nameless: str) -> tuple[int, list[str]]:
    """Record one version, or a deletion; the number of events, and notes about what changed."""
    record, notes = fitted(step.record, nameless)

    def drafts() -> list[Draft]:
        if step.op == "delete":
            is_known = open_folder.state.find(record.id, short=False)
            found = decide.tombstone(open_folder.state, record.id) if is_known else []
        else:
            fields = {**record.to_fields(), "trust": "import"}
            found = decide.put(open_folder.state, fields, lambda: ids.belief_id(ts, open_folder.state.taken))
        return [Draft(op, {**body, ELSEWHERE: {"id": ids.event_id(ts), "ts": ts, "by": by}}) for op, body in found]

    try:
        return len(open_folder.ledger.write(drafts)), notes if step.op == "upsert" else []
    except Refused as error:
        return 0, [f"left out ({error}); it is still in the old file under sealed/"]
