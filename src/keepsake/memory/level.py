"""Rows of an open memory that are kept level with its ledger: the pages', and the graph's.

They follow from the ledger alone, and are made anew whenever they are missing, damaged, of another shape or behind an
erasure. Whoever has no write access gets them in memory.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from keepsake.ledger.disk import remove_all
from keepsake.projections.database import IN_MEMORY
from keepsake.projections.followed import Bookmark, Followed
from keepsake.records.errors import Busy
from keepsake.stores.shelf import Shelf

File = TypeVar("File", bound=Followed)

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


class Level(ABC, Generic[File]):
    """One such file. `called` is what an error calls it."""

    called: str

    def __init__(self, shelf: Shelf) -> None:
        self.shelf, self.ledger, self.book = shelf, shelf.ledger, shelf.book
        self._lock = threading.RLock()
        self._db: File | None = None
        self._left = Bookmark()  # where this process stopped reading

    @property
    @abstractmethod
    def place(self) -> Path:
        """Where the file is, if there is one."""

    @abstractmethod
    def _made(self, path: Path | str) -> File:
        """The file there, open."""

    @abstractmethod
    def _read_on(self, db: File, mark: Bookmark) -> Bookmark:
        """Take in what the ledger has behind the bookmark."""

    def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                with suppress(sqlite3.Error):
                    db.close()

    def mend(self, error: Exception, *, is_last: bool = False) -> None:
        """Whoever came upon that may try again with new rows. Busy, if the file is not what is wrong."""
        if is_last or (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BUSY:
            raise Busy(f"{self.called} not to be had at this moment ({error}); try again") from error
        self._throw_away()

    def _level(self) -> File:
        db = self._open()
        mark, end = db.bookmark(), self.ledger.end
        if mark.seq > end.seq:
            self.ledger.refresh()
            end = self.ledger.end
        if mark.shape != db.shape or not self._is_in_the_chain(mark):
            db.empty()
            mark = db.bookmark()
        if (mark.seq, mark.hash) != (end.seq, end.hash):
            mark = self._read_on(db, mark)
        self._left = mark
        return db

    def _open(self) -> File:
        if self._db is not None and not self._is_mine(self._db):
            self.close()
        if self._db is None:
            self._db = self._made(self.place if self.ledger.writable else IN_MEMORY)
        return self._db

    def _is_mine(self, db: File) -> bool:
        """Whether the file that is open is still the one that is meant."""
        return db.is_in_place()

    def _is_in_the_chain(self, mark: Bookmark) -> bool:
        end = self.ledger.end
        if mark.seq >= end.seq:
            return (mark.seq, mark.hash) == (end.seq, end.hash)
        return mark.seq < 0 or mark == self._left or self.ledger.chain().hash_at(mark.seq) in (None, mark.hash)

    def _in_the_way(self, error: OSError) -> Busy:
        return Busy(f"{self.place}: {error.strerror}; move what is there away, and it is made anew")

    def _throw_away(self) -> None:
        """Damaged, or with words in it that were erased: all of it follows from the ledger."""
        self.close()
        if self.ledger.writable:
            files = [path for path in self.ledger.folder.index_files() if path.name.startswith(self.place.name)]
            remove_all(self.ledger.disk, files)
