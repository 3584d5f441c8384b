"""A derived SQLite file that follows the ledger event by event: its bookmark, catching up, starting over.

The bookmark is saved in the same transaction as the rows. Whatever a crash leaves is an earlier bookmark with the rows
that belong to it, or a file that SQLite refuses; both are rebuilt.
"""

from __future__ import annotations

import os
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from tallystick.projections.database import IN_MEMORY, PATIENCE, Database
from tallystick.records.event import Event
from tallystick.state.sessions import ActiveHours

_PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY")

_TABLE = re.compile(r"CREATE (?:VIRTUAL )?TABLE (\w+)")

BOOKMARK_TABLE = """CREATE TABLE bookmark (
    only INTEGER PRIMARY KEY CHECK (only = 1), shape INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL
)"""
# beliefs of tools and web pages, which are hidden until a person approves them
PENDING_TABLES = (
    "CREATE TABLE waiting (id TEXT PRIMARY KEY, at TEXT NOT NULL, seq INTEGER NOT NULL, belief TEXT NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE asked (review TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (review, id)) WITHOUT ROWID",
)


class Bookmark(NamedTuple):
    """The last event of a derived file, and the shape of its rows. The clock and `since` are the index's."""

    seq: int = -1
    hash: str = ""
    shape: int = 0
    clock: ActiveHours = ActiveHours()
    since: int = 0  # the state before that event is not known: the events were moved away


class Followed(Database, ABC):
    """One such file, with these tables; `shape` rises when the same events give other rows."""

    shape: int
    tables: Sequence[str]
    cache = "PRAGMA cache_size=-16000"

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, (*_PRAGMAS, self.cache), self.tables)

    def _connect(self, path: Path | str) -> sqlite3.Connection:
        """A new file is for its owner alone, also if somebody removes it meanwhile: SQLite would let others read it."""
        if not path or path == IN_MEMORY:  # without a name it is a temporary file
            return super()._connect(path)
        address = f"file:{quote(os.fsencode(path))}?mode=rw"
        while True:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            try:
                return sqlite3.connect(
                    address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
                )
            except sqlite3.OperationalError:
                if os.path.exists(path):
                    raise

    @abstractmethod
    def take(self, events: Iterable[Event]) -> None:
        """Apply these events. It is called within a transaction."""

    def bookmark(self) -> Bookmark:
        row = self.db.execute("SELECT seq, hash, shape FROM bookmark").fetchone()
        return Bookmark(*row) if row else Bookmark(shape=self.shape)

    def catch_up(self, events: Iterable[Event], *, mark: Bookmark | None = None) -> Bookmark:
        """Apply the events after the bookmark, all or none. `mark` is the new bookmark, if they do not say."""
        with self.writing():
            before = self.bookmark()
            last = [before]
            self.take(events if mark else _following(events, last))
            new = Bookmark(mark.seq, mark.hash, self.shape) if mark else last[0]._replace(shape=self.shape)
            if new != before:
                self.db.execute("INSERT OR REPLACE INTO bookmark VALUES (1, ?, ?, ?)", (self.shape, new.seq, new.hash))
        return new

    def empty(self) -> None:
        """Drop all rows, as if the file had just been made."""
        with self.writing():
            for statement in reversed(self.tables):
                if table := _TABLE.match(statement):
                    self.db.execute(f"DROP TABLE IF EXISTS {table[1]}")
            for statement in self.tables:
                self.db.execute(statement)


def _following(events: Iterable[Event], last: list[Bookmark]) -> Iterator[Event]:
    """The events after the bookmark in `last`, which goes along; up to the first that does not follow."""
    for event in events:
        if event.seq <= last[0].seq:
            continue
        if event.seq != last[0].seq + 1:
            return
        yield event
        last[0] = Bookmark(event.seq, event.hash)


class Pending:
    """The beliefs of a file that need approval."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def add(self, version: str, event: Event, belief: dict[str, Any]) -> None:
        said = orjson.dumps(belief).decode()
        self._db.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?)", (version, event.ts, event.seq, said))

    def take(self, version: str) -> tuple[str, int, dict[str, Any]] | None:
        """When it was stated, in which event, and the belief; it is pending no longer."""
        row = self._db.execute("SELECT at, seq, belief FROM waiting WHERE id = ?", (version,)).fetchone()
        if row is None:
            return None
        self._db.execute("DELETE FROM waiting WHERE id = ?", (version,))
        return row[0], row[1], orjson.loads(row[2])

    def ask(self, body: dict[str, Any]) -> None:
        """A review of trust is asked for."""
        if body["action"]["kind"] == "trust":
            rows = [(body["review"], name) for name in body["action"]["target"]]
            self._db.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", rows)

    def answer(self, body: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
        """A review is answered: the beliefs that are approved, each with when and in which event it was stated."""
        names = self._db.execute("SELECT id FROM asked WHERE review = ?", (body["review"],)).fetchall()
        self._db.execute("DELETE FROM asked WHERE review = ?", (body["review"],))
        return [found for (name,) in names if body["answer"] == "approve" and (found := self.take(name))]
