"""Graph traversal: neighbours, everything within a few hops, the shortest path.

Every traversal has limits and reports when it reached one (`is_cut`). It costs what it visits, however large the rest
of the graph is. Equal graphs give equal results: neighbours are visited in the order of the edges' ids, and of several
shortest paths it is always the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tallystick.records.clock import comparable
from tallystick.records.display import Displayable
from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.base import MemoryGraphStore

Direction = Literal["out", "in", "both"]

MAX_NODES = 1000
MAX_EDGES = 1000  # of one node that are visited, each way
MAX_HOPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The edges to follow, and how far. `kinds` are those of edges, `node_kinds` those of nodes."""

    max_nodes: int = MAX_NODES
    max_edges: int = MAX_EDGES
    direction: Direction = "both"
    kinds: Collection[str] | None = None
    node_kinds: Collection[str] | None = None
    min_weight: float = 0.0
    as_of: str = ""  # only what was true then

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_edges"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise Refused(f"{name} must be a whole number, 1 or more, not {getattr(self, name)!r}")
        if self.direction not in ("out", "in", "both"):
            raise Refused(f"direction must be out, in or both, not {self.direction!r}")
        for name in ("kinds", "node_kinds"):
            if isinstance(getattr(self, name), str):
                raise Refused(f"{name} must be a list of kinds; write [{getattr(self, name)!r}]")
        object.__setattr__(self, "as_of", comparable(self.as_of))

    def allow_edge(self, edge: MemoryEdge) -> bool:
        known = self.kinds is None or edge.kind in self.kinds
        return known and edge.weight >= self.min_weight and (not self.as_of or edge.holds_at(self.as_of))


@dataclass(frozen=True, slots=True)
class Expansion(Displayable):
    """The nodes within reach, nearest first; the distance of each; the edges between them."""

    nodes: tuple[MemoryNode, ...]
    distance: dict[str, int]
    edges: tuple[MemoryEdge, ...]
    is_cut: bool  # a limit was reached: there may be more


@dataclass(frozen=True, slots=True)
class Way(Displayable):
    """A path through a graph: each edge leads from one node to the next, in whichever direction it points."""

    nodes: tuple[str, ...]
    edges: tuple[MemoryEdge, ...]

    @property
    def hops(self) -> int:
        return len(self.edges)


def expand(store: MemoryGraphStore, start: Iterable[str], hops: int = 2, limits: Limits | None = None) -> Expansion:
    """Everything within so many hops of the nodes in `start`. NotFound, if one of them does not exist."""
    if isinstance(start, str):
        raise Refused(f"start must be a list of ids; write [{start!r}]")
    if type(hops) is not int or hops < 0:
        raise Refused(f"hops must be a whole number, 0 or more, not {hops!r}")
    limits = limits or Limits()
    nodes = {node.id: node for node in (resolve(store, name) for name in start)}
    distance, edges, is_cut = dict.fromkeys(nodes, 0), dict[str, MemoryEdge](), False
    front, step = list(nodes), 0
    while front and step < hops:
        step, reached = step + 1, list[str]()
        for name in front:
            found, has_more = edges_of(store, name, limits)
            is_cut |= has_more
            for edge in found:
                other = edge.target if edge.source == name else edge.source
                node = None if other in nodes else _allowed(store, other, limits)
                if node is not None and len(nodes) >= limits.max_nodes:
                    is_cut = True
                elif node is not None:
                    nodes[other], distance[other] = node, step
                    reached.append(other)
                if other in nodes:
                    edges[edge.id] = edge
        front = reached
    return Expansion(tuple(nodes.values()), distance, tuple(edges[name] for name in sorted(edges)), is_cut)


def _allowed(store: MemoryGraphStore, name: str, limits: Limits) -> MemoryNode | None:
    """A node within the limits; None for another, or for an edge that leads nowhere."""
    try:
        node = store.load_node(name)
    except NotFound:
        return None
    is_known = limits.node_kinds is None or node.kind in limits.node_kinds
    return node if is_known and (not limits.as_of or node.holds_at(limits.as_of)) else None


def edges_of(store: MemoryGraphStore, name: str, limits: Limits) -> tuple[list[MemoryEdge], bool]:
    """The edges of a node that may be followed, and whether there are more than were visited."""
    found: dict[str, MemoryEdge] = {}
    is_cut = False
    for end, opposite in (("source", "in"), ("target", "out")):
        if limits.direction != opposite:
            edges = store.list_edges(**{end: name}, limit=limits.max_edges + 1)
            is_cut |= len(edges) > limits.max_edges
            found |= {edge.id: edge for edge in edges[: limits.max_edges] if limits.allow_edge(edge)}
    return [found[name] for name in sorted(found)], is_cut


def resolve(store: MemoryGraphStore, name: str) -> MemoryNode:
    """The node of that id, or the one it was merged into."""
    node, seen = store.load_node(name), {name}
    while node.merged_into and node.merged_into not in seen:
        seen.add(node.merged_into)
        node = store.load_node(node.merged_into)
    return node


def shortest_path(
    store: MemoryGraphStore, start: str, end: str, *, max_hops: int = MAX_HOPS, limits: Limits | None = None
) -> Way | None:
    """The path with the fewest edges, searched from both ends at once; None if there is none within the limits."""
    if type(max_hops) is not int or max_hops < 0:
        raise Refused(f"max_hops must be a whole number, 0 or more, not {max_hops!r}")
    first, last = resolve(store, start).id, resolve(store, end).id
    chosen = limits or Limits()
    if first == last:
        return Way((first,), ())
    turned: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
    back = _Side(store, replace(chosen, direction=turned[chosen.direction]), last)
    ahead = _Side(store, chosen, first)
    for _ in range(max_hops):
        side, other = (ahead, back) if len(ahead.front) <= len(back.front) else (back, ahead)
        met = side.step(other)
        if met:
            middle = min(met)
            to_it, from_it = ahead.back_from(middle)[::-1], back.back_from(middle)
            nodes = [*(name for name, _ in to_it), middle, *(name for name, _ in from_it)]
            return Way(tuple(nodes), tuple(edge for _, edge in (*to_it, *from_it)))
        if not side.front or len(ahead.depth) + len(back.depth) > chosen.max_nodes:
            return None
    return None


class _Side:
    """The nodes reached from one end, and the edge to each."""

    def __init__(self, store: MemoryGraphStore, limits: Limits, start: str) -> None:
        self._store, self._limits, self.front = store, limits, [start]
        self.depth = {start: 0}
        self.came: dict[str, tuple[str, MemoryEdge]] = {}

    def step(self, other: _Side) -> list[str]:
        """Go one hop further. Returns the nodes where the two sides met."""
        fresh, met = [], []
        for name in self.front:
            for edge in edges_of(self._store, name, self._limits)[0]:
                reached = edge.target if edge.source == name else edge.source
                is_end = other.depth.get(reached) == 0  # the end itself may be of any kind: it was asked for
                if reached in self.depth or not (is_end or _allowed(self._store, reached, self._limits)):
                    continue
                self.depth[reached], self.came[reached] = self.depth[name] + 1, (name, edge)
                fresh.append(reached)
                if reached in other.depth:
                    met.append(reached)
            if len(self.depth) > self._limits.max_nodes:
                break
        self.front = fresh
        return met

    def back_from(self, name: str) -> list[tuple[str, MemoryEdge]]:
        steps = []
        while name in self.came:
            before, edge = self.came[name]
            steps.append((before, edge))
            name = before
        return steps
