"""One SQLite file, open: what the stand-alone stores share.

Acknowledged means on disk: every commit is synced before its call returns. A crash leaves each transaction whole or
absent. One writer at a time: threads of this process queue at `_lock_for(path)`, processes at SQLite's own lock.

Work runs on a thread of the store's own, one call after another, over one connection that is kept open. A call may come
from any thread and any event loop; a call that is cancelled while it runs is carried out all the same. Long reading is
done aside, over a connection of its own, and holds nobody up. A forked child must open the store anew.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from tallystick.projections.database import run_patiently
from tallystick.records.errors import (
    Busy,
    Closed,
    Damaged,
    NotFound,
    NotWritable,
    NotWritten,
    Refused,
    TallystickError,
)

PATIENCE = 30.0  # seconds that a write waits for its turn

PRAGMAS = (
    f"PRAGMA busy_timeout={int(PATIENCE * 1000)}",  # first: the next one may have to wait
    "PRAGMA journal_mode=WAL",  # readers do not wait for the writer
    "PRAGMA synchronous=FULL",  # a commit is on disk when it returns
    "PRAGMA foreign_keys=ON",
    "PRAGMA cache_size=-8000",  # 8 MB
)

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_NO_ENTRY = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}

_LOCKS: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
_LOCKS_LOCK = threading.Lock()

T = TypeVar("T")
Look = Callable[[sqlite3.Connection], None]


def _lock_for(path: Path) -> threading.Lock:
    """The lock that every writer of this process takes before it writes to `path`, however the path is spelled."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(os.path.realpath(path), threading.Lock())


def _restart() -> None:
    """In a forked child: a lock that some thread of the parent held would be held for ever."""
    global _LOCKS_LOCK
    _LOCKS_LOCK = threading.Lock()
    _LOCKS.clear()


os.register_at_fork(after_in_child=_restart)


class SQLiteFile:
    """`verify` looks at a connection that was just opened, before anything is set on it, and refuses a foreign file."""

    def __init__(self, path: Path | str, verify: Look) -> None:
        self.path = checked_path(path)
        self._verify = verify
        self._lock = _lock_for(self.path)
        self._pid = os.getpid()
        self._open: list[sqlite3.Connection] = []  # one, or none yet
        self._inode = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tallystick-store")
        self._end = weakref.finalize(self, _let_go, self._worker, self._open, self._pid)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` over the open connection, when it is its turn."""
        self.must_be_open()
        try:
            done = asyncio.get_running_loop().run_in_executor(self._worker, self._run, work)
        except RuntimeError:  # closed by another thread a moment ago
            raise self._closed() from None
        return await done

    async def run_aside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` over a connection of its own, beside all others. For what takes long."""
        self.must_be_open()
        return await asyncio.to_thread(self._run_aside, work)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with telling(self.path):
            if self._open and inode(self.path) != self._inode:  # another file took its place: that one is the store
                self._open.pop().close()
            if not self._open:
                self._open.append(self.connect())
                self._inode = inode(self.path)
            return work(self._open[0])

    def _run_aside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with telling(self.path):
            conn = self.connect()
            try:
                return work(conn)
            finally:
                conn.close()

    async def make(self, fit: Look, build: Callable[[sqlite3.Connection], None]) -> None:
        """Make the file and the folders above it where they are missing, and `build` in one transaction.

        Making it again changes nothing. A file that does not `fit` is refused, and left as it is.
        """
        self.must_be_open()
        await asyncio.to_thread(self._make, fit, build)

    def _make(self, fit: Look, build: Callable[[sqlite3.Connection], None]) -> None:
        with telling(self.path):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            conn = self.connect(fit)
            try:
                with self.writing(conn):
                    build(conn)
            finally:
                conn.close()

    def connect(self, verify: Look | None = None) -> sqlite3.Connection:
        """A connection of the caller's own, on a file that is there."""
        if not self.path.exists():
            raise NotFound(f"{self.path}: there is no store yet; call bootstrap() first")
        conn = open_file(self.path, timeout=PATIENCE)
        try:
            (verify or self._verify)(conn)
            for pragma in PRAGMAS:
                run_patiently(conn, pragma)
        except BaseException:
            conn.close()
            raise
        return conn

    @contextmanager
    def writing(self, conn: sqlite3.Connection) -> Iterator[None]:
        """One transaction, which nobody else can write in. All of it happens, or nothing."""
        with self.turn():
            conn.execute("BEGIN IMMEDIATE")
            try:
                yield
                conn.execute("COMMIT")
            except BaseException:
                if conn.in_transaction:
                    conn.execute("ROLLBACK")
                raise

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Be the only writer of this process."""
        if not self._lock.acquire(timeout=PATIENCE):
            raise Busy(f"{self.path}: another thread has been writing for {PATIENCE:g} seconds; try again")
        try:
            yield
        finally:
            self._lock.release()

    def must_be_open(self) -> None:
        if not self._end.alive:
            raise self._closed()
        if os.getpid() != self._pid:
            raise Closed(f"{self.path}: this store was opened before the process forked; open it anew", "forked")

    def _closed(self) -> Closed:
        return Closed(f"{self.path}: this store was closed; open it anew")

    async def close(self) -> None:
        """Finish what is under way, and let go of the file. Closing twice is the same as closing once."""
        if self._end.alive and os.getpid() == self._pid:
            await asyncio.to_thread(self._worker.shutdown)
            self._end()


def _let_go(worker: ThreadPoolExecutor, opened: list[sqlite3.Connection], pid: int) -> None:
    """In a forked child nothing is touched: closing there would drop the parent's locks."""
    if os.getpid() != pid:
        return
    worker.shutdown(wait=False)
    while opened:
        opened.pop().close()


def open_file(path: Path, *, timeout: float) -> sqlite3.Connection:
    """A connection to a file that is there. None is made."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def checked_path(path: Path | str) -> Path:
    """A path that a file can have."""
    path = Path(path)
    if "\0" in str(path):
        raise Refused(f"no file can be called {str(path)!r}: it holds a NUL", "text")
    if str(path) in (".", ":memory:"):
        raise Refused("a store is a file: name one, for example Path('./.memory')", "name")
    return path


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """What SQLite and the system say, as errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise told(error, path) from error
    except UnicodeEncodeError:
        raise Refused("a lone surrogate is no character: nothing can be called that", "text") from None
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        if isinstance(error, PermissionError | NotADirectoryError | IsADirectoryError | FileExistsError):
            raise NotWritable(f"{error.filename or path}: {said}; name another file, or ask its owner") from error
        raise NotWritten(f"{error.filename or path}: {said}; make room or check the disk, then try again") from error


def told(error: sqlite3.Error, path: Path) -> TallystickError:
    """The same, by its code. What is wrong with the request itself keeps SQLite's words."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    said = " ".join(str(error).split())
    if code in _BUSY:
        return Busy(f"{path}: another process is writing; try again")
    if code in _BROKEN:
        return Damaged(f"{path}: {said}; restore it from a copy, or name another file")
    if code in _NO_ENTRY:
        return NotWritable(f"{path}: {said}; name another file, or ask its owner")
    if code in _NO_ROOM:
        return NotWritten(f"{path}: {said}; make room or check the disk, then try again")
    return Refused(f"{path}: {said}; nothing was changed", "mismatch")


class OneFile(ABC):
    """A store that is one such file. `async with` makes it if need be, and lets go of it."""

    _file: SQLiteFile

    @abstractmethod
    async def bootstrap(self) -> None:
        """Make the file, its folders and its tables."""

    @property
    def path(self) -> Path:
        return self._file.path

    async def close(self) -> None:
        """Let go of the file. Closing twice is the same as closing once."""
        await self._file.close()

    async def __aenter__(self) -> Self:
        await self.bootstrap()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"
