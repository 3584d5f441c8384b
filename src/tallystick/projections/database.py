"""A derived SQLite file: one connection as long as it is open, and exclusive write transactions.

It follows from the ledger, so it is never repaired: a wrong one is removed and rebuilt. So a file may lose its name
while somebody has it open: see `is_in_place`.

On a full disk SQLite cannot even read: it makes files next to the one that it opens. A reader is served from memory
then: `copy_of` copies the rows from the file without making any.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

IN_MEMORY = ":memory:"
PATIENCE = 30.0

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_WRITTEN = (  # for a quota or a failing disk SQLite names only the call that failed
    sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN,
)  # fmt: skip
_CAN_COPY = hasattr(sqlite3.Connection, "deserialize")  # a build of SQLite may leave it out


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


class Database:
    """One file. Its tables are made if it is empty; two processes that do so at once make one.

    With `alone` nobody else can have it open. One without a name, or in memory, is such a file anyway.
    """

    full_texts: Sequence[str] = ()  # tables of full text over other tables

    def __init__(
        self, path: Path | str, pragmas: Iterable[str], schema: Iterable[str], *, alone: bool = False
    ) -> None:
        self.path = path
        self.db = self._connect(path)
        try:
            for pragma in pragmas:
                run_patiently(self.db, pragma)
            self._ensure_tables(tuple(schema), alone=alone or path in ("", IN_MEMORY))
            self._inode = inode_of(path)
        except BaseException:
            self.db.close()
            raise

    def _connect(self, path: Path | str) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)

    def is_in_place(self) -> bool:
        """True if the file still has its name: somebody may have replaced or removed it."""
        return self.path == IN_MEMORY or inode_of(self.path) == self._inode

    def close(self) -> None:
        self.db.close()

    def file_trouble(self) -> str:
        """SQLite's finding about its file (pages, and indexes that belong to their tables); empty if it is sound."""
        is_sound = self.db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
        return "" if is_sound else "its pages do not belong together"

    def text_trouble(self) -> str:
        """SQLite's finding about the full text; empty if it belongs to the rows."""
        try:
            with self.writing():
                for table in self.full_texts:
                    self.db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            return str(error)
        return ""

    def copy_of(self, path: Path) -> bool:
        """Copy the rows of the file at `path` over these. False if it is being written, or cannot be read."""
        journal = f"{path}-wal"
        try:
            before = os.stat(path)
            if not before.st_size or os.path.exists(journal):
                return False
            with closing(sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True)) as source:
                source.backup(self.db)
            after = os.stat(path)
        except (OSError, sqlite3.Error):
            return False
        same = (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns)
        return same and not os.path.exists(journal)

    def _ensure_tables(self, schema: tuple[str, ...], *, alone: bool) -> None:
        if self.db.execute("PRAGMA schema_version").fetchone()[0]:
            return
        if alone and _CAN_COPY:  # a copy takes a fifth of the time, but would overwrite what others wrote meanwhile
            with closing(sqlite3.connect(IN_MEMORY)) as source:
                source.deserialize(_empty(schema))
                source.backup(self.db)
            return
        with self.writing():
            if not self.db.execute("PRAGMA schema_version").fetchone()[0]:
                for statement in schema:
                    self.db.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """An exclusive write transaction. Within one, it is a part of that."""
        if self.db.in_transaction:
            yield
            return
        with transaction(self.db):
            yield


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """An exclusive write transaction: all of it or, if anything fails, nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@cache
def _empty(schema: tuple[str, ...]) -> bytes:
    """The bytes of a file with these tables and no rows."""
    with closing(sqlite3.connect(IN_MEMORY, isolation_level=None)) as db:
        for statement in schema:
            db.execute(statement)
        return db.serialize()


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
