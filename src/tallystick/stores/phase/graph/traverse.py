"""Walking in a graph: neighbours, everything within a few steps, the shortest way.

Every walk has limits and says when it met one (`is_cut`). The cost is that of what is looked at: however large the
rest of the graph is, it is not looked at. Equal graphs give equal walks: neighbours are visited in the order of the
edges' ids, and of several shortest ways it is always the same one that is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tallystick.records.clock import comparable
from tallystick.records.display import Displayable
from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

Direction = Literal["out", "in", "both"]

MAX_NODES = 1000
MAX_EDGES = 1000  # of one node that are looked at, each way
MAX_HOPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which edges are walked along, and how far. `kinds` are those of edges, `node_kinds` those of nodes."""

    max_nodes: int = MAX_NODES
    max_edges: int = MAX_EDGES
    direction: Direction = "both"
    kinds: Collection[str] | None = None
    node_kinds: Collection[str] | None = None
    min_weight: float = 0.0
    as_of: str = ""  # only what was so then

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_edges"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise Refused(f"{name} is a whole number from 1 on, not {getattr(self, name)!r}")
        if self.direction not in ("out", "in", "both"):
            raise Refused(f"direction is out, in or both, not {self.direction!r}")
        for name in ("kinds", "node_kinds"):
            if isinstance(getattr(self, name), str):
                raise Refused(f"{name} is a list of kinds; write [{getattr(self, name)!r}]")
        object.__setattr__(self, "as_of", comparable(self.as_of))

    def allow_edge(self, edge: MemoryEdge) -> bool:
        known = self.kinds is None or edge.kind in self.kinds
        return known and edge.weight >= self.min_weight and (not self.as_of or edge.holds_at(self.as_of))

    def allow_node(self, node: MemoryNode) -> bool:
        known = self.node_kinds is None or node.kind in self.node_kinds
        return known and (not self.as_of or node.holds_at(self.as_of))


@dataclass(frozen=True, slots=True)
class Expansion(Displayable):
    """What lies within reach: the nodes, nearest first; how many steps away each is; the edges walked along."""

    nodes: tuple[MemoryNode, ...]
    distance: dict[str, int]
    edges: tuple[MemoryEdge, ...]
    is_cut: bool  # a limit was met: there may be more


@dataclass(frozen=True, slots=True)
class Way(Displayable):
    """A way through a graph: each edge leads from one node to the next, in whichever direction it points."""

    nodes: tuple[str, ...]
    edges: tuple[MemoryEdge, ...]

    @property
    def hops(self) -> int:
        return len(self.edges)


def neighbourhood(store: MemoryGraphStore, node_id: str, limits: Limits | None = None) -> Expansion:
    """A node and those next to it. NotFound, if there is no such node."""
    return expand(store, [node_id], 1, limits)


def expand(store: MemoryGraphStore, start: Iterable[str], hops: int = 2, limits: Limits | None = None) -> Expansion:
    """Everything within so many steps of the nodes in `start`. NotFound, if one of them is not there."""
    if isinstance(start, str):
        raise Refused(f"start is a list of ids; write [{start!r}]")
    if type(hops) is not int or hops < 0:
        raise Refused(f"hops is a whole number from 0 on, not {hops!r}")
    walker = _Walker(store, limits or Limits())
    for name in start:
        walker.begin(name)
    front = list(walker.distance)
    step = 0
    while front and step < hops:  # however far it may go, it ends where nothing new is reached
        step += 1
        front = walker.step(front, step)
    return walker.expansion()


class _Walker:
    """One walk, outward from where it began."""

    def __init__(self, store: MemoryGraphStore, limits: Limits) -> None:
        self._store, self._limits = store, limits
        self.distance: dict[str, int] = {}
        self._nodes: dict[str, MemoryNode] = {}
        self._edges: dict[str, MemoryEdge] = {}
        self._is_cut = False

    def begin(self, name: str) -> None:
        node = resolve(self._store, name)
        self._nodes[node.id] = node
        self.distance[node.id] = 0

    def step(self, front: list[str], number: int) -> list[str]:
        """The nodes that are reached for the first time."""
        reached = []
        for name in front:
            edges, is_cut = edges_of(self._store, name, self._limits)
            self._is_cut |= is_cut
            for edge in edges:
                other = edge.target if edge.source == name else edge.source
                if other not in self._nodes and self._reach(other, number):
                    reached.append(other)
                if other in self._nodes:
                    self._edges[edge.id] = edge
        return reached

    def _reach(self, name: str, number: int) -> bool:
        try:
            node = self._store.load_node(name)
        except NotFound:
            return False  # an edge that leads nowhere
        if not self._limits.allow_node(node):
            return False
        if len(self._nodes) >= self._limits.max_nodes:
            self._is_cut = True
            return False
        self._nodes[name], self.distance[name] = node, number
        return True

    def expansion(self) -> Expansion:
        edges = tuple(self._edges[name] for name in sorted(self._edges))
        return Expansion(tuple(self._nodes.values()), self.distance, edges, self._is_cut)


def edges_of(store: MemoryGraphStore, name: str, limits: Limits) -> tuple[list[MemoryEdge], bool]:
    """The edges of a node that may be walked along, and whether there are more than were looked at."""
    found: dict[str, MemoryEdge] = {}
    is_cut = False
    for ends in _ends(name, limits.direction):
        seen = store.list_edges(**ends, limit=limits.max_edges + 1)
        is_cut |= len(seen) > limits.max_edges
        found |= {edge.id: edge for edge in seen[: limits.max_edges] if limits.allow_edge(edge)}
    return [found[name] for name in sorted(found)], is_cut


def _ends(name: str, direction: Direction) -> Iterator[dict[str, str]]:
    if direction != "in":
        yield {"source": name}
    if direction != "out":
        yield {"target": name}


def resolve(store: MemoryGraphStore, name: str) -> MemoryNode:
    """The node that stands for `name` now: itself, or the one it was merged into."""
    node, seen = store.load_node(name), {name}
    while node.merged_into and node.merged_into not in seen:
        seen.add(node.merged_into)
        node = store.load_node(node.merged_into)
    return node


# -- the shortest way ------------------------------------------------------------------------------------------------


def shortest_path(
    store: MemoryGraphStore, start: str, end: str, *, max_hops: int = MAX_HOPS, limits: Limits | None = None
) -> Way | None:
    """The way with the fewest edges; None if there is none within the limits.

    It is looked for from both ends at once, so that few nodes are looked at. `max_nodes` is the most of those.
    """
    if type(max_hops) is not int or max_hops < 0:
        raise Refused(f"max_hops is a whole number from 0 on, not {max_hops!r}")
    first, last = resolve(store, start).id, resolve(store, end).id
    chosen = limits or Limits()
    if first == last:
        return Way((first,), ())
    ahead, back = _Side(store, chosen, first), _Side(store, _turned(chosen), last)
    for _ in range(max_hops):
        side, other = (ahead, back) if len(ahead.front) <= len(back.front) else (back, ahead)
        met = side.step(other)
        if met:
            return _joined(min(met), ahead, back)
        if not side.front or len(ahead.depth) + len(back.depth) > chosen.max_nodes:
            return None
    return None


class _Side:
    """What was reached from one end, and along which edge."""

    def __init__(self, store: MemoryGraphStore, limits: Limits, start: str) -> None:
        self._store, self._limits, self.front = store, limits, [start]
        self.depth = {start: 0}
        self.came: dict[str, tuple[str, MemoryEdge]] = {}

    def step(self, other: _Side) -> list[str]:
        """Go one further all round. The nodes where the two sides met."""
        fresh, met = [], []
        for name in self.front:
            for edge in edges_of(self._store, name, self._limits)[0]:
                reached = edge.target if edge.source == name else edge.source
                if reached in self.depth or not self._may_enter(reached, other):
                    continue
                self.depth[reached], self.came[reached] = self.depth[name] + 1, (name, edge)
                fresh.append(reached)
                if reached in other.depth:
                    met.append(reached)
            if len(self.depth) > self._limits.max_nodes:
                break
        self.front = fresh
        return met

    def _may_enter(self, name: str, other: _Side) -> bool:
        """The end itself may be of any kind: it was asked for."""
        if other.depth.get(name) == 0:
            return True
        try:
            return self._limits.allow_node(self._store.load_node(name))
        except NotFound:
            return False

    def back_from(self, name: str) -> list[tuple[str, MemoryEdge]]:
        steps = []
        while name in self.came:
            before, edge = self.came[name]
            steps.append((before, edge))
            name = before
        return steps


def _turned(limits: Limits) -> Limits:
    turned: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
    return Limits(
        max_nodes=limits.max_nodes, max_edges=limits.max_edges, direction=turned[limits.direction], kinds=limits.kinds,
        node_kinds=limits.node_kinds, min_weight=limits.min_weight, as_of=limits.as_of,
    )  # fmt: skip


def _joined(middle: str, ahead: _Side, back: _Side) -> Way:
    to_it, from_it = ahead.back_from(middle)[::-1], back.back_from(middle)
    nodes = [*(name for name, _ in to_it), middle, *(name for name, _ in from_it)]
    return Way(tuple(nodes), tuple(edge for _, edge in (*to_it, *from_it)))
