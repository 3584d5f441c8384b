"""Reading an SQLite database without changing anything, not even SQLite's own files for it.

A file without a journal is complete, and is read as it is. To read one with a journal, SQLite would write; so the two
are copied, and the copy, which has no name any more, is read.
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

_TIMEOUT = 5.0


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
    home = Path(tempfile.mkdtemp(prefix="tallystick-"))
    try:
        try:
            shutil.copyfile(path, home / "copy")
        except FileNotFoundError as gone:  # since its journal was seen
            raise sqlite3.OperationalError("unable to open database file") from gone
        with suppress(FileNotFoundError):  # its writer may just have closed the file
            shutil.copyfile(f"{path}-wal", home / "copy-wal")
        connection = _connect(f"file:{quote(str(home / 'copy'))}")
        try:
            connection.execute("PRAGMA schema_version").fetchone()  # from here on it has all its files open
        except sqlite3.Error:
            connection.close()
            raise
        return connection
    finally:
        shutil.rmtree(home)


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=True, timeout=_TIMEOUT, isolation_level=None)
