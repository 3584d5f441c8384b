"""The graph of an open memory: its rows, kept level with the ledger.

They follow from the ledger alone, and are made anew whenever they are missing, damaged, of another shape or behind an
erasure. Nobody pays for a graph who does not ask for it: the file is opened, and made, when it is first used, and from
then on follows every write.

Where the first stretches of the ledger were moved away, what beliefs say is taken from what is held now; but what
somebody saved in those stretches is only there, and is asked for.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from keepsake.ledger.disk import remove_all
from keepsake.memory.events import events_from
from keepsake.projections.database import IN_MEMORY
from keepsake.projections.graph.file import Bookmark, GraphFile
from keepsake.projections.graph.fold import Stale
from keepsake.projections.graph.tables import SHAPE
from keepsake.projections.index.plant import held_now
from keepsake.records.errors import Busy, KeepsakeError, Missing
from keepsake.records.event import Event
from keepsake.records.graph_book import GRAPH
from keepsake.stores.shelf import Shelf

Answer = TypeVar("Answer")

_TRIES = 3
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
_WRONG = (sqlite3.DatabaseError, Stale, LookupError, TypeError, ValueError)  # what a file that is not ours can do


class GraphAt:
    """The rows of the graphs of one folder."""

    def __init__(self, shelf: Shelf) -> None:
        self.ledger, self.book = shelf.ledger, shelf.book
        self._lock = threading.RLock()
        self._db: GraphFile | None = None
        self._left = Bookmark()  # where this process stopped reading

    @property
    def ledger_id(self) -> str:
        """The name that derived records carry: where a memory goes on from another, they are the same as there."""
        return self.book.taken_in.zone.ledger or self.ledger.standing.ledger

    def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                with suppress(sqlite3.Error):
                    db.close()

    def read(self, question: Callable[[GraphFile], Answer]) -> Answer:
        """Put a question to the rows, with everything in them that the ledger has. Damage is mended on the way."""
        with self.ledger.reading(), self._lock:
            self.ledger.must_be_whole()
            for tried in range(_TRIES):
                try:
                    return question(self._leveled())
                except sqlite3.DatabaseError as error:
                    self._mend(error, is_last=tried == _TRIES - 1)
                except OSError as error:
                    place = self.ledger.folder.graph_index
                    raise Busy(f"{place}: {error.strerror}; move what is there away, and it is made anew") from error
        raise AssertionError("unreachable")

    def _leveled(self) -> GraphFile:
        try:
            return self._level()
        except _WRONG as error:
            self._mend(error, is_last=False)
        return self._level()

    def follow(self, events: list[Event]) -> None:
        """Take in what was just written, if the graph is open. It never fails: the next reader goes on."""
        if self._db is None:
            return
        with suppress(OSError, KeepsakeError), self.ledger.turn(), self._lock:
            try:
                if events and self._left.seq == events[0].seq - 1 and self._db.is_in_place():
                    self._left = self._db.catch_up(events)
            except (OSError, *_WRONG):
                self.close()

    def rebuild(self) -> None:
        """Make the rows anew from the ledger, if there are any. Readers in other processes keep theirs until then."""
        if self.ledger.writable and self.ledger.folder.graph_index.exists():
            with self.ledger.reading(), self._lock:
                self._throw_away()
                self.read(GraphFile.bookmark)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _level(self) -> GraphFile:
        db = self._open()
        mark, end = db.bookmark(), self.ledger.end
        if mark.seq > end.seq:
            self.ledger.refresh()
            end = self.ledger.end
        if mark.shape != SHAPE or not self._is_in_the_chain(mark):
            db.empty()
            mark = Bookmark()
        if (mark.seq, mark.hash) != (end.seq, end.hash):
            mark = self._read_on(db, mark)
        self._left = mark
        return db

    def _open(self) -> GraphFile:
        if self._db is not None and (self._db.ledger != self.ledger_id or not self._db.is_in_place()):
            self.close()
        if self._db is None:
            self._db = GraphFile(self.ledger.folder.graph_index if self.ledger.writable else IN_MEMORY, self.ledger_id)
        return self._db

    def _is_in_the_chain(self, mark: Bookmark) -> bool:
        end = self.ledger.end
        if mark.seq >= end.seq:
            return (mark.seq, mark.hash) == (end.seq, end.hash)
        return mark.seq < 0 or mark == self._left or self.ledger.chain().hash_at(mark.seq) in (None, mark.hash)

    def _read_on(self, db: GraphFile, mark: Bookmark) -> Bookmark:
        """From the bookmark on; where that was moved away, what is held now."""
        end, first, needed = self.ledger.end, self.ledger.chain().first, self.book.graph.first()
        if mark.seq + 1 >= first:
            return db.catch_up(events_from(self.ledger, mark.seq + 1))
        if 0 <= needed < first:
            raise Missing(
                f"the graph has records from event {needed} on, and what was before event {first} was moved away;"
                " put those files back into sealed/"
            )
        db.empty()
        told = (event for event in events_from(self.ledger, first) if event.op.startswith(GRAPH))
        return db.catch_up(chain(held_now(self.book), told), mark=Bookmark(end.seq, end.hash))

    def _mend(self, error: Exception, *, is_last: bool) -> None:
        """Whoever came upon that may try again with new rows. Busy, if the file is not what is wrong."""
        if is_last or (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _BUSY:
            raise Busy(f"the graph is not to be had at this moment ({error}); try again") from error
        self._throw_away()

    def _throw_away(self) -> None:
        """Damaged, or with words in it that were erased: all of it follows from the ledger."""
        self.close()
        if self.ledger.writable:
            folder = self.ledger.folder
            name = folder.graph_index.name
            remove_all(self.ledger.disk, [path for path in folder.index_files() if path.name.startswith(name)])
