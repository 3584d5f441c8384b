"""A derived SQLite file: one connection as long as it is open, and exclusive write transactions.

It follows from the ledger, so it is never repaired: a wrong one is removed and rebuilt. So a file may lose its name
while somebody has it open: see `is_in_place`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

IN_MEMORY = ":memory:"
PATIENCE = 30.0

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_WRITTEN = (  # for a quota or a failing disk SQLite names only the call that failed
    sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN,
)  # fmt: skip


def has_no_room(error: BaseException) -> bool:
    """True if the disk is full, and the file that was to be written is as good as it was."""
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF == sqlite3.SQLITE_FULL or code in _NOT_WRITTEN


def run_patiently(db: sqlite3.Connection | sqlite3.Cursor, pragma: str) -> None:
    """Retry while SQLite is busy: whatever its timeout, it fails at once when two connections turn a file to WAL."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute(pragma)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def wait_for_lock(fd: int, timeout: float) -> bool:
    """Lock an open file for this process alone, until it is closed; False, if others have it for longer than that."""
    until = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.002)


class Stale(sqlite3.DatabaseError):
    """The rows are not what the ledger says: somebody edited them, or they hold words that were erased."""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """An exclusive write transaction: all of it or, if anything fails, nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def inode_of(path: Path | str) -> int:
    """The number of the file of that name; -1 if there is none."""
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1


# -- comparing two files: both are read in order and in step, so a large one needs no more memory ---------------------

Row = tuple[object, ...]


class Difference(NamedTuple):
    """One row that only one of the two has. `row` begins with what names it."""

    table: str
    row: Row
    is_extra: bool  # in the first, and not in the second


ATTACHED = "attached"  # the name of a database that another is compared with, where both are open as one
_MADE_AS = "SELECT sql FROM {}.sqlite_master WHERE type = 'table' AND name = ?"


def _is_same(db: sqlite3.Connection, table: str) -> bool:
    """True if a table has the same rows at the same places as that of an attached database: SQLite compares them."""
    names = [row[1] for row in db.execute("PRAGMA database_list") if row[1] in ("main", ATTACHED)]
    made = [db.execute(_MADE_AS.format(each), (table,)).fetchone() for each in names]
    if len(made) < 2 or made[0] != made[1]:
        return False
    every = db.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY pk", (table,)).fetchall()
    keys = [name for name, place in every if place] if made[0][0].endswith("WITHOUT ROWID") else ["rowid"]
    on = " AND ".join(f'one."{name}" = other."{name}"' for name in keys)
    equal = " AND ".join(f'one."{name}" IS other."{name}"' for name, _ in every)
    counts = [f"SELECT count(*) FROM {each}.{table}" for each in names]
    counts.append(f"{counts[0]} AS one CROSS JOIN {ATTACHED}.{table} AS other ON {on} WHERE {equal}")
    return len({db.execute(each).fetchone() for each in counts}) == 1


def in_step(table: str, mine: Iterator[Row], theirs: Iterator[Row]) -> Iterator[Difference]:
    """The differences between rows that are in the order of SQLite."""
    left, right = next(mine, None), next(theirs, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(mine, None), next(theirs, None)
        elif right is None or (left is not None and _order(left) < _order(right)):
            yield Difference(table, left or (), True)
            left = next(mine, None)
        else:
            yield Difference(table, right, False)
            right = next(theirs, None)


def _order(row: Row) -> list[tuple[int, object]]:
    """The order of SQLite: NULL before numbers, numbers before text, text by its bytes."""
    return [
        (0, 0) if value is None
        else (1, value) if isinstance(value, int | float)
        else (2, value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass"))
        for value in row
    ]  # fmt: skip


def differing(tables: Iterable[str], mine: sqlite3.Connection, theirs: sqlite3.Connection) -> Iterator[Difference]:
    """The rows of tables that only one of two databases has. sqlite3.Error, if the first lacks a column of the second.

    It takes a fraction of the time if the first is attached to the second.
    """
    for table in tables:
        if not _is_same(theirs, table):
            every = theirs.execute(f"SELECT * FROM {table} LIMIT 0").description
            names = ", ".join(f'{table}."{column[0]}"' for column in every)
            in_order = f"SELECT {names} FROM {table} ORDER BY {names}"
            yield from in_step(table, mine.execute(in_order), theirs.execute(in_order))
