"""What the events of a log come to: a graph, and its paths.

Replaying is a fold over the events in their order and nothing else: the same events give the same snapshot, on any
machine and any day. The last put of a node, edge or profile counts. An event that cannot be carried out (a branch from
a path that is not there, a put of what is no record) is passed over and named, and the rest goes on.

From one path is seen: what happened on no path at all, then what happened on the paths above it, then what happened on
it and on what was merged into it. What is nearer counts over what is further up. Siblings, and what was abandoned, are
not seen.

With a gate, an event that it does not let pass is not carried out, from whichever path one looks, and is named. A log
by itself has none; a workspace does, see `stores/phase_gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from keepsake.records.envelope import settled_line
from keepsake.records.errors import Refused
from keepsake.records.graph_fields import line_of
from keepsake.records.memory_event import APPLIED, EDGE_PUT, NODE_PUT, PATH_KINDS, PROFILE_PUT, MemoryEvent, shown
from keepsake.records.memory_path import MemoryPath
from keepsake.stores.event_log.path_book import PathBook

Told = dict[str, Any]

_CARRIED = frozenset({"kind", "path_id", "payload"})
_PUTS = {NODE_PUT: "node", EDGE_PUT: "edge", PROFILE_PUT: "profile"}


@dataclass(frozen=True, slots=True)
class Skipped:
    """An event that could not be carried out, and why."""

    event_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """A graph as events made it. Records are as they write themselves, by id, in the order of their ids."""

    profiles: dict[str, Told] = field(default_factory=dict)
    nodes: dict[str, Told] = field(default_factory=dict)
    edges: dict[str, Told] = field(default_factory=dict)
    paths: dict[str, MemoryPath] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()  # what makes no sense
    refused: tuple[Skipped, ...] = ()  # what the gate did not let pass
    events: int = 0  # how many were seen

    def to_dict(self) -> Told:
        """The graph and its paths, as JSON has them."""
        return {
            "profiles": self.profiles, "nodes": self.nodes, "edges": self.edges,
            "paths": {name: path.to_dict() for name, path in self.paths.items()},
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """Equal for equal graphs, whatever events they came from."""
        return sha256(orjson.dumps(self.to_dict(), option=orjson.OPT_SORT_KEYS)).hexdigest()


def replay(
    events: Iterable[MemoryEvent], path: str | None = None, why_not: Callable[[MemoryEvent], str] | None = None
) -> GraphSnapshot:
    """The graph that `events` make; with a `path`, as it is seen from there. NotFound, if there is no such path.

    `why_not` is the gate: asked for each event in its order, it says why that is not to be carried out.
    """
    told, refused = list[MemoryEvent](), list[Skipped]()
    for event in events:
        why = why_not(event) if why_not is not None else ""
        if why:
            refused.append(Skipped(event.id, why))
        else:
            told.append(event)
    book, skipped = _paths_of(told)
    kept: dict[str, dict[str, Told]] = {"profile": {}, "node": {}, "edge": {}}
    for event in told if path is None else _seen_from(told, book, path):
        for what, name, record in puts_of(event):
            kept[what][name] = record
    skipped += [Skipped(event.id, why) for event in told if (why := why_unusable(event))]
    graph = {what: {name: found[name] for name in sorted(found)} for what, found in kept.items()}
    seen = len(told) + len(refused)
    parts = (graph["profile"], graph["node"], graph["edge"], book.records())
    return GraphSnapshot(*parts, tuple(skipped), tuple(refused), seen)


def _paths_of(events: list[MemoryEvent]) -> tuple[PathBook, list[Skipped]]:
    book, skipped = PathBook(), list[Skipped]()
    for event in events:
        try:
            moved = path_event_in(event)
            if moved is not None:
                book.must_allow(moved)
        except Refused as error:
            skipped.append(Skipped(event.id, str(error)))
            continue
        if moved is not None:
            book.take(moved)
        if moved is not event:
            book.stand(event)
    return book, skipped


def path_event_in(event: MemoryEvent) -> MemoryEvent | None:
    """What an event does to a path: itself, or, of an applied action, what it carries, under the action's own id.

    Refused, if it carries something that is no path event.
    """
    if event.kind in PATH_KINDS:
        return event
    carried = event.payload.get("path_event") if event.kind == APPLIED else None
    if carried is None:
        return None
    if type(carried) is not dict or carried.keys() != _CARRIED or carried["kind"] not in PATH_KINDS:
        raise Refused(f"path_event is an object with {', '.join(sorted(_CARRIED))}, of one of the kinds of path events")
    return MemoryEvent(id=event.id, at=event.at, **carried)


def _seen_from(events: list[MemoryEvent], book: PathBook, path: str) -> Iterator[MemoryEvent]:
    book.get(path)
    line = [path, *(name for name in book.line_of(path)[1:] if not book.is_abandoned(name))]
    rank = {"": 0}
    for place, name in enumerate(reversed(line), start=1):
        for merged in book.with_merged(name):
            rank[merged] = place
    shelves: list[list[MemoryEvent]] = [[] for _ in range(len(line) + 1)]
    for event in events:
        if event.path_id in rank:
            shelves[rank[event.path_id]].append(event)
    for shelf in shelves:
        yield from shelf


def puts_of(event: MemoryEvent) -> Iterator[tuple[str, str, Told]]:
    """The records that an event puts: what kind of record, its id, and the record as it writes itself.

    What is no record is passed over; `why_unusable` says why.
    """
    for what, name, told in _put_by(event):
        try:
            yield what, name, _record(what, name, told)
        except Refused:
            continue


def why_unusable(event: MemoryEvent) -> str:
    """Why an event does not put what it says it puts; nothing, if it does, or if it puts nothing."""
    what = _PUTS.get(event.kind)
    if what and not event.subject_ids:
        return f"a {event.kind} names what it puts in subject_ids"
    try:
        for each, name, told in _put_by(event):
            _record(each, name, told)
    except Refused as error:
        return str(error)
    return ""


def _put_by(event: MemoryEvent) -> Iterator[tuple[str, str, Any]]:
    what = _PUTS.get(event.kind)
    if what and event.subject_ids:
        yield what, event.subject_ids[0], event.payload.get(what)
    elif event.kind == APPLIED:
        for what in _PUTS.values():
            records = event.payload.get(f"{what}s")
            if isinstance(records, dict):
                yield from ((what, name, told) for name, told in records.items())


def _record(what: str, name: str, told: Any) -> Told:
    """A record that is put, as it writes itself. Refused, if it is none, or another's."""
    if type(told) is not dict:
        raise Refused(f"a put carries its {what} in the payload")
    if told.get("id") != name:
        raise Refused(f"what is put as {shown(name)} is called {ascii(told.get('id'))[:60]}")
    line = line_of(told)
    settled = settled_line(f"{what}s", line, told)
    return told if settled == line else orjson.loads(settled)
