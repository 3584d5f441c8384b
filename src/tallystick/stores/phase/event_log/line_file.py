"""A file of lines that only grows: the base of the event log and the audit.

Acknowledged means on disk: `append` returns after the sync, and the folder is synced before the first line is. A line
is whole or absent. What a crash leaves after the last newline was acknowledged to nobody: readers ignore it, and the
next writer saves it in a file of its own (`events.jsonl.torn-<byte>-<digest>`) and cuts it off, so that nothing is ever
appended to it. A write that the disk refuses is cut back; if even that fails, the lock file says from where on the
bytes were refused, readers stop there, and the next writer cuts them off.

Writers hold the system's lock on `<name>.lock`, which is never removed; readers share it to read the length. A whole
line of a killed writer may be read before it is synced; the next append syncs it. On a medium that cannot be written
there is no lock, and no writer. A symlink is not followed: two names of one file would have two locks. Nothing stays
open between calls, so a fork or a thread cannot share a file position.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from tallystick.ledger.disk import Disk, ensure_folder, pread_range, write_all, write_new
from tallystick.ledger.folder.chain import last_line
from tallystick.ledger.format import ZERO
from tallystick.ledger.lock import Lock
from tallystick.records.errors import NotWritable, NotWritten, Refused

TIMEOUT = 30.0
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_PIECE = 1 << 20


def not_written(path: Path, error: OSError) -> NotWritten:
    return NotWritten(f"{path} was not written ({error.strerror}); free some space and try again")


def _not_opened(path: Path, error: OSError) -> NotWritable | NotWritten | Refused:
    if error.errno in READ_ONLY:
        return NotWritable(f"{path} is read-only ({error.strerror}); write to a copy of it")
    if error.errno == errno.ELOOP:
        return Refused(f"{path}, or its lock, is a symlink; name the file itself", "place")
    if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENXIO):
        return Refused(f"{path} cannot be a file ({error.strerror}); choose another name", "place")
    return not_written(path, error)


@contextmanager
def locked(path: Path, disk: Disk, timeout: float) -> Iterator[Lock]:
    """Hold the lock file `path` alone; it is created if need be."""
    try:
        ensure_folder(disk, path.parent)
        lock = Lock(path, disk, timeout=timeout)
    except OSError as error:
        raise _not_opened(path, error) from error
    with closing(lock):
        if not lock.writable:
            raise NotWritable(f"{path} is read-only; write to a copy of its folder")
        with lock.exclusive():
            yield lock


class Pen:
    """The open file of a writer, and where its whole lines end."""

    def __init__(self, fd: int, end: int, path: Path, disk: Disk, lock: Lock) -> None:
        self.fd, self.end, self._path, self._disk, self._lock = fd, end, path, disk, lock

    def append(self, lines: Iterable[bytes]) -> None:
        """Append whole lines, on disk when this returns. NotWritten, if the disk refuses: nothing was appended."""
        end, piece = self.end, bytearray()
        try:
            if end == 0:
                self._disk.sync_folder(self._path.parent)
            for line in lines:
                piece += line
                if len(piece) >= _PIECE:  # worth a system call
                    write_all(self._disk, self.fd, bytes(piece))
                    end += len(piece)
                    piece.clear()
            write_all(self._disk, self.fd, bytes(piece))
            self._disk.sync(self.fd)
        except OSError as error:
            self._take_back()
            raise not_written(self._path, error) from error
        except BaseException:
            self._take_back()
            raise
        self.end = end + len(piece)

    def _take_back(self) -> None:
        try:
            self._disk.truncate(self.fd, self.end)
            self._disk.sync(self.fd)
        except OSError:
            with suppress(OSError):
                self._lock.mark(0, ZERO, self.end, "refused")


class LineFile:
    """One file of lines. It need not exist yet: a missing file is empty."""

    def __init__(self, path: str | Path, *, disk: Disk | None = None, timeout: float = TIMEOUT) -> None:
        self.path = Path(os.path.abspath(os.fspath(path)))
        self.lock_path = self.path.with_name(self.path.name + ".lock")
        self._disk, self._timeout = disk or Disk(), timeout

    @contextmanager
    def reading(self) -> Iterator[tuple[int, int]]:
        """The open file, and where its whole lines end; (-1, 0) if there is none. Bytes before it never change."""
        try:
            fd = self._disk.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            yield -1, 0
            return
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _not_opened(self.path, error) from error
            raise Refused(f"{self.path} cannot be read ({error.strerror}); check its owner and mode", "file") from error
        try:
            _must_be_file(fd, self.path)
            with closing(Lock(self.lock_path, self._disk, timeout=self._timeout, make=False)) as lock, lock.shared():
                end = _whole(fd, lock)
            yield fd, end
        finally:
            self._disk.close(fd)

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Hold the file alone, with what a crash left at the end set aside."""
        with locked(self.lock_path, self._disk, self._timeout) as lock:
            try:
                fd = self._disk.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW)
            except OSError as error:
                raise _not_opened(self.path, error) from error
            try:
                _must_be_file(fd, self.path)
                yield Pen(fd, self._recovered(fd, lock), self.path, self._disk, lock)
            finally:
                self._disk.close(fd)

    def _recovered(self, fd: int, lock: Lock) -> int:
        """The end of the whole lines, after setting aside what follows. Again after a crash gives the same file."""
        try:
            end, size = _whole(fd, lock), os.fstat(fd).st_size
            if size > end:
                torn = pread_range(fd, end, size)
                name = f"{self.path.name}.torn-{end}-{sha256(torn).hexdigest()[:8]}"
                write_new(self._disk, self.path.with_name(name), torn)
                self._disk.sync_folder(self.path.parent)
                self._disk.truncate(fd, end)
                self._disk.sync(fd)
            witness = lock.witness()
            if witness is not None and witness.recover:
                lock.settle(0, ZERO, end)
        except OSError as error:
            raise not_written(self.path, error) from error
        return end


def _must_be_file(fd: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise Refused(f"{path} is not a regular file; choose another name", "place")


def _whole(fd: int, lock: Lock) -> int:
    """The end of the last whole line that was not refused to its writer."""
    size, witness = os.fstat(fd).st_size, lock.witness()
    if witness is not None and witness.mark == "refused":
        size = min(size, witness.length)
    last = last_line(fd, size)
    return size if last.endswith(b"\n") else size - len(last)
