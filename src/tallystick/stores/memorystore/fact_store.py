"""Facts in one SQLite file: `SQLiteFactStore(path=Path("./.facts"))`.

`apply_delta` is one transaction: all of it happens, or the old fact stays. Nothing is ever removed: a replaced fact is
closed and names its successor. Applying a delta again changes nothing, and a retracted fact stays retracted, however
often its episodes are consolidated again. A delta reaches only its own user's facts.

What this store cannot know: whether a delta's episodes exist.
"""

from __future__ import annotations

import sqlite3
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tallystick.decide.facts import given_id, placed
from tallystick.records.belief import OWNER
from tallystick.records.clock import Clock, parse_moment, stamp, system_clock
from tallystick.records.delta import (
    AddDelta,
    DeleteDelta,
    Delta,
    NoopDelta,
    UpdateDelta,
    check_provenance,
    read_delta,
)
from tallystick.records.errors import MemoryScopeError, NotFound, Refused
from tallystick.records.fact import Fact, FactPattern
from tallystick.records.scope import checked
from tallystick.stores.memorystore import facts as rows
from tallystick.stores.sqlite_file import SQLiteStore


class SQLiteFactStore(SQLiteStore):
    """One file of facts. Every call may come from any thread and any event loop."""

    def __init__(self, path: Path | str, *, clock: Clock = system_clock) -> None:
        super().__init__(path, rows.SHAPE, clock)

    def _build(self, conn: sqlite3.Connection, at: str) -> None:
        rows.build(conn, at)

    async def pin(self, fact: Fact) -> None:
        """State a fact. The same again changes nothing; the same id with other words replaces the former."""
        new = rows.stated(fact)
        await self._write(lambda conn, at: _pin(conn, new, at))

    async def query(
        self,
        pattern: FactPattern,
        *,
        as_of: date | str | None = None,
        believed_at: date | str | None = None,
        limit: int | None = None,
    ) -> list[Fact]:
        """The current facts that fit, in the order they were stated.

        `as_of`: what was true then, as far as is known now. `believed_at`: what was current in this store then. With
        both: what the store then stated as true at that other time.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise Refused(f"limit is a whole number, 1 or more, not {limit!r}")
        _must_be_text(pattern)
        then = _moment(believed_at)
        sql, values = rows.query(pattern, as_of=_moment(as_of), believed_at=then, limit=limit)
        return await self._file.run(lambda conn: [rows.fact(conn, row, then) for row in conn.execute(sql, values)])

    async def history(self, fact_id: str, *, user: str | None = None) -> list[Fact]:
        """Every version that led to this fact or followed from it, oldest first."""

        def work(conn: sqlite3.Connection) -> list[Fact]:
            if not (whose := _owner(conn, fact_id, user)):
                raise NotFound(f"no fact {fact_id!r}; check the id")
            return [rows.fact(conn, row) for row in rows.history(conn, whose, fact_id)]

        return await self._file.run(work)

    async def unpin(self, fact_id: str, *, user: str | None = None) -> None:
        """Retract a fact, or its successor. It stays retracted. Retracting it again changes nothing.

        Nor does an unknown id. Without a user, only one user may have the id.
        """
        checked(user=user)

        def work(conn: sqlite3.Connection, at: str) -> None:
            if whose := _owner(conn, fact_id, user):
                for place in rows.heads(conn, whose, [fact_id]):
                    rows.close(conn, place, at=at, status=rows.RETRACTED)

        await self._write(work)

    async def apply_delta(self, delta: Delta) -> None:
        """Apply a delta in one transaction. Applying it twice is the same as applying it once.

        `replaces` names facts, or episodes: then the facts that come from them. NotFound, if a name matches no fact of
        the delta's user; nothing is changed then. A delta without a scope belongs to the user that its payload names,
        else to the owner of the facts it is about, else to "me".
        """
        check_provenance(delta)
        await self._write(lambda conn, at: _apply(conn, placed(delta, OWNER, partial(rows.holders, conn)), at))

    async def noops(self, user: str) -> list[Delta]:
        """The deltas of `user` that changed nothing, oldest first."""
        checked(user=user)
        return [read_delta(orjson.dumps(each)) for each in await self._file.run(lambda conn: rows.noted(conn, user))]


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
    """True if the same fact is current already. A lineage that it has is nothing new."""
    return (held.agent, held.payload, held.confidence, held.metadata, held.valid_from, held.valid_to) == (
        new.agent, new.payload, new.confidence, new.metadata, new.valid_from, new.valid_to,
    ) and all(step in held.lineage for step in new.lineage)  # fmt: skip


def _apply(conn: sqlite3.Connection, delta: Delta, at: str) -> None:
    assert delta.scope is not None
    if delta.scope.path:
        raise MemoryScopeError("this store has no paths; apply the delta to a memory folder")
    user, agent = delta.scope.user, delta.scope.agent
    if isinstance(delta, NoopDelta):
        rows.note(conn, user, delta.model_dump(mode="json"), at)
        return
    replaced = {} if isinstance(delta, AddDelta) else rows.heads(conn, user, delta.replaces)
    if isinstance(delta, DeleteDelta):
        for place in replaced:
            rows.close(conn, place, at=at, status=rows.ENDED, until=stamp(delta.promotion_ts), step=_step(delta))
        return
    name = given_id(delta.fact_payload)
    if name and rows.latest(conn, user, name):
        replaced |= rows.heads(conn, user, [name])
    new = _promoted(delta, name, user, agent, is_update=bool(replaced))
    if rows.is_covered(conn, new):
        return
    place = rows.state(conn, new, at=at, extras=rows.SHAPE.extras(conn), follows=bool(replaced))
    for old in replaced:
        rows.close(conn, old, at=at, status=rows.SUPERSEDED, until=new.valid_from, by=(new.fact_id, place))


def _promoted(delta: AddDelta | UpdateDelta, name: str, user: str, agent: str, *, is_update: bool) -> rows.Statement:
    """The fact that a delta states. Without a given id, the id is a digest of its content and its sources."""
    payload = delta.fact_payload
    since = _read_time(payload.get("valid_from")) or (stamp(delta.promotion_ts) if is_update else "")
    episodes = sorted(set(delta.source_episode_ids))
    return rows.Statement(
        fact_id=name or f"fact-{rows.digest([user, rows.said_of(agent, payload).hex(), episodes]).hex()}",
        user=user, agent=agent, payload=payload, lineage=[_step(delta)], confidence=delta.confidence,
        pinned_at=delta.promotion_ts, metadata={"channels": delta.channels} if delta.channels else {},
        valid_from=since, valid_to=_read_time(payload.get("valid_to")),
    )  # fmt: skip


def _step(delta: Delta) -> dict[str, Any]:
    """The step that a delta adds to a lineage."""
    return {
        "kind": delta.kind,
        "rule_id": delta.rule_id,
        "source_episode_ids": delta.source_episode_ids,
        "promotion_ts": stamp(delta.promotion_ts),
        "confidence": delta.confidence,
    }


def _owner(conn: sqlite3.Connection, fact_id: str, user: str | None) -> str | None:
    """The owner of a fact; None, if there is none. Without a user, only one user may have the id."""
    users = [each for each in rows.users_of(conn, fact_id) if user in (None, each)]
    if len(users) > 1:
        raise MemoryScopeError(f"several users have a fact {fact_id!r}; pass user=")
    return users[0] if users else None


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
    """A time in a payload; empty, if it is none."""
    try:
        return rows.said_time(value)
    except Refused:
        return ""
