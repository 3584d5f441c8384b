"""Facts in one SQLite file: `SQLiteFactStore(path=Path("./.facts"))`.

`apply_delta` is one transaction: all of it happens, or the old fact stays. Nothing is ever removed: each version of a
fact is a row; one that was replaced is closed (`ended_at`, `status`), and `next` leads to its successor. Applying a
delta again changes nothing, and a retracted fact stays retracted, however often its episodes are consolidated again. A
delta reaches only its own user's facts. What this store cannot know: whether a delta's episodes exist.

A row keeps its own step of the lineage; the steps before it are read from its predecessors, so that the thousandth
version of a fact is written as fast as the first. No lookup scans.

Two times are kept apart: `valid_from` and `valid_to` say when a thing was true, `believed_from` and `ended_at` when the
fact was current. `said_to` is the end that was stated; `valid_to` includes later corrections.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from tallystick.decide.facts import given_id, must_be_met, placed
from tallystick.records import json as strict_json
from tallystick.records.belief import OWNER
from tallystick.records.clock import Clock, parse_moment, stamp, system_clock
from tallystick.records.delta import AddDelta, DeleteDelta, Delta, NoopDelta, UpdateDelta, check_provenance, read_delta
from tallystick.records.episode import checked
from tallystick.records.errors import Damaged, MemoryScopeError, NotFound, Refused
from tallystick.records.fact import TRIPLE, Fact, FactPattern
from tallystick.stores.sqlite_file import Shape, SQLiteStore, cell, columns


class SQLiteFactStore(SQLiteStore):
    """One file of facts. Every call may come from any thread and any event loop."""

    def __init__(self, path: Path | str, *, clock: Clock = system_clock) -> None:
        super().__init__(path, SHAPE, clock)

    def _build(self, conn: sqlite3.Connection, at: str) -> None:
        if not SHAPE.is_foreign(conn):
            SHAPE.build(conn, at)
            return
        more = sorted(columns(conn, "facts") - set(SHAPE.foreign))
        conn.execute("ALTER TABLE facts RENAME TO facts_elsewhere")
        SHAPE.build(conn, at)
        names = ", ".join(f'"{name}"' for name in (*SHAPE.foreign, *more))
        for row in conn.execute(f"SELECT {names} FROM facts_elsewhere ORDER BY pinned_at, fact_id"):
            new = _converted(row, more)
            _state(conn, new, at=stamp(new.pinned_at))
        conn.execute("DROP TABLE facts_elsewhere")

    async def pin(self, fact: Fact) -> None:
        """State a fact. The same again changes nothing; the same id with other words replaces the former."""
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
        """The current facts that fit, in the order they were stated.

        `as_of`: what was true then, as far as is known now. `believed_at`: what was current in this store then. With
        both: what the store then stated as true at that other time.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise Refused(f"limit must be a whole number, 1 or more, not {limit!r}")
        for name in (*TRIPLE, "user", "agent"):
            value = getattr(pattern, name)
            if value is not None and type(value) is not str:
                raise Refused(f"{name} must be text, not {type(value).__name__}")
        then = _moment(believed_at)
        sql, values = fact_query(pattern, as_of=_moment(as_of), believed_at=then, limit=limit)
        return await self._file.run(lambda conn: [_read(conn, row, then) for row in conn.execute(sql, values)])

    async def history(self, fact_id: str, *, user: str | None = None) -> list[Fact]:
        """Every version that led to this fact or followed from it, oldest first."""

        def work(conn: sqlite3.Connection) -> list[Fact]:
            if not (whose := _owner(conn, fact_id, user)):
                raise NotFound(f"no fact {fact_id!r}; check the id")
            return [_read(conn, row) for row in conn.execute(_HISTORY, (fact_id, whose)).fetchall()]

        return await self._file.run(work)

    async def unpin(self, fact_id: str, *, user: str | None = None) -> None:
        """Retract a fact, or its successor. It stays retracted. Without a user, only one user may have the id."""
        checked(user=user)

        def work(conn: sqlite3.Connection, at: str) -> None:
            if whose := _owner(conn, fact_id, user):
                for place in _heads(conn, whose, [fact_id]):
                    _close(conn, place, at=at, status=RETRACTED)

        await self._write(work)

    async def apply_delta(self, delta: Delta) -> None:
        """Apply a delta in one transaction. NotFound, if `replaces` has an unknown name: then nothing is changed."""
        check_provenance(delta)
        await self._write(lambda conn, at: _apply(conn, placed(delta, OWNER, partial(_holders, conn)), at))

    async def noops(self, user: str) -> list[Delta]:
        """The deltas of `user` that changed nothing, oldest first."""
        checked(user=user)
        sql = "SELECT delta FROM fact_noops WHERE user = ? ORDER BY place"
        found = await self._file.run(lambda conn: conn.execute(sql, (user,)).fetchall())
        return [read_delta(delta) for (delta,) in found]


def _pin(conn: sqlite3.Connection, new: Fact, at: str) -> None:
    found = _latest(conn, new.user, new.id)
    current = _read(conn, found) if found else None
    if found is None or current is None or current.status != "active":
        _state(conn, new, at=at, extras=SHAPE.extras(conn))
        return
    fields = ("agent", "payload", "confidence", "metadata", "valid_from", "valid_to")
    is_same = all(getattr(current, name) == getattr(new, name) for name in fields)
    if is_same and all(step in current.lineage for step in new.lineage):  # a lineage that it has is nothing new
        return
    place = _state(conn, new, at=at, extras=SHAPE.extras(conn), follows=True)
    until = new.valid_from or stamp(new.pinned_at)
    _close(conn, found[0], at=at, status=SUPERSEDED, until=until, by=(new.id, place))


def _apply(conn: sqlite3.Connection, delta: Delta, at: str) -> None:
    assert delta.scope is not None
    if delta.scope.path:
        raise MemoryScopeError("this store has no paths; apply the delta to a memory folder")
    user, agent = delta.scope.user, delta.scope.agent
    if isinstance(delta, NoopDelta):
        told = delta.model_dump(mode="json")
        digest = _digest({name: value for name, value in told.items() if name != "promotion_ts"})  # recorded once
        row = (user, orjson.dumps(told), digest, at)
        conn.execute("INSERT OR IGNORE INTO fact_noops (user, delta, digest, at) VALUES (?, ?, ?, ?)", row)
        return
    replaced = {} if isinstance(delta, AddDelta) else _heads(conn, user, delta.replaces)
    if isinstance(delta, DeleteDelta):
        for place in replaced:
            _close(conn, place, at=at, status=ENDED, until=stamp(delta.promotion_ts), step=_step(delta))
        return
    name = given_id(delta.fact_payload)
    if name and _latest(conn, user, name):
        replaced |= _heads(conn, user, [name])
    new = _promoted(delta, name, user, agent, is_update=bool(replaced))
    sql = "SELECT 1 FROM fact_sources WHERE user = ? AND episode = ? AND said = ? LIMIT 1"
    said = _digest_of(agent, new.payload)
    if all(conn.execute(sql, (user, each, said)).fetchone() for each in new.episodes):
        return  # the same was stated from the same episodes before, whatever became of it
    place = _state(conn, new, at=at, extras=SHAPE.extras(conn), follows=bool(replaced))
    for old in replaced:
        _close(conn, old, at=at, status=SUPERSEDED, until=new.valid_from, by=(new.id, place))


def _promoted(delta: AddDelta | UpdateDelta, name: str, user: str, agent: str, *, is_update: bool) -> Fact:
    """The fact that a delta states. Without a given id, the id is a digest of its content and its sources."""
    payload = delta.fact_payload
    since = _read_time(payload.get("valid_from")) or (stamp(delta.promotion_ts) if is_update else "")
    episodes = sorted(set(delta.source_episode_ids))
    return _storable(Fact(
        id=name or f"fact-{_digest([user, _digest_of(agent, payload).hex(), episodes]).hex()}",
        user=user, agent=agent, payload=payload, lineage=[_step(delta)], confidence=delta.confidence,
        pinned_at=delta.promotion_ts, metadata={"channels": delta.channels} if delta.channels else {},
        valid_from=since, valid_to=_read_time(payload.get("valid_to")),
    ))  # fmt: skip


def _step(delta: Delta) -> dict[str, Any]:
    return {
        "kind": delta.kind,
        "rule_id": delta.rule_id,
        "source_episode_ids": delta.source_episode_ids,
        "promotion_ts": stamp(delta.promotion_ts),
        "confidence": delta.confidence,
    }


def _owner(conn: sqlite3.Connection, fact_id: str, user: str | None) -> str | None:
    """The owner of a fact; None, if there is none. Without a user, only one user may have the id."""
    found = conn.execute("SELECT DISTINCT user FROM facts WHERE fact_id = ?", (fact_id,))
    users = [each for (each,) in found if user in (None, each)]
    if len(users) > 1:
        raise MemoryScopeError(f"several users have a fact {fact_id!r}; pass user=")
    return users[0] if users else None


def _moment(value: date | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return stamp(value)
    return parse_moment(value if isinstance(value, str) else value.isoformat())


def _read_time(value: object) -> str:
    """A time in a payload; empty, if it is none."""
    try:
        return _time(value)
    except Refused:
        return ""


# -- the rows ----------------------------------------------------------------------------------------------------------

SUPERSEDED, ENDED, RETRACTED = "superseded", "deprecated", "invalidated"

_CURRENT = "ended_at = ''"
_COLUMNS = (
    "place", "fact_id", "user", "agent", "payload", "lineage", "confidence", "metadata", "pinned_at", "subject",
    "predicate", "object", "valid_from", "valid_to", "said_to", "believed_from", "ended_at", "ended_by",
    "superseded_by", "next", "status", "follows",
)  # fmt: skip

SHAPE = Shape(
    table="facts",
    key="place",
    documented=_COLUMNS,
    added=(),
    statements=(
        "CREATE TABLE IF NOT EXISTS facts (place INTEGER PRIMARY KEY, fact_id TEXT NOT NULL, user TEXT NOT NULL, "
        "agent TEXT NOT NULL, payload BLOB NOT NULL, lineage BLOB NOT NULL, confidence REAL NOT NULL, "
        "metadata BLOB NOT NULL, pinned_at TEXT NOT NULL, subject TEXT, predicate TEXT, object TEXT, "
        "valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, said_to TEXT NOT NULL, believed_from TEXT NOT NULL, "
        "ended_at TEXT NOT NULL DEFAULT '', ended_by BLOB, superseded_by TEXT NOT NULL DEFAULT '', next INTEGER, "
        "status TEXT NOT NULL DEFAULT 'active', follows INTEGER NOT NULL DEFAULT 0)",
        "CREATE INDEX IF NOT EXISTS idx_facts_id ON facts(fact_id, user)",
        "CREATE INDEX IF NOT EXISTS idx_facts_next ON facts(next) WHERE next IS NOT NULL",
        "CREATE INDEX IF NOT EXISTS idx_facts_all ON facts(user, subject, predicate)",
        f"CREATE INDEX IF NOT EXISTS idx_facts_subject ON facts(user, subject, predicate, agent) WHERE {_CURRENT}",
        f"CREATE INDEX IF NOT EXISTS idx_facts_predicate ON facts(user, predicate, object) WHERE {_CURRENT}",
        f"CREATE INDEX IF NOT EXISTS idx_facts_agent ON facts(user, agent, predicate) WHERE {_CURRENT}",
        f"CREATE INDEX IF NOT EXISTS idx_facts_object ON facts(object, predicate, subject) WHERE {_CURRENT}",
        f"CREATE INDEX IF NOT EXISTS idx_facts_anyone ON facts(subject, predicate) WHERE {_CURRENT}",
        "CREATE TABLE IF NOT EXISTS fact_sources (user TEXT NOT NULL, episode TEXT NOT NULL, said BLOB NOT NULL, "
        "place INTEGER NOT NULL REFERENCES facts(place), PRIMARY KEY (user, episode, said, place)) WITHOUT ROWID",
        "CREATE INDEX IF NOT EXISTS idx_fact_sources_episode ON fact_sources(episode)",
        "CREATE TABLE IF NOT EXISTS fact_noops (place INTEGER PRIMARY KEY, user TEXT NOT NULL, delta BLOB NOT NULL, "
        "digest BLOB NOT NULL, at TEXT NOT NULL)",
        "CREATE UNIQUE INDEX IF NOT EXISTS idx_fact_noops ON fact_noops(user, digest)",
    ),
    counted=f"WHERE {_CURRENT}",
    foreign=("fact_id", "user", "agent", "payload", "lineage", "confidence", "metadata", "pinned_at"),
)

_READ = (
    "place, fact_id, user, agent, payload, lineage, confidence, pinned_at, metadata, valid_from, valid_to, "
    "said_to, superseded_by, status, follows, ended_at, ended_by"
)


def _converted(row: tuple[Any, ...], more: list[str]) -> Fact:
    """A fact of another program. Without a user it is the owner's; further columns become metadata."""
    name, user, agent, payload, lineage, confidence, metadata, pinned = row[:8]
    try:
        moment = datetime.fromisoformat(pinned)
        own = {column: value for column, value in zip(more, row[8:], strict=True) if value is not None}
        fact = Fact(
            id=name, user=user or OWNER, agent=agent, payload=orjson.loads(payload), lineage=orjson.loads(lineage),
            confidence=confidence, pinned_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
            metadata=own | orjson.loads(metadata),
        )  # fmt: skip
        return _stated(fact)
    except (ValueError, TypeError, Refused) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise Damaged(f"fact {name!r} was made elsewhere and cannot be read ({why}); nothing was changed") from None


_FREE = ("id", "user", "agent", "payload", "lineage", "metadata")  # the fields that a caller fills freely


def _storable(fact: Fact) -> Fact:
    """A fact that can be written. Refused, if it could not be read back as it is."""
    try:
        strict_json.check({name: getattr(fact, name) for name in _FREE})
    except ValueError as error:
        raise Refused(f"the fact cannot be stored: {error}") from None
    return fact


def _stated(fact: Fact) -> Fact:
    """A caller's fact, as it is stated."""
    if fact.status != "active" or fact.superseded_by:
        raise Refused(f"fact {fact.id!r} is {fact.status}; only an active fact can be pinned", "state")
    steps: list[Any] = fact.lineage
    for step in steps:
        named = step.get("source_episode_ids", []) if isinstance(step, dict) else None
        if not isinstance(named, list) or not all(type(name) is str for name in named):
            raise Refused("each step of a lineage must be a dictionary whose source_episode_ids is a list of ids")
    return _storable(replace(fact, valid_from=_time(fact.valid_from), valid_to=_time(fact.valid_to)))


def _digest_of(agent: str, payload: Mapping[str, Any]) -> bytes:
    """A digest of what a fact states: its triple if it has one, else all of its payload."""
    triple = [payload.get(name) for name in TRIPLE]
    what = triple if all(type(part) is str for part in triple) else dict(payload)
    return _digest([agent, what])


def _digest(value: object) -> bytes:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _time(value: object) -> str:
    """A date or a moment as comparable text; empty is unknown. Refused if it is neither."""
    if value in ("", None):
        return ""
    if type(value) is not str:
        raise Refused(f"valid_from and valid_to must be text, not {type(value).__name__}")
    moment = parse_moment(value)
    return value if len(value) == len("2026-05-03") else moment


def _state(conn: sqlite3.Connection, new: Fact, *, at: str, extras: Iterable[str] = (), follows: bool = False) -> int:
    """Make `new` current, and return its place."""
    row: dict[str, object] = {
        "fact_id": new.id, "user": new.user, "agent": new.agent, "payload": orjson.dumps(new.payload),
        "lineage": orjson.dumps(new.lineage), "confidence": float(new.confidence),
        "metadata": orjson.dumps(new.metadata), "pinned_at": stamp(new.pinned_at), "valid_from": new.valid_from,
        "valid_to": new.valid_to, "said_to": new.valid_to, "believed_from": at, "follows": follows,
    }  # fmt: skip
    row |= {name: part if type(part := new.payload.get(name)) is str else None for name in TRIPLE}
    row |= {name: cell(new.metadata.get(name)) for name in extras}
    names = ", ".join(f'"{name}"' for name in row)
    sql = f"INSERT INTO facts ({names}) VALUES ({', '.join('?' * len(row))})"
    place = int(conn.execute(sql, list(row.values())).lastrowid or 0)
    said = _digest_of(new.agent, new.payload)
    sources = [(new.user, name, said, place) for name in new.episodes]
    conn.executemany("INSERT OR IGNORE INTO fact_sources VALUES (?, ?, ?, ?)", sources)
    return place


def _close(
    conn: sqlite3.Connection,
    place: int,
    *,
    at: str,
    status: str,
    until: str = "",
    by: tuple[str, int] | None = None,
    step: dict[str, Any] | None = None,
) -> None:
    """Close a row. `until` is when it ceased to be true, `by` the id and place of its successor."""
    name, after = by or ("", None)
    conn.execute(
        "UPDATE facts SET ended_at = ?1, status = ?2, superseded_by = ?3, next = ?4, ended_by = ?5, "
        "valid_to = CASE WHEN ?6 <> '' AND (valid_to = '' OR valid_to > ?6) THEN ?6 ELSE valid_to END WHERE place = ?7",
        (at, status, name, after, orjson.dumps(step) if step else None, until, place),
    )


def _heads(conn: sqlite3.Connection, user: str, names: Iterable[str]) -> dict[int, str]:
    """The current facts of `user` that the names refer to, place → id.

    A name is a fact's or an episode's: then the facts that come from it. A fact's successor stands for it. NotFound, if
    a name refers to none of the user's facts, current or not.
    """
    found, unmet = dict[int, str](), list[str]()
    for name in dict.fromkeys(names):
        own = "SELECT max(place) FROM facts WHERE fact_id = ? AND user = ? HAVING max(place) IS NOT NULL"
        sources = "SELECT place FROM fact_sources WHERE episode = ? AND user = ?"
        places = conn.execute(own, (name, user)).fetchall() or conn.execute(sources, (name, user)).fetchall()
        unmet += [] if places else [name]
        for place in places:
            found |= dict(conn.execute(_HEADS, place))
    must_be_met(unmet, user)
    return found


_HEADS = (
    "WITH RECURSIVE later(place) AS (VALUES (?) UNION "
    "SELECT next FROM facts JOIN later USING (place) WHERE next IS NOT NULL) "
    f"SELECT place, fact_id FROM later JOIN facts USING (place) WHERE {_CURRENT}"
)


def _holders(conn: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    """The user and agent of each fact of that id; if there is none, of those that come from the episode of that id."""
    own = conn.execute("SELECT DISTINCT user, agent FROM facts WHERE fact_id = ?", (name,)).fetchall()
    if own:
        return own
    sql = "SELECT DISTINCT facts.user, agent FROM fact_sources JOIN facts USING (place) WHERE episode = ?"
    return conn.execute(sql, (name,)).fetchall()


def _latest(conn: sqlite3.Connection, user: str, fact_id: str) -> tuple[Any, ...] | None:
    sql = f"SELECT {_READ} FROM facts WHERE fact_id = ? AND user = ? ORDER BY place DESC LIMIT 1"
    row: tuple[Any, ...] | None = conn.execute(sql, (fact_id, user)).fetchone()
    return row


def fact_query(pattern: FactPattern, *, as_of: str, believed_at: str, limit: int | None) -> tuple[str, list[object]]:
    """The statement that finds what fits, in the order it was stated. Empty times are now."""
    wanted = [("user", pattern.user), ("agent", pattern.agent)]
    wanted += [(name, getattr(pattern, name)) for name in TRIPLE]
    given = [(name, value) for name, value in wanted if value is not None]
    terms, values = [f"{name} = ?" for name, _ in given], [value for _, value in given]
    for term, moments in _times(as_of, believed_at):
        terms.append(term)
        values += moments
    end = f" LIMIT {int(limit)}" if limit is not None else ""
    return f"SELECT {_READ} FROM facts WHERE {' AND '.join(terms)} ORDER BY +place{end}", list(values)


def _times(as_of: str, believed_at: str) -> list[tuple[str, list[str]]]:
    if not as_of and not believed_at:
        return [(_CURRENT, [])]
    true_then = ("valid_from <= ? AND ({end} = '' OR ? < {end})", [as_of, as_of])
    if not believed_at:
        return [(true_then[0].format(end="valid_to"), true_then[1]), (f"status <> '{RETRACTED}'", [])]
    held_then = ("believed_from <= ? AND (ended_at = '' OR ? < ended_at)", [believed_at, believed_at])
    if not as_of:
        return [held_then]
    known_end = "(CASE WHEN ended_at <> '' AND ended_at <= ? THEN valid_to ELSE said_to END)"
    ends = [believed_at, as_of, believed_at]
    return [
        ("believed_from <= ?", [believed_at]),
        (f"NOT (status = '{RETRACTED}' AND ended_at <= ?)", [believed_at]),
        (f"valid_from <= ? AND ({known_end} = '' OR ? < {known_end})", [as_of, *ends]),
    ]


def _read(conn: sqlite3.Connection, row: tuple[Any, ...], believed_at: str = "") -> Fact:
    """The fact of a row, as it was then."""
    place, name, user, agent, payload, own, confidence, pinned, metadata, valid_from, valid_to, said_to = row[:12]
    superseded_by, status, follows, ended_at, ended_by = row[12:17]
    if believed_at and ended_at > believed_at:
        valid_to, superseded_by, status, ended_by = said_to, "", "active", None
    try:
        steps = _lineage(conn, place) if follows else orjson.loads(own)
        return Fact(
            id=name, user=user, agent=agent, payload=orjson.loads(payload), confidence=confidence, status=status,
            lineage=steps + ([orjson.loads(ended_by)] if ended_by else []), pinned_at=datetime.fromisoformat(pinned),
            metadata=orjson.loads(metadata), valid_from=valid_from, valid_to=valid_to, superseded_by=superseded_by,
        )  # fmt: skip
    except (ValueError, TypeError, Refused) as error:
        raise Damaged(f"fact {name!r} cannot be read ({error}); restore the file from a copy") from None


def _lineage(conn: sqlite3.Connection, place: int) -> list[dict[str, Any]]:
    """Its own steps and those of all its predecessors, oldest first, each once."""
    sql = (
        "WITH RECURSIVE earlier(place) AS (VALUES (?) UNION "
        "SELECT facts.place FROM facts JOIN earlier ON facts.next = earlier.place) "
        "SELECT lineage FROM facts JOIN earlier USING (place) ORDER BY place"
    )
    steps = [step for (own,) in conn.execute(sql, (place,)) for step in orjson.loads(own)]
    return list({orjson.dumps(step, option=orjson.OPT_SORT_KEYS): step for step in steps}.values())


_HISTORY = (
    "WITH RECURSIVE own(place) AS (SELECT place FROM facts WHERE fact_id = ? AND user = ?), "
    "earlier(place) AS (SELECT place FROM own UNION "
    "SELECT facts.place FROM facts JOIN earlier ON facts.next = earlier.place), "
    "later(place) AS (SELECT place FROM own UNION "
    "SELECT next FROM facts JOIN later USING (place) WHERE next IS NOT NULL) "
    f"SELECT {_READ} FROM facts WHERE place IN (SELECT place FROM earlier UNION SELECT place FROM later) "
    "ORDER BY place"
)
