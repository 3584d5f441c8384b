"""All disk operations of the ledger, in one place, so that a test can make any of them fail.

Sync means: on the medium, as far as the system can promise it. On macOS that is F_FULLFSYNC.
A name (created, renamed, removed) is on the medium only after its folder was synced.
Nothing here retries a failed sync: after one, the kernel and the medium may differ.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

CHUNK = 1 << 20


class Disk:
    """The real disk. Every call may raise OSError."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Write at the end of a file opened for appending; may write less than asked."""
        return os.write(fd, data)

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def sync(self, fd: int) -> None:
        """Content and length are on the medium when this returns."""
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_folder(self, path: Path) -> None:
        """The names in `path` are on the medium when this returns."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def make_folder(self, path: Path) -> None:
        """Create `path` and its missing parents, for the owner alone."""
        os.makedirs(path, mode=0o700, exist_ok=True)


def ensure_folder(disk: Disk, path: Path) -> None:
    """Create `path` and its missing parents, on the medium when this returns."""
    if not path.is_dir():
        ensure_folder(disk, path.parent)
        disk.make_folder(path)
        disk.sync_folder(path.parent)


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Append all of `data`, however many calls it takes."""
    written = disk.write(fd, data)
    if written < len(data):
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[_some(disk.write(fd, rest)) :]


def overwrite(disk: Disk, fd: int, data: bytes, offset: int) -> None:
    """Write `data` over the bytes at `offset`."""
    rest = memoryview(data)
    while rest:
        done = _some(disk.pwrite(fd, rest, offset))
        rest, offset = rest[done:], offset + done


def _some(written: int) -> int:
    if written == 0:
        raise OSError(errno.EIO, "the disk accepted no bytes")
    return written


def write_new(disk: Disk, path: Path, data: bytes) -> None:
    """Create a file with `data`, on the medium. Its name is not, until the folder is synced."""
    append(disk, path, data, os.O_CREAT | os.O_TRUNC)


def append(disk: Disk, path: Path, data: bytes, flags: int = 0) -> None:
    """Append `data` to a file, on the medium when this returns."""
    fd = disk.open(path, os.O_WRONLY | os.O_APPEND | flags)
    try:
        write_all(disk, fd, data)
        disk.sync(fd)
    except OSError as error:
        error.filename = error.filename or str(path)  # the system does not name the file
        raise
    finally:
        disk.close(fd)


def replace(disk: Disk, path: Path, data: bytes) -> None:
    """Replace the content of `path`. A crash leaves the old content or the new, and perhaps a `.new` file."""
    fresh = path.with_name(path.name + ".new")
    write_new(disk, fresh, data)
    disk.rename(fresh, path)
    disk.sync_folder(path.parent)


def copy(disk: Disk, source: Path, target: Path, start: int = 0, end: int | None = None) -> None:
    """Append the bytes of `source` from `start` to `end` to `target`, on the medium when this returns."""
    out = disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with open(source, "rb") as file:
            file.seek(start)
            left = (os.fstat(file.fileno()).st_size if end is None else end) - start
            while left > 0 and (chunk := file.read(min(CHUNK, left))):
                write_all(disk, out, chunk)
                left -= len(chunk)
        disk.sync(out)
    finally:
        disk.close(out)


def remove_if_there(disk: Disk, path: Path) -> bool:
    """Remove `path`; False if it did not exist."""
    try:
        disk.remove(path)
    except FileNotFoundError:
        return False
    return True


def remove_all(disk: Disk, paths: list[Path]) -> None:
    """Remove those of `paths` that exist, all in one folder; they are gone from the medium when this returns.

    A folder in the place of one of them stays: tallystick did not make it.
    """
    removed = [path for path in paths if not path.is_dir() and remove_if_there(disk, path)]
    if removed:
        disk.sync_folder(paths[0].parent)


def pread_range(fd: int, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`, or to the end of the file if that comes first."""
    parts = []
    while start < end and (part := os.pread(fd, min(end - start, 1 << 26), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
