"""Copies of the truth, and restoring one: ledger, sealed segments or the state in their place, settings, checkpoint.
Derived files are rebuilt.

**A backup** is made in `<time>.new`, in a folder that its maker keeps locked, while others go on writing; only its last
part is copied under the lock, so that it ends at a whole group. Erasures recorded meanwhile are applied to it before it
gets its name. Then it is read back from its first line to its last: a copy that cannot be trusted is not called a
backup. The system frees the lock when the maker dies, so a `.new` folder that can be locked is removed whole. It may
hold data that was erased since.

**A restore** is done in steps that can be repeated after a crash:

1. The copy is laid out under `restoring/`, erasures applied, and a last line added that names the head left behind.
2. `restoring/ready` is written. From here on the restore will be finished, by this process or the next; the witness in
   the lock file is marked beforehand, so that nobody who has the folder open writes to the old ledger meanwhile.
3. The index and the audit are removed: they describe the old ledger, and are rebuilt. Piece by piece the old goes to
   `backup/<time>-before-restore/` and the new takes its place. A piece that is still under `restoring/` has not been
   swapped, so doing it again continues where it stopped.
4. The witness is replaced, and synced: the old one would call the restored ledger rolled back.
5. `restoring/` is removed.

A crash before step 2 leaves the ledger as it was; the next writer removes the unfinished layout.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, append, copy, ensure_folder, remove_all, replace
from tallystick.ledger.folder import sealed_state
from tallystick.ledger.folder.chain import Chain, first_of
from tallystick.ledger.folder.erase_everywhere import erased_in_copy, hollow_out
from tallystick.ledger.folder.layout import Folder, free_name
from tallystick.ledger.folder.scan import scan_path
from tallystick.ledger.lock import Lock
from tallystick.ledger.scan import START, LedgerNote, Place
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.errors import Damaged, NotFound, NotWritten, Refused, TallystickError, Unfinished

_HASH = 64  # characters

# -- making a backup ---------------------------------------------------------------------------------------------------


def copy_segments(disk: Disk, source: Folder, target: Folder, end: int) -> None:
    """The sealed segments and the state file, and the live one up to `end`."""
    disk.make_folder(target.sealed)
    states = [path for path in source.sealed_states() if path.suffix != ".new"]
    for path in [*(segment.path for segment in source.sealed_segments()), *states]:
        copy(disk, path, target.sealed / path.name)
    copy(disk, source.wal, target.wal, 0, end)
    disk.sync_folder(target.sealed)


@contextmanager
def new_copy(disk: Disk, parent: Path, ts: str) -> Iterator[tuple[Path, Path]]:
    """A new folder under `parent`, and the name that it gets after the block. It is removed if the block fails."""
    target, making, fd = _make_locked(parent, ts)
    try:
        yield making, target
        disk.rename(making, target)
        disk.sync_folder(parent)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    finally:
        os.close(fd)


def _make_locked(parent: Path, ts: str) -> tuple[Path, Path, int]:
    while True:
        target = free_name(parent, _compact_time(ts))
        making = target.with_name(target.name + ".new")
        with suppress(FileExistsError):  # another process was faster: take the next name
            making.mkdir(mode=0o700)
            if (fd := _lock(making)) is None:
                continue
            if not target.exists():
                return target, making, fd
            making.rmdir()  # another process finished a copy of that name meanwhile
            os.close(fd)


def _compact_time(ts: str) -> str:
    return ts[:19].replace("-", "").replace(":", "")


def _lock(folder: Path) -> int | None:
    """Lock `folder` until the descriptor is closed. None if another process has locked or removed it."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def discard_unfinished(parent: Path) -> None:
    """Remove the copies under `parent` that nobody will finish."""
    for making in sorted(parent.glob("*.new")):
        if (fd := _lock(making)) is not None:
            try:
                shutil.rmtree(making)
            finally:
                os.close(fd)


# -- checking a copy ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy:
    """A checked copy: where it ends, and which lines its own events name as erased."""

    folder: Folder
    end: Place
    named: frozenset[str]


def check_copy(source: Path) -> Copy:
    """Read a copy from its first line to its last. Raises Damaged if any of it is not as it was written."""
    folder = Folder(source)
    if not folder.wal.is_file():
        raise NotFound(f"{source} is not a backup: it has no events.wal")
    scans, chain = [], Chain(folder)
    for segment in folder.sealed_segments():
        if segment not in chain.segments:
            raise Damaged(f"the copy is damaged: {segment.path} is not followed by the next file; use another copy")
    place = Place.before(first_of(chain.segments[0].path)) if chain.first else START
    for segment in chain.segments:
        found = scan_path(segment.path, Place(0, place.seq, place.hash))
        scans.append((segment.path, found))
        place = found.end
    erased = erased_in_copy(folder)
    named = frozenset(erased).union(*(found.named for _, found in scans))
    for path, found in scans:
        if bad := found.first_bad(named):
            where = f"{path}, event {bad.seq} at byte {bad.offset}"
            raise Damaged(f"the copy is damaged: {where}: {bad.why}; use another copy")
    if chain.first:
        state = sealed_state.find(folder, [note for _, found in scans for note in found.notes], chain.first)
        named |= state.erased
    return Copy(folder, place, named - erased)


def named_in(folder: Folder) -> set[str]:
    """The lines that a ledger names as erased, as far as it can be read."""
    return {name for name in _erased_in(folder) if len(name) == _HASH}


def _erased_in(folder: Folder) -> set[str]:
    """The same, and the ids."""
    return sealed_state.erased_by(_notes_in(folder)).union(*(each.erased for each in sealed_state.found_in(folder)))


def left_in(folder: Folder) -> list[tuple[int, str]]:
    """The heads that a ledger left behind before. A restore must name them again: a process that has the folder open
    may have seen one of them last."""
    heads = (head for note in _notes_in(folder) for head in note.left_behind)
    return list(dict.fromkeys((head["seq"], head["hash"]) for head in heads))


def _notes_in(folder: Folder) -> Iterator[LedgerNote]:
    for path in folder.chain_files():
        if path.exists():
            with suppress(fmt.BadLine):
                yield from scan_path(path).notes


# -- restoring a copy --------------------------------------------------------------------------------------------------


def restore_from(
    root: Path, source: Path, *, by: str = "python:local", clock: Clock = system_clock, disk: Disk | None = None,
    erased: frozenset[str] = frozenset(), timeout: float = 30.0,
) -> tuple[int, str]:  # fmt: skip
    """Replace the ledger at `root` by the copy at `source`; return the head (seq, hash) that was left behind.

    Erasures of the old ledger, of the copy's own list and those in `erased` are applied. The witness in the lock file
    is replaced.
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
        if folder.restore_ready.exists():
            raise Unfinished(f"not restored yet: {why}; free some space, then open {root} to finish it") from error
        raise NotWritten(f"not restored, and nothing was changed: {why}") from error


def _restore(
    disk: Disk, folder: Folder, lock: Lock, source: Path, erased: frozenset[str], ts: str, by: str
) -> tuple[int, str]:
    finish(disk, folder, lock)
    good = check_copy(source)
    witness = lock.witness()
    left = (witness.seq, witness.hash) if witness else (-1, fmt.ZERO)
    with suppress(TallystickError):  # the head that can be read, if that is further than the witness saw
        end = check_copy(folder.root).end
        left = max(left, (end.seq, end.hash))
    earlier = [head for head in left_in(folder) if head != left]
    names = named_in(folder) | erased | erased_in_copy(good.folder) | good.named
    if good.folder.sealed_states() and (names | _erased_in(folder)) - good.named - _erased_in(good.folder):
        raise Refused(
            f"{source} was made before an erasure, and its state file may have what was erased;"
            " use a later one, or restore it to an empty folder", "state"
        )
    if witness:  # from now on, every process that has the folder open must recover before writing
        lock.mark(witness.seq, witness.hash, witness.length, witness.mark if witness.recover else "recover")
    _lay_out(disk, folder, good, names, [left, *earlier], ts, by)
    finish(disk, folder, lock)
    if good.folder.settings.exists() and not folder.settings.exists():  # a person's own settings are never replaced
        replace(disk, folder.settings, good.folder.settings.read_bytes())
    return left


@dataclass(frozen=True, slots=True)
class _Plan:
    """The content of `restoring/ready`: where the old goes, whether a checkpoint comes, and the new head."""

    before: str
    checkpoint: bool
    seq: int
    hash: str
    length: int


def _lay_out(
    disk: Disk, folder: Folder, source: Copy, erased: Collection[str], left: list[tuple[int, str]], ts: str, by: str
) -> None:
    """Steps 1 and 2: the whole restored ledger, under `restoring/`. `left` begins with the head."""
    target = Folder(folder.restoring)
    _discard(disk, folder)
    copy_segments(disk, source.folder, target, source.end.offset)
    if source.folder.checkpoint.exists():
        copy(disk, source.folder.checkpoint, target.checkpoint)
    hollow_out(disk, target, erased)
    abandoned, *earlier = ({"seq": at, "hash": hashed} for at, hashed in left)
    body = {"from": source.folder.root.name, "abandoned": abandoned} | ({"earlier": earlier} if earlier else {})
    fresh, encoder = sorted(set(erased) - source.named), fmt.LineEncoder(source.end.seq, source.end.hash)
    parts = [fresh[at : at + fmt.PER_ERASURE] for at in range(0, max(len(fresh), 1), fmt.PER_ERASURE)]
    encoder.add(fmt.RESTORE, [{**body, "lines": part} for part in parts], ts, by)
    append(disk, target.wal, encoder.take())
    name = free_name(folder.backups, _compact_time(ts) + "-before-restore").name
    plan = _Plan(name, target.checkpoint.exists(), encoder.seq, encoder.hash, target.wal.stat().st_size)
    disk.sync_folder(folder.root)
    replace(disk, folder.restore_ready, orjson.dumps(plan))


def _discard(disk: Disk, folder: Folder) -> None:
    if folder.restoring.exists():
        shutil.rmtree(folder.restoring)
        disk.sync_folder(folder.root)


def finish(disk: Disk, folder: Folder, lock: Lock) -> None:
    """Steps 3 to 5, from wherever they stopped, if a restore is in progress."""
    fresh = Folder(folder.restoring)
    try:
        plan = _Plan(**orjson.loads(folder.restore_ready.read_bytes()))
    except FileNotFoundError:
        return _discard(disk, folder)
    remove_all(disk, [*folder.state_files(), folder.audit])
    before = Folder(folder.backups / plan.before)
    _move_pages(disk, folder, before)
    if any(path.exists() for path in (folder.wal, folder.sealed, folder.checkpoint)):
        ensure_folder(disk, before.root)
    if fresh.wal.exists():  # the last piece has not been swapped
        if plan.checkpoint:
            _swap(disk, folder.checkpoint, before.checkpoint, fresh.checkpoint)
        elif folder.checkpoint.exists():
            disk.rename(folder.checkpoint, before.checkpoint)
        _swap(disk, folder.sealed, before.sealed, fresh.sealed)
        _swap(disk, folder.wal, before.wal, fresh.wal)
    folder.snapshot.unlink(missing_ok=True)
    for path in (before.root, folder.backups, folder.root):
        if path.exists():
            disk.sync_folder(path)
    lock.settle(plan.seq, plan.hash, plan.length)
    disk.remove(folder.restore_ready)
    return _discard(disk, folder)


def _move_pages(disk: Disk, folder: Folder, before: Folder) -> None:
    """Keep the pages with the old ledger, so that nobody takes them for edits. They are rendered again."""
    for page in sorted(folder.pages.glob("*.md")) + sorted(folder.pages.glob("@*/*.md")):
        target = before.pages / page.relative_to(folder.pages)
        ensure_folder(disk, target.parent)
        disk.rename(page, target)
        disk.sync_folder(target.parent)
    if before.pages.exists():
        disk.sync_folder(folder.pages)


def _swap(disk: Disk, current: Path, before: Path, fresh: Path) -> None:
    """Move `current` out and `fresh` in. If `fresh` is gone, that is done; if `before` exists, half of it is."""
    if fresh.exists():
        if current.exists() and not before.exists():
            disk.rename(current, before)
        disk.rename(fresh, current)
