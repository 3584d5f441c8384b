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

from tallystick.records.graph.nodes import RecordFields

MARK = "derived"


class Merge(NamedTuple):
    """A node that turned out to be another, which has its names from then on."""

    node: str
    into: str
    told: RecordFields  # names, score, reasons, by, at
    seq: int


def with_beliefs(said: RecordFields | None, derived: RecordFields | None) -> RecordFields | None:
    """A saved record, with what follows from beliefs. None, if there is neither."""
    if said is None or derived is None:
        return said if derived is None else derived
    mark = {name: value for name, value in derived["provenance"][MARK].items() if name not in ("only", "properties")}
    added = {
        name: value for name, value in derived.get("properties", {}).items() if name not in said.get("properties", {})
    }
    if added:
        said = {**said, "properties": {**added, **said.get("properties", {})}}
        mark["properties"] = sorted(added)
    return {**said, "provenance": {**said.get("provenance", {}), MARK: mark}}


# -- merges ----------------------------------------------------------------------------------------------------------


def merged_node(told: RecordFields, own: Merge | None, absorbed: Iterable[Merge]) -> RecordFields:
    """A node with its own merge, and with those that were merged into it, in their order."""
    if own is not None:
        why = {name: own.told[name] for name in ("by", "at", "reasons") if own.told.get(name)}
        told = {**told, "merged": {"into": own.into, **why, "score": own.told["score"]}}
    for merge in absorbed:
        names = [told.get("label", ""), *told.get("aliases", ())]
        brought = [name for name in merge.told["names"] if name not in names]
        told = {**told, "absorbed": {**told.get("absorbed", {}), merge.node: brought}}
        if brought:
            told["aliases"] = [*told.get("aliases", ()), *brought]
    return told


def merged_edge(told: RecordFields, ways: Mapping[str, list[Merge]]) -> RecordFields:
    """An edge between the nodes that its ends were merged into. `ways` has the merges of each end, in their order."""
    moves: dict[str, tuple[Merge, list[str]]] = {}  # every merge that moves the edge, once, with the ends it moves
    for end in ("source", "target"):
        for merge in ways.get(told[end], ()):
            moves.setdefault(merge.node, (merge, []))[1].append(end)
    for merge, ends in sorted(moves.values(), key=lambda move: move[0].seq):
        told = {**told, **dict.fromkeys(ends, merge.into)}
        told["led"] = [*told.get("led", ()), dict.fromkeys(ends, merge.node)]
    return told


# -- back to what is saved ---------------------------------------------------------------------------------------------


def plain_node(
    told: RecordFields, shown: RecordFields, own: Merge | None, absorbed: Iterable[Merge], ledger: str
) -> RecordFields:  # fmt: skip
    """A node that was read here, as somebody saves it: without the merges, and what follows from beliefs.

    `shown` is the combined view now. What was changed in it is what is saved.
    """
    told = _without_mark(told, shown, ledger)
    if own is not None and told.get("merged", {}).get("into") == own.into:
        told = _but(told, "merged")
    for merge in absorbed:
        brought = told.get("absorbed", {}).get(merge.node)
        if brought is not None and brought == shown.get("absorbed", {}).get(merge.node):
            told = _with(told, "absorbed", _but(told["absorbed"], merge.node))
            told = _with(told, "aliases", [name for name in told.get("aliases", ()) if name not in brought])
    return told


def plain_edge(told: RecordFields, shown: RecordFields, merges: Mapping[str, Merge], ledger: str) -> RecordFields:
    """An edge as somebody saves it: between its own ends. `merges` are those of the nodes that it led to before."""
    told = _without_mark(told, shown, ledger)
    while told.get("led"):
        step = told["led"][-1]
        merge = merges.get(next(iter(step.values()), ""))
        if merge is None or any(told[end] != merge.into for end in step):
            return told
        told = _with({**told, **step}, "led", told["led"][:-1])
    return told


def is_derived_here(told: RecordFields, ledger: str) -> bool:
    """True if all of a record follows from the beliefs of that ledger."""
    mark = _mark(told)
    return mark.get("ledger") == ledger and bool(mark.get("only"))


def _without_mark(told: RecordFields, shown: RecordFields, ledger: str) -> RecordFields:
    mark = _mark(told)
    if mark.get("ledger") != ledger:
        return told
    source = _but(told["provenance"], MARK)
    if mark.get("only"):
        source = {name: value for name, value in source.items() if shown.get("provenance", {}).get(name) != value}
    kept = {
        name: value
        for name, value in told.get("properties", {}).items()
        if name not in mark.get("properties", ()) or shown.get("properties", {}).get(name) != value
    }
    return _with(_with(told, "provenance", source), "properties", kept)


def _mark(told: RecordFields) -> RecordFields:
    source = told.get("provenance")
    mark = source.get(MARK) if isinstance(source, dict) else None
    return mark if isinstance(mark, dict) else {}


def _but(told: Mapping[str, Any], name: str) -> RecordFields:
    return {each: value for each, value in told.items() if each != name}


def _with(told: RecordFields, name: str, value: Any) -> RecordFields:
    """The record with that field; without it, if it is empty."""
    return {**told, name: value} if value else _but(told, name)


# -- merges, as the rows have them -------------------------------------------------------------------------------------

_MERGES = 'SELECT node, "into", told, seq FROM merges WHERE user = ? AND '


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
    """True if somebody saved that node, or a fact is about it."""
    asked = (
        "SELECT 1 FROM entities WHERE user = ? AND node = ?",
        "SELECT 1 FROM nodes WHERE user = ? AND id = ? AND said IS NOT NULL",
    )
    return any(db.execute(question, (user, node)).fetchone() for question in asked)
