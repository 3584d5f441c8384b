"""A set of tables in `state.db` that follows the ledger: its position, catching up, starting over.

Several sets share the file: the index, the pages and the graph, beside the tables of the state. Each has a position of
its own (the last event applied and its hash), which is saved in the same transaction as the rows: a set may be behind
the ledger, it cannot have what its position does not say. A set is never repaired: a wrong one is emptied and filled
again from the ledger, by itself. Tables whose names begin with `local_` follow from no event, and stay.

On a full disk SQLite cannot even read: it makes files next to the one that it opens. A reader is served from a
temporary database then: `copy_of` copies the rows from the file without making any.
"""

from __future__ import annotations

import os
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from tallystick.projections.database import IN_MEMORY, TEMPORARY, connect, inode_of, run_patiently, transaction
from tallystick.records.event import Event, origin_of
from tallystick.state.sessions import ActiveHours

POSITIONS = (
    "CREATE TABLE IF NOT EXISTS positions (name TEXT PRIMARY KEY, shape INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " hash TEXT NOT NULL, saved BLOB NOT NULL) WITHOUT ROWID"
)
LOST = "lost"  # in place of a set's name: the file was missing, and is filled again from the ledger
SET_POSITION = "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?)"
_MADE = re.compile(r"CREATE (TABLE|VIEW|VIRTUAL TABLE) (?!IF |local_)(\w+)")
_CAN_COPY = hasattr(sqlite3.Connection, "deserialize")  # a build of SQLite may leave it out

PRAGMAS = ("PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-8000")
UNSAFE = ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-256000", "PRAGMA temp_store=MEMORY")

Set = TypeVar("Set", bound="TableSet")


class Bookmark(NamedTuple):
    """The last event of a set of tables, and the shape of its rows. The clock and `since` are the index's."""

    seq: int = -1
    hash: str = ""
    shape: int = 0
    clock: ActiveHours = ActiveHours()
    since: int = 0  # the state before that event is not known: the events were moved away


class TableSet(ABC):
    """One set in the database at `path`, which is made if there is none; or in one that is open.

    `shape` rises when the same events give other rows. `making`: nobody else can have the database open, and it is
    removed if anything goes wrong.
    """

    name: str
    shape: int
    tables: Sequence[str]
    full_texts: Sequence[str] = ()  # tables of full text over other tables
    path: Path | str = ""

    def __init__(self, path: Path | str | sqlite3.Connection, *, making: bool = False, writable: bool = True) -> None:
        self.is_temporary = path in TEMPORARY
        if isinstance(path, sqlite3.Connection):
            self.db, self._inode = path, -1
            self._ensure_tables(alone=False)
            return
        self.path, self._name = path, os.fspath(path)
        self.db = connect(path, writable)
        try:
            for pragma in UNSAFE if making else PRAGMAS:
                self.db.execute(pragma)
            if writable:
                if not making:
                    run_patiently(self.db, "PRAGMA journal_mode=WAL")
                self._ensure_tables(alone=making or self.is_temporary)
            self._inode = -1 if self.is_temporary else inode_of(path)
        except BaseException:
            self.db.close()
            raise

    def is_in_place(self) -> bool:
        """True if the file still has its name: somebody may have replaced or removed it."""
        return self.is_temporary or inode_of(self._name) == self._inode

    def close(self) -> None:
        self.db.close()

    # -- position ----------------------------------------------------------------------------------------------------

    def bookmark(self) -> Bookmark:
        row = self._position()
        return Bookmark(row[1], row[2], row[0]) if row else Bookmark(shape=self.shape)

    def is_emptied(self) -> bool:
        """True if the rows were dropped on purpose, and nothing was applied since."""
        row = self._position()
        return row is not None and row[1] < 0

    def is_lost(self) -> bool:
        """True if the file was missing when the ledger had events already."""
        return self.db.execute("SELECT 1 FROM positions WHERE name = ?", (LOST,)).fetchone() is not None

    def _position(self) -> tuple[int, int, str, bytes] | None:
        statement = "SELECT shape, seq, hash, saved FROM positions WHERE name = ?"
        row: tuple[int, int, str, bytes] | None = self.db.execute(statement, (self.name,)).fetchone()
        return row

    def _save(self, mark: Bookmark) -> None:
        self.db.execute(SET_POSITION, (self.name, self.shape, mark.seq, mark.hash, self._saved_with(mark)))

    def _saved_with(self, _: Bookmark) -> bytes:
        """What else is saved with a position."""
        return b""

    @abstractmethod
    def take(self, events: Iterable[Event]) -> None:
        """Apply these events. It is called within a transaction."""

    def catch_up(
        self, events: Iterable[Event], *, mark: Bookmark | None = None, expected: Bookmark | None = None
    ) -> Bookmark:  # fmt: skip
        """Apply the events after the position, all or none, and return the new one; `mark`, if they do not say.

        Events that were applied before are ignored, so two readers of the same ledger do no harm. If the position is
        not the expected one, or the events do not follow it, nothing is done.
        """
        with self.writing():
            before = self.bookmark()
            if expected is not None and before[:3] != expected[:3]:
                return before
            if mark is None:
                return self._read_on(before, iter(events))
            self.take(events)
            mark = mark._replace(shape=self.shape)
            self._save(mark)
            return mark

    def _read_on(self, before: Bookmark, events: Iterator[Event]) -> Bookmark:
        last = list[Event]()
        self.take(_following(events, before.seq, last))
        if not last:
            return before
        mark = before._replace(seq=last[0].seq, hash=last[0].hash)
        self._save(mark)
        return mark

    # -- tables ------------------------------------------------------------------------------------------------------

    def _ensure_tables(self, *, alone: bool) -> None:
        if self._is_made():
            return
        if alone and _CAN_COPY and not self.db.execute("PRAGMA schema_version").fetchone()[0]:
            with closing(sqlite3.connect(IN_MEMORY)) as source:  # a copy takes a fifth of the time
                source.deserialize(_empty(tuple(self.tables)))
                source.backup(self.db)
            return
        with self.writing():
            if not self._is_made():
                for statement in (POSITIONS, *self.tables):
                    self.db.execute(statement)

    def _is_made(self) -> bool:
        name = next(found[2] for found in map(_MADE.match, reversed(self.tables)) if found)
        return self.db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None

    def empty(self) -> None:
        """Drop all rows that follow from events, as if the tables had just been made."""
        with self.writing():
            for statement in reversed(self.tables):
                if found := _MADE.match(statement):
                    self.db.execute(f"DROP {found[1].split()[-1]} IF EXISTS {found[2]}")
            self.db.execute(POSITIONS)
            for statement in self.tables:
                self.db.execute(statement)
            self.db.execute(SET_POSITION, (self.name, self.shape, -1, "", b""))

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
            with closing(connect(path, writable=False)) as source:
                source.backup(self.db)
            after = os.stat(path)
            same = all(getattr(before, name) == getattr(after, name) for name in ("st_ino", "st_size", "st_mtime_ns"))
            if same and not os.path.exists(journal):
                self._ensure_tables(alone=False)
                return True
        except (OSError, sqlite3.Error):
            pass
        return False

    def writing(self) -> AbstractContextManager[None]:
        """An exclusive write transaction. Within one, it is a part of that."""
        return nullcontext() if self.db.in_transaction else transaction(self.db)

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """All that is read in the block is of one moment."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.OperationalError):  # it has ended with an error
                self.db.execute("ROLLBACK")


@cache
def _empty(tables: tuple[str, ...]) -> bytes:
    """The bytes of a database with these tables and no rows."""
    with closing(sqlite3.connect(IN_MEMORY, isolation_level=None)) as db:
        for statement in (POSITIONS, *tables):
            db.execute(statement)
        return db.serialize()


def _following(events: Iterable[Event], seq: int, last: list[Event]) -> Iterator[Event]:
    """The events after `seq`, up to the first that does not follow. The last one is put in `last`."""
    for event in events:
        if event.seq <= seq:
            continue
        if event.seq != seq + 1:
            return
        yield event
        seq, last[:] = event.seq, [event]


# -- beliefs of tools and web pages, which are hidden until a person approves them -------------------------------------


def pending_tables(prefix: str) -> tuple[str, str]:
    return (
        f"CREATE TABLE {prefix}_waiting (id TEXT PRIMARY KEY, at TEXT NOT NULL, seq INTEGER NOT NULL,"
        " belief TEXT NOT NULL) WITHOUT ROWID",
        f"CREATE TABLE {prefix}_asked (review TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (review, id)) WITHOUT ROWID",
    )


class Pending:
    """The beliefs of a set that need approval; the names of its tables begin with `prefix`."""

    def __init__(self, db: sqlite3.Connection, prefix: str) -> None:
        self._db, self._waiting, self._asked = db, f"{prefix}_waiting", f"{prefix}_asked"

    def add(self, version: str, event: Event, belief: dict[str, Any]) -> None:
        row = (version, origin_of(event).at, event.seq, orjson.dumps(belief).decode())
        self._db.execute(f"INSERT OR REPLACE INTO {self._waiting} VALUES (?, ?, ?, ?)", row)

    def take(self, version: str) -> tuple[str, int, dict[str, Any]] | None:
        """When it was stated, in which event, and the belief; it is pending no longer."""
        row = self._db.execute(f"SELECT at, seq, belief FROM {self._waiting} WHERE id = ?", (version,)).fetchone()
        if row is None:
            return None
        self._db.execute(f"DELETE FROM {self._waiting} WHERE id = ?", (version,))
        return row[0], row[1], orjson.loads(row[2])

    def ask(self, body: dict[str, Any]) -> None:
        """A review of trust is asked for."""
        if body["action"]["kind"] == "trust":
            rows = [(body["review"], name) for name in body["action"]["target"]]
            self._db.executemany(f"INSERT OR IGNORE INTO {self._asked} VALUES (?, ?)", rows)

    def answer(self, body: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
        """A review is answered: the beliefs that are approved, each with when and in which event it was stated."""
        names = self._db.execute(f"SELECT id FROM {self._asked} WHERE review = ?", (body["review"],)).fetchall()
        self._db.execute(f"DELETE FROM {self._asked} WHERE review = ?", (body["review"],))
        return [found for (name,) in names if body["answer"] == "approve" and (found := self.take(name))]
