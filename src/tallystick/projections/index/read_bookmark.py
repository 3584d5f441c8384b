"""How far the index of a folder has read, without opening it for work.

The bookmark is a witness: an index cannot have seen an event that the ledger never had. A file that cannot be read is
no witness, and no trouble either: it grows back.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tallystick.projections.index import statements as sql

_ENTITIES = "SELECT count(DISTINCT about) FROM sources WHERE user = ? AND about != ''"  # all of it is in an index
_PATIENCE = 5.0
_HASH = re.compile(r"[0-9a-f]{64}\Z")


def peek(path: Path) -> tuple[int, str] | None:
    """The last event that the index at `path` took in, and its hash; None if there is no telling."""
    if not os.path.exists(path):
        return None
    try:
        with closing(only_looking(path)) as connection:
            row = connection.execute(sql.BOOKMARK).fetchone()
    except (sqlite3.Error, ValueError):  # letters that are none
        return None
    return (row[2], row[3]) if row and isinstance(row[2], int) and is_hash(row[3]) else None


def entities(path: Path, user: str) -> int | None:
    """How many entities a user's beliefs were ever about, as far as the index has read; None if there is no telling."""
    if not os.path.exists(path):
        return None
    try:
        with closing(only_looking(path)) as connection:
            return int(connection.execute(_ENTITIES, (user,)).fetchone()[0])
    except (sqlite3.Error, ValueError, TypeError):
        return None


def is_hash(value: object) -> bool:
    """Whether it can be an event's hash. Anything else in its place is damage, and no witness."""
    return isinstance(value, str) and _HASH.match(value) is not None


def only_looking(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing. Without a journal beside it the file is all there is, and nothing is made."""
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True, timeout=_PATIENCE, isolation_level=None)
