"""One SQLite file that is a store: opening it, writing to it, its tables and their versions, its health.

Acknowledged means on disk: every commit is synced before its call returns. A crash leaves each transaction whole or
absent. One writer at a time: threads of this process queue at `_lock_for(path)`, processes at SQLite's own lock.

Work runs on a thread of the store's own, one call after another, over one connection that stays open. A call may come
from any thread and any event loop; a call that is cancelled while it runs is completed all the same. Long reads use a
connection of their own and block nobody. A forked child must open the store again.

Every table is created with IF NOT EXISTS and in one transaction, so creating it twice is the same as creating it once.
A version is written in the same transaction as the columns that it adds.
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
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import orjson

from tallystick.projections.database import run_patiently
from tallystick.records.clock import Clock, stamp
from tallystick.records.errors import (
    Busy,
    Closed,
    Damaged,
    MigrationNotSupported,
    NotFound,
    NotWritable,
    NotWritten,
    Refused,
    TallystickError,
)
from tallystick.records.health import ADD_COLUMN_ONLY, GOING_BACK, Column, MigrationPlan, StoreHealth, columns_of
from tallystick.stores.places import is_remote, kind_of

TIMEOUT = 30.0  # seconds that a write waits for its turn

PRAGMAS = (
    f"PRAGMA busy_timeout={int(TIMEOUT * 1000)}",  # first: the next one may have to wait
    "PRAGMA journal_mode=WAL",  # readers do not wait for the writer
    "PRAGMA synchronous=FULL",  # a commit is on disk when it returns
    "PRAGMA foreign_keys=ON",
    "PRAGMA cache_size=-8000",  # 8 MB
)

FIRST = 1

_OF_SQLITE = ("rowid", "_rowid_", "oid")  # a column so named would hide SQLite's own
_NO_STORE = "no store here yet; call bootstrap() first"

_ERRORS: tuple[tuple[set[int], type[TallystickError], str], ...] = (
    ({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}, Busy,
     "another process is writing; try again"),
    ({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}, Damaged,
     "{reason}; restore it from a copy, or name another file"),
    ({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN}, NotWritable,
     "{reason}; name another file, or ask its owner"),
    ({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}, NotWritten, "{reason}; free some space, then try again"),
)  # fmt: skip

_LOCKS: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
_LOCKS_LOCK = threading.Lock()

T = TypeVar("T")
Check = Callable[[sqlite3.Connection], None]


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
    """`verify` checks a connection that was just opened, before anything is set on it, and refuses a foreign file."""

    def __init__(self, path: Path | str, verify: Check) -> None:
        self.path = Path(path)
        if "\0" in str(path):
            raise Refused(f"a file name cannot contain NUL: {str(path)!r}", "text")
        if str(self.path) in (".", ":memory:"):
            raise Refused("a store is a file: name one, for example Path('./.memory')", "name")
        self._verify = verify
        self._lock = _lock_for(self.path)
        self._pid = os.getpid()
        self._open: list[sqlite3.Connection] = []  # one, or none yet
        self._inode = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tallystick-store")
        self._end = weakref.finalize(self, _release, self._worker, self._open, self._pid)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` over the open connection, when it is its turn."""
        self.must_be_open()
        try:
            done = asyncio.get_running_loop().run_in_executor(self._worker, self._run, work)
        except RuntimeError:  # closed by another thread a moment ago
            raise self._closed() from None
        return await done

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with explained(self.path):
            if self._open and _inode(self.path) != self._inode:  # another file took its place: that one is the store
                self._open.pop().close()
            if not self._open:
                self._open.append(self.connect())
                self._inode = _inode(self.path)
            return work(self._open[0])

    async def run_alone(self, work: Callable[[sqlite3.Connection], T], verify: Check | None = None) -> T:
        """Do `work` over a connection of its own, while others go on. For what takes long."""
        self.must_be_open()
        return await asyncio.to_thread(self._run_alone, work, verify)

    def _run_alone(self, work: Callable[[sqlite3.Connection], T], verify: Check | None) -> T:
        with explained(self.path), closing(self.connect(verify)) as conn:
            return work(conn)

    def create(self) -> None:
        """Create the file and the folders above it where they are missing."""
        with explained(self.path):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # to close one that this process has locked would unlock it
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def connect(self, verify: Check | None = None) -> sqlite3.Connection:
        """A connection of the caller's own, on an existing file."""
        with explained(self.path):
            if not self.path.exists():
                raise NotFound(f"{self.path}: {_NO_STORE}")
            conn = _connect(self.path, timeout=TIMEOUT)
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
        """One transaction, in which nobody else can write. All of it happens, or nothing."""
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
        if not self._lock.acquire(timeout=TIMEOUT):
            raise Busy(f"{self.path}: another thread has been writing for {TIMEOUT:g} seconds; try again")
        try:
            yield
        finally:
            self._lock.release()

    def must_be_open(self) -> None:
        if not self._end.alive:
            raise self._closed()
        if os.getpid() != self._pid:
            raise Closed(f"{self.path}: the store was opened before the process forked; open it again", "forked")

    def _closed(self) -> Closed:
        return Closed(f"{self.path}: the store is closed; open it again")

    async def close(self) -> None:
        """Finish what is running, and close the file. Closing twice is the same as closing once."""
        if self._end.alive and os.getpid() == self._pid:
            await asyncio.to_thread(self._worker.shutdown)
            self._end()


def _release(worker: ThreadPoolExecutor, opened: list[sqlite3.Connection], pid: int) -> None:
    """In a forked child nothing is touched: closing there would drop the parent's locks."""
    if os.getpid() != pid:
        return
    worker.shutdown(wait=False)
    while opened:
        opened.pop().close()


def _connect(path: Path, *, timeout: float) -> sqlite3.Connection:
    """A connection to an existing file. None is created."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Errors of SQLite and the system, as errors of tallystick."""
    try:
        yield
    except sqlite3.Error as error:
        code, reason = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR), " ".join(str(error).split())
        raise sqlite_error(path, code, reason) or Refused(
            f"{path}: {reason}; nothing was changed", "mismatch"
        ) from error
    except UnicodeEncodeError:
        raise Refused("the text contains a lone surrogate, which UTF-8 cannot hold; remove it", "text") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if isinstance(error, PermissionError | NotADirectoryError | IsADirectoryError | FileExistsError):
            raise NotWritable(f"{error.filename or path}: {reason}; name another file, or ask its owner") from error
        raise NotWritten(f"{error.filename or path}: {reason}; free some space, then try again") from error


def sqlite_error(path: Path | str, code: int, reason: str) -> TallystickError | None:
    """The error that SQLite's code stands for; None, if the request itself is wrong."""
    for codes, kind, way in _ERRORS:
        if code & 0xFF in codes:
            return kind(f"{path}: {way.format(reason=reason)}")
    return None


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that a store's main table must have, and the statements that create the rest of the file."""

    table: str
    key: str
    documented: tuple[str, ...]
    added: tuple[str, ...]  # further columns, each with its type: may be missing in a file made elsewhere
    statements: tuple[str, ...]
    counted: str = ""  # which rows are current
    foreign: tuple[str, ...] = ()  # the columns of a table with another key, which the store's `build` converts

    @property
    def versions(self) -> str:
        return f"{self.table}_versions"

    @property
    def _added_names(self) -> set[str]:
        return {each.split()[0] for each in self.added}

    def verify(self, conn: sqlite3.Connection) -> None:
        """Refused, unless the store is here and has its shape. Changes nothing."""
        names = columns(conn, self.table)
        if not names:
            raise NotFound(f"{_name(conn)}: {_NO_STORE}")
        self.fit(conn)
        if not self._added_names <= names or not columns(conn, self.versions):
            raise NotFound(f"{_name(conn)}: made elsewhere, or by an older version; call bootstrap() first")

    def fit(self, conn: sqlite3.Connection) -> None:
        """Refused, if a table of that name is there and is not ours. Changes nothing."""
        rows = conn.execute(f"PRAGMA table_info({self.table})").fetchall()
        if not rows or self.is_foreign(conn):
            return
        names = {name for _, name, *_ in rows}
        missing = [name for name in self.documented if name not in names]
        known = {*self.documented, *self._added_names}
        demanded = [name for _, name, _, needed, usual, _ in rows if needed and usual is None and name not in known]
        keyed = {name for _, name, *_, key in rows if key}
        if missing or demanded or self.key not in keyed:
            why = f"no column {missing[0]!r}" if missing else f"{(demanded or ['its key'])[0]!r} is not ours"
            raise Refused(
                f"{_name(conn)}: the table {self.table!r} has another shape ({why}); name another file", "mismatch"
            )

    def is_foreign(self, conn: sqlite3.Connection) -> bool:
        """True if the table was made elsewhere with another key, and is still to be converted."""
        names = columns(conn, self.table)
        return bool(self.foreign) and self.key not in names and names >= set(self.foreign)

    def build(self, conn: sqlite3.Connection, at: str) -> None:
        """Create what is missing, inside the caller's transaction."""
        self.fit(conn)
        there = columns(conn, self.table)
        for each in self.added if there else ():
            if each.split()[0] not in there:
                conn.execute(f"ALTER TABLE {self.table} ADD COLUMN {each}")
        for statement in self.statements:
            conn.execute(statement)
        conn.execute(
            f"CREATE TABLE IF NOT EXISTS {self.versions} "
            "(version INTEGER PRIMARY KEY, columns BLOB NOT NULL, at TEXT NOT NULL)"
        )
        conn.execute(f"INSERT OR IGNORE INTO {self.versions} VALUES (?, ?, ?)", (FIRST, b"[]", at))

    def version(self, conn: sqlite3.Connection) -> int:
        return int(conn.execute(f"SELECT coalesce(max(version), 0) FROM {self.versions}").fetchone()[0])

    def extras(self, conn: sqlite3.Connection) -> tuple[str, ...]:
        """The columns that plans added, in their order."""
        rows = conn.execute(f"SELECT columns FROM {self.versions} ORDER BY version")
        return tuple(name for (names,) in rows for name in orjson.loads(names))

    def checked_plan(self, plan: MigrationPlan) -> list[Column]:
        if type(plan.target_version) is not int or plan.target_version < FIRST:
            raise MigrationNotSupported(f"target_version must be a whole number, {FIRST} or more", ADD_COLUMN_ONLY)
        return columns_of(plan, table=self.table)

    def migrate(self, conn: sqlite3.Connection, plan: MigrationPlan, at: str) -> None:
        """Add the plan's columns and its version, inside the caller's transaction. An existing version stays."""
        wanted, now = self.checked_plan(plan), self.version(conn)
        if plan.target_version < now:
            raise MigrationNotSupported(f"the store is at version {now}; it cannot go back", GOING_BACK)
        names = [column.name for column in wanted]
        if plan.target_version == now:
            [(had,)] = conn.execute(f"SELECT columns FROM {self.versions} WHERE version = ?", (now,))
            if orjson.loads(had) != names:
                raise MigrationNotSupported(
                    f"version {now} already has other columns; use a higher version", ADD_COLUMN_ONLY
                )
            return
        there = {name.lower() for name in columns(conn, self.table)} | set(_OF_SQLITE)
        for column in wanted:
            if column.name.lower() in there:
                raise MigrationNotSupported(
                    f"the column {column.name!r} already exists; choose another name", ADD_COLUMN_ONLY
                )
            conn.execute(f'ALTER TABLE {self.table} ADD COLUMN "{column.name}" {column.type}')
            there.add(column.name.lower())
        row = (plan.target_version, orjson.dumps(names), at)
        conn.execute(f"INSERT INTO {self.versions} VALUES (?, ?, ?)", row)


def columns(conn: sqlite3.Connection, table: str) -> set[str]:
    return {name for _, name, *_ in conn.execute(f"PRAGMA table_info({table})")}


def _name(conn: sqlite3.Connection) -> str:
    return str(conn.execute("PRAGMA database_list").fetchone()[2] or "the file")


def cell(value: object) -> object:
    """A value of some metadata, as a column that a plan added stores it."""
    if value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    return orjson.dumps(value).decode()


class SQLiteStore(ABC):
    """A store that is one such file. `async with` creates it if need be, and closes it."""

    def __init__(self, path: Path | str, shape: Shape, clock: Clock) -> None:
        self._file, self._shape, self._clock = SQLiteFile(path, shape.verify), shape, clock

    @abstractmethod
    def _build(self, conn: sqlite3.Connection, at: str) -> None:
        """Create the tables, and convert those of a file made elsewhere, inside the caller's transaction."""

    async def bootstrap(self) -> None:
        """Create the file and its tables, or convert a file made elsewhere. One that does not fit is left as it is."""
        at = stamp(self._clock())

        def build(conn: sqlite3.Connection) -> None:
            with self._file.writing(conn):
                self._build(conn, at)

        self._file.must_be_open()
        await asyncio.to_thread(self._file.create)
        await self._file.run_alone(build, self._shape.fit)

    async def health(self) -> StoreHealth:
        """The health of the store. Creates nothing, waits for nobody; a damaged or missing file is a finding."""
        self._file.must_be_open()
        return await asyncio.to_thread(_health_of, self.path, self._shape)

    async def migrate(self, plan: MigrationPlan) -> None:
        """Add the plan's columns, which may be empty, and its version. Later metadata fills them."""
        self._shape.checked_plan(plan)
        await self._write(lambda conn, at: self._shape.migrate(conn, plan, at))

    async def _write(self, work: Callable[[sqlite3.Connection, str], None]) -> None:
        """Do `work` in one transaction; it is given the connection and the time."""

        def in_one(conn: sqlite3.Connection) -> None:
            with self._file.writing(conn):
                work(conn, stamp(self._clock()))

        await self._file.run(in_one)

    @property
    def path(self) -> Path:
        return self._file.path

    async def close(self) -> None:
        """Close the file. Closing twice is the same as closing once."""
        await self._file.close()

    async def __aenter__(self) -> Self:
        await self.bootstrap()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"


def _health_of(path: Path, shape: Shape) -> StoreHealth:
    kind = kind_of(path)
    warnings = [f"{path} is on a network file system ({kind}): locks may not work there"] if is_remote(kind) else []
    try:
        with explained(path):
            if not path.exists():
                raise NotFound(f"{path}: {_NO_STORE}")
            if path.is_dir():
                raise Refused(f"{path} is a folder; name a file in it", "place")
            with closing(_connect(path, timeout=0)) as conn:
                shape.verify(conn)
                count = conn.execute(f"SELECT count(*) FROM {shape.table} {shape.counted}").fetchone()[0]
                version, lock = shape.version(conn), _lock_state(conn)
    except TallystickError as error:
        return StoreHealth(ok=False, version=0, fs_type=kind, lock_state="free", warnings=[*warnings, str(error)])
    return StoreHealth(ok=True, version=version, fragment_count=count, fs_type=kind, lock_state=lock, warnings=warnings)


def _lock_state(conn: sqlite3.Connection) -> str:
    try:
        conn.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        return "held" if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY else "free"
    conn.execute("ROLLBACK")
    return "free"
