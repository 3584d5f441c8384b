"""Going back to a copy: on purpose, on the record, and in steps that a crash cannot confuse.

1. The copy is laid out under `restoring/`, erasures applied, and a last line added that names the head being left.
2. `restoring/ready` is written. From here on the restore will be finished, by this process or the next; the witness in
   the lock file is marked beforehand, so that nobody who has the folder open writes to the old ledger meanwhile.
3. The index and the audit are removed: they tell of the ledger that is being left, and grow back. Piece by piece the
   old goes to `backup/<time>-before-restore/` and the new takes its place. A piece that is still under `restoring/` has
   not been swapped, so doing it again continues where it stopped.
4. The witness is set anew, and synced: the old one would call the restored ledger rolled back.
5. `restoring/` is removed.

A crash before step 2 leaves the ledger as it was; the next writer removes what was half laid out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt, partial_copy as unfinished
from tallystick.ledger.chain import Chain, first_of
from tallystick.ledger.disk import Disk, copy, ensure_folder, remove_all, replace, write_all
from tallystick.ledger.erase_everywhere import PER_EVENT, erased_in_copy, hollow_out
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Lock
from tallystick.ledger.scan import LedgerNote, Place, Scan, scan
from tallystick.records import ids
from tallystick.records.errors import Damaged, NotFound

_READY = "ready"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was checked: where it ends, and which lines its own events say are erased."""

    folder: Folder
    end: Place
    named: frozenset[str]


def check_copy(source: Path) -> Copy:
    """Read a copy from its first line to its last. Raises Damaged if any of it is not as it was written."""
    folder = Folder(source)
    if not folder.wal.is_file():
        raise NotFound(f"{source} is not a backup: it holds no events.wal")
    scans, place, chain = [], None, Chain(folder)
    for segment in folder.sealed_segments():
        if segment not in chain.segments:
            raise Damaged(f"the copy is damaged: {segment.path} is not the beginning of what follows; take another")
    for segment in chain.segments:
        start = Place(0, -1, fmt.ZERO) if place is None and segment.first == 0 else place
        start = start or Place(0, segment.first - 1, first_of(segment.path).prev)
        found = _scan_file(segment.path, Place(0, start.seq, start.hash))
        scans.append((segment.path, found))
        place = found.end
    named = frozenset().union(erased_in_copy(folder), *(found.named for _, found in scans))
    for path, found in scans:
        if bad := found.settle(named):
            raise Damaged(f"the copy is damaged: {path}, event {bad.seq} at byte {bad.offset}: {bad.why}; take another")
    assert place is not None
    return Copy(folder, place, named - erased_in_copy(folder))


def _first(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.readline(fmt.MAX_LINE + 1)


def _scan_file(path: Path, start: Place) -> Scan:
    with open(path, "rb") as file:
        return scan(file.fileno(), start, os.fstat(file.fileno()).st_size)


def named_in(folder: Folder) -> set[str]:
    """The lines that the events of a ledger say are erased, as far as it can be read.

    Lines that a repair gave up are not among them: their words were lost, and a copy that still has them is welcome.
    """
    named: set[str] = set()
    for told in _told_in(folder):
        lines = told.body.get("lines")
        if told.op in (fmt.ERASE, fmt.RESTORE) and isinstance(lines, list):
            named.update(map(str, lines))
    return named


def left_in(folder: Folder) -> list[tuple[int, str]]:
    """The heads that a ledger says were left behind before. Whoever leaves it must say so again: somebody who has the
    folder open may have seen one of them last."""
    left = dict[tuple[int, str], None]()
    for told in _told_in(folder):
        for head in (told.body.get("abandoned"), *told.body.get("earlier", ())):
            if isinstance(head, dict):
                left[head["seq"], head["hash"]] = None
    return list(left)


def _told_in(folder: Folder) -> Iterator[LedgerNote]:
    """What a ledger says of itself, as far as it can be read."""
    for path in [*(segment.path for segment in folder.sealed_segments()), folder.wal]:
        if path.exists():
            try:
                line = fmt.parse(_first(path))
            except fmt.BadLine:
                continue
            yield from _scan_file(path, Place(0, line.seq - 1, line.prev)).told


@dataclass(frozen=True, slots=True)
class _Plan:
    """What `restoring/ready` says: where the old goes, whether a checkpoint comes, and the head that will be there."""

    before: str
    checkpoint: bool
    seq: int
    hash: str
    length: int


def lay_out(
    disk: Disk, folder: Folder, source: Copy, erased: Collection[str], left: list[tuple[int, str]], ts: str, by: str
) -> None:
    """Steps 1 and 2: everything the restored ledger will be, under `restoring/`. `left` begins with the head."""
    target = Folder(folder.restoring)
    discard(disk, folder)
    disk.make_folder(target.sealed)
    for segment in source.folder.sealed_segments():
        copy(disk, segment.path, target.sealed / segment.path.name)
    copy(disk, source.folder.wal, target.wal, 0, source.end.offset)
    if source.folder.checkpoint.exists():
        copy(disk, source.folder.checkpoint, target.checkpoint)
    hollow_out(disk, target, erased)
    fresh = sorted(set(erased) - source.named)
    seq, hashed = _add_last_lines(disk, target, source.end, fresh, left, ts, by, source.folder.root.name)
    disk.sync_folder(target.sealed)
    name = unfinished.free_name(folder.backups, ts, "-before-restore").name
    plan = _Plan(name, target.checkpoint.exists(), seq, hashed, target.wal.stat().st_size)
    disk.sync_folder(folder.root)
    replace(disk, target.root / _READY, orjson.dumps(plan))


def _add_last_lines(
    disk: Disk, target: Folder, end: Place, erased: list[str], left: list[tuple[int, str]], ts: str, by: str, name: str
) -> tuple[int, str]:
    """Add the events that say what was left behind, as one group; return the new head."""
    seq, prev, lines = end.seq, end.hash, []
    parts = [erased[at : at + PER_EVENT] for at in range(0, max(len(erased), 1), PER_EVENT)]
    for number, part in enumerate(parts, 1):
        abandoned, *earlier = ({"seq": at, "hash": hashed} for at, hashed in left)
        body = {"from": name, "abandoned": abandoned, "lines": part} | ({"earlier": earlier} if earlier else {})
        seq += 1
        data = fmt.data_of(body, fmt.fresh_salt())
        more = len(parts) - number
        line, _, prev = fmt.encode(seq, ts, fmt.RESTORE, ids.event_id(ts), by, end.seq + 1, more, prev, data)
        lines.append(line)
    fd = disk.open(target.wal, os.O_WRONLY | os.O_APPEND)
    try:
        write_all(disk, fd, b"".join(lines))
        disk.sync(fd)
    finally:
        disk.close(fd)
    return seq, prev


def is_begun(folder: Folder) -> bool:
    """Whether a restore is laid out whole, so that it will be finished."""
    return (folder.restoring / _READY).exists()


def discard(disk: Disk, folder: Folder) -> None:
    """Forget a restore that never became ready."""
    if folder.restoring.exists():
        shutil.rmtree(folder.restoring)
        disk.sync_folder(folder.root)


def finish(disk: Disk, folder: Folder, lock: Lock) -> bool:
    """Steps 3 to 5, from wherever they stopped. False if no restore was under way."""
    if not folder.restoring.exists():
        return False
    fresh = Folder(folder.restoring)
    try:
        plan = _Plan(**orjson.loads((fresh.root / _READY).read_bytes()))
    except FileNotFoundError:
        discard(disk, folder)
        return False
    remove_all(disk, [*folder.index_files(), folder.audit])
    before = Folder(folder.backups / plan.before)
    _set_pages_aside(disk, folder, before)
    if any(path.exists() for path in (folder.wal, folder.sealed, folder.checkpoint)):
        ensure_folder(disk, before.root)
    if fresh.wal.exists():  # the last piece has not been swapped
        if plan.checkpoint:
            _swap(disk, folder.checkpoint, before.checkpoint, fresh.checkpoint)
        elif folder.checkpoint.exists():
            disk.rename(folder.checkpoint, before.checkpoint)
        _swap(disk, folder.sealed, before.sealed, fresh.sealed)
        _swap(disk, folder.wal, before.wal, fresh.wal)
    for derived in (folder.snapshot, folder.snapshot.with_name(folder.snapshot.name + ".new")):
        derived.unlink(missing_ok=True)
    for path in (before.root, folder.backups, folder.root):
        if path.exists():
            disk.sync_folder(path)
    lock.settle(plan.seq, plan.hash, plan.length)
    disk.remove(fresh.root / _READY)
    discard(disk, folder)
    return True


def _set_pages_aside(disk: Disk, folder: Folder, before: Folder) -> None:
    """The pages show what is being left: kept with it, so that nobody takes them for edits. They grow anew."""
    for page in sorted(folder.pages.glob("*.md")) + sorted(folder.pages.glob("@*/*.md")):
        target = before.pages / page.relative_to(folder.pages)
        ensure_folder(disk, target.parent)
        disk.rename(page, target)
        disk.sync_folder(target.parent)
    if before.pages.exists():
        disk.sync_folder(folder.pages)


def _swap(disk: Disk, current: Path, before: Path, fresh: Path) -> None:
    """Move `current` out and `fresh` in. If `fresh` is there no more, that is done; if `before` is, half of it is."""
    if fresh.exists():
        if current.exists() and not before.exists():
            disk.rename(current, before)
        disk.rename(fresh, current)
