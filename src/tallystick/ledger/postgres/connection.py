"""Connections to a database, and calls of its functions within one ledger.

Every call is one statement, and a transaction by itself unless one is open: so any connection of a pool will do, and
that of a pooler in transaction mode. Nothing is set or kept in a session; calls are prepared where none is between.

A call that failed for a moment (the server restarts, has no connection left, or gave up on two that wait for each
other) is made again by itself, as long as `timeout` allows; then it is Busy. What was lost on the way to the server or
back is not known here: whoever writes asks again, with the key of the request.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import cache
from struct import pack
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tallystick.ledger.postgres.address import place_of
from tallystick.ledger.postgres.passes import PassKey
from tallystick.records.clock import stamp
from tallystick.records.errors import Busy, Closed, Damaged, NotFound, NotWritable, NotWritten, Refused

T = TypeVar("T")
Rows = list[tuple[Any, ...]]

_PASS = 600  # seconds that a pass is valid; it is replaced after half of them
_CLOCK, _DRIFT = 60.0, 0.1  # seconds: how long the server's time is gone by, and how far clocks may part meanwhile
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_PASSING = (  # the same call may succeed in a moment
    pg.SerializationFailure, pg.DeadlockDetected, pg.CannotConnectNow, pg.TooManyConnections,
)  # fmt: skip
_PREPARED = 3  # calls of a function on a connection, after which it is prepared
_NOT_PREPARED = (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement, pg.FeatureNotSupported)
_FOR_GOOD = re.compile(  # libpq gives no code where it cannot connect; in another language it is tried again in vain
    "authentication failed|no password supplied|does not exist|not permitted to log in|no pg_hba.conf entry"
)
# What the address does not say: a server that has gone is noticed within half a minute, also while it is waited for.
_DEFAULTS: dict[str, str | int | None] = {
    "connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # fmt: skip
_SEVERAL_HOSTS: dict[str, str | int | None] = {**_DEFAULTS, "target_session_attrs": "read-write"}
# The types of the values of each function, after the ledger and its pass.
_TAKES = {
    "look": "bigint text bytea boolean text",
    "rows_by_key": "text[] bytea[] bigint",
    "rows_in": "text bytea bytea bigint boolean bigint",
    "count_in": "text bytea bytea bigint bigint",
    "row_steps": "text bytea",
    "keys_ever": "text bytea bytea",
    "lines_in": "bigint bigint bytea[] bytea[] bigint",
    "lines_of": "bigint[]",
    "write": "bigint text integer integer bytea[] bigint[] bigint[] text text bigint bytea integer text[] bytea[]"
             " bytea[] bigint[] rows",
    "fill_rows": "uuid boolean text[] bytea[] bytea[] text[] bigint[] bigint[]",
    "keep_checkpoint": "bigint text",
    "checkpoints_of": "",
    "read_settings": "",
    "write_settings": "integer text",
    "destroyed_erasures": "",
    "other_place": "",
    "move_away": "bigint text text",
    "begin_arriving": "bigint text text uuid",
    "add_arriving": "uuid bigint text text text bigint bytea[] bytea[]",
    "finish_arriving": "uuid bigint text bytea integer text[] bigint[] text bigint[] text[]",
    "forget_erasure": "bigint",
}
_ROWS = (
    "text[] bytea[] integer[] text[] bytea[] bytea[] text[] bigint[] text[] bytea[] bytea[] text[] text[] bytea[]"
)


class Lost(Exception):
    """The connection was lost in the middle of a call: whether it was carried out is not known."""


class Unanswered(Busy):
    """A call was made until time was up. `is_lost`: one of them may have been carried out."""

    def __init__(self, message: str, *, is_lost: bool = False) -> None:
        super().__init__(message)
        self.is_lost = is_lost


class ServerTime(NamedTuple):
    """A time of the server's clock, and when that was by this machine's two clocks."""

    clock: datetime
    since: float
    wall: float


_UNKNOWN = ServerTime(datetime.min, float("-inf"), 0.0)


class _Function(NamedTuple):
    """A function of the schema: the statement that calls it, and how each parameter is sent."""

    statement: bytes
    send: tuple[Callable[[Any], object] | None, ...]


@cache
def _function(name: str) -> _Function:
    types = ["uuid", "text", *_TAKES[name].replace("rows", _ROWS).split()]
    statement = f"SELECT * FROM tallystick.{name}({', '.join(f'%b::{each}' for each in types)})"
    return _Function(statement.encode(), tuple(map(_SENT_AS.get, types[2:])))


class _Array(bytes):
    """An array as PostgreSQL reads it: psycopg takes several times as long for a list."""

    item: ClassVar[int]  # the numbers of the types in the catalogue
    oid: ClassVar[int]

    @classmethod
    def of(cls, items: Sequence[bytes | str | int | None]) -> Self:
        if not items:
            return cls(pack(">iiI", 0, 0, cls.item))
        parts = [pack(">iiIii", 1, None in items, cls.item, len(items), 1)]
        for item in items:
            raw = cls.encode(item)
            parts.append(pack(">i", -1) if raw is None else pack(">i", len(raw)) + raw)
        return cls(b"".join(parts))

    @staticmethod
    def encode(item: Any) -> bytes | None:
        return item.encode() if isinstance(item, str) else item


class _Texts(_Array):
    item, oid = 25, 1009


class _Bytes(_Array):
    item, oid = 17, 1001


class _Bigints(_Array):
    item, oid = 20, 1016

    @staticmethod
    def encode(item: Any) -> bytes | None:
        return None if item is None else pack(">q", item)


class _Integers(_Array):
    item, oid = 23, 1007

    @staticmethod
    def encode(item: Any) -> bytes | None:
        return None if item is None else pack(">i", item)


_SENT_AS = {"text[]": _Texts.of, "bytea[]": _Bytes.of, "bigint[]": _Bigints.of, "integer[]": _Integers.of}


class _ArrayDumper(Dumper):
    format = psycopg.pq.Format.BINARY

    def __init__(self, kind: type[_Array], context: AdaptContext | None = None) -> None:
        super().__init__(kind, context)
        self.oid = kind.oid

    def dump(self, array: _Array) -> bytes:
        return array


class Database:
    """A pool of connections, for all ledgers of a process in one database."""

    def __init__(self, address: str, key: PassKey, *, size: int = 8, timeout: float = 30.0) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.ProgrammingError:
            raise Refused("not the address of a database; write it like postgresql://user@host/name", "name") from None
        self.timeout = timeout
        self.place = place_of(address)
        self._key, self._passes = key, dict[str, tuple[str, float]]()
        self._role = str(given.get("user") or "")
        self._has_several = "," in f"{given.get('host')}{given.get('hostaddr')}"
        self._address = make_conninfo(address, **{**(_SEVERAL_HOSTS if self._has_several else _DEFAULTS), **given})
        self._idle, self._free = list[psycopg.Connection](), threading.BoundedSemaphore(size)
        self._is_closed, self._may_prepare = False, True
        self._server_time = _UNKNOWN

    def close(self) -> None:
        """Close it. Connections that are in use are closed when they come back."""
        self._is_closed = True
        while self._idle:
            with suppress(psycopg.Error):
                self._idle.pop().close()

    def pass_for(self, subject: str) -> str:
        """A pass for a ledger's id, or for `name:` and its name."""
        found, renew = self._passes.get(subject, ("", 0.0))
        if time.time() >= renew:
            if len(self._passes) > 10_000:
                self._passes.clear()
            now = int(time.time())
            found = self._key.sign(subject, self._role, now + _PASS)
            self._passes[subject] = found, now + _PASS / 2
        return found

    def note_time(self, clock: str) -> None:
        """Keep the time that it is on the server now."""
        self._server_time = ServerTime(datetime.fromisoformat(clock), time.monotonic(), time.time())

    def time(self) -> str | None:
        """The server's time, from the last known one; None, if that is long ago, or this machine slept meanwhile."""
        known = self._server_time
        passed = time.monotonic() - known.since
        if passed > _CLOCK or abs(time.time() - known.wall - passed) > _DRIFT:
            return None
        return stamp(known.clock + timedelta(seconds=passed))

    def find(self, name: str) -> UUID:
        """The id of the ledger of that name. NotFound, if there is none."""
        statement = b"SELECT tallystick.find_ledger(%b::text, %b::text)"
        [(found,)] = self.again(lambda: self.run(statement, (name, self.pass_for(f"name:{name}"))))
        if found is None:
            raise NotFound(f"no ledger {name!r:.80} at {self.place}; run `tallystick init` with its address")
        return UUID(str(found))

    def run(self, statement: bytes, values: Sequence[object], db: psycopg.Connection | None = None) -> Rows:
        """The rows of one statement, on a connection of the pool, or on that of a transaction.

        Lost, if the connection was. It is not made again.
        """
        if db is None:
            with self.connection() as db:
                return self.run(statement, values, db)
        try:
            with db.cursor(binary=True) as cursor:
                return cursor.execute(statement, values).fetchall()
        except psycopg.Error as error:
            raise self.as_ours(error, db) from error

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """A connection that nobody else uses meanwhile. One that failed does not come back to the pool."""
        if self._is_closed:
            raise Closed(f"the database {self.place} is closed; open the memory again")
        if not self._free.acquire(timeout=self.timeout):
            raise Busy(f"all connections to {self.place} are in use; try again")
        db: psycopg.Connection | None = None
        try:
            db = self._idle.pop() if self._idle else self._connect()
            yield db
        finally:
            if db is not None and not (db.closed or db.broken or self._is_closed) and _is_idle(db):
                self._idle.append(db)
            elif db is not None:
                with suppress(psycopg.Error):
                    db.close()
            self._free.release()

    def _connect(self) -> psycopg.Connection:
        try:
            db = psycopg.connect(self._address, autocommit=True, prepare_threshold=None)
            try:
                for kind in (_Texts, _Bytes, _Bigints, _Integers):
                    db.adapters.register_dumper(kind, _ArrayDumper)
                if self._may_prepare and self._is_straight(db):
                    db.prepare_threshold = _PREPARED
            except BaseException:
                db.close()
                raise
            return db
        except psycopg.Error as error:
            why = reason(error)
            if _FOR_GOOD.search(why) and not self._has_several:
                raise Refused(f"{self.place} cannot be opened: {why}; check the address", "permission") from error
            raise _Passing(f"{self.place} cannot be reached: {why}; nothing was changed; try again") from error

    def _is_straight(self, db: psycopg.Connection) -> bool:
        """Whether no pooler is between: with one, a statement that was prepared may be another client's, or gone."""
        [(pid,)] = db.execute(b"SELECT pg_backend_pid()").fetchall()
        return bool(pid == db.info.backend_pid)

    def forget(self) -> None:
        """Close the connections that wait: the server has gone, perhaps to come back elsewhere."""
        idle, self._idle, self._server_time = self._idle, [], _UNKNOWN
        for db in idle:
            with suppress(psycopg.Error):
                db.close()

    def again(self, call: Callable[[], T]) -> T:
        """Make a call until it succeeds or time is up: one that does no harm if it is made twice."""
        until, pause, is_lost = time.monotonic() + self.timeout, _FIRST_PAUSE, False
        while True:
            try:
                return call()
            except (Lost, _Passing) as error:
                is_lost = is_lost or isinstance(error, Lost)
                if time.monotonic() + pause > until:
                    why = f"the connection to {self.place} was lost: {error}; try again" if is_lost else str(error)
                    raise Unanswered(why, is_lost=is_lost) from error
                if is_lost:
                    self.forget()
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def as_ours(self, error: psycopg.Error, db: psycopg.Connection) -> Exception:
        """The error as the program has it."""
        why = reason(error)
        if isinstance(error, _PASSING):
            return _Passing(f"{self.place} cannot do this now: {why}; nothing was changed; try again")
        if isinstance(error, _NOT_PREPARED) and db.prepare_threshold is not None:
            self._may_prepare = False
            db.close()
            return _Passing(f"{self.place} does not keep what is prepared: {why}; nothing was changed; try again")
        is_closing = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        if is_closing or db.broken or db.closed or (error.sqlstate or "").startswith(("08", "57P")):
            return Lost(why)
        if isinstance(error, pg.LockNotAvailable):
            return Busy(f"another writer of {self.place} did not finish in time; nothing was changed; try again")
        if isinstance(error, pg.QueryCanceled | pg.InFailedSqlTransaction):
            return Busy(f"{self.place} did not finish this: {why}; nothing was changed; try again")
        if isinstance(error, pg.ReadOnlySqlTransaction):
            db.close()  # the next connection may be one to the primary
            if self._has_several:
                return _Passing(f"{self.place} has no primary now: {why}; nothing was changed; try again")
            return NotWritable(f"{self.place} is a standby, or read-only; write to its primary")
        if isinstance(error, pg.DataCorrupted | pg.IndexCorrupted):
            return Damaged(f"{self.place} is damaged: {why}; restore its database from a backup")
        if isinstance(error, pg.InsufficientPrivilege):
            return Refused(f"{self.place} refuses this: {why}; check pass key, role and clock", "permission")
        if isinstance(error, pg.InvalidSchemaName | pg.UndefinedFunction | pg.UndefinedTable):
            return NotFound(f"{self.place} lacks this version's schema; run `tallystick init` with its address")
        if isinstance(error, pg.OperationalError):  # its disk is full, or fails
            return NotWritten(f"not written, and nothing was changed: {self.place}: {why}")
        return error


class _Passing(Busy):
    """It failed for a moment; nothing was changed."""


def _is_idle(db: psycopg.Connection) -> bool:
    return db.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def reason(error: psycopg.Error) -> str:
    """The first line of what the server or the library said."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class LedgerCalls:
    """Calls of the functions of `schema.sql` within one ledger: by themselves, or in the transaction that is open."""

    def __init__(self, database: Database, ledger: UUID) -> None:
        self.database, self.ledger = database, ledger
        self.count = 0  # of all calls
        self.is_snapshot = False
        self._open: tuple[int, psycopg.Connection] | None = None  # the transaction of a thread

    @property
    def is_open(self) -> bool:
        """True in a transaction of this thread."""
        return self._db is not None

    @property
    def _db(self) -> psycopg.Connection | None:
        """The connection of this thread's transaction: lines may be read in others meanwhile."""
        is_mine = self._open is not None and self._open[0] == threading.get_ident()
        return self._open[1] if is_mine and self._open is not None else None

    def is_standby(self) -> bool:
        """Whether the server follows another one."""
        statement = b"SELECT pg_is_in_recovery()"
        return self.database.again(lambda: self.database.run(statement, (), self._db)) == [(True,)]

    def rows(self, function: str, *values: object) -> Rows:
        """The result of a function that does no harm if it is called again, because the connection was lost."""
        if self._db is not None:
            try:
                return self.once(function, *values)
            except Lost as error:
                lost = f"the connection to {self.database.place} was lost"
                raise Busy(f"{lost}; nothing was changed; try again") from error
        return self.database.again(lambda: self.once(function, *values))

    def once(self, function: str, *values: object) -> Rows:
        """The result of a function. Lost, if it is not known whether it was carried out."""
        self.count += 1
        statement, send = _function(function)
        sent = [each(value) if each else value for each, value in zip(send, values, strict=True)]
        own = (self.ledger, self.database.pass_for(str(self.ledger)))
        return self.database.run(statement, (*own, *sent), self._db)

    @contextmanager
    def transaction(self, *, snapshot: bool = False) -> Iterator[None]:
        """All calls of the block are one transaction; with `snapshot`, they read what is there at the first of them.

        Lost, if it is not known whether it was committed.
        """
        assert self._open is None
        kind = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if snapshot else b"BEGIN"
        with self._begun(kind) as db:
            self._open, self.is_snapshot = (threading.get_ident(), db), snapshot
            try:
                yield
            except BaseException:
                with suppress(psycopg.Error):
                    db.execute(b"ROLLBACK", prepare=False)
                raise
            finally:
                was, self._open, self.is_snapshot = self._open, None, False
            if was is not None:
                self._finish(db)

    @contextmanager
    def _begun(self, kind: bytes) -> Iterator[psycopg.Connection]:
        def begin() -> tuple[Any, psycopg.Connection]:
            context = self.database.connection()
            db = context.__enter__()
            try:
                self.count += 1
                db.execute(kind, prepare=False)
            except psycopg.Error as error:
                context.__exit__(None, None, None)
                raise self.database.as_ours(error, db) from error
            return context, db

        context, db = self.database.again(begin)
        try:
            yield db
        finally:
            context.__exit__(None, None, None)

    def _finish(self, db: psycopg.Connection) -> None:
        try:
            self.count += 1
            db.execute(b"COMMIT", prepare=False)
        except psycopg.Error as error:
            raise self.database.as_ours(error, db) from error

    def end_snapshot(self) -> None:
        """Read what is there now: somebody writes in a block that reads."""
        if (db := self._db) is not None and self.is_snapshot:
            self._open, self.is_snapshot = None, False
            self._finish(db)


