"""Removing the vectors of what was erased, of every user and every embedder.

After each erasure every file under `vectors/` is read, and `vectors/swept` says how many erasures there were. Where it
says another number, somebody was stopped before it was done (or a copy was restored): the next recall does it first.

The vectors of an embedder that is not used any more stay, for the day it is used again; the folder may be removed by
hand at any time. What is erased is removed from them all the same.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors.file import VectorFile, locked, remove_files, sync_folder
from tallystick.projections.vectors.names import file_name, read_head
from tallystick.projections.vectors.rows import is_plain, numbers_of
from tallystick.records.errors import NotWritten

_MARK = "swept"
_NAME = re.compile(r"[0-9a-f]{24}")  # how files of ours begin; others are left alone


def is_swept(folder: Path, erasures: int) -> bool:
    """True if nothing of what was erased so far can be left."""
    if not folder.is_dir():
        return True
    try:
        return (folder / _MARK).read_bytes() == b"%d\n" % erasures
    except FileNotFoundError:
        return erasures == 0
    except OSError:
        return False


def sweep(folder: Path, index: IndexFile, erasures: int) -> None:
    """Keep only the vectors of blocks that the index has. Files of users who have none left are removed."""
    if not folder.is_dir():
        return
    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    try:
        for home in sorted(path for path in folder.iterdir() if path.is_dir()):
            for name in sorted({found[0] for path in home.iterdir() if (found := _NAME.match(path.name))}):
                _sweep_one(home, name, index, users.get(name))
        _mark(folder, erasures)
    except OSError as error:
        raise NotWritten(f"cannot remove the vectors of what was erased: {error}") from error


def blocks_of(index: IndexFile, user: str) -> NDArray[np.uint64]:
    """The blocks of a user in the index, as numbers, in order."""
    blocks = (row[0] for row in index.db.execute(sql.BLOCKS_OF, (user,)))
    return np.sort(numbers_of([block for block in blocks if is_plain(block)]))


def _sweep_one(home: Path, name: str, index: IndexFile, user: str | None) -> None:
    head = read_head(home / f"{name}.json")
    if user is None or head is None:
        with locked(home) as is_mine:
            _must_be(is_mine, home)
            remove_files(home, name)
            sync_folder(home)
        return
    file = VectorFile(home.parent, home.name, head["dimensions"], user)
    with file.writing() as is_mine:
        _must_be(is_mine, home)
        file.keep_only(blocks_of(index, user))


def _must_be(is_mine: bool, home: Path) -> None:
    if not is_mine:
        raise OSError(f"{home} is locked by another process, or not writable")


def _mark(folder: Path, erasures: int) -> None:
    """Record that it is done. If that fails, it is done again."""
    fresh = folder / f"{_MARK}.new"
    with suppress(OSError):
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(b"%d\n" % erasures)
        os.replace(fresh, folder / _MARK)
