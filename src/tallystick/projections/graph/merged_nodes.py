"""Which node was merged into which, as the rows have it. A merge counts while both of its nodes are there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import orjson

from tallystick.projections.graph.combined_view import Merge

_MERGES = 'SELECT node, "into", told, seq FROM merges WHERE user = ? AND '


def _merges(rows: sqlite3.Cursor) -> Iterator[Merge]:
    return (Merge(node, into, orjson.loads(told), seq) for node, into, told, seq in rows.fetchall())


def merge_of(db: sqlite3.Connection, user: str, node: str) -> Merge | None:
    """The merge by which a node gave way to another."""
    return next(_merges(db.execute(_MERGES + "node = ?", (user, node))), None)


def merges_into(db: sqlite3.Connection, user: str, node: str) -> list[Merge]:
    """The merges by which others became that node, in their order."""
    return list(_merges(db.execute(_MERGES + '"into" = ? ORDER BY seq', (user, node))))


def ways_of(db: sqlite3.Connection, user: str, node: str) -> list[Merge]:
    """The merges that lead from a node to the one that stands for it now. A ring, which only a forged ledger has, is
    followed once."""
    way: list[Merge] = []
    passed = {node}
    while (merge := merge_of(db, user, way[-1].into if way else node)) and is_there(db, user, merge.into):
        if merge.into in passed:
            break
        passed.add(merge.into)
        way.append(merge)
    return way


def family_of(db: sqlite3.Connection, user: str, node: str) -> set[str]:
    """A node, those that it was merged into, and those that were merged into it, step by step."""
    found, above = {node}, merge_of(db, user, node)
    while above is not None and above.into not in found:
        found.add(above.into)
        above = merge_of(db, user, above.into)
    below = [node]
    while below:
        fresh = [merge.node for merge in merges_into(db, user, below.pop()) if merge.node not in found]
        found.update(fresh)
        below += fresh
    return found


def is_there(db: sqlite3.Connection, user: str, node: str) -> bool:
    """Whether somebody saved that node, or tells of it."""
    asked = (
        "SELECT 1 FROM entities WHERE user = ? AND node = ?",
        "SELECT 1 FROM nodes WHERE user = ? AND id = ? AND said IS NOT NULL",
    )
    return any(db.execute(question, (user, node)).fetchone() for question in asked)
