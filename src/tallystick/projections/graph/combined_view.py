"""What the graph shows of a node or an edge: what somebody saved, what beliefs say, and the merges, put together.

Whatever follows from beliefs carries a mark, `provenance.derived`: in which ledger it was derived, from how many
beliefs (`told`), how many of them are `held`, when the first and the last were stated, and which of the `properties`
are theirs. `only` says that nobody saved the record itself. What somebody saved goes before what follows.

A merge leaves every record as it was saved; it is put on here, and an unmerge only leaves it out. The result has the
form that the stand-alone graph gives it, so that every store can read it and take it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tallystick.records.graph.fields import RecordFields

MARK = "derived"


class Merge(NamedTuple):
    """A node turned out to be another, which has its names from then on."""

    node: str
    into: str
    told: RecordFields  # names, score, reasons, by, at
    seq: int


def with_beliefs(said: RecordFields | None, derived: RecordFields | None) -> RecordFields | None:
    """A record, with what follows from beliefs. None, if there is neither."""
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
    """A node that is merged into another, or that others were merged into, in the order in which it happened."""
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
    """An edge that leads to where its ends went. `ways` gives the merges that each end took, in their order."""
    steps = sorted(_steps(told, ways), key=lambda step: step[0].seq)
    for merge, ends in steps:
        told = {**told, **dict.fromkeys(ends, merge.into)}
        told["led"] = [*told.get("led", ()), dict.fromkeys(ends, merge.node)]
    return told


def _steps(told: RecordFields, ways: Mapping[str, list[Merge]]) -> Iterator[tuple[Merge, list[str]]]:
    """Every merge that moves the edge, once, with the ends that it moves."""
    moves: dict[str, tuple[Merge, list[str]]] = {}
    for end in ("source", "target"):
        for merge in ways.get(told[end], ()):
            moves.setdefault(merge.node, (merge, []))[1].append(end)
    yield from moves.values()


# -- and back --------------------------------------------------------------------------------------------------------


def plain_node(
    told: RecordFields, shown: RecordFields, own: Merge | None, absorbed: Iterable[Merge], ledger: str
) -> RecordFields:  # fmt: skip
    """What somebody saves of a node that was read here: without the merges that are put on, and what follows.

    `shown` is the node as it is shown now. What was changed in it is what was saved.
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
    """The same of an edge: where it leads by itself. `merges` are those of the nodes that it led to before."""
    told = _without_mark(told, shown, ledger)
    while told.get("led"):
        step = told["led"][-1]
        merge = merges.get(next(iter(step.values()), ""))
        if merge is None or any(told[end] != merge.into for end in step):
            return told
        told = _with({**told, **step}, "led", told["led"][:-1])
    return told


def is_derived_here(told: RecordFields, ledger: str) -> bool:
    """Whether all of a record follows from the beliefs of that ledger."""
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
    """With that field; without it, if it says nothing."""
    return {**told, name: value} if value else _but(told, name)
