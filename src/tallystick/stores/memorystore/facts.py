"""The rows of `SQLiteFactStore`: stating facts, closing them, finding them.

    facts            one row for each version of a fact. None is ever removed: it is closed (`ended_at`, `status`), and
                     `next` leads to its successor
    fact_sources     the episodes each row was promoted from, and a digest of what it states
    fact_noops       deltas that changed nothing
    facts_versions   the columns that plans added

A row keeps its own step of the lineage; the steps before it are read from its predecessors, so that the thousandth
version of a fact is written as fast as the first. No lookup scans.

Two times are kept apart: `valid_from` and `valid_to` say when a thing was true, `believed_from` and `ended_at` when the
fact was current. `said_to` is the end that was stated; `valid_to` includes later corrections.

A file made elsewhere has one row for each fact, under `fact_id`. `build` converts it: all of it, or the file is left as
it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from typing import Any

import orjson

from tallystick.decide.facts import must_be_met
from tallystick.records import json as strict_json
from tallystick.records.belief import OWNER
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Damaged, Refused
from tallystick.records.fact import Fact, FactPattern
from tallystick.stores.sqlite_file import Shape, cell, columns

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

_NAMES = ("subject", "predicate", "object")
_READ = (
    "place, fact_id, user, agent, payload, lineage, confidence, pinned_at, metadata, valid_from, valid_to, "
    "said_to, superseded_by, status, follows, ended_at, ended_by"
)


def build(conn: sqlite3.Connection, at: str) -> None:
    """Create what is missing, inside the caller's transaction, and convert facts that were made elsewhere."""
    if not SHAPE.is_foreign(conn):
        SHAPE.build(conn, at)
        return
    more = sorted(columns(conn, "facts") - set(SHAPE.foreign))
    conn.execute("ALTER TABLE facts RENAME TO facts_elsewhere")
    SHAPE.build(conn, at)
    names = ", ".join(f'"{name}"' for name in (*SHAPE.foreign, *more))
    for row in conn.execute(f"SELECT {names} FROM facts_elsewhere ORDER BY pinned_at, fact_id"):
        new = _converted(row, more)
        state(conn, new, at=stamp(new.pinned_at))
    conn.execute("DROP TABLE facts_elsewhere")


def _converted(row: tuple[Any, ...], more: list[str]) -> Statement:
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
        return stated(fact)
    except (ValueError, TypeError, Refused) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise Damaged(f"fact {name!r} was made elsewhere and cannot be read ({why}); nothing was changed") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A fact to be stated. Once constructed, it can be written."""

    fact_id: str
    user: str
    agent: str
    payload: dict[str, Any]
    lineage: list[dict[str, Any]]
    confidence: float
    pinned_at: datetime
    metadata: dict[str, Any]
    valid_from: str = ""
    valid_to: str = ""

    def __post_init__(self) -> None:
        whole = {"id": self.fact_id, "user": self.user, "agent": self.agent}
        try:
            strict_json.check(whole | {"payload": self.payload, "lineage": self.lineage, "metadata": self.metadata})
        except ValueError as error:
            raise Refused(f"the fact cannot be stored: {error}") from None

    @property
    def said(self) -> bytes:
        return said_of(self.agent, self.payload)

    @property
    def episodes(self) -> list[str]:
        return [name for step in self.lineage for name in step.get("source_episode_ids", ())]


def stated(fact: Fact) -> Statement:
    """The statement of a caller's fact."""
    if fact.status != "active" or fact.superseded_by:
        raise Refused(f"fact {fact.id!r} is {fact.status}; only an active fact can be pinned", "state")
    steps: list[Any] = fact.lineage
    for step in steps:
        named = step.get("source_episode_ids", []) if isinstance(step, dict) else None
        if not isinstance(named, list) or not all(type(name) is str for name in named):
            raise Refused("each step of a lineage is a dictionary whose source_episode_ids is a list of ids")
    return Statement(
        fact_id=fact.id, user=fact.user, agent=fact.agent, payload=fact.payload, lineage=fact.lineage,
        confidence=float(fact.confidence), pinned_at=fact.pinned_at, metadata=fact.metadata,
        valid_from=said_time(fact.valid_from), valid_to=said_time(fact.valid_to),
    )  # fmt: skip


def said_of(agent: str, payload: Mapping[str, Any]) -> bytes:
    """A digest of what a fact states: its triple if it has one, else all of its payload."""
    triple = [payload.get(name) for name in _NAMES]
    what = triple if all(type(part) is str for part in triple) else dict(payload)
    return digest([agent, what])


def digest(value: object) -> bytes:
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def said_time(value: object) -> str:
    """A date or a moment as comparable text; empty is unknown. Refused if it is neither."""
    if value in ("", None):
        return ""
    if type(value) is not str:
        raise Refused(f"valid_from and valid_to are text, not {type(value).__name__}")
    moment = parse_moment(value)
    return value if len(value) == len("2026-05-03") else moment


def state(
    conn: sqlite3.Connection, new: Statement, *, at: str, extras: Iterable[str] = (), follows: bool = False
) -> int:
    """Make `new` current, and return its place."""
    row: dict[str, object] = {
        "fact_id": new.fact_id, "user": new.user, "agent": new.agent, "payload": orjson.dumps(new.payload),
        "lineage": orjson.dumps(new.lineage), "confidence": new.confidence, "metadata": orjson.dumps(new.metadata),
        "pinned_at": stamp(new.pinned_at), "valid_from": new.valid_from, "valid_to": new.valid_to,
        "said_to": new.valid_to, "believed_from": at, "follows": follows,
    }  # fmt: skip
    row |= {name: part if type(part := new.payload.get(name)) is str else None for name in _NAMES}
    row |= {name: cell(new.metadata.get(name)) for name in extras}
    names = ", ".join(f'"{name}"' for name in row)
    sql = f"INSERT INTO facts ({names}) VALUES ({', '.join('?' * len(row))})"
    place = int(conn.execute(sql, list(row.values())).lastrowid or 0)
    sources = [(new.user, name, new.said, place) for name in new.episodes]
    conn.executemany("INSERT OR IGNORE INTO fact_sources VALUES (?, ?, ?, ?)", sources)
    return place


def close(
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


def is_covered(conn: sqlite3.Connection, new: Statement) -> bool:
    """True if the same was stated from the same episodes before, whatever became of it."""
    sql = "SELECT 1 FROM fact_sources WHERE user = ? AND episode = ? AND said = ? LIMIT 1"
    return all(conn.execute(sql, (new.user, name, new.said)).fetchone() for name in new.episodes)


def heads(conn: sqlite3.Connection, user: str, names: Iterable[str]) -> dict[int, str]:
    """The current facts of `user` that the names refer to, place → id.

    A name is a fact's or an episode's: then the facts that come from it. A fact's successor stands for it. NotFound, if
    a name refers to none of the user's facts, current or not.
    """
    met = {name: named(conn, user, name) for name in names}
    must_be_met([name for name, places in met.items() if not places], user)
    found: dict[int, str] = {}
    for place in chain.from_iterable(met.values()):
        found |= dict(conn.execute(_HEADS, (place,)))
    return found


_HEADS = (
    "WITH RECURSIVE later(place) AS (VALUES (?) UNION "
    "SELECT next FROM facts JOIN later USING (place) WHERE next IS NOT NULL) "
    f"SELECT place, fact_id FROM later JOIN facts USING (place) WHERE {_CURRENT}"
)


def named(conn: sqlite3.Connection, user: str, name: str) -> list[int]:
    """The last row of `user` that has this id; else every row that comes from the episode of this id."""
    own = conn.execute("SELECT max(place) FROM facts WHERE fact_id = ? AND user = ?", (name, user)).fetchone()[0]
    if own is not None:
        return [own]
    rows = conn.execute("SELECT place FROM fact_sources WHERE user = ? AND episode = ?", (user, name))
    return [place for (place,) in rows]


def holders(conn: sqlite3.Connection, name: str) -> list[tuple[str, str]]:
    """The user and agent of each fact of that id; if there is none, of those that come from the episode of that id."""
    own = conn.execute("SELECT DISTINCT user, agent FROM facts WHERE fact_id = ?", (name,)).fetchall()
    if own:
        return own
    sql = "SELECT DISTINCT facts.user, agent FROM fact_sources JOIN facts USING (place) WHERE episode = ?"
    return conn.execute(sql, (name,)).fetchall()


def users_of(conn: sqlite3.Connection, fact_id: str) -> list[str]:
    return [user for (user,) in conn.execute("SELECT DISTINCT user FROM facts WHERE fact_id = ?", (fact_id,))]


def latest(conn: sqlite3.Connection, user: str, fact_id: str) -> tuple[Any, ...] | None:
    sql = f"SELECT {_READ} FROM facts WHERE fact_id = ? AND user = ? ORDER BY place DESC LIMIT 1"
    row: tuple[Any, ...] | None = conn.execute(sql, (fact_id, user)).fetchone()
    return row


def query(pattern: FactPattern, *, as_of: str, believed_at: str, limit: int | None) -> tuple[str, list[object]]:
    """The statement that finds what fits, in the order it was stated. Empty times are now."""
    wanted = [("user", pattern.user), ("agent", pattern.agent)]
    wanted += [(name, getattr(pattern, name)) for name in _NAMES]
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


def fact(conn: sqlite3.Connection, row: tuple[Any, ...], believed_at: str = "") -> Fact:
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


def history(conn: sqlite3.Connection, user: str, fact_id: str) -> list[tuple[Any, ...]]:
    """Every row that led to a fact or followed from it, oldest first."""
    sql = (
        "WITH RECURSIVE own(place) AS (SELECT place FROM facts WHERE fact_id = ? AND user = ?), "
        "earlier(place) AS (SELECT place FROM own UNION "
        "SELECT facts.place FROM facts JOIN earlier ON facts.next = earlier.place), "
        "later(place) AS (SELECT place FROM own UNION "
        "SELECT next FROM facts JOIN later USING (place) WHERE next IS NOT NULL) "
        f"SELECT {_READ} FROM facts WHERE place IN (SELECT place FROM earlier UNION SELECT place FROM later) "
        "ORDER BY place"
    )
    return conn.execute(sql, (fact_id, user)).fetchall()


def note(conn: sqlite3.Connection, user: str, delta: dict[str, Any], at: str) -> None:
    """Record a delta that changed nothing. The same one, promoted again, is recorded once."""
    content = {name: value for name, value in delta.items() if name != "promotion_ts"}
    row = (user, orjson.dumps(delta), digest(content), at)
    conn.execute("INSERT OR IGNORE INTO fact_noops (user, delta, digest, at) VALUES (?, ?, ?, ?)", row)


def noted(conn: sqlite3.Connection, user: str) -> list[dict[str, Any]]:
    rows = conn.execute("SELECT delta FROM fact_noops WHERE user = ? ORDER BY place", (user,))
    return [orjson.loads(delta) for (delta,) in rows]
