"""Merging two nodes that are the same thing: how likely that is, the merge, and undoing it.

Nothing is lost by a merge. The node that is gone stays stored and names the node that it was merged into; its edges are
redirected to the other and remember their former ends; its names become aliases of the other, which remembers whose
they were. `unmerge` reads this and nothing else, so it restores the same bytes, in whatever order merges are undone;
later changes by somebody else stay.

A shared name proves nothing: two people are called Ana. Below a sure score, a merge is proposed, and a person decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from tallystick.decide.graph import must_stand_for_themselves
from tallystick.records.clock import comparable
from tallystick.records.display import Displayable
from tallystick.records.entity import Filing, name_key
from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.base import MemoryGraphStore

SURE = 0.9
WORTH_ASKING = 0.5
SAME_NAME, SHARED_ALIAS, NAMED_BY_ID, MOST_FOR_NEIGHBOURS, OTHER_KIND = 0.7, 0.6, 0.9, 0.8, 0.5

_EDGES = 1000  # of a node, each way, that are compared
_ALIKE = 20  # nodes of one name that are compared with one another


@dataclass(frozen=True, slots=True)
class Likeness(Displayable):
    """The likelihood that two nodes are the same thing, and the reasons."""

    keep: str
    gone: str
    score: float
    reasons: tuple[str, ...]

    @property
    def is_sure(self) -> bool:
        return self.score >= SURE


@dataclass(frozen=True, slots=True)
class Outcome(Displayable):
    """The result of a merge: done, or only proposed because the score is too low.

    In a memory, a proposal is a `review`, and `filing` has the beliefs that are about the other entity then.
    """

    likeness: Likeness
    is_done: bool
    review: str = ""
    filing: Filing | None = None


def likeness(store: MemoryGraphStore, keep: str, gone: str) -> Likeness:
    """Compare two nodes. NotFound, if one of them does not exist."""
    one, other = store.load_node(keep), store.load_node(gone)
    weighed = list(_weighed(store, one, other))
    score = 1 - prod((1 - weight for weight, _ in weighed), start=1.0)
    reasons = [reason for _, reason in weighed]
    if one.kind != other.kind:
        score *= OTHER_KIND
        reasons.append(f"but one is a {one.kind} and the other a {other.kind}")
    return Likeness(keep, gone, round(score, 4), tuple(reasons))


def _weighed(store: MemoryGraphStore, one: MemoryNode, other: MemoryNode) -> Iterator[tuple[float, str]]:
    label, its = name_key(one.label), name_key(other.label)
    names, theirs = _keys(one), _keys(other)
    if label and label == its:
        yield SAME_NAME, f"both are called {one.label!r}"
    elif shared := sorted(names & theirs):
        yield SHARED_ALIAS, f"both go by {shared[0]!r}"
    if other.id in one.aliases or one.id in other.aliases:
        yield NAMED_BY_ID, "one has the other's id among its aliases"
    both = {one.id, other.id}
    mine, hers = _neighbours(store, one.id, both), _neighbours(store, other.id, both)
    common = len(mine & hers)
    if common:
        share = common / min(len(mine), len(hers))
        yield MOST_FOR_NEIGHBOURS * share * (1 - 0.5**common), f"{common} neighbours are the same, in the same relation"


def _keys(node: MemoryNode) -> set[str]:
    return {key for key in map(name_key, node.names) if key}


def _neighbours(store: MemoryGraphStore, name: str, but: set[str]) -> set[tuple[str, str, str]]:
    out = {("to", edge.kind, edge.target) for edge in store.list_edges(source=name, limit=_EDGES)}
    into = {("from", edge.kind, edge.source) for edge in store.list_edges(target=name, limit=_EDGES)}
    return {each for each in out | into if each[2] not in but}


def find_same(
    store: MemoryGraphStore, kind: str | None = None, *, at_least: float = WORTH_ASKING, limit: int = 100
) -> list[Likeness]:
    """Pairs that may be the same thing, the likeliest first: of nodes that share a name; of many, the first twenty."""
    groups: dict[str, list[str]] = {}
    for node in store.list_nodes(kind):
        for key in _keys(node):
            groups.setdefault(key, []).append(node.id)
    pairs = {pair for names in groups.values() for pair in combinations(sorted(names)[:_ALIKE], 2)}
    found = (likeness(store, one, other) for one, other in sorted(pairs))
    likely = [each for each in found if each.score >= at_least]
    return sorted(likely, key=lambda each: (-each.score, each.keep, each.gone))[:limit]


def merge(
    store: MemoryGraphStore, keep: str, gone: str, *, by: str = "", at: str = "", approved: bool = False
) -> Outcome:
    """Merge `gone` into `keep`, if that is sure or approved; else change nothing and propose it."""
    one, other = store.load_node(keep), store.load_node(gone)
    must_stand_for_themselves(one.to_dict(), other.to_dict())
    alike = likeness(store, keep, gone)
    if not (approved or alike.is_sure):
        return Outcome(alike, False)
    why = {"into": keep, "by": by, "at": comparable(at), "reasons": list(alike.reasons), "score": alike.score}
    brought = [name for name in other.names if name not in one.names]
    kept = replace(one, aliases=(*one.aliases, *brought), absorbed={**one.absorbed, gone: brought})
    given = replace(other, merged={name: value for name, value in why.items() if value or name == "score"})
    edges = []
    for edge in _edges_of(store, gone):  # each leads to `keep` from now on, and remembers where it led
        ends = [name for name in ("source", "target") if getattr(edge, name) == gone]
        led = (*edge.led, dict.fromkeys(ends, gone))
        edges.append(replace(edge, **dict.fromkeys(ends, keep), led=led))  # type: ignore[arg-type]
    store.import_envelope(GraphEnvelope(nodes=[kept, given], edges=edges))
    return Outcome(alike, True)


def _edges_of(store: MemoryGraphStore, name: str) -> Iterable[MemoryEdge]:
    """All edges of a node, each once."""
    found = (*store.list_edges(source=name), *store.list_edges(target=name))
    return {edge.id: edge for edge in found}.values()


def unmerge(store: MemoryGraphStore, gone: str) -> MemoryNode:
    """Undo a merge: the node that is gone gets its names and edges back."""
    given = store.load_node(gone)
    if not given.merged:
        raise Refused(f"node {gone!r} was not merged into another; nothing to undo", "state")
    kept = store.load_node(given.merged_into)
    if kept.merged:
        raise Refused(f"node {kept.id!r} was itself merged into {kept.merged_into!r}; undo that first", "state")
    edges = [back for edge in _edges_of(store, kept.id) if (back := _led_back(edge, gone, kept.id))]
    store.import_envelope(GraphEnvelope(nodes=[_without(store, kept, gone), replace(given, merged={})], edges=edges))
    return store.load_node(gone)


def _without(store: MemoryGraphStore, kept: MemoryNode, gone: str) -> MemoryNode:
    """The node without the names that came from `gone`. A name that another merged node has too stays."""
    absorbed = {name: list(brought) for name, brought in kept.absorbed.items()}
    names = absorbed.pop(gone, [])
    for name in absorbed:
        shared = [each for each in store.load_node(name).names if each in names]
        absorbed[name] += shared
        names = [each for each in names if each not in shared]
    aliases = tuple(name for name in kept.aliases if name not in names)
    return replace(kept, aliases=aliases, absorbed=absorbed)


def _led_back(edge: MemoryEdge, gone: str, keep: str) -> MemoryEdge | None:
    """The edge with `gone` in its former place; None, if it was not redirected from there, or no longer leads here."""
    for step in reversed(edge.led):
        if set(step.values()) == {gone} and all(getattr(edge, end) == keep for end in step):
            rest = [each for each in edge.led if each is not step]
            return replace(edge, **dict.fromkeys(step, gone), led=tuple(rest))  # type: ignore[arg-type]
    return None
