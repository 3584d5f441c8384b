"""The combined view of a node or an edge: what somebody saved, what beliefs say, and the merges.

Whatever follows from beliefs has a mark, `provenance.derived`: the ledger it was derived in, from how many beliefs
(`told`), how many of them are current (`held`), when the first and the last were stated, and which of the `properties`
are theirs. `only` says that nobody saved the record itself. What somebody saved goes before what follows.

A merge leaves every record as it was saved; it is applied here while both of its nodes are there, and an unmerge only
leaves it out. The result has the form of the stand-alone graph, so that every store can read it and import it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tallystick.records.entity import has_kind
from tallystick.records.graph.nodes import RecordFields

MARK = "derived"


class Merge(NamedTuple):
    """A node that turned out to be another, which has its names from then on."""

    node: str
    into: str
    told: RecordFields  # names, score, reasons, by, at
    seq: int


def with_beliefs(saved: RecordFields | None, derived: RecordFields | None) -> RecordFields | None:
    """A saved record, with what follows from beliefs. None, if there is neither."""
    if saved is None or derived is None:
        return saved if derived is None else derived
    mark = {name: value for name, value in derived["provenance"][MARK].items() if name not in ("only", "properties")}
    added = {
        name: value for name, value in derived.get("properties", {}).items() if name not in saved.get("properties", {})
    }
    if added:
        saved = {**saved, "properties": {**added, **saved.get("properties", {})}}
        mark["properties"] = sorted(added)
    return {**saved, "provenance": {**saved.get("provenance", {}), MARK: mark}}


# -- merges ----------------------------------------------------------------------------------------------------------


def merged_node(record: RecordFields, own: Merge | None, absorbed: Iterable[Merge]) -> RecordFields:
    """A node with its own merge, and with those that were merged into it, in their order."""
    if own is not None:
        why = {name: own.told[name] for name in ("by", "at", "reasons") if own.told.get(name)}
        record = {**record, "merged": {"into": own.into, **why, "score": own.told["score"]}}
    for merge in absorbed:
        names = [record.get("label", ""), *record.get("aliases", ())]
        brought = [name for name in merge.told["names"] if name not in names]
        record = {**record, "absorbed": {**record.get("absorbed", {}), merge.node: brought}}
        if brought:
            record["aliases"] = [*record.get("aliases", ()), *brought]
    return record


def merged_edge(record: RecordFields, ways: Mapping[str, list[Merge]]) -> RecordFields:
    """An edge between the nodes that its ends were merged into. `ways` has the merges of each end, in their order."""
    moves: dict[str, tuple[Merge, list[str]]] = {}  # every merge that moves the edge, once, with the ends it moves
    for end in ("source", "target"):
        for merge in ways.get(record[end], ()):
            moves.setdefault(merge.node, (merge, []))[1].append(end)
    for merge, ends in sorted(moves.values(), key=lambda move: move[0].seq):
        record = {**record, **dict.fromkeys(ends, merge.into)}
        record["led"] = [*record.get("led", ()), dict.fromkeys(ends, merge.node)]
    return record


# -- back to what is saved ---------------------------------------------------------------------------------------------


def plain_node(
    record: RecordFields, view: RecordFields, own: Merge | None, absorbed: Iterable[Merge], ledger: str
) -> RecordFields:  # fmt: skip
    """A node that was read here, as somebody saves it: without the merges, and what follows from beliefs.

    `view` is the combined view now. What was changed in it is what is saved.
    """
    record = _without_mark(record, view, ledger)
    if own is not None and record.get("merged", {}).get("into") == own.into:
        record = _but(record, "merged")
    for merge in absorbed:
        brought = record.get("absorbed", {}).get(merge.node)
        if brought is not None and brought == view.get("absorbed", {}).get(merge.node):
            record = _with(record, "absorbed", _but(record["absorbed"], merge.node))
            record = _with(record, "aliases", [name for name in record.get("aliases", ()) if name not in brought])
    return record


def plain_edge(record: RecordFields, view: RecordFields, merges: Mapping[str, Merge], ledger: str) -> RecordFields:
    """An edge as somebody saves it: between its own ends. `merges` are those of the nodes that it led to before."""
    record = _without_mark(record, view, ledger)
    while record.get("led"):
        step = record["led"][-1]
        merge = merges.get(next(iter(step.values()), ""))
        if merge is None or any(record[end] != merge.into for end in step):
            return record
        record = _with({**record, **step}, "led", record["led"][:-1])
    return record


def is_derived_here(record: RecordFields, ledger: str) -> bool:
    """True if all of a record follows from the beliefs of that ledger."""
    mark = _mark(record)
    return mark.get("ledger") == ledger and bool(mark.get("only"))


def _without_mark(record: RecordFields, view: RecordFields, ledger: str) -> RecordFields:
    mark = _mark(record)
    if mark.get("ledger") != ledger:
        return record
    source = _but(record["provenance"], MARK)
    if mark.get("only"):
        source = {name: value for name, value in source.items() if view.get("provenance", {}).get(name) != value}
    kept = {
        name: value
        for name, value in record.get("properties", {}).items()
        if name not in mark.get("properties", ()) or view.get("properties", {}).get(name) != value
    }
    return _with(_with(record, "provenance", source), "properties", kept)


def _mark(record: RecordFields) -> RecordFields:
    source = record.get("provenance")
    mark = source.get(MARK) if isinstance(source, dict) else None
    return mark if isinstance(mark, dict) else {}


def _but(record: Mapping[str, Any], name: str) -> RecordFields:
    return {each: value for each, value in record.items() if each != name}


def _with(record: RecordFields, name: str, value: Any) -> RecordFields:
    """The record with that field; without it, if it is empty."""
    return {**record, name: value} if value else _but(record, name)


# -- merges, as the rows have them -------------------------------------------------------------------------------------

_MERGES = 'SELECT node, "into", told, seq FROM graph_merges WHERE user = ? AND '


def _merges(rows: sqlite3.Cursor) -> Iterator[Merge]:
    return (Merge(node, into, orjson.loads(told), seq) for node, into, told, seq in rows.fetchall())


def merge_of(db: sqlite3.Connection, user: str, node: str) -> Merge | None:
    """The merge of a node into another."""
    return next(_merges(db.execute(_MERGES + "node = ?", (user, node))), None)


def merges_into(db: sqlite3.Connection, user: str, node: str) -> list[Merge]:
    """The merges of others into that node, in their order."""
    return list(_merges(db.execute(_MERGES + '"into" = ? ORDER BY seq', (user, node))))


def ways_of(db: sqlite3.Connection, user: str, node: str) -> list[Merge]:
    """The merges that lead from a node to its final one. A ring, which only a forged ledger has, is followed once."""
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
    """True if somebody saved that node, or a fact is about it; or one was, and it is part of another entity now."""
    asked = (
        "SELECT 1 FROM graph_entities WHERE user = ? AND node = ?",
        "SELECT 1 FROM graph_nodes WHERE user = ? AND id = ? AND said IS NOT NULL",
    )
    return any(db.execute(question, (user, node)).fetchone() for question in asked) or is_only_a_name(db, user, node)


def is_only_a_name(db: sqlite3.Connection, user: str, node: str) -> bool:
    """True for an entity that is part of another one, whose beliefs are about that one now."""
    merge = merge_of(db, user, node) if has_kind(node) else None
    return merge is not None and is_there(db, user, merge.into)
