"""Queries of the index, each a function of a connection; the caller says where a transaction ends.

Results are dictionaries and plain values. Arguments are always bound, never part of a statement. What the index could
not store unchanged (a lone surrogate, a NaN, an unknown status) is refused before anything is written. A change to a
block, session or pair that does not exist changes nothing, like the UPDATE that it is.
Vectors are stored as little-endian float32.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import inf, isfinite
from numbers import Integral, Real
from reprlib import repr as briefly
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Subquery,
    Text,
    column,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from tallystick.projections.index.schema import CONFIG, FRAMES
from tallystick.records.block import ArchiveReason, BlockStatus, Edge
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Damaged, Refused
from tallystick.records.json import loads
from tallystick.stores.elfmem.models import block_tags, blocks, contradictions, edges, frames, sessions, system_config

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    Vector = NDArray[Any]

STATUSES = tuple(BlockStatus)
ARCHIVE_REASONS = tuple(ArchiveReason)

_AS_INSERTED = column("rowid", Integer)
_LIGHT = [each for each in blocks.c if each.name != "embedding"]  # vectors are most of a row
_LONGEST_PATTERN = 50_000  # bytes; SQLite's own limit
_HOURS = "total_active_hours"
_MOST = 2**63 - 1


def _fetch(conn: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    result = conn.execute(query)
    names = [str(name) for name in result.keys()]  # noqa: SIM118  (of a result, not of a dictionary)
    return [dict(zip(names, row, strict=True)) for row in result]


def _fetch_one(conn: Connection, query: Select[Any]) -> dict[str, Any] | None:
    return next(iter(_fetch(conn, query)), None)


def _given(values: Sequence[Any]) -> ColumnElement[str]:
    """One row for each of `values`, bound as one JSON text: SQLite limits how many values a statement may bind.

    Not a common table, so that a write still begins with its verb: Python's sqlite3 begins a transaction before
    `UPDATE …`, and none before `WITH … UPDATE …`.
    """
    return func.json_each(json.dumps(values, ensure_ascii=False)).table_valued(column("value", Text)).c.value


def _given_once(values: Sequence[str]) -> Select[str]:
    """The same for a read that uses the list more than once: from a common table."""
    return select(select(_given(values)).cte("given").c.value)


def insert_block(
    conn: Connection,
    *,
    block_id: str,
    content: str,
    category: str,
    source: str,
    status: str = "inbox",
    confidence: float = 0.50,
    decay_lambda: float = 0.01,
    last_reinforced_at: float = 0.0,
) -> None:
    """Insert a new block. Raises IntegrityError if id already exists."""
    values = {
        "id": label("block_id", block_id),
        "content": words("content", content),
        "category": words("category", category),
        "source": words("source", source),
        "created_at": stamp(system_clock()),
        "status": one_of("status", status, STATUSES),
        "confidence": number("confidence", confidence, least=0, limit=1),
        "decay_lambda": number("decay_lambda", decay_lambda, least=0),
        "last_reinforced_at": number("last_reinforced_at", last_reinforced_at, least=0),
    }
    conn.execute(insert(blocks).values(values))


def get_block(conn: Connection, block_id: str) -> dict[str, Any] | None:
    """Fetch a single block by id, with all its columns. None if there is none."""
    return _fetch_one(conn, select(blocks).where(blocks.c.id == words("block_id", block_id)))


def block_exists(conn: Connection, block_id: str) -> bool:
    """True if there is a block with this id, in any status."""
    return bool(conn.scalar(select(exists().where(blocks.c.id == words("block_id", block_id)))))


def get_active_blocks(conn: Connection, *, min_last_reinforced_at: float | None = None) -> list[dict[str, Any]]:
    """Fetch the active blocks as they were inserted, without embeddings; with a minimum, those reinforced after it."""
    return _fetch(conn, _active(select(*_LIGHT), min_last_reinforced_at))


def get_active_blocks_with_embeddings(
    conn: Connection, *, min_last_reinforced_at: float | None = None
) -> list[dict[str, Any]]:
    """Fetch the active blocks that have an embedding, with its bytes: see `bytes_to_embedding`."""
    return _fetch(conn, _active(select(blocks), min_last_reinforced_at).where(blocks.c.embedding.is_not(None)))


def get_inbox_blocks(conn: Connection) -> list[dict[str, Any]]:
    """Fetch all blocks with status 'inbox', in the order of their insertion."""
    return _fetch(conn, select(blocks).where(blocks.c.status == "inbox").order_by(_AS_INSERTED))


def get_inbox_count(conn: Connection) -> int:
    """Count the blocks in the inbox."""
    return conn.scalar(select(func.count()).where(blocks.c.status == "inbox")) or 0


def update_block_status(conn: Connection, block_id: str, *, status: str, archive_reason: str | None = None) -> None:
    """Transition a block to a new status. A block that does not exist changes nothing.

    Archiving deletes the block's tags, edges and contradictions; coming back does not restore them, and clears the
    reason. Only an archived block has a reason.
    """
    one_of("status", status, STATUSES)
    if archive_reason is not None:
        one_of("archive_reason", archive_reason, ARCHIVE_REASONS)
        if status != "archived":
            raise Refused(
                f"only an archived block has an archive_reason: leave it out, or archive {block_id!r}", "conflict"
            )
    words("block_id", block_id)
    conn.execute(update(blocks).where(blocks.c.id == block_id).values(status=status, archive_reason=archive_reason))
    if status == BlockStatus.ARCHIVED:
        conn.execute(delete(block_tags).where(block_tags.c.block_id == block_id))
        for pairs, one, other in (
            (edges, edges.c.from_id, edges.c.to_id),
            (contradictions, contradictions.c.block_a_id, contradictions.c.block_b_id),
        ):
            conn.execute(delete(pairs).where(or_(one == block_id, other == block_id)))


def update_block_scoring(
    conn: Connection,
    block_id: str,
    *,
    confidence: float | None = None,
    self_alignment: float | None = None,
    decay_lambda: float | None = None,
    embedding: Vector | None = None,
    embedding_model: str | None = None,
    token_count: int | None = None,
) -> None:
    """Update the given fields only. A block that does not exist changes nothing."""
    values: dict[str, Any] = {}
    if confidence is not None:
        values["confidence"] = number("confidence", confidence, least=0, limit=1)
    if self_alignment is not None:
        values["self_alignment"] = number("self_alignment", self_alignment)
    if decay_lambda is not None:
        values["decay_lambda"] = number("decay_lambda", decay_lambda, least=0)
    if embedding is not None:
        values["embedding"] = embedding_to_bytes(embedding)
    if embedding_model is not None:
        values["embedding_model"] = words("embedding_model", embedding_model)
    if token_count is not None:
        values["token_count"] = count("token_count", token_count)
    if values:
        conn.execute(update(blocks).where(blocks.c.id == words("block_id", block_id)).values(values))


def reinforce_blocks(conn: Connection, block_ids: list[str], current_active_hours: float) -> None:
    """Count one more use of each block, and record the hour; one statement for any number of blocks.

    A block named twice is counted once. The hour never goes back: a smaller one is ignored.
    """
    ids = labels("block_ids", block_ids)
    hours = number("current_active_hours", current_active_hours, least=0)
    if ids:
        used = update(blocks).where(blocks.c.id.in_(select(_given(ids))))
        conn.execute(
            used.values(
                reinforcement_count=blocks.c.reinforcement_count + 1,
                last_reinforced_at=func.max(blocks.c.last_reinforced_at, hours),
            )
        )


def _active(query: Select[Any], after: float | None) -> Select[Any]:
    query = query.where(blocks.c.status == "active").order_by(_AS_INSERTED)
    if after is None:
        return query
    return query.where(blocks.c.last_reinforced_at > number("min_last_reinforced_at", after))


def add_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Add tags to a block; one that it has already is left as it is. Raises IntegrityError if there is no block."""
    words("block_id", block_id)
    rows = [{"block_id": block_id, "tag": tag} for tag in labels("tags", tags)]
    if rows:
        conn.execute(insert(block_tags).on_conflict_do_nothing(), rows)


def get_tags(conn: Connection, block_id: str) -> list[str]:
    """Get all tags of a block, sorted."""
    query = select(block_tags.c.tag).where(block_tags.c.block_id == words("block_id", block_id))
    return list(conn.scalars(query.order_by(block_tags.c.tag)))


def get_blocks_by_tag_pattern(conn: Connection, pattern: str) -> list[str]:
    """Get the ids of the blocks with a tag that matches the pattern, sorted, each once.

    The pattern is SQL's LIKE: `%` is any text, `_` any one character, ASCII letters match in either case. `self/%`
    gives all blocks with a tag that begins with `self/`.
    """
    if len(label("pattern", pattern).encode()) > _LONGEST_PATTERN:
        raise Refused(f"pattern is {len(pattern.encode()):,} bytes long; the limit is {_LONGEST_PATTERN:,}", "size")
    query = select(block_tags.c.block_id).distinct().where(block_tags.c.tag.like(pattern))
    return list(conn.scalars(query.order_by(block_tags.c.block_id)))


def remove_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Remove these tags from a block; one that it does not have changes nothing."""
    words("block_id", block_id)
    gone = labels("tags", tags)
    if gone:
        theirs = block_tags.c.block_id == block_id
        conn.execute(delete(block_tags).where(theirs, block_tags.c.tag.in_(select(_given(gone)))))


def insert_edge(conn: Connection, *, from_id: str, to_id: str, weight: float) -> None:
    """Insert an edge, the smaller id first. IntegrityError if it already exists, or one of its blocks does not."""
    values = {
        **Edge(label("from_id", from_id), label("to_id", to_id))._asdict(),
        "weight": number("weight", weight, least=0),
        "created_at": stamp(system_clock()),
    }
    conn.execute(insert(edges).values(values))


def get_edges_for_block(conn: Connection, block_id: str) -> list[dict[str, Any]]:
    """Get all edges of a block, sorted: from_id, to_id, weight, reinforcement_count."""
    words("block_id", block_id)
    query = select(edges.c.from_id, edges.c.to_id, edges.c.weight, edges.c.reinforcement_count)
    query = query.where(or_(edges.c.from_id == block_id, edges.c.to_id == block_id))
    return _fetch(conn, query.order_by(edges.c.from_id, edges.c.to_id))


def get_neighbours(conn: Connection, block_ids: list[str]) -> list[str]:
    """Get the ids of the blocks one edge away from any of these, sorted, without these themselves."""
    ids = labels("block_ids", block_ids)
    if not ids:
        return []
    known = _given_once(ids)
    other = _ends(known).c.other
    return list(conn.scalars(select(other).distinct().where(other.not_in(known)).order_by(other)))


def reinforce_edges(conn: Connection, edge_pairs: list[tuple[str, str]]) -> None:
    """Count one more use of each edge, the smaller id first, once each. A pair that has no edge changes nothing."""
    pairs = [Edge(*pair("edge_pairs", each)) for each in edge_pairs]
    if pairs:
        given = _given(pairs)
        ends = select(*(func.json_extract(given, f"$[{at}]", type_=Text) for at in (0, 1)))
        used = update(edges).where(tuple_(edges.c.from_id, edges.c.to_id).in_(ends))
        conn.execute(used.values(reinforcement_count=edges.c.reinforcement_count + 1))


def get_weighted_degree(conn: Connection, block_ids: list[str]) -> dict[str, float]:
    """The sum of the weights of each block's edges; 0.0 for a block that has none."""
    ids = labels("block_ids", block_ids)
    if not ids:
        return {}
    ends = _ends(_given_once(ids))
    sums = conn.execute(select(ends.c.id, func.sum(ends.c.weight).label("total")).group_by(ends.c.id))
    return dict.fromkeys(ids, 0.0) | {row.id: row.total for row in sums}


def _ends(known: Select[str]) -> Subquery:
    """The edges of the known blocks, each as seen from such a block: its id, the other id, the weight."""
    first, second = edges.c.from_id, edges.c.to_id
    return union_all(
        select(first.label("id"), second.label("other"), edges.c.weight).where(first.in_(known)),
        select(second, first, edges.c.weight).where(second.in_(known)),
    ).subquery()


def insert_contradiction(conn: Connection, *, block_a_id: str, block_b_id: str, score: float) -> None:
    """Insert a contradiction, the smaller id first. IntegrityError if it is known, or a block does not exist."""
    first, second = label("block_a_id", block_a_id), label("block_b_id", block_b_id)
    if first >= second:
        raise Refused(f"a contradiction is of two blocks, the smaller id first, not {first!r}, {second!r}", "self")
    values = {
        "block_a_id": first,
        "block_b_id": second,
        "score": number("score", score, least=0, limit=1),
        "created_at": stamp(system_clock()),
    }
    conn.execute(insert(contradictions).values(values))


def get_contradictions_for_blocks(conn: Connection, block_ids: list[str]) -> list[dict[str, Any]]:
    """Get the unresolved contradictions that involve any of these blocks, sorted by their ids, with all columns."""
    ids = labels("block_ids", block_ids)
    if not ids:
        return []
    known = _given_once(ids)
    first, second = contradictions.c.block_a_id, contradictions.c.block_b_id
    query = select(contradictions).where(contradictions.c.resolved == 0, or_(first.in_(known), second.in_(known)))
    return _fetch(conn, query.order_by(first, second))


def resolve_contradiction(conn: Connection, block_a_id: str, block_b_id: str) -> None:
    """Mark a contradiction as resolved, in whichever order its blocks are named. An unknown one changes nothing."""
    first, second = sorted((words("block_a_id", block_a_id), words("block_b_id", block_b_id)))
    named = (contradictions.c.block_a_id == first, contradictions.c.block_b_id == second)
    conn.execute(update(contradictions).where(*named).values(resolved=1))


def get_frame(conn: Connection, name: str) -> dict[str, Any] | None:
    """Fetch a frame by name, with all its columns; JSON is left as text. None if there is none."""
    return _fetch_one(conn, select(frames).where(frames.c.name == words("name", name)))


def upsert_frame(
    conn: Connection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None:
    """Insert a frame, or give the one of that name new contents; it keeps its `created_at`."""
    contents = {
        "weights_json": json_text("weights_json", weights_json),
        "filters_json": json_text("filters_json", filters_json),
        "guarantees_json": json_text("guarantees_json", guarantees_json, list),
        "template": words("template", template),
        "token_budget": count("token_budget", token_budget),
        "cache_json": None if cache_json is None else json_text("cache_json", cache_json),
        "source": words("source", source),
    }
    made = insert(frames).values(name=label("name", name), created_at=stamp(system_clock()), **contents)
    conn.execute(made.on_conflict_do_update(index_elements=[frames.c.name], set_=contents))


def list_frames(conn: Connection) -> list[dict[str, Any]]:
    """List all frames, sorted by name."""
    return _fetch(conn, select(frames).order_by(frames.c.name))


def start_session(conn: Connection, *, session_id: str, task_type: str, start_active_hours: float) -> None:
    """Record the start of a session. Raises IntegrityError if there is one of that id."""
    values = {
        "id": label("session_id", session_id),
        "task_type": words("task_type", task_type),
        "started_at": stamp(system_clock()),
        "start_active_hours": number("start_active_hours", start_active_hours, least=0),
    }
    conn.execute(insert(sessions).values(values))


def end_session(conn: Connection, session_id: str) -> None:
    """Record the end of a session. One that has ended keeps its end; an unknown one changes nothing."""
    still_open = (sessions.c.id == words("session_id", session_id), sessions.c.ended_at.is_(None))
    conn.execute(update(sessions).where(*still_open).values(ended_at=stamp(system_clock())))


def get_active_session(conn: Connection) -> dict[str, Any] | None:
    """Get the session that has not ended; the one begun last, should there be several. None if all have."""
    latest = (sessions.c.started_at.desc(), column("rowid", Integer).desc())  # two may begin in one microsecond
    return _fetch_one(conn, select(sessions).where(sessions.c.ended_at.is_(None)).order_by(*latest).limit(1))


def get_config(conn: Connection, key: str) -> str | None:
    """Get a setting. None if it is not set."""
    found: str | None = conn.scalar(select(system_config.c.value).where(system_config.c.key == words("key", key)))
    return found


def set_config(conn: Connection, key: str, value: str) -> None:
    """Set a setting, whether or not it was set before."""
    put = insert(system_config).values(key=label("key", key), value=words("value", value))
    conn.execute(put.on_conflict_do_update(index_elements=[system_config.c.key], set_={"value": value}))


def get_total_active_hours(conn: Connection) -> float:
    """Get the counter of active hours; 0.0 if it is not set."""
    text = get_config(conn, _HOURS)
    if text is None:
        return 0.0
    try:
        return number(_HOURS, float(text), least=0)
    except (ValueError, Refused):
        raise Damaged(f"the setting {_HOURS} is {text!r}, not a number of hours; set it again") from None


def set_total_active_hours(conn: Connection, hours: float) -> None:
    """Set the counter of active hours."""
    set_config(conn, _HOURS, repr(number(_HOURS, hours, least=0)))


def seed_builtin_data(conn: Connection) -> None:
    """Insert the built-in frames and the default settings. What is there already is left as it is."""
    now = stamp(system_clock())
    conn.execute(insert(frames).on_conflict_do_nothing(), [{**frame, "created_at": now} for frame in FRAMES])
    settings = [{"key": key, "value": value} for key, value in CONFIG.items()]
    conn.execute(insert(system_config).on_conflict_do_nothing(), settings)


# -- checks of what goes into the index; each returns the value to bind, or refuses it -----------------------------


def quoted(value: object) -> str:
    """A value as a message shows it: one line, and not a long one."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "an integer beyond 64 bits"  # Python refuses to print the longest of them
    return briefly(value)


def words(name: str, value: object) -> str:
    """Any text that UTF-8 can carry."""
    if not isinstance(value, str):
        raise Refused(f"{name} is text, not {type(value).__name__}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"{name} holds a lone surrogate, which no UTF-8 can carry; decode it again", "text") from None
    return value


def label(name: str, value: object) -> str:
    """A text that names something. SQLite's LIKE and JSON stop at a NUL: such names would be taken for others."""
    text = words(name, value)
    if not text or "\0" in text:
        raise Refused(f"{name} names something: {quoted(text)} is empty or holds a NUL", "name")
    return text


def labels(name: str, values: Iterable[object]) -> list[str]:
    """Texts that each name something. A single text where a list was meant is a common slip."""
    if isinstance(values, str):
        raise Refused(f"{name} is a list of texts; write [{quoted(values)}]")
    return [label(f"each of {name}", value) for value in values]


def one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Refused(f"{name} {quoted(value)} is not known; it is one of {', '.join(known)}")
    return value


def number(name: str, value: object, *, least: float = -inf, limit: float = inf) -> float:
    """A finite number within bounds. NumPy's count too; the driver would not take them as they are."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            found = float(value)
        except OverflowError:
            found = inf
        if isfinite(found) and least <= found <= limit:
            return found
    wanted = f"a finite number of {least:g} or more" if isfinite(least) else "a finite number"
    if isfinite(limit):
        wanted = f"a number from {least:g} to {limit:g}"
    raise Refused(f"{name} is {wanted}, not {quoted(value)}")


def count(name: str, value: object) -> int:
    """A whole number that 64 bits can hold, not below zero."""
    if not isinstance(value, bool) and isinstance(value, Integral) and 0 <= int(value) <= _MOST:
        return int(value)
    raise Refused(f"{name} is a whole number from 0 to {_MOST}, not {quoted(value)}")


def pair(name: str, value: object) -> tuple[str, str]:
    """Two names. A text of two characters is not two names."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Refused(f"each of {name} is a pair of ids, not {quoted(value)}")
    return label(f"each id in {name}", value[0]), label(f"each id in {name}", value[1])


def json_text(name: str, value: object, kind: type = dict) -> str:
    """JSON text of an object, or of a list."""
    text = words(name, value)
    try:
        found = loads(text)
    except ValueError as error:
        raise Refused(f"{name}: {error}", "json") from None
    if not isinstance(found, kind):
        called = "a list" if kind is list else "an object"
        raise Refused(f"{name} is the JSON of {called}, not {quoted(text)}", "json")
    return text


_FLOAT32 = "<f4"
_BYTES = 4


def embedding_to_bytes(vec: Vector) -> bytes:
    """Convert a vector to bytes for storage. NaN, infinity, an empty vector or a matrix is refused."""
    import numpy as np

    given = np.asarray(vec)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise Refused(f"an embedding is a vector of numbers, not {given.dtype} of shape {given.shape}")
    with np.errstate(over="ignore"):  # too great for 32 bits: infinite, and refused with the others
        floats = given.astype(_FLOAT32)
    if not np.isfinite(floats).all():
        raise Refused("an embedding contains finite numbers only; this one has NaN or infinity")
    return floats.tobytes()


def bytes_to_embedding(data: bytes) -> NDArray[np.float32]:
    """Convert stored bytes back to a vector, which is read-only: copy it to change it."""
    import numpy as np

    if not data or len(data) % _BYTES:
        raise Damaged(f"an embedding of {len(data)} bytes is not made of {_BYTES}-byte floats; embed the block again")
    return np.frombuffer(data, dtype=_FLOAT32)
