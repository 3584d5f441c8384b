"""Rows of an open memory that are kept up to date with its ledger: those of the pages, and of the graph.

They are derived from the ledger alone, and rebuilt whenever they are missing, damaged, of another shape or behind an
erasure. A reader without write access gets them in memory, and so does one on a full disk.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from tallystick.ledger.disk import remove_all
from tallystick.projections.database import IN_MEMORY, has_no_room
from tallystick.projections.follower import Bookmark, Followed
from tallystick.records.errors import Busy, NotWritten, TallystickError
from tallystick.records.event import Event
from tallystick.stores.open_folder import OpenFolder

File = TypeVar("File", bound=Followed)
Answer = TypeVar("Answer")

RETRY = 30.0  # seconds before a disk that had no room is asked again

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Follower(ABC, Generic[File]):
    """One such file. `called` is what an error calls it, `wrong` what rows that are not ours can do to a reader."""

    called: str
    wrong: tuple[type[Exception], ...]

    def __init__(self, folder: OpenFolder) -> None:
        self.open_folder, self.ledger, self.state = folder, folder.ledger, folder.state
        self._lock = threading.RLock()
        self._db: File | None = None
        self._left = Bookmark()  # where this process stopped reading
        self._aside: File | None = None  # the rows in memory, while the disk has no room for them
        self._retry = 0.0  # when it is asked again

    @property
    @abstractmethod
    def place(self) -> Path:
        """Where the file is, if there is one."""

    @abstractmethod
    def _made(self, path: Path | str) -> File:
        """The file there, open."""

    @abstractmethod
    def _read_on(self, db: File, mark: Bookmark) -> Bookmark:
        """Read the events after the bookmark."""

    def close(self) -> None:
        with self._lock:
            open_ones, self._db, self._aside = (self._db, self._aside), None, None
            for db in open_ones:
                if db is not None:
                    with suppress(sqlite3.Error):
                        db.close()

    def follow(self, events: Sequence[Event]) -> None:
        """Apply what was just written, if it comes next. It never fails: the next reader goes on."""
        with suppress(OSError, TallystickError), self.ledger.turn(), self._lock:
            try:
                db = self._open()
                mark = db.bookmark()
                comes_next = bool(events) and (mark.seq, mark.shape) == (events[0].seq - 1, db.shape)
                if comes_next and self._is_in_the_chain(mark):
                    self._left = db.catch_up(events)
            except self.wrong:
                self.close()

    def fix(self, error: Exception, *, is_last: bool = False) -> None:
        """Remove rows that caused an error, for another try. Busy or NotWritten, if the file is not the cause."""
        if has_no_room(error):
            self.close()
            raise NotWritten(f"{self.place} could not be written ({error}); make room and try again") from error
        if is_last or (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BUSY:
            raise Busy(f"{self.called} not available ({error}); try again") from error
        self._throw_away()

    def _answered(self, ask: Callable[[], Answer], question: Callable[[File], Answer]) -> Answer:
        """The answer of `ask`, from the rows in the file. If the disk is full, from rows in memory."""
        if self._aside is None or time.monotonic() > self._retry:
            try:
                return ask()
            except NotWritten:
                self._retry = time.monotonic() + RETRY
        try:
            return question(self._in_memory())
        except self.wrong:  # the file that they were copied from was not ours
            self._aside = None
            return question(self._in_memory(copied=False))

    def _in_memory(self, *, copied: bool = True) -> File:
        if self._aside is None:
            self._aside = self._made(IN_MEMORY)
            if copied and not self._aside.copy_of(self.place):
                self._aside.close()
                self._aside = self._made(IN_MEMORY)
        return self._level_with(self._aside)

    def _level(self) -> File:
        db = self._level_with(self._open())
        self._aside = None  # there is room again
        return db

    def _level_with(self, db: File) -> File:
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
        if has_no_room(error):
            return NotWritten(f"{self.place} could not be written: {error.strerror}; make room and try again")
        return Busy(f"{self.place}: {error.strerror}; move what is there away, and it is rebuilt")

    def _throw_away(self) -> None:
        """Damaged, or with words in it that were erased: all of it follows from the ledger."""
        self.close()
        if self.ledger.writable:
            files = [path for path in self.ledger.folder.index_files() if path.name.startswith(self.place.name)]
            remove_all(self.ledger.disk, files)
