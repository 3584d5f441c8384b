"""Derived files as witnesses: none can have seen an event that the ledger never had.

Each keeps with its rows how far it has read: the seq and the hash of the last event. `_READERS` says how that is found
in each of them. One that is not there, or cannot be read, tells nothing; it is made anew when it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import orjson

from tallystick.ledger.chain import last_line
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Witness

Seen = tuple[int, str] | None

_BOOKMARK = "SELECT seq, hash FROM bookmark"


def seen_by_the_index(folder: Path) -> list[Witness]:
    """How far the index of a folder had read; nothing if there is none, or it cannot be read."""
    path = Folder(folder).index
    if not path.exists():
        return []
    from tallystick.projections.index.read_bookmark import peek  # sqlite3: not for whoever has no index

    seen = peek(path)
    return [Witness(seen[0], seen[1], name="the index")] if seen else []


def index_in(folder: Path) -> Witness | None:
    """The same, without leaving a trace."""
    path = Folder(folder).index
    seen = _in_database(path) if path.is_file() else None
    return Witness(*seen, name="the index") if seen else None


def seen_by_others(folder: Path) -> list[Witness]:
    """How far the other derived files of a folder had read. A witness is named as its file is."""
    marks = [(name, read(folder / name)) for name, read in _READERS.items() if (folder / name).is_file()]
    return [Witness(*mark, name=name) for name, mark in marks if mark is not None and mark[0] >= 0]


def _in_database(path: Path) -> Seen:
    import sqlite3

    from tallystick.repair.readonly_copy import looking_at

    try:
        with looking_at(path) as connection:
            return _mark(*(connection.execute(_BOOKMARK).fetchone() or (None, None)))
    except (OSError, sqlite3.Error, ValueError):
        return None


def _in_last_line(path: Path) -> Seen:
    """In a file of lines: what the last whole one says of itself."""
    try:
        with open(path, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            line = last_line(file.fileno(), end)
            if not line.endswith(b"\n"):
                line = last_line(file.fileno(), end - len(line))
        said = orjson.loads(line)
        return _mark(said.get("seq"), said.get("hash")) if isinstance(said, dict) else None
    except (OSError, ValueError):
        return None


def _mark(seq: object, hashed: object) -> Seen:
    from tallystick.projections.index.read_bookmark import is_hash

    return (seq, hashed) if type(seq) is int and isinstance(hashed, str) and is_hash(hashed) else None


_READERS: dict[str, Callable[[Path], Seen]] = {
    "pages.db": _in_database, "graph.db": _in_database, "audit.jsonl": _in_last_line,
}  # fmt: skip
DERIVED = tuple(_READERS)
