"""A file of lines that only grows: what the event log and the audit stand on.

Acknowledged means on disk: `append` returns after the sync, and the folder is synced before the first line is. A line
is whole or absent. What a crash leaves behind the last newline was acknowledged to nobody: readers pass over it, and
the next writer keeps it in a file of its own (`events.jsonl.torn-<byte>-<digest>`) and cuts it off, so that nothing is
ever glued to it. A write that the disk refuses is cut back; if even that fails, the lock file says from where on the
bytes were refused, readers stop there, and the next writer cuts them off.

Writers hold the system's lock on `<name>.lock`, which is never removed; readers share it to read the length. What a
killed writer left whole may be read before it is synced; the next append syncs it. On a medium that cannot be written
there is no lock, and nobody to hold off. A link is not followed: two names of one file would have two locks. Nothing
stays open between calls, so a fork or a thread cannot share a place.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from tallystick.ledger.chain import last_line
from tallystick.ledger.disk import Disk, ensure_folder, pread_range, write_all, write_new
from tallystick.ledger.format import ZERO
from tallystick.ledger.lock import Lock
from tallystick.records.errors import NotWritable, NotWritten, Refused

PATIENCE = 30.0
_PIECE = 1 << 20
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class Pen:
    """Held by the one who writes: the open file, and where its whole lines end."""

    def __init__(self, fd: int, end: int, path: Path, disk: Disk, lock: Lock) -> None:
        self.fd, self.end, self._path, self._disk, self._lock = fd, end, path, disk, lock

    def append(self, data: bytes | Iterable[bytes]) -> None:
        """Put whole lines at the end, on disk when this returns. NotWritten, if the disk refuses: nothing was put."""
        end = self.end
        try:
            if end == 0:
                self._disk.sync_folder(self._path.parent)
            for piece in (data,) if isinstance(data, bytes) else data:
                write_all(self._disk, self.fd, piece)
                end += len(piece)
            self._disk.sync(self.fd)
        except OSError as error:
            self._take_back()
            raise NotWritten(f"{self._path} was not written ({error.strerror}); make room and try again") from error
        except BaseException:
            self._take_back()
            raise
        self.end = end

    def _take_back(self) -> None:
        try:
            self._disk.truncate(self.fd, self.end)
            self._disk.sync(self.fd)
        except OSError:
            with suppress(OSError):
                self._lock.mark(0, ZERO, self.end, "refused")


def batched(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in pieces that are worth a call of the system each."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


class LineFile:
    """One file of lines. It need not be there yet: one that is missing is empty."""

    def __init__(self, path: str | Path, *, disk: Disk | None = None, timeout: float = PATIENCE) -> None:
        self.path = Path(os.path.abspath(os.fspath(path)))
        self.lock_path = self.path.with_name(self.path.name + ".lock")
        self._disk, self._timeout = disk or Disk(), timeout

    @contextmanager
    def reading(self) -> Iterator[tuple[int, int]]:
        """The open file, and where its whole lines end; (-1, 0) if there is none. What stands before that end stays."""
        try:
            fd = self._disk.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            yield -1, 0
            return
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise self._unopened(error) from error
            raise Refused(
                f"{self.path} cannot be read ({error.strerror}); look at its owner, mode and kind", "file"
            ) from error
        try:
            yield fd, self._length(fd)
        finally:
            self._disk.close(fd)

    def _length(self, fd: int) -> int:
        _must_be_file(fd, self.path)
        lock = Lock(self.lock_path, self._disk, timeout=self._timeout, make=False)
        try:
            with lock.shared():
                return _whole(fd, lock)
        finally:
            lock.close()

    @contextmanager
    def writing(self) -> Iterator[Pen]:
        """Hold the file alone, with what a crash left behind set aside."""
        lock = self._locked()
        try:
            with lock.exclusive():
                fd = self._opened()
                try:
                    yield Pen(fd, self._fixed(fd, lock), self.path, self._disk, lock)
                finally:
                    self._disk.close(fd)
        finally:
            lock.close()

    def _locked(self) -> Lock:
        try:
            ensure_folder(self._disk, self.path.parent)
            lock = Lock(self.lock_path, self._disk, timeout=self._timeout)
        except OSError as error:
            raise self._unopened(error) from error
        if not lock.writable:
            lock.close()
            raise NotWritable(f"{self.path} may only be read; write to a copy of it")
        return lock

    def _opened(self) -> int:
        try:
            fd = self._disk.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError as error:
            raise self._unopened(error) from error
        try:
            _must_be_file(fd, self.path)
        except BaseException:
            self._disk.close(fd)
            raise
        return fd

    def _unopened(self, error: OSError) -> NotWritable | NotWritten | Refused:
        if error.errno in _READ_ONLY:
            return NotWritable(f"{self.path} may only be read ({error.strerror}); write to a copy of it")
        if error.errno == errno.ELOOP:
            return Refused(
                f"{self.path}, or its lock, is a link; links are not followed: name the file itself", "place"
            )
        if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENXIO):
            return Refused(f"{self.path} is no place for a file ({error.strerror}); choose another name", "place")
        return NotWritten(f"{self.path} was not written ({error.strerror}); make room and try again")

    def _fixed(self, fd: int, lock: Lock) -> int:
        """Where the whole lines end, after setting aside what stands behind them."""
        try:
            end, size = _whole(fd, lock), os.fstat(fd).st_size
            if size > end:
                self._set_aside(fd, end, size)
            witness = lock.witness()
            if witness is not None and witness.recover:
                lock.settle(0, ZERO, end)
        except OSError as error:
            raise NotWritten(f"{self.path} was not written ({error.strerror}); make room and try again") from error
        return end

    def _set_aside(self, fd: int, end: int, size: int) -> None:
        """Keep what was cut off. Doing it again after a crash gives the same file."""
        torn = pread_range(fd, end, size)
        kept = self.path.with_name(f"{self.path.name}.torn-{end}-{sha256(torn).hexdigest()[:8]}")
        write_new(self._disk, kept, torn)
        self._disk.sync_folder(self.path.parent)
        self._disk.truncate(fd, end)
        self._disk.sync(fd)


def _must_be_file(fd: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise Refused(f"{path} is no ordinary file; choose another name", "place")


def _whole(fd: int, lock: Lock) -> int:
    """Where the last whole line ends that was not refused to its writer."""
    size, witness = os.fstat(fd).st_size, lock.witness()
    if witness is not None and witness.mark == "refused":
        size = min(size, witness.length)
    last = last_line(fd, size)
    return size if last.endswith(b"\n") else size - len(last)
