"""Derived files as witnesses: none can have seen an event that the ledger never had.

Each stores how far it has read: the seq and the hash of the last event. One that is missing, or cannot be read, is no
witness; it is rebuilt when it is needed.

Reading a database this way changes nothing, not even SQLite's own files for it. One without a journal is complete, and
is read as it is. To read one with a journal, SQLite would write; so the two are copied, and the copy, which has no name
any more, is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import starmap, zip_longest
from operator import ne
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from tallystick.ledger.chain import last_line
from tallystick.ledger.layout import Folder
from tallystick.ledger.lock import Witness
from tallystick.state.tables import Tables

if TYPE_CHECKING:
    import sqlite3

Bookmark = tuple[int, str] | None

_BOOKMARK = "SELECT seq, hash FROM bookmark"
_TIMEOUT = 5.0


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


def ledger_in_state(path: Path) -> str:
    """The id of the ledger that the state of a folder was made from; empty if that is unknown."""
    import sqlite3

    try:
        with readonly(path) as connection:
            row = connection.execute("SELECT saved FROM state_position").fetchone()
            return str(orjson.loads(row[0])["standing"]["ledger"]) if row else ""
    except (OSError, sqlite3.Error, ValueError, LookupError, TypeError):
        return ""


def difference(path: Path, tables: Tables, but: Collection[str] = ()) -> str:
    """The first table in which the rows of state.db are not these; empty if there is none. Both are read in order."""
    import sqlite3

    try:
        with readonly(path) as db:
            numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
            for name, table in tables.tables.items():
                of_table = (numbers.pop(name, -1),)
                if name in but:
                    continue
                rows = db.execute("SELECT key, value FROM state_row WHERE tab = ? ORDER BY key", of_table)
                if any(starmap(ne, zip_longest(rows, table.dumped()))):
                    return name
            strange = db.execute("SELECT 1 FROM state_row WHERE tab NOT IN (SELECT id FROM state_table)").fetchone()
            return "a table that is not known" if strange else ""
    except (OSError, sqlite3.Error) as error:
        return str(error)


def in_state(path: Path) -> Bookmark:
    """The position of state.db."""
    return _in_database(path, "SELECT seq, hash FROM state_position")


def _in_database(path: Path, statement: str = _BOOKMARK) -> Bookmark:
    import sqlite3  # only where it is needed: every opening loads this module

    try:
        with readonly(path) as connection:
            return _bookmark(*(connection.execute(statement).fetchone() or (None, None)))
    except (OSError, sqlite3.Error, ValueError):
        return None


@contextmanager
def readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the content of the database at `path`. Raises sqlite3.Error or OSError."""
    journal = 0
    with suppress(FileNotFoundError):
        journal = os.stat(f"{path}-wal").st_size
    as_it_is = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with closing(_copied(path) if journal else _connect(as_it_is)) as connection:
        yield connection


def _copied(path: Path) -> sqlite3.Connection:
    import shutil
    import sqlite3
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tallystick-") as home:
        copy = os.path.join(home, "copy")
        try:
            shutil.copyfile(path, copy)
        except FileNotFoundError as gone:  # since its journal was seen
            raise sqlite3.OperationalError("unable to open database file") from gone
        with suppress(FileNotFoundError):  # its writer may just have closed the file
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        connection = _connect(f"file:{quote(copy)}")
        try:
            connection.execute("PRAGMA schema_version").fetchone()  # from here on it has all its files open
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _connect(name: str) -> sqlite3.Connection:
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
    from tallystick.projections.index.read_bookmark import is_hash

    return (seq, hashed) if type(seq) is int and isinstance(hashed, str) and is_hash(hashed) else None


_READERS: dict[str, Callable[[Path], Bookmark]] = {
    "state.db": in_state, "pages.db": _in_database, "graph.db": _in_database, "audit.jsonl": _in_last_line,
}  # fmt: skip
DERIVED = tuple(_READERS)
