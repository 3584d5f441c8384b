"""Derived files as witnesses: none can have seen an event that the ledger never had.

Each stores how far it has read: the seq and the hash of the last event. One that is missing, or cannot be read, is no
witness; it is rebuilt when it is needed.

Reading a database this way changes nothing, not even SQLite's own files for it. One without a journal is complete, and
is read as it is. To read one with a journal, SQLite would write; so the two are copied, and the copy is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from tallystick.ledger.folder.chain import last_line
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.lock import Witness

if TYPE_CHECKING:
    import sqlite3

Bookmark = tuple[int, str] | None

_FURTHEST = "SELECT seq, hash FROM positions ORDER BY seq DESC LIMIT 1"
_OF_STATE = "SELECT seq, hash FROM positions WHERE name = 'state'"
_TIMEOUT = 5.0


def seen_by_rows(folder: Path, ledger: str = "") -> list[Witness]:
    """How far the tables of a folder have followed; empty if they are missing, or cannot be read."""
    path = Folder(folder).state
    if not path.exists():
        return []
    from tallystick.projections.database import peek  # sqlite3: only if there are any

    mark = peek(path, ledger)
    return [Witness(mark[0], mark[1], name=path.name)] if mark else []


def rows_in(folder: Path) -> Witness | None:
    """The same, without leaving a trace."""
    path = Folder(folder).state
    mark = _in_database(path, _FURTHEST) if path.is_file() else None
    return Witness(*mark, name=path.name) if mark else None


def audit_in(folder: Path) -> Witness | None:
    """How far the audit has followed."""
    path = Folder(folder).audit
    mark = _in_last_line(path) if path.is_file() else None
    return Witness(*mark, name=path.name) if mark and mark[0] >= 0 else None


def ledger_in_state(path: Path) -> str:
    """The id of the ledger that the state of a folder was made from; empty if that is unknown."""
    import sqlite3

    try:
        with readonly(path) as connection:
            row = connection.execute("SELECT saved FROM positions WHERE name = 'state'").fetchone()
            return str(orjson.loads(row[0])["standing"]["ledger"]) if row else ""
    except (OSError, sqlite3.Error, ValueError, LookupError, TypeError):
        return ""


def in_state(path: Path) -> Bookmark:
    """The position of the state in state.db."""
    return _in_database(path, _OF_STATE)


def _in_database(path: Path, statement: str) -> Bookmark:
    import sqlite3  # only where it is needed: every opening loads this module

    try:
        with readonly(path) as connection:
            return _bookmark(*(connection.execute(statement).fetchone() or (None, None)))
    except (OSError, sqlite3.Error, ValueError):
        return None


@contextmanager
def readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the content of the database at `path`. Raises sqlite3.Error or OSError."""
    with content_of(path) as content, closing(connect(content)) as connection:
        yield connection


@contextmanager
def content_of(path: Path) -> Iterator[str]:
    """The name of a database with the content of the one at `path`, for SQLite."""
    journal = 0
    with suppress(FileNotFoundError):
        journal = os.stat(f"{path}-wal").st_size
    if not journal:
        yield f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tallystick-") as home:
        yield copied(path, home)


def copied(path: Path, home: str) -> str:
    """Copy the database at `path` into another folder, and return the name of the copy for SQLite.

    Another process copies: who closes a file that SQLite has locked in the same one, unlocks it.
    """
    import subprocess

    names = [f"{path.name}{end}" for end in ("", "-wal")]  # either may be gone: its writer may just have closed it
    sources = [os.path.join(path.parent, name) for name in names]
    subprocess.run(["cp", "--", *sources, home], stderr=subprocess.DEVNULL, check=False)
    for name in names:
        with suppress(FileNotFoundError):
            os.chmod(os.path.join(home, name), 0o600)
    return f"file:{quote(os.path.join(home, path.name))}?mode=rw"


def connect(name: str) -> sqlite3.Connection:
    import sqlite3

    return sqlite3.connect(name, uri=True, timeout=_TIMEOUT, isolation_level=None)


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
    from tallystick.projections.database import is_hash

    return (seq, hashed) if type(seq) is int and isinstance(hashed, str) and is_hash(hashed) else None
