"""The tables of an open memory that follow its ledger: the index, the pages and the graph.

The ledger is the truth. Tables that are missing, damaged, of another shape or behind an erasure are filled again, one
set by itself; if it is the file that is damaged, all of it is made again. Readers see one moment, or wait.

After a write the tables follow in the same call. If they cannot (the disk is full, another process has them locked),
the write succeeds all the same: the next one that needs them goes on from their position.

Where they cannot be written (a folder that is read-only here, a full disk), they are read as they are if they are up to
date, and else from a temporary copy.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from tallystick.ledger.fold import lift
from tallystick.ledger.protocol import Ledger
from tallystick.projections.database import Stale, has_no_room, is_hash
from tallystick.projections.table_set import Bookmark, TableSet
from tallystick.records.errors import Busy, Damaged, Missing, NotWritable, NotWritten, RolledBack, TallystickError
from tallystick.records.event import Event
from tallystick.records.progress import Progress
from tallystick.stores.open_ledger import OpenLedger

Set = TypeVar("Set", bound=TableSet)
Answer = TypeVar("Answer")

FAR = 5_000  # events behind; a write does not wait for more than that
TEMPORARY = ""  # the path of a database of this process alone
_AT_ONCE = 2_000  # events in one transaction
_RETRY = 30.0  # seconds before a disk that had no room is asked again
_TRIES = 3
_DAMAGED = "it was damaged"

# The errors that damaged or foreign rows can cause in a reader.
WRONG = (sqlite3.Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_IN_THE_FILE = sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT
_IN_THE_ROWS = sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT
_ONCE = (  # of the system: it is opened again
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
)  # fmt: skip


class Follower(ABC, Generic[Set]):
    """One set of tables. Callers have the ledger's turn, so that one thread at a time uses it."""

    name: str  # of the set
    called: str  # in errors

    def __init__(self, folder: OpenLedger, notify: Callable[[str], None] | None = None) -> None:
        self.open_folder, self.ledger, self.state, self._notify = folder, folder.ledger, folder.state, notify
        self.place: Path | str = folder.rows_path  # empty: the rows are always in a temporary database
        self._lock = threading.RLock()
        self._rows: Set | None = None
        self._left = Bookmark()  # where this process stopped reading
        self._retry = 0.0  # when a disk that had no room is asked again
        self._is_new = False  # the rows were made from the ledger a moment ago

    @abstractmethod
    def _made(self, path: Path | str, *, writable: bool = True) -> Set:
        """The tables in the database there."""

    @abstractmethod
    def _begin_in_the_middle(self, rows: Set) -> None:
        """Fill empty tables from the state, where the first events were moved away."""

    def _serve(self, rows: Set, *, compared: bool) -> None:
        """Make ready for a question; what is served is compared with the ledger."""

    def close(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, None
            if rows is not None:
                with suppress(sqlite3.Error):
                    rows.close()

    # -- following ---------------------------------------------------------------------------------------------------

    def follow(self, events: Sequence[Event]) -> None:
        """Apply what was just written (none given: whatever is new). It never fails: the next reader goes on."""
        if events and self.open_folder.followed.get(self.name, -1) >= events[-1].seq:
            return
        turn = self.ledger.turn() if events else self.ledger.reading()  # the next one reads what others wrote
        self._attempt(lambda: self._follow(events), turn)

    def _attempt(self, work: Callable[[], object], turn: AbstractContextManager[None]) -> None:
        with suppress(OSError, TallystickError), turn, self._lock:
            try:
                work()
            except (OSError, *WRONG):
                self.close()  # its next user looks closer

    def _follow(self, events: Sequence[Event]) -> None:
        rows = self._open()
        mark = rows.bookmark()
        is_next = events and mark.shape == rows.shape and events[0].seq <= mark.seq + 1
        if is_next and self._is_in_the_chain(mark):
            self._left = rows.catch_up(events, expected=mark)
        elif self.ledger.head.seq <= mark.seq + FAR:
            self._catch_up(rows)

    # -- for readers -------------------------------------------------------------------------------------------------

    def level(self, on_progress: Progress | None = None) -> Set:
        """The rows, with everything in them that the ledger has."""
        with self.ledger.reading(), self._lock:
            self._is_new = False
            return self._leveled(on_progress)

    def _leveled(self, on_progress: Progress | None = None) -> Set:
        """The same, for one who has the turn and has read on."""
        self.ledger.must_be_whole()
        for tried in range(_TRIES):
            try:
                rows = self._open()
                self._catch_up(rows, on_progress)
                return rows
            except NotWritten:
                return self._copied(on_progress)
            except (OSError, *WRONG) as error:
                if has_no_room(error):
                    return self._copied(on_progress)
                if isinstance(error, OSError):
                    raise Busy(f"{self.place}: {error.strerror}; move what is there away, and it is rebuilt") from error
                self.fix(error, tried)
        raise Damaged(f"{self.place} is damaged as soon as it is rebuilt; check the disk")

    def read(
        self, question: Callable[[Set], Answer], on_progress: Progress | None = None, *, at: int | None = None
    ) -> Answer:
        """Ask a question of rows that are up to date, perhaps about the state `at` an event.

        Damaged ones are filled again, and asked again.
        """
        with self.ledger.reading(), self._lock:
            self._is_new, wrong = False, ""
            for tried in range(_TRIES):
                rows = self._leveled(on_progress)
                if at is not None and (since := rows.bookmark().since) and at < since:
                    raise Missing(
                        f"the events before {since} were moved away;"
                        " put their files back into sealed/ and run `tallystick rebuild-index`"
                    )
                self._serve(rows, compared=not self._is_new)
                try:
                    with rows.unchanging():
                        return question(rows)
                except WRONG as error:
                    if has_no_room(error):
                        return question(self._copied(on_progress))
                    self.fix(error, tried)
                    wrong = str(error)
            raise Busy(f"{self.called} could not be read ({wrong}); try again")

    def glance(self, question: Callable[[Set], Answer]) -> Answer | None:
        """Ask a question if the rows are available: nobody waits until they are filled, and nothing fails."""
        answers: list[Answer] = []
        if not self.place and self._rows is None:
            return None

        def ask() -> None:
            rows = self._open()
            mark = rows.bookmark()
            if -1 < mark.seq >= self.ledger.head.seq - FAR:
                self._catch_up(rows, mark=mark)
                self._serve(rows, compared=True)
                with rows.unchanging():
                    answers.append(question(rows))

        self._attempt(ask, self.ledger.reading())
        return answers[0] if answers else None

    def rebuild(self, on_progress: Progress | None = None) -> Bookmark:
        """Fill the tables again, whatever is there, and return their position."""
        with self.ledger.reading(), self._lock:
            self.ledger.must_be_whole()
            if self.place and not self.ledger.writable:
                raise NotWritable(f"{self.place} cannot be written here; recall builds one in memory")
            try:
                self._open().empty()
            except WRONG as error:
                self.fix(error)
            self._is_new = True
            return self._leveled(on_progress).bookmark()

    # -- catching up -------------------------------------------------------------------------------------------------

    def _open(self) -> Set:
        """The rows in the file; in a temporary database, where there can be none."""
        rows = self._rows
        if rows is not None:
            is_due = self.place and rows.is_temporary and self.ledger.writable and time.monotonic() > self._retry
            if rows.is_in_place() and not is_due:
                return rows
            self.close()
        self.ledger.must_be_whole()
        if not self.place:
            self._rows, self._is_new = self._made(TEMPORARY), True
            return self._rows
        if not self.ledger.writable:
            self._rows = self._made(self.place, writable=False) if self._is_up_to_date() else self._copy()
            return self._rows
        with nullcontext() if self.ledger.in_batch() else self.ledger.hold():  # nobody replaces the file meanwhile
            if not os.path.exists(self.place):
                self._retry = time.monotonic() + _RETRY
                self._rows = self._made(TEMPORARY)
            else:
                self._rows = self._made(self.place)
        return self._rows

    def _is_up_to_date(self) -> bool:
        """Whether the tables that are there can be read as they are."""
        if not os.path.exists(self.place):
            return False
        rows = None
        try:
            rows = self._made(self.place, writable=False)
            mark, end = rows.bookmark(), self.ledger.head
            return (mark.seq, mark.hash, mark.shape) == (end.seq, end.hash, rows.shape)
        except WRONG:
            return False
        finally:
            if rows is not None:
                rows.close()

    def _copied(self, on_progress: Progress | None) -> Set:
        """The rows in a temporary database while the disk is full."""
        self._retry = time.monotonic() + _RETRY
        wrong: Exception | None = None
        for make in (self._copy, lambda: self._made(TEMPORARY)):
            self.close()
            self._rows = make()
            try:
                self._catch_up(self._rows, on_progress)
                return self._rows
            except (OSError, *WRONG) as error:
                wrong = error
        self.close()
        raise NotWritten(f"{self.place} could not be written ({wrong}); make room and try again") from wrong

    def _copy(self) -> Set:
        """A temporary database, with the rows of the file if they can be copied."""
        rows = self._made(TEMPORARY)
        if not (self.place and rows.copy_of(Path(self.place))):
            rows.close()
            rows = self._made(TEMPORARY)
        return rows

    def _catch_up(self, rows: Set, on_progress: Progress | None = None, *, mark: Bookmark | None = None) -> None:
        """Read on from the position, which is `mark`, to the end of the ledger."""
        mark = mark or rows.bookmark()
        if mark.seq > self.ledger.head.seq:
            self.ledger.refresh()  # another process may have written and followed since we looked
        end = self.ledger.head
        why = self._why_not(rows, mark)
        if why and mark.seq >= 0:
            rows.empty()
            mark = rows.bookmark()
        if why:
            self._tell(why)
        if (mark.seq, mark.hash) != (end.seq, end.hash):
            if self.place and rows.path == self.place and not self.ledger.writable:
                self.close()
                raise Stale("it is behind")  # somebody has written since it was opened
            if mark.seq + 1 < self.ledger.first:
                with rows.writing():  # one at a time; nobody waits for the ledger's lock in here
                    if rows.bookmark() == mark:
                        rows.empty()
                        self._begin_in_the_middle(rows)
                    mark = rows.bookmark()
            events = events_from(self.ledger, mark.seq + 1, on_progress)
            while some := list(islice(events, _AT_ONCE)):  # read first: nobody waits for the ledger in a transaction
                mark = rows.catch_up(some)
        self._left = mark

    def _why_not(self, rows: Set, mark: Bookmark) -> str:
        """Why the rows must be filled from the beginning; empty, if they go on."""
        if mark.seq < 0:
            return "" if self._is_new or rows.is_emptied() else self._why_none(rows)
        if mark.shape != rows.shape:
            return "it was another tallystick's"
        if self._is_in_the_chain(mark):
            return ""
        if is_hash(mark.hash):
            raise RolledBack(
                f"{self.called} has seen event {mark.seq}, and the ledger lacks it or has another:"
                " run `tallystick check`, then `tallystick restore`"
            )
        return _DAMAGED

    def _why_none(self, _: Set) -> str:
        """Why there are no rows; empty, if that is no wonder: they were never needed before."""
        return ""

    def _tell(self, why: str) -> None:
        if self.place and self._notify is not None and self.ledger.writable:
            self._notify(f"{self.called} was rebuilt from the ledger, because {why}; nothing is lost")

    def _is_in_the_chain(self, mark: Bookmark) -> bool:
        end = self.ledger.head
        if mark.seq >= end.seq:
            return (mark.seq, mark.hash) == (end.seq, end.hash)
        return mark.seq < 0 or mark == self._left or self.ledger.hash_at(mark.seq) in (None, mark.hash)

    # -- what is wrong -----------------------------------------------------------------------------------------------

    def fix(self, error: Exception, tried: int = 0) -> None:
        """Put right what caused an error, for another try. Busy or NotWritten, if nothing of ours is the cause."""
        if has_no_room(error):
            self.close()
            raise NotWritten(f"{self.place} could not be written ({error}); make room and try again") from error
        if isinstance(error, Stale):
            head = self.ledger.head.seq
            self.ledger.refresh()  # whoever is erasing those words at this moment replaces the file
            if self.ledger.head.seq != head and not tried:
                return  # another process has led the rows on, to what was not read here yet
        rows, code = self._rows, _code(error)
        if rows is None or not rows.is_in_place() or (code in _ONCE and not tried):
            self.close()  # somebody has replaced it, or the system has failed once
            return
        in_file = code in _IN_THE_FILE
        in_rows = code is None or code in _IN_THE_ROWS
        if not (in_file or in_rows):
            self.close()
            raise Busy(f"{self.called} could not be read ({error}); try again") from error
        self._is_new = True
        if in_rows:
            try:
                rows.empty()
            except sqlite3.Error:
                in_file = True
        if in_file:
            self.close()
            self.open_folder.discard_rows()
        self._tell(str(error) if isinstance(error, Stale) else _DAMAGED)


def _code(error: Exception) -> int | None:
    """SQLite's error code; None if it is ours, or Python cannot make sense of a row."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def events_from(
    ledger: Ledger, start: int, on_progress: Callable[[int], None] | None = None, *, stop: int | None = None
) -> Iterator[Event]:  # fmt: skip
    """The events from `start` on. Those that an unfinished erasure names have lost their words already."""
    going = frozenset[str]().union(*ledger.standing.erasing.values())
    for event in ledger.events(start, stop):
        if on_progress is not None:
            on_progress(1)
        yield lift(event._replace(body=None) if event.hash in going else event)
