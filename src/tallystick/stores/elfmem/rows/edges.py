"""Edges between blocks: which belong together, how strongly, and how often they were recalled together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, insert, or_, select, tuple_, union, union_all, update

from tallystick.records.block import Edge
from tallystick.records.clock import stamp, system_clock
from tallystick.stores.elfmem.models import edges
from tallystick.stores.elfmem.rows.checks import label, labels, number, pair, words
from tallystick.stores.elfmem.rows.given import given_once, given_pairs
from tallystick.stores.elfmem.rows.plain import fetch


def insert_edge(conn: Connection, *, from_id: str, to_id: str, weight: float) -> None:
    """Insert an edge, the smaller id first (see `Edge.canonical`); the other order is refused.

    Raises IntegrityError if the edge already exists, or one of its blocks does not.
    """
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
    return fetch(conn, query.order_by(edges.c.from_id, edges.c.to_id))


def get_neighbours(conn: Connection, block_ids: list[str]) -> list[str]:
    """Get the ids of the blocks one edge away from any of these, sorted, without these themselves."""
    ids = labels("block_ids", block_ids)
    if not ids:
        return []
    seeds = given_once(ids)
    known = select(seeds.c.value)
    ends = union(
        select(edges.c.to_id.label("id")).where(edges.c.from_id.in_(known)),
        select(edges.c.from_id).where(edges.c.to_id.in_(known)),
    ).subquery()
    return list(conn.scalars(select(ends.c.id).where(ends.c.id.not_in(known)).order_by(ends.c.id)))


def reinforce_edges(conn: Connection, edge_pairs: list[tuple[str, str]]) -> None:
    """Count one more use of each edge, the smaller id first; one statement for any number of edges.

    An edge named twice is counted once; a pair that has no edge changes nothing.
    """
    pairs = [Edge(*pair("edge_pairs", each)) for each in edge_pairs]
    if pairs:
        used = update(edges).where(tuple_(edges.c.from_id, edges.c.to_id).in_(given_pairs(pairs)))
        conn.execute(used.values(reinforcement_count=edges.c.reinforcement_count + 1))


def get_weighted_degree(conn: Connection, block_ids: list[str]) -> dict[str, float]:
    """The sum of the weights of each block's edges; 0.0 for a block that has none."""
    ids = labels("block_ids", block_ids)
    if not ids:
        return {}
    seeds = given_once(ids)
    known = select(seeds.c.value)
    ends = union_all(
        select(edges.c.from_id.label("id"), edges.c.weight).where(edges.c.from_id.in_(known)),
        select(edges.c.to_id, edges.c.weight).where(edges.c.to_id.in_(known)),
    ).subquery()
    sums = conn.execute(select(ends.c.id, func.sum(ends.c.weight).label("total")).group_by(ends.c.id))
    return dict.fromkeys(ids, 0.0) | {row.id: row.total for row in sums}
