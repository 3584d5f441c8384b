"""A derived SQLite file: one connection as long as it is open, and exclusive write transactions.

It follows from the ledger, so it is never repaired: a wrong one is removed and rebuilt. So a file may lose its name
while somebody has it open: see `is_in_place`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

IN_MEMORY = ":memory:"
TEMPORARY = "", IN_MEMORY  # paths of databases that nobody else can have open
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
    """True if a table has the same rows at the same places as that of an attached database."""
    if not are_made_alike(db, table):
        return False
    every = db.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY pk", (table,)).fetchall()
    is_by_row = not db.execute(_MADE_AS.format("main"), (table,)).fetchone()[0].endswith("WITHOUT ROWID")
    keys, rows = (["rowid"], "rowid, *") if is_by_row else ([name for name, place in every if place], "*")
    mine, theirs = (f"SELECT {rows} FROM {each}.{table}" for each in ("main", ATTACHED))
    return have_same_rows(db, mine, theirs, keys, [name for name, _ in every])


def are_made_alike(db: sqlite3.Connection, *tables: str) -> bool:
    """True if another database is attached and has these tables, with the same columns and keys."""
    if not any(row[1] == ATTACHED for row in db.execute("PRAGMA database_list")):
        return False
    made = [[db.execute(_MADE_AS.format(each), (name,)).fetchone() for name in tables] for each in ("main", ATTACHED)]
    return made[0] == made[1] and None not in made[0]


def have_same_rows(
    db: sqlite3.Connection, mine: str, theirs: str, keys: Iterable[str], columns: Iterable[str]
) -> bool:  # fmt: skip
    """True if two queries have the same rows, one for each key: as many, and so many of the one are in the other.

    SQLite compares them, in the order of the first.
    """
    counts = {db.execute(f"SELECT count(*) FROM ({each})").fetchone() for each in (mine, theirs)}
    on = " AND ".join(f'one."{name}" = other."{name}"' for name in keys)
    equal = " AND ".join(f'one."{name}" IS other."{name}"' for name in columns)
    alike = f"SELECT count(*) FROM ({mine}) AS one CROSS JOIN ({theirs}) AS other ON {on} WHERE {equal}"
    return len(counts) == 1 and db.execute(alike).fetchone() in counts


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


def connect(path: Path | str, writable: bool) -> sqlite3.Connection:
    """A new file is for its owner alone, also if somebody removes it meanwhile: SQLite would let others read it.

    One that is there is opened by SQLite alone: who closes a file that this process has locked too, unlocks it.
    Without a journal, a file that may not be written is all there is, and SQLite makes no other.
    """
    if path in TEMPORARY:
        return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    how = "mode=rw" if writable else "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    while True:
        if writable:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            return sqlite3.connect(
                f"file:{quote(os.fsencode(path))}?{how}", uri=True, timeout=PATIENCE, isolation_level=None,
                check_same_thread=False,
            )  # fmt: skip
        except sqlite3.OperationalError:
            if not writable or os.path.exists(path):
                raise


# -- reading from `state.db` without opening it for writing ------------------------------------------------------------
# A position is a witness: no table can have applied an event that the ledger never had. A file that cannot be read is
# not a witness, and no problem either: it is rebuilt.

_FURTHEST = """SELECT seq, hash, (SELECT saved ->> '$.standing.ledger' FROM positions WHERE name = 'state')
    FROM positions ORDER BY seq DESC LIMIT 1"""
_ENTITIES = "SELECT count(DISTINCT about) FROM index_sources WHERE user = ? AND about != ''"  # all of it is in an index
_HASH = re.compile(r"[0-9a-f]{64}\Z")


def peek(path: Path, ledger: str = "") -> tuple[int, str] | None:
    """The last event that any table has applied, and its hash; None if that is unknown, or of another ledger."""
    row = _first_row(path, _FURTHEST)
    if not row or not isinstance(row[0], int) or not is_hash(row[1]) or (ledger and row[2] not in (None, ledger)):
        return None
    return row[0], row[1]


def has_followed(path: Path | str, name: str) -> bool:
    return _first_row(path, "SELECT 1 FROM positions WHERE name = ?", name) is not None


def entities(path: Path | str, user: str) -> int | None:
    """The number of entities that a user's beliefs were ever about, in the index; None if that is unknown."""
    row = _first_row(path, _ENTITIES, user)
    return int(row[0]) if row else None


def _first_row(path: Path | str, statement: str, *values: str) -> tuple[Any, ...] | None:
    if not os.path.exists(path):
        return None
    try:
        with closing(connect(path, writable=False)) as connection:
            row: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
            return row
    except (sqlite3.Error, ValueError):  # bytes that are not text
        return None


def is_hash(value: object) -> bool:
    """True if it can be an event's hash. Anything else in its place is damage, and not a witness."""
    return isinstance(value, str) and _HASH.match(value) is not None
