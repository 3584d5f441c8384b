"""Reading from `state.db` without opening it for writing.

A position is a witness: no table can have applied an event that the ledger never had. A file that cannot be read
is not a witness, and no problem either: it is rebuilt.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

_FURTHEST = """SELECT seq, hash, (SELECT saved ->> '$.standing.ledger' FROM positions WHERE name = 'state')
    FROM positions ORDER BY seq DESC LIMIT 1"""
_ENTITIES = "SELECT count(DISTINCT about) FROM index_sources WHERE user = ? AND about != ''"  # all of it is in an index
_TIMEOUT = 5.0
_HASH = re.compile(r"[0-9a-f]{64}\Z")


def peek(path: Path, ledger: str = "") -> tuple[int, str] | None:
    """The last event that any table has applied, and its hash; None if that is unknown, or of another ledger."""
    row = _first_row(path, _FURTHEST)
    if not row or not isinstance(row[0], int) or not is_hash(row[1]) or (ledger and row[2] not in (None, ledger)):
        return None
    return row[0], row[1]


def has_followed(path: Path, name: str) -> bool:
    """True if that set of tables has applied any event."""
    return _first_row(path, "SELECT 1 FROM positions WHERE name = ?", name) is not None


def entities(path: Path, user: str) -> int | None:
    """The number of entities that a user's beliefs were ever about, in the index; None if that is unknown."""
    row = _first_row(path, _ENTITIES, user)
    return int(row[0]) if row else None


def _first_row(path: Path, statement: str, *values: str) -> tuple[Any, ...] | None:
    if not os.path.exists(path):
        return None
    try:
        with closing(only_looking(path)) as connection:
            row: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
            return row
    except (sqlite3.Error, ValueError):  # bytes that are not text
        return None


def is_hash(value: object) -> bool:
    """True if it can be an event's hash. Anything else in its place is damage, and not a witness."""
    return isinstance(value, str) and _HASH.match(value) is not None


def only_looking(path: Path) -> sqlite3.Connection:
    """A read-only connection. Without a journal the file is all there is, and no other is made."""
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True, timeout=_TIMEOUT, isolation_level=None)
