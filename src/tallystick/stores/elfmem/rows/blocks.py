"""Blocks: inbox → active → archived, and the signals by which they are scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Integer, Select, column, delete, exists, func, insert, or_, select, update

from tallystick.records.block import ArchiveReason, BlockStatus
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Refused
from tallystick.stores.elfmem.embeddings import embedding_to_bytes
from tallystick.stores.elfmem.models import block_tags, blocks, contradictions, edges
from tallystick.stores.elfmem.rows.checks import count, label, labels, number, one_of, words
from tallystick.stores.elfmem.rows.given import given
from tallystick.stores.elfmem.rows.plain import fetch, fetch_one

if TYPE_CHECKING:
    from tallystick.stores.elfmem.embeddings import Vector

STATUSES = tuple(BlockStatus)
ARCHIVE_REASONS = tuple(ArchiveReason)

_AS_INSERTED = column("rowid", Integer)
_LIGHT = [each for each in blocks.c if each.name != "embedding"]  # vectors are most of a row


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
    return fetch_one(conn, select(blocks).where(blocks.c.id == words("block_id", block_id)))


def block_exists(conn: Connection, block_id: str) -> bool:
    """Whether there is a block with this id, in any status."""
    return bool(conn.scalar(select(exists().where(blocks.c.id == words("block_id", block_id)))))


def get_active_blocks(conn: Connection, *, min_last_reinforced_at: float | None = None) -> list[dict[str, Any]]:
    """Fetch all active blocks, in the order of their insertion, without their embeddings.

    With `min_last_reinforced_at`, only those that were reinforced after it.
    """
    return fetch(conn, _active(select(*_LIGHT), min_last_reinforced_at))


def get_active_blocks_with_embeddings(
    conn: Connection, *, min_last_reinforced_at: float | None = None
) -> list[dict[str, Any]]:
    """The same with the embedding's bytes, for those that have one: see `bytes_to_embedding`."""
    return fetch(conn, _active(select(blocks), min_last_reinforced_at).where(blocks.c.embedding.is_not(None)))


def get_inbox_blocks(conn: Connection) -> list[dict[str, Any]]:
    """Fetch all blocks with status 'inbox', in the order of their insertion."""
    return fetch(conn, select(blocks).where(blocks.c.status == "inbox").order_by(_AS_INSERTED))


def get_inbox_count(conn: Connection) -> int:
    """How many blocks are in the inbox."""
    return conn.scalar(select(func.count()).where(blocks.c.status == "inbox")) or 0


def update_block_status(conn: Connection, block_id: str, *, status: str, archive_reason: str | None = None) -> None:
    """Transition a block to a new status. A block that is not there changes nothing.

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
    """Update the fields that are given and leave the others as they are. A block that is not there changes nothing."""
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
    """Count one more use of each block, and note the hour of it; one statement for any number of blocks.

    A block named twice is counted once. The hour never goes back: a smaller one leaves the block's own.
    """
    ids = labels("block_ids", block_ids)
    hours = number("current_active_hours", current_active_hours, least=0)
    if ids:
        used = update(blocks).where(blocks.c.id.in_(given(ids)))
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
