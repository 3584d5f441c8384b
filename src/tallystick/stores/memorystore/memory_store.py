"""Episodes in one SQLite file: `SQLiteMemoryStore(path=Path("./.memory"))`.

The table is the documented one, with three more columns:

    episodes(id PRIMARY KEY, scope_key, content, timestamp, metadata,     content: JSON of the episode; metadata: JSON
             user, session, agent)                                        compared exactly, never by pattern
    episodes_marks(rule_id PRIMARY KEY, place, id)                        how far `since_last` has read, by arrival
    episodes_versions(version PRIMARY KEY, columns, at)                   the columns that plans added

`timestamp` is UTC with microseconds, so that text order is time order; the caller's zone is kept in `content`.

A crash leaves each `put` whole or absent, and none that returned is lost. With `since_last` the mark moves in the
transaction that read the episodes: after a crash between that and applying the deltas, `since_last` does not return
them again; `consolidate(rule)`, which is cumulative and moves nothing, does.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path

from tallystick.consolidate.classify import Deltas, classify
from tallystick.records.clock import Clock, system_clock
from tallystick.records.delta import Delta
from tallystick.records.episode import Episode
from tallystick.records.errors import MemoryScopeError, Refused
from tallystick.records.extraction import Malformed
from tallystick.records.rule import ConsolidationRule
from tallystick.records.scope import Scope, checked
from tallystick.stores.memorystore import episodes as rows
from tallystick.stores.sqlite_file import SQLiteStore, explained

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
        super().__init__(path, rows.SHAPE, clock)
        self._several, self._most_rows, self._most_seconds = several, most_rows, most_seconds
        self._extras: tuple[int, tuple[str, ...]] = (-1, ())
        self.findings: list[Malformed] = []  # of the run that ended last; `Deltas.findings` are a run's own

    def _build(self, conn: sqlite3.Connection, at: str) -> None:
        rows.build(conn, at)

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        """Store `episode` in that scope. When this returns, it is on disk.

        An episode that names another user, session or agent than the call is refused; the default user "me" names
        nobody. The same id again is refused, unless it is the very same episode: that changes nothing.
        """
        scope = Scope(user, session, agent)
        checked(**scope._asdict())
        for name, usual in (("user", rows.NOBODY), ("session", ""), ("agent", "")):
            own, given = getattr(episode, name), getattr(scope, name)
            if own not in (usual, given):
                raise MemoryScopeError(f"the episode has {name} {own!r} and the call has {given!r}; make them agree")
        row = rows.Row.of(episode, scope)
        await self._file.run(lambda conn: self._put(conn, row))

    def _put(self, conn: sqlite3.Connection, row: rows.Row) -> None:
        extras = self._columns(conn)
        with self._file.turn():
            if rows.insert(conn, row, extras):
                return
        if not rows.is_there(conn, row):
            raise Refused(f"another episode has the id {row.id!r}; give this one an id of its own", "exists")

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]:
        """The newest `limit` episodes of that scope, newest first; of equal times, the last to arrive first.

        A level that is left out is any.
        """
        if user is None:
            raise MemoryScopeError("recent needs a user: it does not read across users")
        checked(user=user, session=session, agent=agent)
        if type(limit) is not int or limit < 1:
            raise Refused(f"limit is a whole number, 1 or more, not {limit!r}")
        return await self._file.run(lambda conn: rows.recent(conn, user, session, agent, min(limit, 2**62)))

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
        with self._file.writing(conn):
            deltas = Deltas(self._classified(conn, rule, rows.mark_of(conn, rule.id)))
            rows.move_mark(conn, rule.id)
        return deltas

    def _classified(
        self, conn: sqlite3.Connection, rule: ConsolidationRule, after: int | None
    ) -> Iterator[Delta | Malformed]:
        sql, values = rows.selection(rule.when_filter, rows.SHAPE.extras(conn), after)
        found = rows.searched(conn, sql, values, rule.id, at_most=self._most_rows, seconds=self._most_seconds)
        return classify(rule, map(rows.brief, found), now=self._clock(), several=self._several)

    async def stream(self, rule: ConsolidationRule) -> AsyncIterator[Delta | Malformed]:
        """The same as `consolidate`, one at a time and with its findings in their place, in little memory.

        It sees the episodes as they were when it began. It blocks nobody.
        """
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
            self._extras = (shape, rows.SHAPE.extras(conn))
        return self._extras[1]
