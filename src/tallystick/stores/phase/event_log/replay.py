"""What the events of a log come to: a graph, and its paths.

Replaying is a fold over the events in their order and nothing else: the same events give the same snapshot, on any
machine and any day. The last put of a node, edge or profile counts. An event that cannot be carried out (a branch from
a path that is not there, a put of what is no record) is passed over and named, and the rest goes on.

Current is what happened on no path at all, on the paths that begin a conversation, and on what was merged into these.
A branch that is open, and one that was abandoned, are seen by whoever names them and by nobody else.

From one path is seen: what happened on it and on what was merged into it; then on the paths above it, of which the
first stands with what happened on no path. What is nearer counts over what is further up. Siblings, and what was
abandoned, are not seen.

With a gate, an event that it does not let pass is not carried out, from whichever path one looks, and is named. A log
by itself has none; a workspace does, see `stores/phase/gate`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import settled_line
from tallystick.records.graph.events import APPLIED, EDGE_PUT, NODE_PUT, PATH_KINDS, PROFILE_PUT, MemoryEvent, shown
from tallystick.records.graph.fields import line_of
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.path_states import PathBook

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


class Put(NamedTuple):
    """A record as an event put it, as one line."""

    path: str
    number: int  # of the event, in the order of the log
    line: bytes
    approved: frozenset[str]  # which actions on it were approved on that path, by then


class Fold:
    """Events carried out one after the other: the paths, and what was put on each of them."""

    def __init__(self, paths: Iterable[MemoryPath] = ()) -> None:
        self.state = PathBook(paths)
        self.skipped: list[Skipped] = []
        self.refused: list[Skipped] = []
        self.events = 0
        self._puts: dict[str, dict[str, tuple[Put, ...]]] = {what: {} for what in _PUTS.values()}
        self._on: dict[str, set[tuple[str, str]]] = {}  # what was put on each path
        self._lent: set[str] = set()
        self._views: dict[str | None, list[Container[str]]] = {}

    def take(self, event: MemoryEvent) -> None:
        """Carry out an event. One that makes no sense is passed over and named."""
        self.events += 1
        self._move(event)
        path, approved, why = event.path_id, _approved_by(event), _why_no_put(event)
        for what, name, told in _put_by(event):
            try:
                line = _line(what, name, told)
            except Refused as error:
                why = why or str(error)
                continue
            puts = self._puts[what].get(name, ())
            before = approved.union(*(each.approved for each in puts if each.path == path))
            others = (each for each in puts if each.path != path)
            self._puts[what][name] = (*others, Put(path, self.events, line, before))
            if path:
                self._on.setdefault(path, set()).add((what, name))
        if why:
            self.skipped.append(Skipped(event.id, why))

    def _move(self, event: MemoryEvent) -> None:
        try:
            moved = path_event_in(event)
            if moved is not None:
                self.state.must_allow(moved)
        except Refused as error:
            self.skipped.append(Skipped(event.id, str(error)))
            return
        if moved is not None:
            self.state.take(moved)
            self._views.clear()
        if moved is not event:
            self.state.stand(event)

    def refuse(self, event: MemoryEvent, why: str) -> None:
        """Pass over an event that the gate does not let pass, and name it."""
        self.events += 1
        self.refused.append(Skipped(event.id, why))

    def lend(self, paths: Iterable[MemoryPath]) -> None:
        """Know paths that no event tells of, as they are."""
        for path in paths:
            if path.path_id not in self.state:
                self.state.put(path)
                self._lent.add(path.path_id)
        self._views.clear()

    # -- what is seen --------------------------------------------------------------------------------------------------

    def is_current(self, path: str) -> bool:
        """Whether what happens on a path is seen without naming one. A path that nobody branched begins itself."""
        return path not in self.state or path in self._view(None)[0]

    def seen(self, what: str, name: str, path: str | None = None) -> bytes | None:
        """A record as it is seen from a path, without one as it is currently; None, if it is not seen."""
        puts = self._puts[what].get(name)
        return None if puts is None else self._seen(puts, self._view(path))

    def _seen(self, puts: tuple[Put, ...], view: list[Container[str]]) -> bytes | None:
        for paths in view:
            here = [put for put in puts if put.path in paths]
            if here:
                return max(here, key=_number).line
        return None

    def _view(self, path: str | None) -> list[Container[str]]:
        """The paths that are seen, nearest first; of those that stand together the later event counts."""
        view = self._views.get(path)
        if view is None:
            view = self._views[path] = [_Current(self.state)] if path is None else self._view_from(path)
        return view

    def _view_from(self, path: str) -> list[Container[str]]:
        above = self.state.line_of(path)
        line = [name for name in above if name == path or not self.state.is_abandoned(name)] or [path]
        view = [{name, *self.state.with_merged(name)} for name in line]
        view[-1].add("")
        return [*view]

    def told(self, what: str, name: str) -> tuple[bytes, ...]:
        """All that events say of a record, on whichever path."""
        return tuple(put.line for put in self._puts[what].get(name, ()))

    def each(self, what: str, path: str | None = None) -> Iterator[tuple[str, bytes | None]]:
        """Every record of which an event tells, in the order of their ids, as it is seen; None, where it is not."""
        puts, view = self._puts[what], self._view(path)
        for name in sorted(puts):
            yield name, self._seen(puts[name], view)

    def brought(self, path: str, into: str) -> Iterator[tuple[str, str, bytes | None, bytes, frozenset[str]]]:
        """What a merge would change: each record as it is seen from `into`, as it would be, and what was approved."""
        merged, view = set(self.state.with_merged(path)), self._view(None if self.is_current(into) else into)
        for what, name in sorted({key for each in merged for key in self._on.get(each, ())}):
            puts = self._puts[what][name]
            put = max((each for each in puts if each.path in merged or each.path in view[0]), key=_number)
            before = self._seen(puts, view)
            if put.path in merged and put.line != before:
                approved = put.approved.union(*(each.approved for each in puts if each.path in merged))
                yield what, name, before, put.line, approved

    def paths(self) -> dict[str, MemoryPath]:
        """The paths that events tell of, as they are now, in the order of their names."""
        return {name: path for name, path in self.state.records().items() if name not in self._lent}

    def snapshot(self, path: str | None = None) -> GraphSnapshot:
        """The graph as it is currently; with a path, as it is seen from there. NotFound, if there is no such path."""
        if path is not None:
            self.state.get(path)
        profiles, nodes, edges = (
            {name: orjson.loads(line) for name, line in self.each(what, path) if line is not None}
            for what in ("profile", "node", "edge")
        )
        skipped, refused = tuple(self.skipped), tuple(self.refused)
        return GraphSnapshot(profiles, nodes, edges, self.paths(), skipped, refused, self.events)


class _Current:
    """The paths that are current: a path that is not known is one of them."""

    def __init__(self, state: PathBook) -> None:
        self._state, self._known = state, state.current()

    def __contains__(self, path: object) -> bool:
        return path in self._known or path not in self._state  # type: ignore[operator]


def _approved_by(event: MemoryEvent) -> frozenset[str]:
    """The kind of action that an event applied on an approval; none, if it did not."""
    action = event.payload.get("action") if event.kind == APPLIED and event.payload.get("approval") else None
    kind = action.get("kind") if isinstance(action, dict) else None
    return frozenset({kind}) if isinstance(kind, str) else frozenset()


def _number(put: Put) -> int:
    return put.number


def replay(events: Iterable[MemoryEvent], path: str | None = None) -> GraphSnapshot:
    """The graph that `events` make; with a `path`, as it is seen from there. NotFound, if there is no such path."""
    fold = Fold()
    for event in events:
        fold.take(event)
    return fold.snapshot(path)


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


def puts_of(event: MemoryEvent) -> Iterator[tuple[str, str, Told]]:
    """The records that an event puts: what kind of record, its id, and the record as it writes itself.

    What is no record is passed over; `why_unusable` says why.
    """
    for what, name, told in _put_by(event):
        try:
            yield what, name, orjson.loads(_line(what, name, told))
        except Refused:
            continue


def why_unusable(event: MemoryEvent) -> str:
    """Why an event does not put what it says it puts; nothing, if it does, or if it puts nothing."""
    why = _why_no_put(event)
    try:
        for what, name, told in _put_by(event):
            _line(what, name, told)
    except Refused as error:
        return str(error)
    return why


def _why_no_put(event: MemoryEvent) -> str:
    is_put = event.kind in _PUTS and not event.subject_ids
    return f"a {event.kind} names what it puts in subject_ids" if is_put else ""


def _put_by(event: MemoryEvent) -> Iterator[tuple[str, str, Any]]:
    what = _PUTS.get(event.kind)
    if what and event.subject_ids:
        yield what, event.subject_ids[0], event.payload.get(what)
    elif event.kind == APPLIED:
        for what in _PUTS.values():
            records = event.payload.get(f"{what}s")
            if isinstance(records, dict):
                yield from ((what, name, told) for name, told in records.items())


def _line(what: str, name: str, told: Any) -> bytes:
    """A record that is put, as the line that it writes itself as. Refused, if it is none, or another's."""
    if type(told) is not dict:
        raise Refused(f"a put carries its {what} in the payload", "required")
    if told.get("id") != name:
        raise Refused(f"what is put as {shown(name)} is called {ascii(told.get('id'))[:60]}", "mismatch")
    return settled_line(f"{what}s", line_of(told), told)
