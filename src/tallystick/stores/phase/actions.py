"""Effects of lifecycle actions on a graph: the records as they would be. Nothing is written here.

Nothing is deleted. A hidden record says so in its `properties`: `status` is active (or absent), archived, superseded or
retracted; `superseded_by` names its successor; `phase` says how settled it is. Only an active record can be activated
or reinforced, so neither is a way around the gate of the other actions.

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
from tallystick.stores.phase.graph import merge as merging
from tallystick.stores.phase.graph.base import InMemoryMemoryGraphStore, MemoryGraphStore
from tallystick.stores.phase.paths import compact

Thing = MemoryNode | MemoryEdge

SUPERSEDES = "supersedes"
HEAVIEST = 10.0  # the weight that use alone can reach
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
    path_event: MemoryEvent | None = None


def effects_of(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """The effects of `action` now. Refused, NotFound or Moved, if it cannot be done as asked."""
    odd = sorted(action.changes.keys() - _MAY_CHANGE[action.kind])
    if odd:
        raise Refused(f"an action to {action.kind} has no change {odd[0]!r}; remove it", "field")
    for name, digest in action.seen.items():
        if digest_now(store, name, is_path=action.kind == "compact") != digest:
            raise Moved(f"{name!r} has changed since the request to {action.label}; look again and ask again")
    return _EFFECTS[action.kind](store, action, at)


def concerned(action: LifecycleAction) -> tuple[str, ...]:
    """The ids that an action is about: its subjects, and their successor."""
    others = [action.changes.get(name) for name in ("with", "into")]
    return tuple(dict.fromkeys((*action.subject_ids, *(name for name in others if isinstance(name, str) and name))))


def digest_now(store: MemoryGraphStore, name: str, *, is_path: bool = False) -> str:
    """The digest of a node, an edge or a path. NotFound, if there is none."""
    return digest_of((store.load_path(name) if is_path else _thing(store, name)).to_dict())


def status_of(thing: Thing) -> str:
    """The status: active, archived, superseded or retracted."""
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
        raise Refused(f"an action to {action.kind} needs a node: changes={{{change!r}: id}}", "required")
    if name in action.subject_ids:
        raise Refused(f"{name!r} cannot {action.kind} itself", "self")
    return _unchanged(store.load_node(name))


def _unchanged(node: MemoryNode) -> MemoryNode:
    """A node that was neither merged nor superseded nor retracted; else Refused."""
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
    def activated(thing: Thing) -> Thing:
        uses = thing.properties.get("uses", 0)
        is_count = type(uses) is int and 0 <= uses < 2**53
        return _with(thing, activated_at=at, uses=uses + 1 if is_count else 1)  # type: ignore[no-any-return]

    return _changed(map(activated, _active(store, action)))


def _reinforce(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    amount = action.changes.get("amount", _AMOUNT)
    if type(amount) not in (int, float) or not isfinite(amount) or not 0 < amount <= 1:
        raise Refused(f"amount must be a number above 0 and at most 1, not {ascii(amount)[:40]}")
    return _changed(
        replace(_with(thing, reinforced_at=at), weight=max(thing.weight, min(HEAVIEST, thing.weight + amount)))
        for thing in _active(store, action)
    )


def _weaken(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    weight, things = action.changes.get("weight", -1), _active(store, action)
    if type(weight) not in (int, float) or not 0 <= weight < min(1.0, *(thing.weight for thing in things)):
        raise Refused("an action to weaken needs a weight below the old one and below 1: changes={'weight': 0.5}")
    return _changed(replace(_with(thing, weakened_at=at), weight=weight) for thing in things)


def _end(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """Set the time until which a record holds; nothing is hidden before it. `""` means no end."""
    if not action.changes:
        raise Refused("an action to end needs a time: changes={'valid_to': time}, or '' for no end", "required")
    things = _active(store, action)
    ended = [replace(_with(thing, ended_at=at), **action.changes) for thing in things]
    for thing, after in zip(things, ended, strict=True):
        if (thing.valid_from, thing.valid_to) == (after.valid_from, after.valid_to):
            raise Refused(f"{thing.id!r} has these times already", "state")
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
    old = [_unchanged(store.load_node(name)) for name in action.subject_ids]
    after = _successors(store, new)
    for node in old:
        if node.id in after:
            raise Refused(f"{new.id!r} is superseded by {node.id!r} already; neither can supersede the other", "state")
    edges = (MemoryEdge.between(new.id, SUPERSEDES, node.id, valid_from=at) for node in old)
    return Effects(tuple(_with(node, status=SUPERSEDED, superseded_by=new.id) for node in old), tuple(edges))


def _successors(store: MemoryGraphStore, node: MemoryNode) -> set[str]:
    """A node's successor, the successor's successor, and so on."""
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
        raise Refused(f"a promotion needs a phase: changes={{'phase': one of {', '.join(PHASES[1:])}}}", "required")
    things = _active(store, action)
    for thing in things:
        now = thing.properties.get("phase", PHASES[0])
        if now in PHASES and PHASES.index(now) >= PHASES.index(phase):
            raise Refused(f"{thing.id!r} is {now} already; promote it to a higher phase", "state")
    return _changed(_with(thing, phase=phase, promoted_at=at) for thing in things)


def _merge(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    """Merge one after the other, on a copy, by the graph's own merge: so each can be undone alone."""
    target = _node(store, action, "into")
    sources = [_unchanged(store.load_node(name)) for name in action.subject_ids]
    copy, before = InMemoryMemoryGraphStore(), dict[str, MemoryEdge]()
    for name, limit in ((target.id, _COMPARED), *((node.id, None) for node in sources)):
        around = (*store.list_edges(source=name, limit=limit), *store.list_edges(target=name, limit=limit))
        before |= {edge.id: edge for edge in around}
    copy.save_nodes((target, *sources))
    copy.save_edges(before.values())
    for node in sources:
        merging.merge(copy, target.id, node.id, by=action.by, at=at, approved=True)
    edges = tuple(edge for edge in copy.list_edges() if edge != before[edge.id])
    return Effects(tuple(copy.list_nodes(merged=True)), edges)


def _compact(store: MemoryGraphStore, action: LifecycleAction, at: str) -> Effects:
    if len(action.subject_ids) != 1:
        raise Refused("compact one path at a time", "state")
    summary = names(action.changes.get("summary_ids", ()), "summary_ids")
    for name in summary:
        _unchanged(store.load_node(name))
    change = compact(store.list_paths(), action.subject_ids[0], at=at, summary_ids=summary)
    return Effects(path_event=change.event)


_EFFECTS: dict[str, Callable[[MemoryGraphStore, LifecycleAction, str], Effects]] = {
    "activate": _activate, "reinforce": _reinforce, "archive": _archive, "supersede": _supersede, "merge": _merge,
    "retract": _retract, "promote": _promote, "compact": _compact, "end": _end, "weaken": _weaken,
}  # fmt: skip
