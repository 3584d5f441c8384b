"""A copy that is being made, and how to tell it from one whose maker died.

It is made under a name that ends in `.new`, in a folder that its maker keeps locked. The system frees the lock when the
maker dies, so a folder that can be locked is nobody's: it is removed whole. It may hold words that were erased since.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.ledger.disk import Disk


@contextmanager
def made(disk: Disk, parent: Path, ts: str) -> Iterator[tuple[Path, Path]]:
    """A fresh folder under `parent`, and the name that it is to get. It is removed if the block fails."""
    target, making, fd = _begin(parent, ts)
    try:
        yield making, target
        disk.rename(making, target)
        disk.sync_folder(parent)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    finally:
        os.close(fd)


def _begin(parent: Path, ts: str) -> tuple[Path, Path, int]:
    while True:
        target = free_name(parent, ts)
        making = target.with_name(target.name + ".new")
        with suppress(FileExistsError):  # another was faster: take the next name
            making.mkdir(mode=0o700)
            if (fd := _lock(making)) is None:
                continue
            if not target.exists():
                return target, making, fd
            making.rmdir()  # between our two looks somebody finished a copy of that name
            os.close(fd)


def _lock(folder: Path) -> int | None:
    """Lock `folder` until the descriptor is closed. None if another has it, or has removed it."""
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


def discard(parent: Path) -> None:
    """Remove the copies under `parent` that nobody will finish."""
    for making in sorted(parent.glob("*.new")):
        if (fd := _lock(making)) is not None:
            try:
                shutil.rmtree(making)
            finally:
                os.close(fd)


def free_name(parent: Path, ts: str, what: str = "") -> Path:
    """A name for a copy, from the time, and a number if another has it already."""
    name = ts[:19].replace("-", "").replace(":", "") + what
    number, target = 1, parent / name
    while target.exists() or target.with_name(target.name + ".new").exists():
        number += 1
        target = parent / f"{name}-{number}"
    return target
