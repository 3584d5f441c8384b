"""Episodes in one SQLite file: `SQLiteMemoryStore(path=Path("./.memory"))`.

`timestamp` is UTC with microseconds, so that text order is time order; the caller's zone is kept in `content`.

A crash leaves each `put` whole or absent, and none that returned is lost. With `since_last` the mark moves in the
transaction that read the episodes: after a crash between that and applying the deltas, `since_last` does not return
them again; `consolidate(rule)`, which is cumulative and moves nothing, does.

Reads name the index they use, so that a scope of a hundred thousand episodes is read as fast as one of ten. Every index
ends in the time and, as all of SQLite's do, in the order of arrival; reading it backwards gives the newest first.

A file made elsewhere has only the documented columns. `bootstrap` reads the scope of its rows from `scope_key`,
normalises their times (a time without a zone counts as UTC), and refuses a row whose scope is ambiguous.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import islice, product
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import orjson

from tallystick.consolidate.classify import Brief, Deltas, classify
from tallystick.consolidate.filter import Filter, Row as FilterRow, parse
from tallystick.records import json as strict_json
from tallystick.records.belief import OWNER
from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.delta import Delta
from tallystick.records.episode import Episode, Scope, checked
from tallystick.records.errors import ConsolidationRuleError, Damaged, MemoryScopeError, Refused
from tallystick.records.rule import ConsolidationRule, Malformed
from tallystick.stores.sqlite_file import Shape, SQLiteStore, cell, explained

MOST_ROWS = 1_000_000
MOST_SECONDS = 60.0
_CHUNK = 500


class SQLiteMemoryStore(SQLiteStore):
    """One file of episodes. Every call may come from any thread and any event loop.

    `several` names the predicates that may have several values. A rule may match at most `most_rows` episodes and
    search for at most `most_seconds`; beyond that it is refused.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        several: frozenset[str] = frozenset(),
        most_rows: int = MOST_ROWS,
        most_seconds: float = MOST_SECONDS,
        clock: Clock = system_clock,
    ) -> None:
        super().__init__(path, SHAPE, clock)
        self._several, self._most_rows, self._most_seconds = several, most_rows, most_seconds
        self._extras: tuple[int, tuple[str, ...]] = (-1, ())
        self.findings: list[Malformed] = []  # of the run that ended last; `Deltas.findings` are a run's own

    def _build(self, conn: sqlite3.Connection, at: str) -> None:
        SHAPE.build(conn, at)
        sql = "SELECT rowid, id, scope_key, content, timestamp, metadata FROM episodes WHERE user IS NULL LIMIT ?"
        while found := conn.execute(sql, (_ROWS,)).fetchall():
            for place, *foreign in found:
                row, body = _converted(*foreign)
                conn.execute(
                    "UPDATE episodes SET scope_key = ?, content = ?, timestamp = ?, metadata = ?, user = ?, "
                    "session = ?, agent = ? WHERE rowid = ?",
                    (row.scope_key, orjson.dumps(body | orjson.loads(row.content)), *row[3:8], place),
                )

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        """Store `episode` in that scope. When this returns, it is on disk.

        An episode that names another user, session or agent than the call is refused; the default user "me" names
        nobody. The same id again is refused, unless it is the very same episode: that changes nothing.
        """
        scope = Scope(user, session, agent)
        checked(**scope._asdict())
        for name, usual in (("user", OWNER), ("session", ""), ("agent", "")):
            own, given = getattr(episode, name), getattr(scope, name)
            if own not in (usual, given):
                raise MemoryScopeError(f"the episode has {name} {own!r} and the call has {given!r}; make them agree")
        row = Row.of(episode, scope)

        def work(conn: sqlite3.Connection) -> None:
            extras = self._columns(conn)
            with self._file.turn():
                is_new = insert(conn, row, extras)
            if not is_new and not _is_there(conn, row):
                raise Refused(f"another episode has the id {row.id!r}; give this one an id of its own", "exists")

        await self._file.run(work)

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]:
        """The newest episodes of that scope, newest first; of equal times, the last to arrive. None is any."""
        if user is None:
            raise MemoryScopeError("recent needs a user: it does not read across users")
        checked(user=user, session=session, agent=agent)
        if type(limit) is not int or limit < 1:
            raise Refused(f"limit must be a whole number, 1 or more, not {limit!r}")
        sql, values = recent_query(user, session, agent, min(limit, 2**62))
        return await self._file.run(lambda conn: [_episode(row) for row in conn.execute(sql, values)])

    async def consolidate(self, rule: ConsolidationRule, *, since_last: bool = False) -> Deltas:
        """The deltas of the episodes that match `rule`, oldest first. Nothing is applied.

        It is cumulative: the same episodes are considered each time. With `since_last`, only those that arrived after
        this rule last ran so, and the mark moves in the same transaction.
        """
        deltas = await self._file.run_alone(lambda conn: self._consolidate(conn, rule, since_last))
        self.findings = deltas.findings
        return deltas

    def _consolidate(self, conn: sqlite3.Connection, rule: ConsolidationRule, since_last: bool) -> Deltas:
        if not since_last:
            return Deltas(self._classified(conn, rule, None))
        with self._file.writing(conn):  # the mark is looked up by the episode there: a VACUUM may renumber
            found = conn.execute(
                "SELECT coalesce((SELECT rowid FROM episodes WHERE episodes.id = episodes_marks.id), place) "
                "FROM episodes_marks WHERE rule_id = ?", (rule.id,),
            ).fetchone()  # fmt: skip
            deltas = Deltas(self._classified(conn, rule, found[0] if found else 0))
            conn.execute(
                "INSERT OR REPLACE INTO episodes_marks SELECT ?, coalesce(max(rowid), 0), "
                "(SELECT id FROM episodes ORDER BY rowid DESC LIMIT 1) FROM episodes", (rule.id,),
            )  # fmt: skip
        return deltas

    def _classified(
        self, conn: sqlite3.Connection, rule: ConsolidationRule, after: int | None
    ) -> Iterator[Delta | Malformed]:
        extras = SHAPE.extras(conn)
        wanted = parse(rule.when_filter, columns=extras)
        found = _searched(conn, rule.id, wanted, extras, after, at_most=self._most_rows, seconds=self._most_seconds)
        return classify(rule, found, now=self._clock(), several=self._several)

    async def stream(self, rule: ConsolidationRule) -> AsyncIterator[Delta | Malformed]:
        """`consolidate`, one at a time with findings in their place, of the episodes as they were when it began."""
        self._file.must_be_open()
        conn = await asyncio.to_thread(self._file.connect)
        try:
            found = self._classified(conn, rule, None)
            while chunk := await asyncio.to_thread(self._next, found):
                for each in chunk:
                    yield each
        finally:
            conn.close()

    def _next(self, found: Iterator[Delta | Malformed]) -> list[Delta | Malformed]:
        with explained(self.path):
            return list(islice(found, _CHUNK))

    def _columns(self, conn: sqlite3.Connection) -> tuple[str, ...]:
        """The columns that plans added, also those that another process added a moment ago."""
        shape = conn.execute("PRAGMA schema_version").fetchone()[0]
        if shape != self._extras[0]:
            self._extras = (shape, SHAPE.extras(conn))
        return self._extras[1]


# -- the rows ----------------------------------------------------------------------------------------------------------

SHAPE = Shape(
    table="episodes",
    key="id",
    documented=("id", "scope_key", "content", "timestamp", "metadata"),
    added=("user TEXT", "session TEXT", "agent TEXT"),
    statements=(
        "CREATE TABLE IF NOT EXISTS episodes (id TEXT PRIMARY KEY, scope_key TEXT NOT NULL, content BLOB NOT NULL, "
        "timestamp TEXT NOT NULL, metadata BLOB NOT NULL, user TEXT, session TEXT, agent TEXT)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_scope_ts ON episodes(scope_key, timestamp DESC)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_user ON episodes(user, timestamp)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_session ON episodes(user, session, timestamp)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_agent ON episodes(user, agent, timestamp)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_scope ON episodes(user, session, agent, timestamp)",
        "CREATE INDEX IF NOT EXISTS idx_episodes_time ON episodes(timestamp)",
        "CREATE TABLE IF NOT EXISTS episodes_marks (rule_id TEXT PRIMARY KEY, place INTEGER NOT NULL, id TEXT)",
    ),
)

_INDEX = {
    (False, False): "idx_episodes_user",
    (True, False): "idx_episodes_session",
    (False, True): "idx_episodes_agent",
    (True, True): "idx_episodes_scope",
}
_PARTS = re.compile(r"/user/(.+)/session/(.+)/agent/(.+)/\Z", re.DOTALL)
_SCOPE = ("user", "session", "agent")
_ROWS = 256
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock


class Row(NamedTuple):
    """An episode as a row."""

    id: str
    scope_key: str
    content: bytes
    timestamp: str
    metadata: bytes
    user: str
    session: str
    agent: str
    fields: dict[str, Any]  # the metadata, for the columns that plans added

    @classmethod
    def of(cls, episode: Episode, scope: Scope) -> Row:
        """Refused, if it could not be read back unchanged."""
        if not episode.id:
            raise Refused("the episode has no id; give it one", "name")
        when = episode.timestamp
        body = {
            "id": episode.id, "content": episode.content,
            "timestamp": when.isoformat() if when.tzinfo else stamp(when),
            "source_node": episode.source_node, "agent": scope.agent, "user": scope.user, "session": scope.session,
            "path": episode.path, "trust": episode.trust,
        }  # fmt: skip
        try:
            strict_json.check(body)
            strict_json.check(episode.metadata)
        except ValueError as error:
            raise Refused(f"the episode cannot be stored: {error}") from None
        written, metadata = orjson.dumps(body), orjson.dumps(episode.metadata)
        return cls(episode.id, scope.key, written, stamp(episode.timestamp), metadata, *scope, episode.metadata)


def insert(conn: sqlite3.Connection, row: Row, extras: tuple[str, ...]) -> bool:
    """Insert the row, in one statement that is a transaction of its own. False, if the id is taken."""
    names = "".join(f', "{name}"' for name in extras)
    marks = ", ?" * len(extras)
    sql = (
        "INSERT INTO episodes (id, scope_key, content, timestamp, metadata, user, session, agent"
        f"{names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?{marks}) ON CONFLICT (id) DO NOTHING"
    )
    return conn.execute(sql, (*row[:8], *(cell(row.fields.get(name)) for name in extras))).rowcount == 1


def _is_there(conn: sqlite3.Connection, row: Row) -> bool:
    """True if this very episode has the id: the same words, moment, metadata and scope."""
    sql = "SELECT user, session, agent, timestamp, content, metadata FROM episodes WHERE id = ?"
    [(*where, when, content, metadata)] = conn.execute(sql, (row.id,))
    return (
        (*where, when) == (row.user, row.session, row.agent, row.timestamp)
        and {**orjson.loads(content), "timestamp": ""} == {**orjson.loads(row.content), "timestamp": ""}
        and orjson.loads(metadata) == orjson.loads(row.metadata)
    )


def recent_query(user: str, session: str | None, agent: str | None, limit: int) -> tuple[str, list[object]]:
    """The newest episodes of a scope, newest first. None means any."""
    index = _INDEX[session is not None, agent is not None]
    given = [(name, value) for name, value in zip(_SCOPE, (user, session, agent), strict=True) if value is not None]
    sql = (
        f"SELECT content, metadata FROM episodes INDEXED BY {index} "
        f"WHERE {' AND '.join(f'{name} = ?' for name, _ in given)} ORDER BY timestamp DESC, rowid DESC LIMIT ?"
    )
    return sql, [*(value for _, value in given), limit]


def selection(wanted: Filter, extras: tuple[str, ...], after: int | None) -> tuple[str, list[object]]:
    """The episodes that may match a filter, oldest first; with `after`, those that arrived behind that place."""
    names = "".join(f', "{name}"' for name in extras)
    arrived = "" if after is None else "NOT INDEXED WHERE rowid > ? AND "
    return (
        f"SELECT content, metadata, id, scope_key, timestamp, user, session, agent{names} FROM episodes "
        f"{arrived or 'WHERE '}user IS NOT NULL AND {wanted.sql or 'TRUE'} ORDER BY timestamp, rowid",
        [*(() if after is None else (after,)), *wanted.values],
    )


def _searched(
    conn: sqlite3.Connection, rule: str, wanted: Filter, extras: tuple[str, ...], after: int | None, *, at_most: int,
    seconds: float,
) -> Iterator[Brief]:  # fmt: skip
    """The episodes that match a filter, a chunk at a time: at most so many, in at most that time, or it is refused.

    The time that the caller spends on them does not count. The connection is the search's own: it keeps its
    progress handler.
    """
    left, count, started = seconds, 0, perf_counter()
    conn.set_progress_handler(lambda: perf_counter() - started > left, _STEPS)
    too_long = ConsolidationRuleError(f"rule {rule!r} searched for longer than {seconds:g} seconds; narrow its filter")
    try:
        cursor = conn.execute(*selection(wanted, extras, after))
        while chunk := cursor.fetchmany(_ROWS):
            found = [each for row in chunk if (each := _fitting(row, wanted, extras)) is not None]
            left, count = left - (perf_counter() - started), count + len(found)
            if left < 0:
                raise too_long
            if count > at_most:
                raise ConsolidationRuleError(
                    f"rule {rule!r} matches more than {at_most:,} episodes; narrow it, or raise most_rows"
                )
            yield from found
            started = perf_counter()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_INTERRUPT:
            raise too_long from None
        raise


def _episode(row: tuple[Any, ...]) -> Episode:
    try:
        body = orjson.loads(row[0])
        words = {name: body[name] for name in _WORDS}
        return Episode(**words, timestamp=datetime.fromisoformat(body["timestamp"]), metadata=orjson.loads(row[1]))
    except (ValueError, KeyError, TypeError, Refused):
        raise _unreadable() from None


_WORDS = ("id", "content", "source_node", "agent", "user", "session", "path", "trust")

_PICKED = itemgetter(*Brief._fields[:-1])


def _fitting(row: tuple[Any, ...], wanted: Filter, extras: tuple[str, ...]) -> Brief | None:
    """The episode of a row of `selection`, in short, if it matches the filter."""
    try:
        found = Brief._make((*_PICKED(orjson.loads(row[0])), orjson.loads(row[1])))
    except (ValueError, KeyError, TypeError):
        raise _unreadable() from None
    if wanted.is_everything:
        return found
    _, _, name, key, at, user, session, agent, *added = row
    moment, extra = datetime.fromisoformat(at), dict(zip(extras, added, strict=True))
    seen = FilterRow(name, key, found.content, moment, found.metadata, extra, user, session, agent)
    return found if wanted.fits(seen) else None


def _unreadable() -> Damaged:
    return Damaged("an episode cannot be read; restore the file from a copy")


def _converted(name: str, key: str, content: bytes, timestamp: str, metadata: bytes) -> tuple[Row, dict[str, Any]]:
    """A row of another program as ours, and its content."""
    try:
        body, more = orjson.loads(content), orjson.loads(metadata)
        when = datetime.fromisoformat(timestamp)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        scope = _scope_of(key, body)
        found = Episode(
            id=name, content=body["content"], timestamp=when, metadata=more, trust=body.get("trust", "human"),
            source_node=body.get("source_node", ""), path=body.get("path", ""), **scope._asdict(),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, Refused) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise Damaged(f"episode {name!r} was made elsewhere and cannot be read ({why}); nothing was changed") from None
    return Row.of(found, scope), body


def _scope_of(key: str, body: dict[str, Any]) -> Scope:
    """The scope in a row's key. Where ids contain separators, only the reading that the episode confirms counts."""
    own = Scope(*(str(body.get(name, "")) for name in _SCOPE))
    if key in (own.key, f"/user/{own.user}/session/{own.session}/agent/{own.agent}/"):
        return own
    found = _PARTS.match(key)
    if not found or any(f"/{word}/" in part for word, part in product(("session", "agent"), found.groups())):
        raise ValueError(f"its scope_key {key!r} is ambiguous")
    return Scope(*found.groups())
