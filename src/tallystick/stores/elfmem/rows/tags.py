"""Tags: present or not. They read like paths (`self/value`), and are found by pattern."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from tallystick.records.errors import Refused
from tallystick.stores.elfmem.models import block_tags
from tallystick.stores.elfmem.rows.checks import label, labels, words
from tallystick.stores.elfmem.rows.given import given

_LONGEST_PATTERN = 50_000  # bytes; SQLite's own limit


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

    The pattern is SQL's LIKE: `%` is any text, `_` any one sign, ASCII letters match in either case. `self/%` gives
    all blocks with a tag that begins with `self/`.
    """
    if len(label("pattern", pattern).encode()) > _LONGEST_PATTERN:
        raise Refused(
            f"a pattern has at most {_LONGEST_PATTERN:,} bytes; this one has {len(pattern.encode()):,}", "size"
        )
    query = select(block_tags.c.block_id).distinct().where(block_tags.c.tag.like(pattern))
    return list(conn.scalars(query.order_by(block_tags.c.block_id)))


def remove_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Remove these tags from a block; one that it does not have changes nothing."""
    words("block_id", block_id)
    gone = labels("tags", tags)
    if gone:
        theirs = block_tags.c.block_id == block_id
        conn.execute(delete(block_tags).where(theirs, block_tags.c.tag.in_(given(gone))))
