"""Reading a client's file and writing it, so that it is always the old one or the new one, whole.

Before it is written, the old one is copied beside it, as NAME.before-tallystick, with the same rights. A link is
followed: what it leads to is written, and the link stays a link. Mode and owner stay. If the file is another one than
was shown when it is to be written, nothing is written.

A crash leaves the old file, perhaps its copy, and perhaps NAME.tallystick-new-NUMBER, which nobody needs.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from tallystick.records.errors import Moved, NotWritable, Refused
from tallystick.surfaces.connect.errors import Unclear

COPY = ".before-tallystick"
MOST = 1 << 26  # bytes of a configuration
_FRESH = ".tallystick-new-"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read. Without `data` it is not there."""

    path: Path  # as a person names it
    target: Path  # where its bytes are
    data: bytes | None
    mode: int = 0o600
    owner: tuple[int, int] | None = None

    @property
    def copy(self) -> Path:
        return self.path.with_name(self.path.name + COPY)

    @property
    def text(self) -> str:
        """What stands in it. Unclear if it is not text."""
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise Unclear("it is not UTF-8") from None


def look(path: Path) -> FileState:
    """The file as it is now."""
    target = Path(os.path.realpath(path))
    try:
        found = target.stat()
    except FileNotFoundError:
        return FileState(path, target, None)
    except OSError as error:
        raise Refused(
            f"{path} cannot be looked at: {(error.strerror or '').lower()}; see where it leads", "place"
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a file; move it away, then try again", "place")
    if found.st_size > MOST:
        raise Refused(
            f"{path} has {found.st_size:,} bytes, and a configuration has {MOST:,} at most; edit it by hand", "size"
        )
    return FileState(path, target, target.read_bytes(), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))


def write(seen: FileState, data: bytes) -> None:
    """The file holds `data`, and its copy what it held. Moved if it is not what was seen any more."""
    _check_writable(seen)
    seen.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if seen.data is not None:
        _replace(seen.copy, seen.data, seen)
    _check_same(seen)
    _replace(seen.target, data, seen)


def remove(seen: FileState) -> None:
    """The file is gone: it held nothing but what tallystick had made."""
    _check_writable(seen)
    _check_same(seen)
    seen.target.unlink()


def forget_copy(seen: FileState) -> None:
    """The copy is gone: the file itself is again what it was a copy of."""
    seen.copy.unlink(missing_ok=True)


def _check_writable(seen: FileState) -> None:
    if seen.data is not None and (not seen.mode & 0o222 or not os.access(seen.target, os.W_OK)):
        raise NotWritable(f"{seen.target} may only be read; change it where it is made, or make it writable first")


def _check_same(seen: FileState) -> None:
    if look(seen.path).data != seen.data:
        raise Moved(f"{seen.path} was changed by another program meanwhile; look at it and try again")


def _replace(path: Path, data: bytes, like: FileState) -> None:
    fresh = path.with_name(f"{path.name}{_FRESH}{os.getpid()}")  # another process may be at it too
    try:
        fresh.unlink(missing_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except PermissionError:
        raise NotWritable(f"{path.parent} may not be written into; ask its owner, or add it by hand: --print") from None
    try:
        with open(fd, "wb") as out:
            out.write(data)
            out.flush()
            _take_rights(out.fileno(), path, like)
            os.fsync(out.fileno())
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)  # it is there only if something went wrong
    _sync_folder(path.parent)


def _take_rights(fd: int, path: Path, like: FileState) -> None:
    if like.owner is None:
        return
    if like.owner != (os.fstat(fd).st_uid, os.fstat(fd).st_gid):
        try:
            os.chown(fd, *like.owner)
        except PermissionError:
            raise NotWritable(f"{path} belongs to somebody else; run this as that user") from None
    os.fchmod(fd, like.mode)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
