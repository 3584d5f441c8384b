"""What would be brought to mind for a purpose, and why. Planning changes nothing.

From each seed the plan spreads along edges, both ways. How far a node is reached is the product of what each edge on
the way lets through, weight / (1 + weight); the strongest way counts. A node's score is that times its own share,
2 × weight / (1 + weight), which is 1 for a usual one. Equal scores go by id, so the same graph and the same question
give the same plan, and the same id of it, on any day.

What is archived, superseded, retracted or out of its time is left out, said so, and not passed through. The cost is
that of what is reached: `limit` and a few bounds keep it small however large the graph is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from heapq import heappop, heappush
from typing import Any

from tallystick.decide.effect import ACTIVE
from tallystick.records.errors import NotFound, Refused
from tallystick.records.fields import names
from tallystick.records.graph.events import digest_of
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.actions import SUPERSEDES, status_of
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

LIMIT, MOST = 12, 1000
HOPS = 4
FAN = 200  # edges of one node that are looked at, each way
_TOLD = 50  # of what was left out
_DIGITS = 9
_CHAIN = 1000
_WORD = re.compile(r"\w{3,40}")
_LOOKED_AT = 2000  # letters of a name


@dataclass(frozen=True, slots=True)
class Activated:
    """A node that would be brought to mind: how strongly, and by which way."""

    id: str
    score: float
    hops: int
    why: str
    via_edge: str = ""
    via_node: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node that was reached and would not be brought to mind."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationPlan:
    """An answer to: what would be brought to mind?"""

    purpose: str
    seeds: tuple[str, ...]
    limit: int
    nodes: tuple[Activated, ...]
    left_out: tuple[LeftOut, ...] = ()
    id: str = field(init=False)  # follows from the rest

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", "plan-" + digest_of(self._said())[:24])

    def _said(self) -> dict[str, Any]:
        return {
            "purpose": self.purpose, "seeds": list(self.seeds), "limit": self.limit,
            "nodes": [asdict(node) for node in self.nodes], "left_out": [asdict(node) for node in self.left_out],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, **self._said()}


def plan_activation(
    store: MemoryGraphStore, purpose: str, seeds: Iterable[str] = (), limit: int = LIMIT, *, now: str
) -> ActivationPlan:
    """The nodes that would be brought to mind, best first. Without seeds, it begins at those that the purpose names."""
    if type(purpose) is not str:
        raise Refused(f"a purpose is text, not {type(purpose).__name__}")
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise Refused(f"limit is a whole number from 1 to {MOST}, not {ascii(limit)[:40]}")
    given = names(seeds, "seeds")
    begin = [_itself(store, name) for name in given] or [node.id for node in _named_in(store, purpose)]
    spread = _Spread(store, now, 4 * limit)
    for name in begin:
        spread.begin(name, "a seed" if given else "named in the purpose")
    spread.run()
    best = sorted(spread.found, key=lambda node: (-node.score, node.id))
    left_out = [*spread.left_out, *(LeftOut(node.id, "below the limit") for node in best[limit:])]
    return ActivationPlan(
        purpose=purpose, seeds=given, limit=limit, nodes=tuple(best[:limit]),
        left_out=tuple(sorted(left_out, key=lambda node: (node.id, node.reason))[:_TOLD]),
    )  # fmt: skip


def _itself(store: MemoryGraphStore, name: str) -> str:
    """The node that a seed turned out to be."""
    node = store.load_node(name)
    for _ in range(_CHAIN):
        if not node.merged:
            break
        node = store.load_node(node.merged_into)
    return node.id


def _named_in(store: MemoryGraphStore, purpose: str) -> list[MemoryNode]:
    """The nodes that the purpose calls by a name: all the words of it, each of three letters or more."""
    said = set(_WORD.findall(purpose.casefold()))
    return [node for node in store.list_nodes() if said and any(_is_said(name, said) for name in node.names)]


def _is_said(name: str, said: set[str]) -> bool:
    words = set(_WORD.findall(name[:_LOOKED_AT].casefold()))
    return bool(words) and words <= said


class _Spread:
    """The way from the seeds outwards, strongest first."""

    def __init__(self, store: MemoryGraphStore, now: str, at_most: int) -> None:
        self._store, self._now, self._most = store, now, at_most
        self._heap: list[tuple[float, int, str, str, str, str]] = []
        self._done: set[str] = set()
        self.found: list[Activated] = []
        self.left_out: list[LeftOut] = []

    def begin(self, name: str, why: str) -> None:
        heappush(self._heap, (-1.0, 0, name, "", "", why))

    def run(self) -> None:
        while self._heap and len(self.found) < self._most:
            negative, hops, name, from_node, from_edge, why = heappop(self._heap)
            if name in self._done:
                continue
            self._done.add(name)
            node = self._there(name)
            if node is None:
                continue
            score = round(-negative * 2 * _share(node.weight), _DIGITS)
            self.found.append(Activated(name, score, hops, why, from_edge, from_node))
            if hops < HOPS:
                self._spread(name, -negative, hops + 1)

    def _there(self, name: str) -> MemoryNode | None:
        """The node, if it may be brought to mind; if not, why not is noted."""
        try:
            node = self._store.load_node(name)
        except NotFound:
            self.left_out.append(LeftOut(name, "an edge leads to it, and it is not there"))
            return None
        reason = self._why_not(node)
        if reason:
            self.left_out.append(LeftOut(name, reason))
        return None if reason else node

    def _why_not(self, node: MemoryNode) -> str:
        if node.merged:
            return f"merged into {node.merged_into}"
        if status_of(node) != ACTIVE:
            return status_of(node)
        return "" if node.holds_at(self._now) else "not of this time"

    def _spread(self, name: str, reach: float, hops: int) -> None:
        for edge, other in self._edges(name):
            weight = round(reach * _share(edge.weight), _DIGITS)
            if weight > 0 and other not in self._done:
                heappush(self._heap, (-weight, hops, other, name, edge.id, f"{edge.kind} of {name}"))

    def _edges(self, name: str) -> Iterator[tuple[MemoryEdge, str]]:
        both = [(edge, edge.target) for edge in self._store.list_edges(source=name, limit=FAN)]
        both += [(edge, edge.source) for edge in self._store.list_edges(target=name, limit=FAN)]
        for edge, other in both:
            if other != name and edge.kind != SUPERSEDES and status_of(edge) == ACTIVE and edge.holds_at(self._now):
                yield edge, other


def _share(weight: float) -> float:
    return weight / (1 + weight)
