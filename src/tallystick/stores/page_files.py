"""The files of the pages: listed, read, and written whole or not at all.

A page is written to a new file, synced, and renamed over the old one; a crash leaves the old page, or the new, and
perhaps a hidden file ending in `.new`, which the next listing removes. Nothing is read or written through a symlink. A
file that changed since it was read is not overwritten; if somebody wrote into it at the very moment, that is restored,
and read with the next look.

The entries of erased beliefs are cut out of every page, here and in copies, under the ledger's lock and before the
erasure counts as done. Doing it twice is doing it once.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tallystick.ledger.disk import Disk, ensure_folder, write_all
from tallystick.ledger.folder.layout import Folder
from tallystick.projections.markdown import parse
from tallystick.projections.markdown.heading import ID
from tallystick.projections.pages.render import without
from tallystick.projections.pages.rows import digest_of
from tallystick.records.errors import NotWritten

_SOON = 20_000_000  # nanoseconds within which a clock may show two writes as one
_LARGEST = 64 << 20  # bytes of a page
_LINKED = "its folder is a symlink; use a real folder"


class Stamp(NamedTuple):
    """The marks by which an unchanged file is recognised. A time too recent to be trusted is -1."""

    size: int
    mtime: int
    ctime: int
    inode: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Stamp:
        return cls(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)

    def settled(self, now: int) -> Stamp:
        return self if now - max(self.mtime, self.ctime) > _SOON else self._replace(mtime=-1)


class Read(NamedTuple):
    data: bytes
    stamp: Stamp

    @property
    def digest(self) -> bytes:
        return digest_of(self.data)


class Raced(Exception):
    """The file is not what it was when it was read."""


class NoPage(Exception):
    """The file cannot be a page; the message says why."""


class PageFolder:
    """`memory/`, and the folders of other users in it."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self.root, self._disk = root, disk

    def walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every `.md` in it, with its status. Half-written files of a crash are removed on the way."""
        own = _entries(self.root) if self.is_there() else []
        others = [each for each in own if each.name.startswith("@") and each.is_dir(follow_symlinks=False)]
        for prefix, entries in [("", own), *((f"{each.name}/", _entries(Path(each.path))) for each in others)]:
            for entry in entries:
                try:
                    if entry.name.endswith(".md") and not entry.name.startswith("."):
                        yield prefix + entry.name, entry.stat(follow_symlinks=False)
                    elif entry.name.startswith(".") and entry.name.endswith(".md.new"):
                        self._disk.remove(Path(entry.path))
                except FileNotFoundError:  # somebody removed it meanwhile
                    continue

    def is_there(self) -> bool:
        return self.root.is_dir() and not self.root.is_symlink()

    def stamp(self, path: str) -> Stamp | None:
        if self._is_linked(path):
            return None
        try:
            return Stamp.of(os.lstat(self.root / path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _is_linked(self, path: str) -> bool:
        """True if the folder of a page is a symlink."""
        return self.root.is_symlink() or (self.root / path).parent.is_symlink()

    def read(self, path: str) -> Read | None:
        """The file, or None if there is none."""
        if self._is_linked(path):
            raise NoPage(_LINKED)
        try:
            fd = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise NoPage(_why_not(self.root / path, error)) from None
        try:
            seen = os.fstat(fd)
            if not stat.S_ISREG(seen.st_mode):
                raise NoPage("not a regular file; move it elsewhere")
            if seen.st_size > _LARGEST:
                raise NoPage(f"it has {seen.st_size:,} bytes; the limit is {_LARGEST:,}; split it")
            return Read(_all_of(fd), Stamp.of(seen))  # what is written while we read makes the stamp an old one
        except OSError as error:
            raise NoPage(f"cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)

    def write(self, path: str, data: bytes, before: Read | None) -> Stamp:
        """Replace what was read with `data`. Raced, if the file has changed since."""
        target = self.root / path
        if self._is_linked(path):
            raise NoPage(_LINKED)
        ensure_folder(self._disk, target.parent)

        def must_be_as_before() -> None:
            if self._is_linked(path) or self.stamp(path) != (before.stamp if before else None):
                raise Raced

        try:
            opened = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC) if before else None
        except FileNotFoundError:
            raise Raced from None
        except OSError as error:
            raise NoPage(_why_not(target, error)) from None
        try:
            mode = stat.S_IMODE(os.fstat(opened).st_mode) if opened is not None else 0o600
            self._replace(target, data, mode, must_be_as_before)
            if opened is not None and before and Stamp.of(os.fstat(opened))[:2] != before.stamp[:2]:
                self._replace(target, _all_of(opened), mode)  # somebody wrote into it while we did
                raise Raced
        finally:
            if opened is not None:
                os.close(opened)
        seen = self.stamp(path)
        if seen is None:
            raise Raced
        return seen.settled(time.time_ns())

    def _replace(self, target: Path, data: bytes, mode: int, check: Callable[[], None] | None = None) -> None:
        """`check` runs last, when only the rename is left."""
        fresh = target.with_name(f".{target.name}.new")
        self._unlink(fresh)
        try:
            fd = self._disk.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        except FileExistsError:  # whoever erases words does not wait for whoever writes pages
            raise Raced from None
        try:
            if mode != 0o600:
                os.fchmod(fd, mode)
            write_all(self._disk, fd, data)
            self._disk.sync(fd)
            if check is not None:
                check()
        except BaseException:
            self._disk.close(fd)
            self._unlink(fresh)
            raise
        self._disk.close(fd)
        try:
            self._disk.rename(fresh, target)
        except FileNotFoundError:  # the same, a moment later
            raise Raced from None
        self._disk.sync_folder(target.parent)

    def remove(self, path: str) -> bool:
        """Remove a page; False if there was none. Another user's folder goes with its last page."""
        target = self.root / path
        if self._is_linked(path):
            raise NoPage(_LINKED)
        is_there = not target.is_symlink() and target.is_file()
        if is_there:
            self._disk.remove(target)
            self._disk.sync_folder(target.parent)
        if target.parent != self.root and target.parent.is_dir() and not any(target.parent.iterdir()):
            target.parent.rmdir()
        return is_there

    def _unlink(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            self._disk.remove(path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; none, if it cannot be read: whoever writes there gets the error."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return []


def _all_of(fd: int) -> bytes:
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        return file.read()


def _why_not(path: Path, error: OSError) -> str:
    return "a symlink; use a regular file" if path.is_symlink() else f"cannot be read: {error.strerror}"


# -- erasure -----------------------------------------------------------------------------------------------------------

_ID = re.compile(ID.encode())
_TRIES = 5


def cut_out(disk: Disk, folder: Folder, ids: Collection[str]) -> None:
    """Remove the entries of these ids from the pages of a folder and of its copies."""
    gone = frozenset(name.encode() for name in ids)
    for each in (folder, *folder.copies()):
        pages = PageFolder(each.pages, disk)
        for path in [path for path, _ in pages.walk()]:
            for _ in range(_TRIES):
                try:
                    _cut(pages, path, gone)
                    break
                except Raced:
                    continue
            else:
                raise NotWritten(f"{each.pages / path} keeps changing; close the program that writes to it")


def _cut(pages: PageFolder, path: str, gone: frozenset[bytes]) -> None:
    try:
        read = pages.read(path)
    except NoPage:  # a symlink, or not a regular file: no page of ours
        return
    if read is None or gone.isdisjoint(_ID.findall(read.data)):
        return
    page = without(parse(read.data), {name.decode() for name in gone})
    if page.data == read.data:
        return
    if page.entries or page.preamble:
        pages.write(path, page.data, read)
    else:  # its name may reveal what was erased; if the ledger still has the page, it is rewritten
        pages.remove(path)
