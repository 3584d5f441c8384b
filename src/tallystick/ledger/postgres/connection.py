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
from operator import call
from queue import Empty, SimpleQueue
from struct import Struct, pack
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.adapt import Transformer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

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
    "write": "bigint text integer integer bigint text text bigint bytea bytea bytea"
             " bytea[] bytea[] bytea[] bigint[] bytea[] text[] integer bytea[] bytea[] bytea[] bigint[] bigint[]",
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
    """A function of the schema: the statement that calls it, and what makes bytes of the values of each parameter."""

    statement: bytes
    send: tuple[Callable[[Any], bytes], ...]


@cache
def _function(name: str, given: int) -> _Function:
    """The function, called with so many values: the last ones may have a default."""
    types = ["uuid", "text", *_TAKES[name].split()[:given]]
    assert len(types) == given + 2, name
    places = ", ".join(f"${number}::{each}" for number, each in enumerate(types, 1))
    what = "" if name == "write" else "* FROM "  # what gives one value is cheaper that way
    return _Function(f"SELECT {what}tallystick.{name}({places})".encode(), tuple(_SENT_AS[each] for each in types[2:]))


def _array(item: int, send: Callable[[Any], bytes]) -> Callable[[Sequence[Any]], bytes]:
    """What makes an array; `item` is the number of the type of its items in the catalogue."""

    def sent(items: Sequence[Any]) -> bytes:
        head = pack(">iiIii", 1, None in items, item, len(items), 1) if items else pack(">iiI", 0, 0, item)
        raw = items if send is bytes else [each if each is None else send(each) for each in items]
        return head + b"".join([_NULL if each is None else _integer(len(each)) + each for each in raw])

    return sent


# PostgreSQL's binary form of the values of a type.
_integer, _bigint, _NULL = Struct(">i").pack, Struct(">q").pack, pack(">i", -1)
_SENT_AS: dict[str, Callable[[Any], bytes]] = {
    "text": str.encode, "bytea": bytes, "integer": _integer, "bigint": _bigint, "boolean": Struct(">?").pack,
    "uuid": lambda value: value.bytes, "text[]": _array(25, str.encode), "bytea[]": _array(17, bytes),
    "bigint[]": _array(20, _bigint),
}  # fmt: skip


class Connection:
    """A connection on which values are sent in binary form: psycopg adapts them for longer than the server answers.

    What it waits for, how it is interrupted, and its errors are psycopg's.
    """

    def __init__(self, db: psycopg.Connection) -> None:
        self.db, self.may_prepare = db, False
        self._server, self._answer = db.pgconn, Transformer(db)
        self._uses, self._names = dict[bytes, int](), dict[bytes, bytes]()

    def rows(self, statement: bytes, values: Sequence[bytes | None] = ()) -> Rows:
        """The rows of one statement."""
        formats = [Format.BINARY] * len(values)
        if name := self._prepared(statement):
            self._server.send_query_prepared(name, values, formats, Format.BINARY)
        else:
            self._server.send_query_params(statement, values, None, formats, Format.BINARY)
        result = self._result()
        self._answer.set_pgresult(result, format=Format.BINARY)
        return self._answer.load_rows(0, result.ntuples, tuple)

    def _prepared(self, statement: bytes) -> bytes:
        """The name under which it is prepared; empty, if it is not: most are made once or twice."""
        name = self._names.get(statement, b"")
        if not name and self.may_prepare and statement.startswith(b"SELECT"):
            uses = self._uses[statement] = self._uses.get(statement, 0) + 1
            if uses > _PREPARED:
                name = b"call_%d" % len(self._names)
                self._server.send_prepare(name, statement)
                self._result()
                self._names[statement] = name
        return name

    def _result(self) -> PGresult:
        """The result of what was sent."""
        result: PGresult = self.db.wait(execute(self._server))[0]
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise pg.error_from_result(result, self.db.info.encoding)
        return result

    def is_idle(self) -> bool:
        """Whether it is open, and in no transaction."""
        return self._server.transaction_status == TransactionStatus.IDLE

    def is_lost(self) -> bool:
        return self.db.closed or self.db.broken

    def close(self) -> None:
        with suppress(psycopg.Error):
            self.db.close()


class Database:
    """A pool of connections, for all ledgers of a process in one database."""

    def __init__(self, address: str, key: PassKey, *, size: int = 8, timeout: float = 30.0) -> None:
        try:
            given = conninfo_to_dict(address)
        except psycopg.ProgrammingError:
            raise Refused("not the address of a database; write it like postgresql://user@host/name", "name") from None
        self.timeout = timeout
        self.place = place_of(address)
        self._key, self._passes = key, dict[str, tuple[bytes, float]]()
        self._role = str(given.get("user") or "")
        self._has_several = "," in f"{given.get('host')}{given.get('hostaddr')}"
        self._address = make_conninfo(address, **{**(_SEVERAL_HOSTS if self._has_several else _DEFAULTS), **given})
        self._idle, self._free = list[Connection](), SimpleQueue[None]()  # a token for each that is not in use
        for _ in range(size):
            self._free.put(None)
        self._is_closed, self._may_prepare = False, True
        self._server_time = _UNKNOWN

    def close(self) -> None:
        """Close it. Connections that are in use are closed when they come back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def pass_for(self, subject: str) -> bytes:
        """A pass for a ledger's id, or for `name:` and its name."""
        found, renew = self._passes.get(subject, (b"", 0.0))
        if time.time() >= renew:
            if len(self._passes) > 10_000:
                self._passes.clear()
            now = int(time.time())
            found = self._key.sign(subject, self._role, now + _PASS).encode()
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
        statement = b"SELECT tallystick.find_ledger($1::text, $2::text)"
        [(found,)] = self.again(lambda: self.run(statement, (name.encode(), self.pass_for(f"name:{name}"))))
        if found is None:
            raise NotFound(f"no ledger {name!r:.80} at {self.place}; run `tallystick init` with its address")
        assert isinstance(found, UUID)
        return found

    def run(self, statement: bytes, values: Sequence[bytes | None], db: Connection | None = None) -> Rows:
        """The rows of one statement, on a connection of the pool, or on that of a transaction.

        Lost, if the connection was. It is not made again.
        """
        own = None if db else self._take()
        used = db or own
        assert used is not None
        try:
            return used.rows(statement, values)
        except psycopg.Error as error:
            raise self.as_ours(error, used) from error
        finally:
            if own is not None:
                self._give_back(own)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection that nobody else uses meanwhile."""
        db = self._take()
        try:
            yield db
        finally:
            self._give_back(db)

    def _take(self) -> Connection:
        if self._is_closed:
            raise Closed(f"the database {self.place} is closed; open the memory again")
        try:
            self._free.get(timeout=self.timeout)
        except Empty:
            raise Busy(f"all connections to {self.place} are in use; try again") from None
        try:
            return self._idle.pop() if self._idle else self._connect()
        except BaseException:
            self._free.put(None)
            raise

    def _give_back(self, db: Connection) -> None:
        """One that failed does not come back to the pool."""
        if db.is_idle() and not self._is_closed:
            self._idle.append(db)
        else:
            db.close()
        self._free.put(None)

    def _connect(self) -> Connection:
        try:
            db = Connection(psycopg.connect(self._address, autocommit=True, prepare_threshold=None))
            try:
                db.may_prepare = self._may_prepare and self._is_straight(db)
            except BaseException:
                db.close()
                raise
            return db
        except psycopg.Error as error:
            why = reason(error)
            if _FOR_GOOD.search(why) and not self._has_several:
                raise Refused(f"{self.place} cannot be opened: {why}; check the address", "permission") from error
            raise _Passing(f"{self.place} cannot be reached: {why}; nothing was changed; try again") from error

    def _is_straight(self, db: Connection) -> bool:
        """Whether no pooler is between: with one, a statement that was prepared may be another client's, or gone."""
        [(pid,)] = db.rows(b"SELECT pg_backend_pid()")
        return bool(pid == db.db.info.backend_pid)

    def forget(self) -> None:
        """Close the connections that wait: the server has gone, perhaps to come back elsewhere."""
        idle, self._idle, self._server_time = self._idle, [], _UNKNOWN
        for db in idle:
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

    def as_ours(self, error: psycopg.Error, db: Connection) -> Exception:
        """The error as the program has it."""
        why = reason(error)
        if isinstance(error, _PASSING):
            return _Passing(f"{self.place} cannot do this now: {why}; nothing was changed; try again")
        if isinstance(error, _NOT_PREPARED) and db.may_prepare:
            self._may_prepare = False
            db.close()
            return _Passing(f"{self.place} does not keep what is prepared: {why}; nothing was changed; try again")
        is_closing = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        if is_closing or db.is_lost() or (error.sqlstate or "").startswith(("08", "57P")):
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


def reason(error: psycopg.Error) -> str:
    """The first line of what the server or the library said."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class LedgerCalls:
    """Calls of the functions of `schema.sql` within one ledger: by themselves, or in the transaction that is open."""

    def __init__(self, database: Database, ledger: UUID) -> None:
        self.database, self.ledger = database, ledger
        self._id, self._subject = ledger.bytes, str(ledger)
        self.count = 0  # of all calls
        self.is_snapshot = False
        self._open: tuple[int, Connection] | None = None  # the transaction of a thread

    @property
    def is_open(self) -> bool:
        """True in a transaction of this thread."""
        return self._db is not None

    @property
    def _db(self) -> Connection | None:
        """The connection of this thread's transaction: lines may be read in others meanwhile."""
        if self._open is None or self._open[0] != threading.get_ident():
            return None
        return self._open[1]

    def is_standby(self) -> bool:
        """Whether the server follows another one."""
        statement = b"SELECT pg_is_in_recovery()"
        return self.database.again(lambda: self.database.run(statement, (), self._db)) == [(True,)]

    def rows(self, function: str, *values: object) -> Rows:
        """The result of a function that does no harm if it is called again, because the connection was lost."""
        db = self._db
        if db is None:
            return self.database.again(lambda: self.once(function, values, db))
        try:
            return self.once(function, values, db)
        except Lost as error:
            lost = f"the connection to {self.database.place} was lost"
            raise Busy(f"{lost}; nothing was changed; try again") from error

    def once(self, function: str, values: Sequence[object], db: Connection | None) -> Rows:
        """The result of a function. Lost, if it is not known whether it was carried out."""
        self.count += 1
        statement, send = _function(function, len(values))
        if None in values:
            sent = [None if value is None else each(value) for each, value in zip(send, values, strict=True)]
        else:
            sent = list(map(call, send, values))
        return self.database.run(statement, [self._id, self.database.pass_for(self._subject), *sent], db)

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
                    db.rows(b"ROLLBACK")
                raise
            finally:
                was, self._open, self.is_snapshot = self._open, None, False
            if was is not None:
                self._finish(db)

    @contextmanager
    def _begun(self, kind: bytes) -> Iterator[Connection]:
        def begin() -> tuple[Any, Connection]:
            context = self.database.connection()
            db = context.__enter__()
            try:
                self.count += 1
                db.rows(kind)
            except psycopg.Error as error:
                context.__exit__(None, None, None)
                raise self.database.as_ours(error, db) from error
            return context, db

        context, db = self.database.again(begin)
        try:
            yield db
        finally:
            context.__exit__(None, None, None)

    def _finish(self, db: Connection) -> None:
        try:
            self.count += 1
            db.rows(b"COMMIT")
        except psycopg.Error as error:
            raise self.database.as_ours(error, db) from error

    def end_snapshot(self) -> None:
        """Read what is there now: somebody writes in a block that reads."""
        if self.is_snapshot and (db := self._db) is not None:
            self._open, self.is_snapshot = None, False
            self._finish(db)
