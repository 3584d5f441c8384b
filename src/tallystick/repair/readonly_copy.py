"""A look into a database of SQLite's that changes nothing, not even what SQLite keeps beside it.

A file without a journal is all there is, and is read as it stands. Reading one with a journal, SQLite writes down
beside it who reads where; so the two are copied, and the copy is read. It has lost its name before anything is asked.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

_PATIENCE = 5.0


@contextmanager
def looking_at(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to what stands in the database at `path`. Raises sqlite3.Error or OSError."""
    with closing(_as_it_stands(path) if not _journal(path) else _copied(path)) as connection:
        yield connection


def _journal(path: Path) -> int:
    try:
        return os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        return 0


def _as_it_stands(path: Path) -> sqlite3.Connection:
    return _connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1")


def _copied(path: Path) -> sqlite3.Connection:
    home = Path(tempfile.mkdtemp(prefix="tallystick-"))
    try:
        try:
            shutil.copyfile(path, home / "copy")
        except FileNotFoundError as gone:  # since its journal was seen
            raise sqlite3.OperationalError("unable to open database file") from gone
        with suppress(FileNotFoundError):  # whoever wrote it may just have closed the file
            shutil.copyfile(f"{path}-wal", home / "copy-wal")
        connection = _connect(f"file:{quote(str(home / 'copy'))}")
        try:
            connection.execute("PRAGMA schema_version").fetchone()  # from here on it has all it needs open
        except sqlite3.Error:
            connection.close()
            raise
        return connection
    finally:
        shutil.rmtree(home)


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=True, timeout=_PATIENCE, isolation_level=None)
