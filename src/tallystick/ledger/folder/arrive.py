"""A folder that a memory is being moved to.

While it has a file `arriving`, nobody opens it. The lines go to `events.wal.new`, which is closed into `sealed/` where
a compaction had begun a new file, so the segments are those that the folder they come from may have. Every chunk is
synced. A crash leaves whole groups and perhaps a torn end, which is cut off; adding goes on after the last whole group.
At the end the file gets its name, and then `arriving` is removed: from there on it is an ordinary folder, whose derived
files are made by whoever opens it. One process at a time adds lines: it locks `arriving`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, ensure_folder, remove_if_there, replace, write_all
from tallystick.ledger.folder.chain import Chain
from tallystick.ledger.folder.erase_everywhere import hollow_out_file
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.recover import MovedTo, ledger_id
from tallystick.ledger.folder.scan import scan_path
from tallystick.ledger.lock import Lock
from tallystick.ledger.scan import START, Place
from tallystick.records.errors import Busy, Refused

_MAY_BE_THERE = {"arriving", "arriving.new", "lock"}


class ArrivingFolder:
    """A folder that gets the lines of a ledger. `ledger/arriving.py` says what its calls promise."""

    has_rows = False  # of the state: they are made of the lines by whoever opens it first

    def __init__(self, root: Path, ledger: str, *, disk: Disk | None = None) -> None:
        self.place, self._ledger, self._disk = str(root.resolve()), ledger, disk or Disk()
        self._folder, self._lock, self._fd = Folder(root.resolve()), -1, -1
        self._first, self._end = 0, START  # of the segment that grows

    @property
    def state(self) -> str:
        if self._folder.arriving.exists():
            return "arriving"
        if not self._folder.wal.exists():
            return "new"
        return "moved" if MovedTo.read(self._folder) else "open"

    @property
    def ledger(self) -> str:
        return ledger_id(self._folder)

    @property
    def head(self) -> Place:
        return self._end

    def begin(self, origin: str) -> None:
        folder = self._folder
        ensure_folder(self._disk, folder.root)
        self._must_be_empty()
        lock = Lock(folder.lock, self._disk, timeout=30.0)
        try:
            with lock.exclusive():
                self._must_be_empty()
                if not folder.arriving.exists():
                    body = {"ledger": self._ledger, "from": origin}
                    replace(self._disk, folder.arriving, orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE))
        finally:
            lock.close()
        self._lock = os.open(folder.arriving, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another process is moving a memory to {self.place}; wait until it is done") from None
        if not folder.arriving.exists():
            raise Busy(f"another process has moved a memory to {self.place} meanwhile; try again")
        if not folder.wal.exists():  # else it died when all was there
            folder.wal = folder.new_wal
        self._find_end()

    def _must_be_empty(self) -> None:
        """Refused, if there is something else than what a move has begun here."""
        if not self._folder.arriving.exists() and set(os.listdir(self._folder.root)) - _MAY_BE_THERE:
            moved = MovedTo.read(self._folder)
            what = f"a memory that was moved to {moved.place}" if moved else "other files"
            raise Refused(f"{self.place} holds {what}; name a new or an empty folder", "exists")

    def _find_end(self) -> None:
        """Where to go on: after the last whole group. What is behind that was never finished."""
        folder, place = self._folder, START
        for segment in folder.sealed_segments():
            found = scan_path(segment.path, Place(0, place.seq, place.hash))
            if found.bad or found.end.seq != segment.last:
                raise Refused(f"{segment.path} is not as it was written; remove {self.place}, and move again", "state")
            place = found.end
        fd = self._disk.open(folder.wal, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._fd, self._first, self._end = fd, place.seq + 1, Place(0, place.seq, place.hash, place.ts)
        if size := os.fstat(fd).st_size:
            self._end = scan_path(folder.wal, self._end).end
            if self._end.offset < size:
                self._disk.truncate(fd, self._end.offset)

    def add(self, lines: Sequence[fmt.Line]) -> None:
        block = list[bytes]()
        for line in lines:
            if line.op == fmt.SEAL and self._end.offset:
                write_all(self._disk, self._fd, b"".join(block))
                self._close_segment()
                block = []
            raw = b'%b,"hash":"%b","data":%b}\n' % (line.slice, line.hash.encode(), line.data)
            block.append(raw)
            self._end = Place(self._end.offset + len(raw), line.seq, line.hash, line.ts)
        write_all(self._disk, self._fd, b"".join(block))
        self._disk.sync(self._fd)

    def _close_segment(self) -> None:
        folder, disk = self._folder, self._disk
        disk.sync(self._fd)
        fd, self._fd = self._fd, -1
        disk.close(fd)
        disk.make_folder(folder.sealed)
        disk.rename(folder.wal, folder.sealed / f"{self._first:012d}-{self._end.seq:012d}.wal")
        for path in (folder.sealed, folder.root):
            disk.sync_folder(path)
        self._fd = disk.open(folder.wal, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._first, self._end = self._end.seq + 1, self._end._replace(offset=0)

    def lines(self) -> Iterator[fmt.Line]:
        return Chain(self._folder).lines()

    def add_rows(self, rows: Iterable[tuple[object, ...]]) -> None:
        """There are none."""

    def open(self, erased: Sequence[fmt.Line], saved: bytes, shape: int, settings: str, notes: Sequence[str]) -> None:  # noqa: ARG002
        folder, disk = self._folder, self._disk
        hashes = [line.hash for line in erased]
        for path in folder.chain_files() if hashes else ():
            hollow_out_file(disk, path, hashes)
        for path, text in ((folder.settings, settings), (folder.checkpoint, next(iter(notes), ""))):
            if text:
                replace(disk, path, text.encode())
        disk.sync(self._fd)
        if folder.wal == folder.new_wal:
            disk.rename(folder.wal, folder.root / "events.wal")
        disk.sync_folder(folder.root)
        remove_if_there(disk, folder.arriving)
        disk.sync_folder(folder.root)

    def close(self) -> None:
        for fd in (self._fd, self._lock):
            if fd >= 0:
                os.close(fd)
        self._fd = self._lock = -1
