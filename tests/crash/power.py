"""A disk that loses its power, and what is left when it comes back.

Files live in a real folder, and beside them stands a model of what is certain: the content of a file as of its last
sync, the names in a folder as of that folder's last sync. What came after may be there too, in whole or in part: a file
in cells of 512 bytes, each old, new or still zeros, and as long as it was, as it became, or anything between. A rename
happens or does not, also between two folders. The lock file is never synced by a write, so any of its versions may be
the one that is found.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.crash.disks import Watched

CELL = 512


class PowerCut(BaseException):
    """The machine is off."""


class Killed(BaseException):
    """The process is gone; the machine runs on."""


@contextmanager
def power(folder: Path, seed: int, most: int, *, lies: bool = False) -> Iterator[PowerDisk]:
    """A disk under `folder` that loses its power at one of its first `most` calls, which ends the block."""
    drawn, base = random.Random(seed), folder / f"base{seed}"
    base.mkdir()
    disk = PowerDisk(base, folder / f"image{seed}", drawn, lies=lies)
    disk.cut_at = drawn.randint(1, most)
    try:
        with suppress(PowerCut):
            yield disk
        assert disk.off
    finally:
        disk.forget()
        shutil.rmtree(base)


class PowerDisk(Watched):
    """Everything under `base`. At call number `cut_at` the power goes, and `image` holds what is found afterwards."""

    def __init__(self, base: Path, image: Path, drawn: random.Random, *, lies: bool = False) -> None:
        super().__init__()
        self.base, self.image, self.drawn, self.lies = base, image, drawn, lies
        self.cut_at = self.kill_at = -1
        self.off = self.killed = False
        self._handles: dict[int, int] = {}  # inode → a descriptor, so that no number is used twice
        self._synced: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._versions: dict[int, list[bytes]] = {}
        self._moves: list[tuple[int, str, int, str, int]] = []
        self._names[self._known(base)] = {}

    def forget(self) -> None:
        for fd in self._handles.values():
            os.close(fd)
        self._handles.clear()

    def reach(self, call: str, what: object = None, size: int = 0) -> None:
        super().reach(call)
        if self.calls.total() == self.cut_at:
            self.off = True
            self._leave_image()
        if self.off:
            raise PowerCut
        self.killed = self.killed or self.calls.total() == self.kill_at
        if self.killed:
            raise Killed

    # -- what is certain ---------------------------------------------------------------------------------------------

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        fd = super().open(path, flags, mode)
        self._known(path)
        return fd

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        done = super().pwrite(fd, data, offset)
        inode = os.fstat(fd).st_ino
        if inode in self._versions:
            self._versions[inode].append(self._content(inode))
        return done

    def sync(self, fd: int) -> None:
        super().sync(fd)
        inode = os.fstat(fd).st_ino
        if not self.lies:
            self._synced[inode] = self._content(inode)
            if inode in self._versions:
                self._versions[inode] = [self._content(inode)]

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        folder = self._known(path)
        self._names[folder] = self._names_in(path)
        for move in [move for move in self._moves if folder in (move[0], move[2])]:
            self._moves.remove(move)
            self._move(*move)

    def rename(self, old: Path, new: Path) -> None:
        inode = self._known(old)
        super().rename(old, new)
        self._moves.append((self._known(old.parent), old.name, self._known(new.parent), new.name, inode))

    def _move(self, here: int, old: str, there: int, new: str, inode: int) -> None:
        """Both ends of a rename are certain together."""
        if self._names.get(here, {}).get(old) == inode:
            del self._names[here][old]
        self._names.setdefault(there, {})[new] = inode

    def _known(self, path: Path) -> int:
        found = os.stat(path)
        if found.st_ino not in self._handles:
            self._handles[found.st_ino] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            if path.name == "lock":
                self._versions[found.st_ino] = [b""]
        return found.st_ino

    def _is_folder(self, inode: int) -> bool:
        return stat.S_ISDIR(os.fstat(self._handles[inode]).st_mode)

    def _content(self, inode: int) -> bytes:
        fd = self._handles[inode]
        return os.pread(fd, os.fstat(fd).st_size, 0)

    # -- what is found -----------------------------------------------------------------------------------------------

    def _leave_image(self) -> None:
        names = self._live_names() if self.drawn.random() < 0.5 else self._names
        self._put_folder(self._known(self.base), self.image, names)

    def _live_names(self) -> dict[int, dict[str, int]]:
        """All names as they are, certain or not."""
        found = {}
        for folder, _, _ in os.walk(self.base):
            found[self._known(Path(folder))] = self._names_in(Path(folder))
        return found

    def _names_in(self, folder: Path) -> dict[str, int]:
        return {entry.name: self._known(Path(entry.path)) for entry in os.scandir(folder)}

    def _put_folder(self, inode: int, to: Path, names: dict[int, dict[str, int]]) -> None:
        to.mkdir()
        for name, child in names.get(inode, {}).items():
            if self._is_folder(child):
                self._put_folder(child, to / name, names)
            else:
                (to / name).write_bytes(self._found(child))

    def _found(self, inode: int) -> bytes:
        if inode in self._versions:
            return self.drawn.choice(self._versions[inode])
        old, new = self._synced.get(inode, b""), self._content(inode)
        how = self.drawn.random()
        if old == new or how < 0.2:
            return old
        return new if how < 0.4 else self._in_pieces(old, new)

    def _in_pieces(self, old: bytes, new: bytes) -> bytes:
        shorter, longer = sorted((len(old), len(new)))
        edges = [at for at in range(0, longer, CELL) if at > shorter]
        length = self.drawn.choice([shorter, longer, longer, self.drawn.randint(shorter, longer), *edges])
        likely, cells = self.drawn.choice((0.1, 0.5, 0.9)), []
        for at in range(0, length, CELL):
            source = new if self.drawn.random() < likely else old
            cells.append(source[at : at + CELL].ljust(min(CELL, length - at), b"\0"))
        return b"".join(cells)[:length]
