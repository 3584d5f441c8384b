"""Facts in one SQLite file, with nothing beside it: `SQLiteFactStore(path=Path("./.facts"))`.

`apply_delta` is one transaction: all of it happens, or the old fact stands. Nothing is ever removed: a fact that was
replaced is closed and names what took its place. Applying a delta again changes nothing, and what was retracted stays
so, however often its episodes are consolidated again. A delta reaches only its own user's facts.

What this store cannot know: whether a delta's episodes exist. It records what it is told.
"""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import date, datetime
from pathlib import Path
from typing import Any

import orjson

from keepsake.records.clock import Clock, parse_moment, stamp, system_clock
from keepsake.records.delta import AddDelta, DeleteDelta, Delta, NoopDelta, UpdateDelta, read_delta
from keepsake.records.errors import MemoryScopeError, NotFound, Refused
from keepsake.records.fact import Fact, FactPattern
from keepsake.records.health import MigrationPlan, StoreHealth
from keepsake.records.scope import checked
from keepsake.stores import sqlite_facts as rows
from keepsake.stores.sqlite_file import OneFile, SQLiteFile
from keepsake.stores.sqlite_shape import checked_plan, health_of


class SQLiteFactStore(OneFile):
    """One file of facts. Every call may come from any thread and any event loop."""

    def __init__(self, path: Path | str, *, clock: Clock = system_clock) -> None:
        self._file = SQLiteFile(path, rows.SHAPE.verify)
        self._clock = clock

    async def bootstrap(self) -> None:
        """Make the file, its folders and its tables. Again is the same as once."""
        at = stamp(self._clock())
        await self._file.make(rows.SHAPE.fit, lambda conn: rows.SHAPE.build(conn, at))

    async def health(self) -> StoreHealth:
        """How the store is, also before `bootstrap`. It counts the facts that are held now."""
        self._file.must_be_open()
        return await asyncio.to_thread(health_of, self.path, rows.SHAPE)

    async def migrate(self, plan: MigrationPlan) -> None:
        """Add the plan's columns, which may be empty, and its version. They are filled from later facts' metadata."""
        checked_plan(plan, rows.SHAPE.table)
        await self._write(lambda conn, at: rows.SHAPE.migrate(conn, plan, at))

    async def pin(self, fact: Fact) -> None:
        """State a fact. The same again changes nothing; the same id with other words takes the place of the former."""
        new = _stated(fact)
        await self._write(lambda conn, at: _pin(conn, new, at))

    async def query(
        self,
        pattern: FactPattern,
        *,
        as_of: date | str | None = None,
        believed_at: date | str | None = None,
        limit: int | None = None,
    ) -> list[Fact]:
        """The facts that fit and are held now, in the order they were stated.

        `as_of`: what was true then, as far as is known now. `believed_at`: what this store held then. With both: what
        it then held to be true at that other time.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise Refused(f"limit is a whole number from 1 on, not {limit!r}")
        _must_be_text(pattern)
        then = _moment(believed_at)
        sql, values = rows.query(pattern, as_of=_moment(as_of), believed_at=then, limit=limit)
        return await self._file.run(lambda conn: [rows.fact(conn, row, then) for row in conn.execute(sql, values)])

    async def history(self, fact_id: str, *, user: str | None = None) -> list[Fact]:
        """Every version that led to this fact or followed from it, oldest first."""

        def work(conn: sqlite3.Connection) -> list[Fact]:
            return [rows.fact(conn, row) for row in rows.chain(conn, _owner(conn, fact_id, user), fact_id)]

        return await self._file.run(work)

    async def unpin(self, fact_id: str, *, user: str | None = None) -> None:
        """Retract a fact, or what took its place. It stays retracted. Retracting it again changes nothing."""
        checked(user=user)

        def work(conn: sqlite3.Connection, at: str) -> None:
            for place in rows.heads(conn, _owner(conn, fact_id, user), [fact_id]):
                rows.close(conn, place, at=at, status=rows.RETRACTED)

        await self._write(work)

    async def apply_delta(self, delta: Delta) -> None:
        """Do what `delta` says, in one transaction. Doing it twice is the same as doing it once.

        `replaces` names facts, or episodes: then the facts that come from them. A name that nobody knows replaces
        nothing; one that only another user knows is refused, and nothing is changed.
        """
        user, agent = _whose(delta)
        await self._write(lambda conn, at: _apply(conn, delta, user, agent, at))

    async def noops(self, user: str) -> list[Delta]:
        """The deltas of `user` that changed nothing, oldest first."""
        checked(user=user)
        return [read_delta(orjson.dumps(each)) for each in await self._file.run(lambda conn: rows.noted(conn, user))]

    async def _write(self, work: Any) -> None:
        def in_one(conn: sqlite3.Connection) -> None:
            with self._file.writing(conn):
                work(conn, stamp(self._clock()))

        await self._file.run(in_one)


def _stated(fact: Fact) -> rows.Statement:
    """A caller's fact, as it can be pinned."""
    if fact.status != "active" or fact.superseded_by:
        raise Refused(f"fact {fact.id!r} is {fact.status}: only what holds can be pinned")
    steps: list[Any] = fact.lineage
    for step in steps:
        named = step.get("source_episode_ids", []) if isinstance(step, dict) else None
        if not isinstance(named, list) or not all(type(name) is str for name in named):
            raise Refused("a step of the lineage is a dictionary, and its source_episode_ids a list of ids")
    return rows.Statement(
        fact_id=fact.id, user=fact.user, agent=fact.agent, payload=fact.payload, lineage=fact.lineage,
        confidence=float(fact.confidence), pinned_at=fact.pinned_at, metadata=fact.metadata,
        valid_from=rows.said_time(fact.valid_from), valid_to=rows.said_time(fact.valid_to),
    )  # fmt: skip


def _pin(conn: sqlite3.Connection, new: rows.Statement, at: str) -> None:
    found = rows.latest(conn, new.user, new.fact_id)
    held = rows.fact(conn, found) if found else None
    if found is None or held is None or held.status != "active":
        rows.state(conn, new, at=at, extras=rows.SHAPE.extras(conn))
        return
    if _same(held, new):
        return
    place = rows.state(conn, new, at=at, extras=rows.SHAPE.extras(conn), follows=True)
    until = new.valid_from or stamp(new.pinned_at)
    rows.close(conn, found[0], at=at, status=rows.SUPERSEDED, until=until, by=(new.fact_id, place))


def _same(held: Fact, new: rows.Statement) -> bool:
    """Whether a fact is stated that is held already. A lineage that it has is not news."""
    return (held.agent, held.payload, held.confidence, held.metadata, held.valid_from, held.valid_to) == (
        new.agent, new.payload, new.confidence, new.metadata, new.valid_from, new.valid_to,
    ) and all(step in held.lineage for step in new.lineage)  # fmt: skip


def _apply(conn: sqlite3.Connection, delta: Delta, user: str, agent: str, at: str) -> None:
    if isinstance(delta, NoopDelta):
        rows.note(conn, user, delta.model_dump(mode="json"), at)
        return
    replaced = {} if isinstance(delta, AddDelta) else rows.heads(conn, user, delta.replaces)
    if isinstance(delta, DeleteDelta):
        for place in replaced:
            rows.close(conn, place, at=at, status=rows.ENDED, until=stamp(delta.promotion_ts), step=_step(delta))
        if not replaced:
            rows.note(conn, user, delta.model_dump(mode="json"), at)
        return
    new = _promoted(delta, user, agent, is_update=bool(replaced))
    if rows.is_covered(conn, new):
        return
    place = rows.state(conn, new, at=at, extras=rows.SHAPE.extras(conn), follows=bool(replaced))
    for old in replaced:
        rows.close(conn, old, at=at, status=rows.SUPERSEDED, until=new.valid_from, by=(new.fact_id, place))


def _promoted(delta: AddDelta | UpdateDelta, user: str, agent: str, *, is_update: bool) -> rows.Statement:
    """The fact that a delta states. Its id follows from what it says and from where it comes."""
    payload = delta.fact_payload
    since = _read_time(payload.get("valid_from")) or (stamp(delta.promotion_ts) if is_update else "")
    episodes = sorted(set(delta.source_episode_ids))
    return rows.Statement(
        fact_id=f"fact-{rows.digest([user, rows.said_of(agent, payload).hex(), episodes]).hex()}",
        user=user, agent=agent, payload=payload, lineage=[_step(delta)], confidence=delta.confidence,
        pinned_at=delta.promotion_ts, metadata={"channels": delta.channels} if delta.channels else {},
        valid_from=since, valid_to=_read_time(payload.get("valid_to")),
    )  # fmt: skip


def _step(delta: Delta) -> dict[str, Any]:
    """What a delta adds to a lineage."""
    return {
        "kind": delta.kind,
        "rule_id": delta.rule_id,
        "source_episode_ids": delta.source_episode_ids,
        "promotion_ts": stamp(delta.promotion_ts),
        "confidence": delta.confidence,
    }


def _whose(delta: Delta) -> tuple[str, str]:
    """The user and agent a delta speaks of: its scope, else what its payload says."""
    if delta.scope is not None:
        if delta.scope.path:
            raise MemoryScopeError("facts of this store know no paths; apply the delta to a memory folder")
        return delta.scope.user, delta.scope.agent
    said = getattr(delta, "fact_payload", {})
    user, agent = said.get("user"), said.get("agent", "")
    if type(user) is not str or not user or type(agent) is not str:
        raise MemoryScopeError("the delta does not say whose it is; give it a scope, or a user in its payload")
    return user, agent


def _owner(conn: sqlite3.Connection, fact_id: str, user: str | None) -> str:
    """Whose fact is meant. Without a user, there must be only one who has it."""
    users = rows.users_of(conn, fact_id)
    if user is None and len(users) > 1:
        raise MemoryScopeError(f"several users have a fact {fact_id!r}; say user=")
    if not users or (user is not None and user not in users):
        raise NotFound(f"there is no fact {fact_id!r}; look at the id")
    return users[0] if user is None else user


def _must_be_text(pattern: FactPattern) -> None:
    for name in ("subject", "predicate", "object", "user", "agent"):
        value = getattr(pattern, name)
        if value is not None and type(value) is not str:
            raise Refused(f"{name} is text, not {type(value).__name__}")


def _moment(value: date | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return stamp(value)
    return parse_moment(value if isinstance(value, str) else value.isoformat())


def _read_time(value: object) -> str:
    """A time that a payload gives, if it is one."""
    try:
        return rows.said_time(value)
    except Refused:
        return ""
