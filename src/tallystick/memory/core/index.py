"""The index of an open memory: opened when it is first needed, and kept up to date with the ledger.

The ledger is the truth. An index that is missing, damaged, of another shape, or behind an erasure is rebuilt beside the
old one and replaces it in one step; readers keep what they have open until then. An index that has seen what the ledger
lacks is a witness that the ledger was rolled back, and is left as it is.

After a write the index follows in the same call. If it cannot (the disk is full, another process has it locked), the
write succeeds all the same: the next one that needs the index goes on from its bookmark.

In a read-only folder the index is built in memory; and so it is for a reader on a full disk, until there is room.

Whatever the file contains (another program's rows, half a page, nothing), a reader gets an answer from a rebuilt index,
and a writer is not affected.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from itertools import chain, islice, takewhile
from typing import TypeVar

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import remove_all, remove_if_there
from tallystick.memory.core.event_stream import events_from
from tallystick.memory.core.follower import RETRY
from tallystick.projections.database import IN_MEMORY, Stale, has_no_room
from tallystick.projections.follower import Bookmark
from tallystick.projections.index.file import CHUNK, NOTHING, SHAPE, IndexFile
from tallystick.projections.index.from_snapshot import held_now, related_now
from tallystick.projections.index.read_bookmark import is_hash
from tallystick.records.errors import (
    Busy,
    Closed,
    Damaged,
    Missing,
    NotWritable,
    NotWritten,
    RolledBack,
    TallystickError,
)
from tallystick.records.event import Event
from tallystick.records.operations import (
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    OUTCOME_PUT,
    PATH_MERGE,
    TRUST_CORROBORATE,
)
from tallystick.records.progress import Progress
from tallystick.stores.open_folder import OpenFolder

Answer = TypeVar("Answer")

FAR = 5_000  # events behind; a write does not wait for more than that
_TRIES = 3
_DAMAGED = "it was damaged"
_REMOVE_IT = (fmt.ERASE, fmt.ERASED, fmt.RESTORE, fmt.REPAIR)
_JUST = 20  # events ago

# The errors that a damaged or foreign file can cause in a reader.
_WRONG = (sqlite3.Error, Stale, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_IN_THE_FILE = (
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT,
)  # fmt: skip
_PERHAPS_IN_THE_FILE = (  # if they come again after opening it again
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
)  # fmt: skip


class IndexService:
    """One memory's index. Callers have the ledger's turn, so that one thread at a time uses it."""

    def __init__(self, folder: OpenFolder, notify: Callable[[str], None]) -> None:
        ledger = folder.ledger
        self._ledger, self._state, self._view, self._notify = ledger, folder.state, folder.view, notify
        self._path = ledger.folder.index
        self._name = os.fspath(self._path)
        self._index: IndexFile | None = None
        self._inode = -1
        self._mark: Bookmark | None = None  # as this process left it
        self._bad = ""  # what is wrong with the file that is there
        self._erasures = -1  # that the ledger had when the index was last found well
        self._made: IndexFile | None = None  # the last one that this process has made
        self._retry = 0.0  # when a disk that had no room is asked again

    def close(self) -> None:
        """Close the file, once its readers are done."""
        try:
            with self._ledger.turn():
                self._drop()
        except Closed:  # the ledger went first, or this is a forked child: nobody reads
            self._drop()

    def _drop(self) -> None:
        index, self._index, self._mark, self._inode = self._index, None, None, -1
        if index is not None:
            with suppress(sqlite3.Error):
                index.close()

    # -- following ---------------------------------------------------------------------------------------------------

    def follow(self, events: list[Event]) -> None:
        """Index what was just written (none given: whatever is new). It never fails: the next reader goes on."""
        turn = self._ledger.turn() if events else self._ledger.reading()  # the next one reads what others wrote
        self._attempt(lambda: self._follow(events), turn)

    def grow_back(self) -> None:
        """Rebuild the index that was removed with the words in it. If that fails, the next reader does."""
        self._attempt(lambda: (self._make("", None), self.level()), self._ledger.reading())

    def _attempt(self, work: Callable[[], object], turn: AbstractContextManager[None]) -> None:
        with suppress(OSError, TallystickError), turn:
            try:
                work()
            except (OSError, TallystickError, *_WRONG) as error:
                self._let_go(error)

    def _follow(self, events: list[Event]) -> None:
        index = self._open_one()
        if index is None:
            if self._ledger.end.seq <= FAR:
                self.level()
            return
        if events and self._mark is not None and self._mark.seq == events[0].seq - 1:
            self._mark = index.catch_up(events, expected=self._mark)
        end = self._ledger.end
        level = self._mark is not None and self._mark.hash == end.hash
        if not level:
            self._catch_up(index, limit=FAR)

    def _let_go(self, error: Exception, *, again: bool = False) -> bool:
        """Close an index with which something is wrong; its next user looks closer. False if it is not the file."""
        replaced = self._index is not None and self._inode >= 0 and not self._is_the_same()
        self._bad = "" if replaced else _what_is_wrong(error, again)
        self._drop()
        return replaced or bool(self._bad) or _code(error) in _PERHAPS_IN_THE_FILE

    # -- for readers -------------------------------------------------------------------------------------------------

    def level(self, on_progress: Progress | None = None) -> IndexFile:
        """The index, up to date with the ledger. The caller has the ledger's turn."""
        self._ledger.must_be_whole()
        for tried in range(_TRIES):
            try:
                return self._level(on_progress)
            except _WRONG as error:
                if not self._let_go(error, again=tried > 0):
                    raise Busy(f"the index is not available ({error}); try again") from error
        raise Damaged(f"{self._path} is damaged as soon as it is rebuilt; check the disk")

    def read(
        self, question: Callable[[IndexFile], Answer], on_progress: Progress | None = None, *, at: int | None = None
    ) -> Answer:
        """Ask the index a question, perhaps about the state `at` an event. On damage it is rebuilt and asked again."""
        for tried in range(_TRIES):
            index = self.level(on_progress)
            is_new = tried > 0 and index is self._made  # from the ledger, a moment ago
            index.times, index.ledger = self._ledger.standing.times, None if is_new else self._view()
            try:
                if at is not None and (since := index.bookmark().since) and at < since:
                    raise Missing(
                        f"the events before {since} were moved away;"
                        " put their files back into sealed/ and run `tallystick rebuild-index`"
                    )
                return question(index)
            except _WRONG as error:
                if not self._let_go(error, again=tried > 0) or tried == _TRIES - 1:
                    raise Busy(f"the index could not be read ({error}); try again") from error
        raise AssertionError("unreachable")

    def glance(self, question: Callable[[IndexFile], Answer]) -> Answer | None:
        """Ask the index a question if it is available: nobody waits for a rebuild, and nothing fails."""
        answer: Answer | None = None
        with suppress(OSError, TallystickError), self._ledger.reading():
            try:
                index = self._at_hand()
                if index is not None and self._catch_up(index, limit=FAR):
                    answer = question(index)
            except (OSError, TallystickError, *_WRONG) as error:
                self._let_go(error)
        return answer

    def _level(self, on_progress: Progress | None) -> IndexFile:
        try:
            index = self._at_hand()
            if index is None:
                index = self._make(self._bad or "it was not there", on_progress)
            self._catch_up(index, on_progress)
        except (OSError, sqlite3.Error, NotWritten) as error:
            if not isinstance(error, NotWritten) and not has_no_room(error):
                raise
            index = self._make_in_memory(on_progress)
        return index

    def _make_in_memory(self, on_progress: Progress | None) -> IndexFile:
        """An index in memory while the disk is full, from the file that is there, else from the ledger."""
        self._drop()
        index = IndexFile(IN_MEMORY)
        copied = not self._bad and index.copy_of(self._path) and index.bookmark().shape == SHAPE
        if not copied:
            index.close()
            index = IndexFile(IN_MEMORY)
        self._index, self._retry = index, time.monotonic() + RETRY
        self._catch_up(index, on_progress) if copied else self._fill(index, on_progress)
        return index

    def _at_hand(self) -> IndexFile | None:
        """The index that is open or can be opened; None if a new one must be made."""
        return self._open_one() if not self._bad or self._is_in_memory() else None

    def _is_in_memory(self) -> bool:
        """Whether the index that is open is in memory, and may go on being so."""
        in_memory = self._index is not None and self._inode < 0
        return in_memory and (not self._ledger.writable or time.monotonic() < self._retry)

    def _open_one(self) -> IndexFile | None:
        """The file that is there, open; None if a new one must be made."""
        if self._is_in_memory() or (self._index is not None and self._inode >= 0 and self._is_the_same()):
            return self._index
        self._drop()
        if not self._ledger.writable:
            return None
        if self._ledger.in_batch():
            return self._adopt()
        with self._ledger.hold():  # nobody puts another file in its place meanwhile, so none is missed for a moment
            return self._adopt()

    def _adopt(self) -> IndexFile | None:
        if not os.path.exists(self._name):
            return None
        if not os.path.isfile(self._name):
            raise Stale("it was no file")
        index = IndexFile(self._path)
        try:
            mark = index.bookmark()
            if mark == NOTHING:
                raise Stale("it was empty")
            if mark.shape != SHAPE:
                raise Stale("it was another tallystick's")
        except BaseException:
            index.close()
            raise
        self._index, self._inode = index, os.stat(self._name).st_ino
        return index

    def _is_the_same(self) -> bool:
        try:
            return os.stat(self._name).st_ino == self._inode
        except FileNotFoundError:
            return False

    def _catch_up(
        self, index: IndexFile, on_progress: Progress | None = None, *, limit: int | None = None
    ) -> bool:  # fmt: skip
        """Read on from the bookmark to the end of the ledger. False, if that is more than `limit` events away."""
        mark = index.bookmark()
        if limit is not None and self._ledger.end.seq > mark.seq + limit:
            return False
        if mark.seq > self._ledger.end.seq:
            self._ledger.refresh()  # another process may have written and followed since we looked
        end = self._ledger.end
        if (mark.seq, mark.hash) != (end.seq, end.hash):
            if not self._is_in_the_chain(mark):
                if not is_hash(mark.hash):
                    raise Stale(_DAMAGED)
                raise RolledBack(
                    f"the index has seen event {mark.seq}, and the ledger lacks it or has another:"
                    " run `tallystick check`, then `tallystick restore`"
                )
            events = events_from(self._ledger, mark.seq + 1, on_progress)
            while some := list(islice(events, CHUNK)):  # read first: nobody waits for the ledger inside a transaction
                mark = index.catch_up(some)
        self._mark, self._erasures = mark, self._ledger.standing.erasures
        return True

    def _is_in_the_chain(self, mark: Bookmark) -> bool:
        if mark.seq > self._ledger.end.seq:
            return False
        return mark.seq < 0 or self._ledger.chain().hash_at(mark.seq) in (None, mark.hash)

    # -- rebuilding --------------------------------------------------------------------------------------------------

    def rebuild(self, on_progress: Progress | None = None) -> Bookmark:
        """Rebuild the index, whatever is there, and return its bookmark."""
        with self._ledger.reading():
            self._ledger.must_be_whole()
            if not self._ledger.writable:
                raise NotWritable(f"{self._path} cannot be written here; recall builds one in memory")
            self._make("", on_progress)
            return self.level().bookmark()

    def _make(self, why: str, on_progress: Progress | None) -> IndexFile:
        """A new index, in its place. Notifies once, if something was wrong with the old one."""
        self._drop()
        if not self._ledger.writable:
            self._bad, self._index = "", IndexFile(IN_MEMORY)
            self._fill(self._index, on_progress)
            return self._index
        index = self._make_beside(on_progress) or self._make_beside(on_progress)
        if index is None:
            with self._ledger.hold():  # others keep changing the folder: now they wait
                index = self._make_beside(on_progress)
        if index is None:
            raise Busy(f"{self._path} could not be rebuilt, because others keep changing the folder; try again")
        self._made = index
        wrong, self._bad = self._bad or (why and not self._is_no_wonder()), ""
        if wrong:
            self._notify(f"the index was rebuilt from the ledger, because {why}; nothing is lost")
        return index

    def _is_no_wonder(self) -> bool:
        """Whether a missing index is expected: an erasure, a restore or a repair has just removed it, or this is the
        first write."""
        chain = self._ledger.chain()
        if -1 < self._erasures < self._ledger.standing.erasures:
            return True
        if any(line.op in _REMOVE_IT for line in chain.lines(max(self._ledger.end.seq - _JUST, chain.first))):
            return True
        return chain.first == 0 and all(line.batch <= 1 or line.op == fmt.SNAPSHOT for line in chain.lines(1))

    def _make_beside(self, on_progress: Progress | None) -> IndexFile | None:
        """Write a new file and put it in place of the old one. None if the ledger has changed meanwhile."""
        disk, erasures = self._ledger.disk, self._ledger.standing.erasures
        for left in self._ledger.folder.abandoned_indexes():
            remove_if_there(disk, left)
        path = self._ledger.folder.new_index()
        try:
            os.close(disk.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            with closing(IndexFile(path, making=True)) as index:
                mark = self._fill(index, on_progress)
            fd = disk.open(path, os.O_RDWR)
            try:
                disk.sync(fd)
            finally:
                disk.close(fd)
            with self._ledger.hold():
                if self._ledger.standing.erasures != erasures or not self._is_in_the_chain(mark):
                    remove_if_there(disk, path)
                    return None
                self._clear_the_place()
                disk.rename(path, self._path)
                disk.sync_folder(self._path.parent)
                return self._adopt()
        except FileNotFoundError:  # somebody took it for left behind
            return None
        except BaseException as error:
            remove_if_there(disk, path)
            if isinstance(error, OSError) or has_no_room(error):
                why = (isinstance(error, OSError) and error.strerror) or error
                raise NotWritten(f"{self._path} could not be written: {why}; make room and try again") from error
            raise

    def _clear_the_place(self) -> None:
        """Remove the old index and SQLite's files of it. What others are making is theirs; a folder is kept."""
        disk = self._ledger.disk
        there = [path for path in self._ledger.folder.index_files() if path.name.startswith(f"{self._path.name}-")]
        for path in [self._path, *there]:
            if path.is_dir() and not path.is_symlink():
                disk.rename(path, path.with_name(f"{path.name}.aside-{os.urandom(4).hex()}"))
        remove_all(disk, [self._path, *there])

    def _fill(self, index: IndexFile, on_progress: Progress | None) -> Bookmark:
        """Everything from the first event on; if that was moved away, the current state and what came since."""
        first, end = self._ledger.chain().first, self._ledger.end
        if first == 0:
            return index.catch_up(events_from(self._ledger, 0, on_progress))
        until_then = takewhile(lambda event: event.seq <= end.seq, events_from(self._ledger, first, on_progress))
        kept = (EPISODE_PUT, OUTCOME_PUT, EPISODE_FADE, EPISODE_RETRACT, PATH_MERGE, TRUST_CORROBORATE)
        since = (event for event in until_then if event.op in kept)
        mark = Bookmark(end.seq, end.hash, SHAPE, self._state.work.clock, end.seq)
        held = chain(held_now(self._state), since, related_now(self._state))
        return index.plant(held, mark, self._ledger.standing.begun)


def _what_is_wrong(error: Exception, again: bool) -> str:
    """What is wrong with the file, if it is the file: a busy index and a full disk are not damage."""
    if isinstance(error, Stale):
        return str(error) or _DAMAGED
    if isinstance(error, OSError | TallystickError):
        return ""
    code = _code(error)
    return _DAMAGED if code is None or code in _IN_THE_FILE or (again and code in _PERHAPS_IN_THE_FILE) else ""


def _code(error: Exception) -> int | None:
    """SQLite's error code; None if it is Python that cannot make sense of a row."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF
