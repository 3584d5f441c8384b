"""Derived files as witnesses: none can have seen an event that the ledger never had.

Each stores how far it has read: the seq and the hash of the last event. One that is missing, or cannot be read, is no
witness; it is rebuilt when it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import orjson

from tallystick.ledger.chain import last_line
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Witness

Bookmark = tuple[int, str] | None

_BOOKMARK = "SELECT seq, hash FROM bookmark"


def seen_by_the_index(folder: Path) -> list[Witness]:
    """The position of the index of a folder; empty if it is missing, or cannot be read."""
    path = Folder(folder).index
    if not path.exists():
        return []
    from tallystick.projections.index.read_bookmark import peek  # sqlite3: only if there is an index

    mark = peek(path)
    return [Witness(mark[0], mark[1], name="the index")] if mark else []


def index_in(folder: Path) -> Witness | None:
    """The same, without leaving a trace."""
    path = Folder(folder).index
    mark = _in_database(path) if path.is_file() else None
    return Witness(*mark, name="the index") if mark else None


def seen_by_others(folder: Path) -> list[Witness]:
    """The positions of the other derived files of a folder, named as the files are."""
    marks = [(name, read(folder / name)) for name, read in _READERS.items() if (folder / name).is_file()]
    return [Witness(*mark, name=name) for name, mark in marks if mark is not None and mark[0] >= 0]


def _in_database(path: Path) -> Bookmark:
    import sqlite3

    from tallystick.repair.readonly_copy import readonly

    try:
        with readonly(path) as connection:
            return _bookmark(*(connection.execute(_BOOKMARK).fetchone() or (None, None)))
    except (OSError, sqlite3.Error, ValueError):
        return None


def _in_last_line(path: Path) -> Bookmark:
    """The bookmark of a file of lines: in its last whole line."""
    try:
        with open(path, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            line = last_line(file.fileno(), end)
            if not line.endswith(b"\n"):
                line = last_line(file.fileno(), end - len(line))
        act = orjson.loads(line)
        return _bookmark(act.get("seq"), act.get("hash")) if isinstance(act, dict) else None
    except (OSError, ValueError):
        return None


def _bookmark(seq: object, hashed: object) -> Bookmark:
    from tallystick.projections.index.read_bookmark import is_hash

    return (seq, hashed) if type(seq) is int and isinstance(hashed, str) and is_hash(hashed) else None


_READERS: dict[str, Callable[[Path], Bookmark]] = {
    "pages.db": _in_database, "graph.db": _in_database, "audit.jsonl": _in_last_line,
}  # fmt: skip
DERIVED = tuple(_READERS)
