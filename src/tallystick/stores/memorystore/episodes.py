"""The rows of `SQLiteMemoryStore`: writing episodes, finding them, reading them back.

Reads name the index they use, so that a scope of a hundred thousand episodes is read as fast as one of ten. Every index
ends in the time and, as all of SQLite's do, in the order of arrival; reading it backwards gives the newest first.

A file made elsewhere has only the documented columns. `build` reads the scope of its rows from `scope_key`, normalises
their times (a time without a zone counts as UTC), and refuses a row whose scope is ambiguous.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

import orjson

from tallystick.records import json as strict_json
from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.episode import Episode
from tallystick.records.errors import ConsolidationRuleError, Damaged, Refused
from tallystick.records.scope import Scope
from tallystick.stores.sqlite_file import Shape, cell

NOBODY = OWNER  # the user of an episode that names none

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
_COLUMNS = {
    "id": "id",
    "scope_key": "scope_key",
    "content": "json_extract(CAST(content AS TEXT), '$.content')",
    "timestamp": "timestamp",
    "metadata": "CAST(metadata AS TEXT)",
    "user": "user",
    "session": "session",
    "agent": "agent",
}
_PARTS = re.compile(r"/user/(.+)/session/(.+)/agent/(.+)/\Z", re.DOTALL)
_SCOPE = ("user", "session", "agent")
_CHUNK = 256
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


def is_there(conn: sqlite3.Connection, row: Row) -> bool:
    """True if this very episode has the id: the same words, moment, metadata and scope."""
    sql = "SELECT user, session, agent, timestamp, content, metadata FROM episodes WHERE id = ?"
    [(*where, when, content, metadata)] = conn.execute(sql, (row.id,))
    return (
        (*where, when) == (row.user, row.session, row.agent, row.timestamp)
        and _without_time(content) == _without_time(row.content)
        and orjson.loads(metadata) == orjson.loads(row.metadata)
    )


def recent(conn: sqlite3.Connection, user: str, session: str | None, agent: str | None, limit: int) -> list[Episode]:
    """The newest first. None means any."""
    sql, values = recent_query(user, session, agent, limit)
    return [episode(row) for row in conn.execute(sql, values)]


def recent_query(user: str, session: str | None, agent: str | None, limit: int) -> tuple[str, list[object]]:
    index = _INDEX[session is not None, agent is not None]
    given = [(name, value) for name, value in zip(_SCOPE, (user, session, agent), strict=True) if value is not None]
    sql = (
        f"SELECT content, metadata FROM episodes INDEXED BY {index} "
        f"WHERE {' AND '.join(f'{name} = ?' for name, _ in given)} ORDER BY timestamp DESC, rowid DESC LIMIT ?"
    )
    return sql, [*(value for _, value in given), limit]


def selection(when: str, extras: tuple[str, ...], after: int | None) -> tuple[str, list[object]]:
    """The episodes that match a filter, oldest first; with `after`, those that arrived behind that place."""
    from tallystick.consolidate.filter import parse

    wanted, values = parse(when, columns=extras).to_sql(_COLUMNS | {name: f'"{name}"' for name in extras})
    places = [] if after is None else [after]
    arrived, by = ("", "timestamp") if after is None else ("rowid > ? AND ", "+timestamp")
    return (
        f"SELECT content, metadata FROM episodes WHERE {arrived}user IS NOT NULL AND ({wanted or '1'}) "
        f"ORDER BY {by}, rowid",
        [*places, *values],
    )


def searched(
    conn: sqlite3.Connection, sql: str, values: list[object], rule: str, *, at_most: int, seconds: float
) -> Iterator[tuple[Any, ...]]:
    """The rows, a chunk at a time: at most so many, and in at most that time, or the rule is refused.

    The time that the caller spends on them does not count. The connection is the search's own: it keeps its
    progress handler.
    """
    left, count, started = seconds, 0, perf_counter()
    conn.set_progress_handler(lambda: perf_counter() - started > left, _STEPS)
    too_long = ConsolidationRuleError(f"rule {rule!r} searched for longer than {seconds:g} seconds; narrow its filter")
    try:
        cursor = conn.execute(sql, values)
        while found := cursor.fetchmany(_CHUNK):
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


def mark_of(conn: sqlite3.Connection, rule_id: str) -> int:
    """The place up to which a rule has read, looked up by the episode there: a VACUUM may renumber."""
    found = conn.execute(
        "SELECT coalesce((SELECT rowid FROM episodes WHERE episodes.id = episodes_marks.id), place) "
        "FROM episodes_marks WHERE rule_id = ?",
        (rule_id,),
    ).fetchone()
    return int(found[0]) if found else 0


def move_mark(conn: sqlite3.Connection, rule_id: str) -> None:
    """Move the mark to the last episode."""
    place, name = conn.execute(
        "SELECT coalesce(max(rowid), 0), (SELECT id FROM episodes ORDER BY rowid DESC LIMIT 1) FROM episodes"
    ).fetchone()
    conn.execute("INSERT OR REPLACE INTO episodes_marks VALUES (?, ?, ?)", (rule_id, place, name))


def episode(row: tuple[Any, ...]) -> Episode:
    """The episode of a row."""
    try:
        body = orjson.loads(row[0])
        words = {name: body[name] for name in _WORDS}
        return Episode(**words, timestamp=datetime.fromisoformat(body["timestamp"]), metadata=orjson.loads(row[1]))
    except (ValueError, KeyError, TypeError, Refused):
        raise _unreadable() from None


_WORDS = ("id", "content", "source_node", "agent", "user", "session", "path", "trust")


class Brief(NamedTuple):
    """The fields of an episode that consolidation reads."""

    id: str
    content: str
    user: str
    session: str
    agent: str
    path: str
    trust: str
    metadata: dict[str, Any]


_PICKED = itemgetter(*Brief._fields[:-1])


def brief(row: tuple[Any, ...]) -> Brief:
    """The brief of a row."""
    try:
        return Brief._make((*_PICKED(orjson.loads(row[0])), orjson.loads(row[1])))
    except (ValueError, KeyError, TypeError):
        raise _unreadable() from None


def _unreadable() -> Damaged:
    return Damaged("an episode cannot be read; restore the file from a copy")


def build(conn: sqlite3.Connection, at: str) -> None:
    """Create what is missing, inside the caller's transaction, and convert rows that were made elsewhere."""
    SHAPE.build(conn, at)
    sql = "SELECT rowid, id, scope_key, content, timestamp, metadata FROM episodes WHERE user IS NULL LIMIT ?"
    while found := conn.execute(sql, (_CHUNK,)).fetchall():
        for place, *foreign in found:
            row, body = _converted(*foreign)
            conn.execute(
                "UPDATE episodes SET scope_key = ?, content = ?, timestamp = ?, metadata = ?, user = ?, session = ?, "
                "agent = ? WHERE rowid = ?",
                (row.scope_key, orjson.dumps(body | orjson.loads(row.content)), *row[3:8], place),
            )


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


def _without_time(content: bytes) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(content)
    return {name: value for name, value in body.items() if name != "timestamp"}
