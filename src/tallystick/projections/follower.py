"""A derived SQLite file that follows the ledger event by event: its bookmark, reading on from there, beginning anew.

The bookmark is saved in the same transaction as the rows. Whatever a crash leaves is an earlier bookmark with the rows
that belong to it, or a file that SQLite refuses; both grow back.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from tallystick.projections.database import IN_MEMORY, PATIENCE, Database
from tallystick.records.event import Event

_PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY")


class Bookmark(NamedTuple):
    """How far such a file has read, and of which shape its rows are."""

    seq: int = -1
    hash: str = ""
    shape: int = 0


class Followed(Database, ABC):
    """One such file. Its tables are dropped by `names`; `shape` rises when the same events give other rows."""

    shape: int
    tables: Sequence[str]
    names: Sequence[str]
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
        """Write what these events say. It is called within a transaction."""

    def bookmark(self) -> Bookmark:
        row = self.db.execute("SELECT seq, hash, shape FROM bookmark").fetchone()
        return Bookmark(*row) if row else Bookmark(shape=self.shape)

    def catch_up(self, events: Iterable[Event], *, mark: Bookmark | None = None) -> Bookmark:
        """Take in the events behind the bookmark, all or none. `mark` is where they lead, if they do not say."""
        with self.writing():
            before = self.bookmark()
            last = [before]
            self.take(events if mark else _following(events, last))
            new = Bookmark(mark.seq, mark.hash, self.shape) if mark else last[0]._replace(shape=self.shape)
            if new != before:
                self.db.execute("INSERT OR REPLACE INTO bookmark VALUES (1, ?, ?, ?)", (self.shape, new.seq, new.hash))
        return new

    def empty(self) -> None:
        """Nothing is in it, as if it had just been made."""
        with self.writing():
            for name in self.names:
                self.db.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in self.tables:
                self.db.execute(statement)


def _following(events: Iterable[Event], last: list[Bookmark]) -> Iterator[Event]:
    """The events behind the bookmark in `last`, which goes along; up to the first that does not follow."""
    for event in events:
        if event.seq <= last[0].seq:
            continue
        if event.seq != last[0].seq + 1:
            return
        yield event
        last[0] = Bookmark(event.seq, event.hash)
