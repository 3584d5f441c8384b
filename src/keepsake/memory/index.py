"""The index of an open memory: opened when it is first needed, and kept level with the ledger.

The ledger is the truth. An index that is missing, damaged, of another shape, or behind an erasure is made anew beside
the old one and takes its place in one step; readers keep what they have open until then. An index that has seen what
the ledger has not is a witness that the ledger was rolled back, and is left as it is.

After a write the index follows in the same call. If it cannot (the disk is full, somebody else holds it), the write
stands all the same: the next one who needs the index goes on from its bookmark.

In a folder that may only be read, the index is made in memory.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from keepsake.ledger.disk import remove_all, remove_if_there
from keepsake.ledger.ledger import Ledger
from keepsake.ledger.lift import lift
from keepsake.projections.index.file import IN_MEMORY, NOTHING, SHAPE, Bookmark, IndexFile
from keepsake.projections.index.fold import Stale
from keepsake.records.errors import Busy, Damaged, KeepsakeError, NotWritten, RolledBack
from keepsake.records.event import Event

Tell = Callable[[str], None]
Tick = Callable[[int], None]
Answer = TypeVar("Answer")

FAR = 5_000  # events behind; a write does not wait for more than that
_TRIES = 3


class IndexOf:
    """One memory's index. Whoever uses it has the ledger's turn, so that one thread at a time does."""

    def __init__(self, ledger: Ledger, tell: Tell) -> None:
        self._ledger, self._tell = ledger, tell
        self._path = ledger.folder.index
        self._name = os.fspath(self._path)
        self._index: IndexFile | None = None
        self._inode = -1
        self._mark: Bookmark | None = None  # as this process left it
        self._is_bad = False

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index, self._mark, self._inode = None, None, -1

    # -- following ---------------------------------------------------------------------------------------------------

    def follow(self, events: list[Event]) -> None:
        """Take in what was just written (nothing given: whatever is new). It never fails: the next reader goes on."""
        try:
            with self._ledger.reading():
                self._follow(events)
        except (OSError, KeepsakeError, sqlite3.Error, Stale) as error:
            self._let_go(error)

    def grow_back(self) -> None:
        """Make the index that was removed with the words it held. If that fails, the next reader makes it."""
        try:
            with self._ledger.reading():
                self._make("", None)
                self.level()
        except (OSError, KeepsakeError, sqlite3.Error) as error:
            self._let_go(error)

    def _follow(self, events: list[Event]) -> None:
        if self._ledger.in_batch():
            return
        index = self._open_one()
        if index is None:
            if self._ledger.end.seq <= FAR:
                self.level()
            return
        if events and self._mark is not None and self._mark.seq == events[0].seq - 1:
            self._mark = index.catch_up(events, expected=self._mark)
        if self._mark is None or self._mark.seq < self._ledger.end.seq <= index.bookmark().seq + FAR:
            self._catch_up(index)

    def _let_go(self, error: Exception) -> None:
        """Something is wrong with the index: the next who needs it looks closer."""
        self._is_bad = _is_damage(error) or isinstance(error, Stale)
        try:
            self.close()
        except sqlite3.Error:
            self._index, self._mark = None, None

    # -- for readers -------------------------------------------------------------------------------------------------

    def level(self, tick: Tick | None = None) -> IndexFile:
        """The index, with everything in it that the ledger has. The caller has the ledger's turn."""
        if self._ledger.trouble is not None:
            raise type(self._ledger.trouble)(*self._ledger.trouble.args)
        for _ in range(_TRIES):
            try:
                return self._level(tick)
            except (sqlite3.Error, Stale) as error:
                self._let_go(error)
                if not self._is_bad:
                    raise Busy(f"the index is not to be had at this moment ({error}); try again") from error
        raise Damaged(f"{self._path} is damaged again as soon as it is made; check the disk")

    def read(self, question: Callable[[IndexFile], Answer], tick: Tick | None = None) -> Answer:
        """Put a question to the index. If it comes upon damage, that is mended, and the question is put again."""
        for last in (False, True):
            try:
                return question(self.level(tick))
            except sqlite3.Error as error:
                self._let_go(error)
                if last or not self._is_bad:
                    raise Busy(f"the index could not be read ({error}); try again") from error
        raise AssertionError("unreachable")

    def _level(self, tick: Tick | None) -> IndexFile:
        index = self._open_one() if not self._is_bad else None
        if index is None:
            index = self._make("it was damaged" if self._is_bad else "it was not there", tick)
        if not self._ledger.in_batch():
            self._catch_up(index, tick)
        return index

    def _open_one(self) -> IndexFile | None:
        """The file that is there, open; None if a new one must be made."""
        if self._index is not None and (self._inode < 0 or self._is_the_same()):
            return self._index
        self.close()
        if not self._ledger.writable or not os.path.exists(self._name) or self._ledger.in_batch():
            return None
        with self._ledger.hold():  # nobody puts another file in its place meanwhile
            return self._adopt() if os.path.exists(self._name) else None

    def _adopt(self) -> IndexFile:
        index = IndexFile(self._path)
        try:
            mark = index.bookmark()
            if mark.shape != SHAPE or mark == NOTHING:
                raise Stale
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

    def _catch_up(self, index: IndexFile, tick: Tick | None = None) -> None:
        """Read on from the bookmark to the end of the ledger."""
        end, mark = self._ledger.end, index.bookmark()
        if (mark.seq, mark.hash) != (end.seq, end.hash):
            if not self._is_in_the_chain(mark):
                raise RolledBack(
                    f"the index has seen event {mark.seq}, and the ledger has it not, or another:"
                    " run `keepsake check`, then `keepsake restore`"
                )
            mark = index.catch_up(self._events(mark.seq + 1, tick))
        self._mark = mark

    def _is_in_the_chain(self, mark: Bookmark) -> bool:
        if mark.seq > self._ledger.end.seq:
            return False
        return mark.seq < 0 or self._ledger.chain().hash_at(mark.seq) in (None, mark.hash)

    def _events(self, start: int, tick: Tick | None = None) -> Iterator[Event]:
        for event in self._ledger.events(start):
            if tick is not None:
                tick(1)
            yield lift(event)

    # -- making it anew ----------------------------------------------------------------------------------------------

    def rebuild(self, tick: Tick | None = None) -> Bookmark:
        """Make the index anew, whatever is there, and return how far it reads."""
        with self._ledger.reading():
            if self._ledger.trouble is not None:
                raise type(self._ledger.trouble)(*self._ledger.trouble.args)
            index = self._make("", tick)
            self._catch_up(index)
            return index.bookmark()

    def _make(self, why: str, tick: Tick | None) -> IndexFile:
        """A new index, in its place. Told once, if something was wrong with the old one."""
        self.close()
        if not self._ledger.writable:
            self._index = IndexFile(IN_MEMORY)
            return self._index
        for _ in range(_TRIES):
            if (index := self._make_beside(tick)) is not None:
                self._is_bad = False
                if why and self._ledger.standing.callers > 1:
                    self._tell(f"the index was made anew from the ledger, because {why}; nothing is lost")
                return index
        raise Busy(f"{self._path} could not be made anew, because others keep changing the folder; try again")

    def _make_beside(self, tick: Tick | None) -> IndexFile | None:
        """Write a new file beside the old one and put it in its place. None if what it was made from has changed."""
        disk, erasures = self._ledger.disk, self._ledger.standing.erasures
        for left in self._ledger.folder.abandoned_indexes():
            remove_if_there(disk, left)
        path = self._ledger.folder.new_index()
        try:
            os.close(disk.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            mark = self._write(path, tick)
            fd = disk.open(path, os.O_RDWR)
            try:
                disk.sync(fd)
            finally:
                disk.close(fd)
            with self._ledger.hold():
                if self._ledger.standing.erasures != erasures or not self._is_in_the_chain(mark):
                    remove_if_there(disk, path)
                    return None
                remove_all(disk, [name for name in self._ledger.folder.index_files() if name != path])
                disk.rename(path, self._path)
                disk.sync_folder(self._path.parent)
                return self._adopt()
        except FileNotFoundError:  # somebody took it for left behind
            return None
        except OSError as error:
            remove_if_there(disk, path)
            raise NotWritten(f"{self._path} could not be written: {error.strerror}; free some space") from error
        except BaseException:
            remove_if_there(disk, path)
            raise

    def _write(self, path: Path, tick: Tick | None) -> Bookmark:
        index = IndexFile(path, making=True)
        try:
            return index.catch_up(self._events(0, tick))
        finally:
            index.close()


def _is_damage(error: Exception) -> bool:
    """Whether SQLite says that the file is wrong, and not that it is busy or the disk full."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH,
                           sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT)
