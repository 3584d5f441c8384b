"""Contradictions: two blocks that cannot both be right, until someone has decided."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert, or_, select, update

from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Refused
from tallystick.stores.elfmem.models import contradictions
from tallystick.stores.elfmem.rows.checks import label, labels, number, words
from tallystick.stores.elfmem.rows.given import given_once
from tallystick.stores.elfmem.rows.plain import fetch


def insert_contradiction(conn: Connection, *, block_a_id: str, block_b_id: str, score: float) -> None:
    """Insert a contradiction, the smaller id first; the other order is refused.

    Raises IntegrityError if it is known already, or one of its blocks does not exist.
    """
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
    seeds = given_once(ids)
    known = select(seeds.c.value)
    first, second = contradictions.c.block_a_id, contradictions.c.block_b_id
    query = select(contradictions).where(contradictions.c.resolved == 0, or_(first.in_(known), second.in_(known)))
    return fetch(conn, query.order_by(first, second))


def resolve_contradiction(conn: Connection, block_a_id: str, block_b_id: str) -> None:
    """Mark a contradiction as resolved, in whichever order its blocks are named. An unknown one changes nothing."""
    first, second = sorted((words("block_a_id", block_a_id), words("block_b_id", block_b_id)))
    named = (contradictions.c.block_a_id == first, contradictions.c.block_b_id == second)
    conn.execute(update(contradictions).where(*named).values(resolved=1))
