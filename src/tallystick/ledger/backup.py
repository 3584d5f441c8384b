"""Copies of the truth: the ledger, its sealed stretches, settings and checkpoint. What is derived grows back.

A copy is made beside its final name (`<time>.new`) while others go on writing; only its last part is copied under the
lock, so that it ends at a whole group. Erasures recorded meanwhile are applied to it before it gets its name. Then it
is read back from its first line to its last: a copy that cannot be trusted is not called a backup.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tallystick.ledger import format as fmt, partial_copy as unfinished, restore
from tallystick.ledger.disk import Disk, copy, ensure_folder, replace
from tallystick.ledger.erase_everywhere import erased_in_copy, hollow_out
from tallystick.ledger.layout import Folder
from tallystick.ledger.ledger import Ledger
from tallystick.ledger.lock import Lock
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.errors import NotWritten, Refused, TallystickError, Unfinished
from tallystick.records.event import Draft


def back_up(ledger: Ledger, to: Path | None = None) -> Path:
    """Make a consistent copy under `backup/`, or under `to`, and return its place."""
    if to is not None and to.resolve().is_relative_to(ledger.folder.root.resolve()):
        raise Refused(f"{to} is inside the memory itself; name a folder outside, or none", "place")
    parent = to or ledger.folder.backups
    ledger.refresh()
    try:
        ensure_folder(ledger.disk, parent)
        unfinished.discard(parent)
        with unfinished.made(ledger.disk, parent, ledger.now()) as (making, target):
            _fill(ledger, Folder(making))
            restore.check_copy(making)
    except OSError as error:
        raise NotWritten(f"no backup was made: {error.filename or parent}: {error.strerror}") from error
    if to is not None and ledger.writable and ledger.trouble is None:
        try:
            ledger.append([Draft(fmt.COPY, {"place": str(target.resolve())})])
        except NotWritten as error:
            raise Unfinished(
                f"the backup is made and whole, at {target}; only that it is there could not be recorded: {error}"
            ) from error
    return target


def _fill(ledger: Ledger, target: Folder) -> None:
    disk, source = ledger.disk, ledger.folder
    for path in (source.checkpoint, source.settings):
        if path.exists():
            copy(disk, path, target.root / path.name)
    with ledger.hold():
        begun_at, inode = ledger.end, os.stat(source.wal).st_ino
    try:
        _copy_segments(disk, source, target, begun_at.offset)
    except FileNotFoundError:
        inode = -1
    with ledger.hold():
        if os.stat(source.wal).st_ino != inode:  # compacted meanwhile: the stretches are others now, so begin again
            shutil.rmtree(target.sealed)
            target.wal.unlink(missing_ok=True)
            _copy_segments(disk, source, target, ledger.end.offset)
        else:
            copy(disk, source.wal, target.wal, begun_at.offset, ledger.end.offset)
        hollow_out(disk, target, restore.named_in(target))
    disk.sync_folder(target.root)


def _copy_segments(disk: Disk, source: Folder, target: Folder, end: int) -> None:
    disk.make_folder(target.sealed)
    for segment in source.sealed_segments():
        copy(disk, segment.path, target.sealed / segment.path.name)
    copy(disk, source.wal, target.wal, 0, end)
    disk.sync_folder(target.sealed)


def restore_from(
    root: Path,
    source: Path,
    *,
    by: str = "python:local",
    clock: Clock = system_clock,
    disk: Disk | None = None,
    erased: frozenset[str] = frozenset(),
    timeout: float = 30.0,
) -> tuple[int, str]:
    """Put the copy at `source` in place of the ledger at `root`; return the head (seq, hash) that was left behind.

    Erasures of the ledger being left, of the copy's own list and those in `erased` are applied. The witness in the lock
    file is set anew.
    """
    disk, folder = disk or Disk(), Folder(root)
    try:
        ensure_folder(disk, root)
        lock = Lock(folder.lock, disk, timeout=timeout)
        try:
            with lock.exclusive():
                return _restore(disk, folder, lock, source, erased, stamp(clock()), by)
        finally:
            lock.close()
    except OSError as error:
        why = f"{error.filename or root}: {error.strerror}"
        if restore.is_begun(folder):
            raise Unfinished(f"not restored yet: {why}; make room: whoever opens {root} next finishes it") from error
        raise NotWritten(f"not restored, and nothing was changed: {why}") from error


def _restore(
    disk: Disk, folder: Folder, lock: Lock, source: Path, erased: frozenset[str], ts: str, by: str
) -> tuple[int, str]:
    restore.finish(disk, folder, lock)
    good = restore.check_copy(source)
    left = _head(folder, lock)
    earlier = [head for head in restore.left_in(folder) if head != left]
    names = restore.named_in(folder) | erased | erased_in_copy(good.folder) | good.named
    if witness := lock.witness():  # from now on, everyone who has the folder open must look before writing
        lock.mark(witness.seq, witness.hash, witness.length, witness.mark if witness.recover else "recover")
    restore.lay_out(disk, folder, good, names, [left, *earlier], ts, by)
    restore.finish(disk, folder, lock)
    if good.folder.settings.exists() and not folder.settings.exists():  # a person's own settings are never replaced
        replace(disk, folder.settings, good.folder.settings.read_bytes())
    return left


def _head(folder: Folder, lock: Lock) -> tuple[int, str]:
    """The head being left: what can be read of the ledger, or what the witness saw if that is further."""
    witness = lock.witness()
    seen = (witness.seq, witness.hash) if witness else (-1, fmt.ZERO)
    try:
        end = restore.check_copy(folder.root).end
    except TallystickError:
        return seen
    return max(seen, (end.seq, end.hash))
