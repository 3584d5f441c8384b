"""Activation plans: the nodes to recall for a purpose, and why. Planning changes nothing.

From each seed the plan spreads along edges, both ways. The reach of a node is the product of the shares of the edges
that lead to it, weight / (1 + weight); the strongest way counts. A node's score is that times its own share,
2 × weight / (1 + weight), which is 1 for a usual one. Equal scores go by id, so the same graph and the same question
give the same plan, and the same id of it, on any day.

What is archived, superseded, retracted or not valid now is left out, reported, and not passed through. The cost is that
of what is reached: `limit` and a few bounds keep it small however large the graph is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from heapq import heappop, heappush
from typing import Any

from tallystick.decide.effect import ACTIVE
from tallystick.records.errors import NotFound, Refused
from tallystick.records.fields import names
from tallystick.records.graph.events import digest_of
from tallystick.stores.phase.actions import SUPERSEDES, status_of
from tallystick.stores.phase.graph.base import MemoryGraphStore
from tallystick.stores.phase.graph.traverse import resolve

LIMIT, MOST = 12, 1000
HOPS = 4
FAN = 200  # edges of one node that are visited, each way
_LEFT_OUT = 50  # reported
_DIGITS = 9
_WORD = re.compile(r"\w{3,40}")
_LONGEST = 2000  # characters of a name


@dataclass(frozen=True, slots=True)
class Activated:
    """An activated node: its score, and the way to it."""

    id: str
    score: float
    hops: int
    why: str
    via_edge: str = ""
    via_node: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node that was reached and left out."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationPlan:
    """The nodes to activate, best first, and those left out."""

    purpose: str
    seeds: tuple[str, ...]
    limit: int
    nodes: tuple[Activated, ...]
    left_out: tuple[LeftOut, ...] = ()
    id: str = field(init=False)  # follows from the rest

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", "plan-" + digest_of(self._content())[:24])

    def _content(self) -> dict[str, Any]:
        return {
            "purpose": self.purpose, "seeds": list(self.seeds), "limit": self.limit,
            "nodes": [asdict(node) for node in self.nodes], "left_out": [asdict(node) for node in self.left_out],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, **self._content()}


def plan_activation(
    store: MemoryGraphStore, purpose: str, seeds: Iterable[str] = (), limit: int = LIMIT, *, now: str
) -> ActivationPlan:
    """The plan for a purpose. Without seeds, it begins at the nodes that the purpose names."""
    if type(purpose) is not str:
        raise Refused(f"purpose must be text, not {type(purpose).__name__}")
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise Refused(f"limit must be a whole number from 1 to {MOST}, not {ascii(limit)[:40]}")
    given = names(seeds, "seeds")
    begin = [resolve(store, name).id for name in given] or _named_in(store, purpose)
    found, missed = _spread(store, begin, "a seed" if given else "named in the purpose", now=now, limit=4 * limit)
    best = sorted(found, key=lambda node: (-node.score, node.id))
    left_out = [*missed, *(LeftOut(node.id, "below the limit") for node in best[limit:])]
    return ActivationPlan(
        purpose=purpose, seeds=given, limit=limit, nodes=tuple(best[:limit]),
        left_out=tuple(sorted(left_out, key=lambda node: (node.id, node.reason))[:_LEFT_OUT]),
    )  # fmt: skip


def _named_in(store: MemoryGraphStore, purpose: str) -> list[str]:
    """The nodes that the purpose names: all the words of a name, each of three characters or more."""
    words = set(_WORD.findall(purpose.casefold()))

    def is_named(name: str) -> bool:
        found = set(_WORD.findall(name[:_LONGEST].casefold()))
        return bool(found) and found <= words

    return [node.id for node in store.list_nodes() if words and any(map(is_named, node.names))]


def _spread(
    store: MemoryGraphStore, begin: list[str], why: str, *, now: str, limit: int
) -> tuple[list[Activated], list[LeftOut]]:  # fmt: skip
    """The nodes reached from `begin` outwards, strongest first, and those left out."""
    heap = [(-1.0, 0, name, "", "", why) for name in sorted(begin)]
    done, found, left_out = set[str](), list[Activated](), list[LeftOut]()
    while heap and len(found) < limit:
        negative, hops, name, from_node, from_edge, why = heappop(heap)
        if name in done:
            continue
        done.add(name)
        try:
            node = store.load_node(name)
            reason = f"merged into {node.merged_into}" if node.merged else status_of(node)
            if reason == ACTIVE:
                reason = "" if node.holds_at(now) else "not of this time"
        except NotFound:
            reason = "an edge leads to it, and it is not there"
        if reason:
            left_out.append(LeftOut(name, reason))
            continue
        score = round(-negative * 2 * _share(node.weight), _DIGITS)
        found.append(Activated(name, score, hops, why, from_edge, from_node))
        if hops >= HOPS:
            continue
        both = [(edge, edge.target) for edge in store.list_edges(source=name, limit=FAN)]
        both += [(edge, edge.source) for edge in store.list_edges(target=name, limit=FAN)]
        for edge, other in both:
            weight = round(-negative * _share(edge.weight), _DIGITS)
            if weight <= 0 or other in done or edge.kind == SUPERSEDES:
                continue
            if status_of(edge) == ACTIVE and edge.holds_at(now):
                heappush(heap, (-weight, hops + 1, other, name, edge.id, f"{edge.kind} of {name}"))
    return found, left_out


def _share(weight: float) -> float:
    return weight / (1 + weight)
