"""What a lifecycle action would do to a graph: the records as they would be, and nothing is written.

Nothing is deleted. What leaves sight says so in its `properties`: `status` is active (or not said), archived,
superseded or retracted; `superseded_by` names what took its place; `phase` says how settled it is. Only what is active
can be brought to mind or reinforced, so neither is a way around the gate that stands before the others.

An action that says what it saw is refused (`Moved`) if that has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from tallystick.decide.effect import ACTIVE, ARCHIVED, PHASES, RETRACTED, SUPERSEDED
from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.fields import names
from tallystick.records.graph.events import MemoryEvent, digest_of
from tallystick.records.graph.lifecycle import LifecycleAction
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.graph import merge as merging
from tallystick.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
from tallystick.stores.phase.graph.protocol import MemoryGraphStore
from tallystick.stores.phase.paths import compact

Thing = MemoryNode | MemoryEdge

SUPERSEDES = "supersedes"
HEAVIEST = 10.0  # what use alone can bring a weight to
_AMOUNT = 0.1
_COMPARED = 1000  # edges of the node that stays, each way
_CHAIN = 10_000  # links of a supersede chain that are followed

_MAY_CHANGE = {
    "activate": frozenset[str](), "reinforce": frozenset({"amount"}), "archive": frozenset[str](),
    "supersede": frozenset({"with"}), "merge": frozenset({"into"}), "retract": frozenset[str](),
    "promote": frozenset({"phase"}), "compact": frozenset({"summary_ids"}), "weaken": frozenset({"weight"}),
    "end": frozenset({"valid_from", "valid_to"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effects:
    """The records that an action changes, as they would be."""

    nodes: tuple[MemoryNode, ...] = ()
    edges: tuple[MemoryEdge, ...] = ()
    paths: tuple[MemoryPath, ...] = ()
    path_event: MemoryEvent | None = None


def effects_of(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """What `action` would do now. Refused, NotFound or Moved, if it cannot be done as it was asked."""
    odd = sorted(action.changes.keys() - _MAY_CHANGE[action.kind])
    if odd:
        raise Refused(f"an action to {action.kind} has no {odd[0]!r} to change", "field")
    for name, digest in action.seen.items():
        if digest_now(store, name, is_path=action.kind == "compact") != digest:
            raise Moved(f"{name!r} is other than when it was asked to {action.label}; look again and ask again")
    return _EFFECTS[action.kind](store, action, at)


def concerned(action: LifecycleAction) -> tuple[str, ...]:
    """All that an action is about: what it acts on, and what takes its place."""
    others = [action.changes.get(name) for name in ("with", "into")]
    return tuple(dict.fromkeys((*action.subject_ids, *(name for name in others if isinstance(name, str) and name))))


def digest_now(store: MemoryGraphStore, name: str, *, is_path: bool = False) -> str:
    """By what a node or edge, or a path, is known to be as it was. NotFound, if there is none."""
    return digest_of((store.load_path(name) if is_path else _thing(store, name)).to_dict())


def status_of(thing: Thing) -> str:
    """active, archived, superseded or retracted."""
    status = thing.properties.get("status", ACTIVE)
    return status if isinstance(status, str) else ACTIVE


def _thing(store: MemoryGraphStore, name: str) -> Thing:
    try:
        return store.load_node(name)
    except NotFound:
        return store.load_edge(name)


def _node(store: MemoryGraphStore, action: LifecycleAction, change: str) -> MemoryNode:
    """The node that a change names."""
    name = action.changes.get(change)
    if not isinstance(name, str) or not name:
        raise Refused(f"an action to {action.kind} says {change} which node: changes={{{change!r}: id}}", "required")
    if name in action.subject_ids:
        raise Refused(f"{name!r} cannot {action.kind} itself", "self")
    return _standing(store.load_node(name))


def _standing(node: MemoryNode) -> MemoryNode:
    """Refused, if a node is not what it was any more."""
    if node.merged:
        raise Refused(f"{node.id!r} was merged into {node.merged_into!r}; act on that one", "state")
    if status_of(node) in (SUPERSEDED, RETRACTED):
        raise Refused(f"{node.id!r} is {status_of(node)}", "state")
    return node


def _changed(things: Iterable[Thing]) -> Effects:
    found = list(things)
    return Effects(
        tuple(thing for thing in found if isinstance(thing, MemoryNode)),
        tuple(thing for thing in found if isinstance(thing, MemoryEdge)),
    )


def _with(thing: Any, **properties: Any) -> Any:
    return replace(thing, properties={**thing.properties, **properties})


def _each(store: MemoryGraphStore, action: LifecycleAction) -> list[Thing]:
    things = [_thing(store, name) for name in action.subject_ids]
    for thing in things:
        if isinstance(thing, MemoryNode) and thing.merged:
            raise Refused(f"{thing.id!r} was merged into {thing.merged_into!r}; act on that one", "state")
    return things


def _active(store: MemoryGraphStore, action: LifecycleAction) -> list[Thing]:
    things = _each(store, action)
    for thing in things:
        if status_of(thing) != ACTIVE:
            raise Refused(f"{thing.id!r} is {status_of(thing)}; an action to {action.kind} needs it active", "state")
    return things


def _activate(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    return _changed(_with(thing, activated_at=at, uses=_uses(thing) + 1) for thing in _active(store, action))


def _uses(thing: Thing) -> int:
    uses = thing.properties.get("uses", 0)
    return uses if type(uses) is int and 0 <= uses < 2**53 else 0


def _reinforce(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    amount = action.changes.get("amount", _AMOUNT)
    if type(amount) not in (int, float) or not isfinite(amount) or not 0 < amount <= 1:
        raise Refused(f"amount is a number above 0 and not above 1, not {ascii(amount)[:40]}")
    return _changed(
        replace(_with(thing, reinforced_at=at), weight=max(thing.weight, min(HEAVIEST, thing.weight + amount)))
        for thing in _active(store, action)
    )


def _weaken(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    weight, things = action.changes.get("weight", -1), _active(store, action)
    if type(weight) not in (int, float) or not 0 <= weight < min(1.0, *(thing.weight for thing in things)):
        raise Refused("to weaken says the new weight, a number below the old one and below 1: changes={'weight': 0.5}")
    return _changed(replace(_with(thing, weakened_at=at), weight=weight) for thing in things)


def _end(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """Nothing is hidden by it before that moment, and `""` says that there is no end."""
    if not action.changes:
        raise Refused(
            "to end says until when it holds: changes={'valid_to': time}, or '' if it does not end", "required"
        )
    things = _active(store, action)
    ended = [replace(_with(thing, ended_at=at), **action.changes) for thing in things]
    for thing, after in zip(things, ended, strict=True):
        if (thing.valid_from, thing.valid_to) == (after.valid_from, after.valid_to):
            raise Refused(f"{thing.id!r} holds from and until then already", "state")
    return _changed(ended)


def _archive(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    return _changed(_with(thing, status=ARCHIVED, archived_at=at) for thing in _active(store, action))


def _retract(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    things = _each(store, action)
    for thing in things:
        if status_of(thing) == RETRACTED:
            raise Refused(f"{thing.id!r} is retracted already", "state")
    return _changed(_with(thing, status=RETRACTED, retracted_at=at) for thing in things)


def _supersede(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    new = _node(store, action, "with")
    old = [_standing(store.load_node(name)) for name in action.subject_ids]
    after = _successors(store, new)
    for node in old:
        if node.id in after:
            raise Refused(f"{new.id!r} is superseded by {node.id!r} already; neither can supersede the other", "state")
    edges = (MemoryEdge.between(new.id, SUPERSEDES, node.id, valid_from=at) for node in old)
    return Effects(tuple(_with(node, status=SUPERSEDED, superseded_by=new.id) for node in old), tuple(edges))


def _successors(store: MemoryGraphStore, node: MemoryNode) -> set[str]:
    """What took a node's place, and what took that one's, as far as it goes."""
    found: set[str] = set()
    while isinstance(name := node.properties.get("superseded_by"), str) and name not in found and len(found) < _CHAIN:
        found.add(name)
        try:
            node = store.load_node(name)
        except NotFound:
            break
    return found


def _promote(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    phase = action.changes.get("phase")
    if phase not in PHASES[1:]:
        raise Refused(
            f"a promotion says to which phase: changes={{'phase': one of {', '.join(PHASES[1:])}}}", "required"
        )
    things = _active(store, action)
    for thing in things:
        now = thing.properties.get("phase", PHASES[0])
        if now in PHASES and PHASES.index(now) >= PHASES.index(phase):
            raise Refused(f"{thing.id!r} is {now} already; a promotion leads upwards", "state")
    return _changed(_with(thing, phase=phase, promoted_at=at) for thing in things)


def _merge(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """One after the other, on a copy of what they have, by the graph's own merging: so each can be taken back alone."""
    target = _node(store, action, "into")
    sources = [_standing(store.load_node(name)) for name in action.subject_ids]
    copy, before = InMemoryMemoryGraphStore(), _edges_around(store, target, sources)
    copy.save_nodes((target, *sources))
    copy.save_edges(before.values())
    for node in sources:
        merging.merge(copy, target.id, node.id, by=action.by, at=at, approved=True)
    edges = tuple(edge for edge in copy.list_edges() if edge != before[edge.id])
    return Effects(tuple(copy.list_nodes(merged=True)), edges)


def _edges_around(store: MemoryGraphStore, target: MemoryNode, sources: list[MemoryNode]) -> dict[str, MemoryEdge]:
    """All edges of what is merged, and enough of the other's to compare them."""
    found: dict[str, MemoryEdge] = {}
    for name, limit in ((target.id, _COMPARED), *((node.id, None) for node in sources)):
        edges = (*store.list_edges(source=name, limit=limit), *store.list_edges(target=name, limit=limit))
        found |= {edge.id: edge for edge in edges}
    return found


def _compact(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    if len(action.subject_ids) != 1:
        raise Refused("one path is compacted at a time", "state")
    summary = names(action.changes.get("summary_ids", ()), "summary_ids")
    for name in summary:
        _standing(store.load_node(name))
    change = compact(store.list_paths(), action.subject_ids[0], at=at, summary_ids=summary)
    return Effects(paths=change.paths, path_event=change.event)


_EFFECTS: dict[str, Callable[[MemoryGraphStore, LifecycleAction, str], Effects]] = {
    "activate": _activate, "reinforce": _reinforce, "archive": _archive, "supersede": _supersede, "merge": _merge,
    "retract": _retract, "promote": _promote, "compact": _compact, "end": _end, "weaken": _weaken,
}  # fmt: skip
