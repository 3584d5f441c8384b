"""Replay: the graph and the paths that the events of a log make.

Replaying is a fold over the events in their order and nothing else: the same events give the same snapshot, on any
machine and any day. The last put of a node, edge or profile counts. An event that cannot be applied (a branch from a
missing path, a put of what is no record) is skipped and named, and the rest goes on.

Current is what happened on no path at all, on the paths that begin a conversation, and on what was merged into these.
An open branch, and an abandoned one, are visible only to whoever names them.

Visible from one path is: what happened on it and on what was merged into it; then on its ancestors, of which the first
counts together with what happened on no path. The nearer counts over the further. Siblings, and what was abandoned, are
not visible.

With a gate, an event that it does not allow is not applied, from whichever path one looks, and is named. A log by
itself has none; a workspace does, see `stores/phase/gate`.
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
from tallystick.records.graph.nodes import line_of
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.paths import PathBook

Fields = dict[str, Any]

_CARRIED = frozenset({"kind", "path_id", "payload"})
_PUTS = {NODE_PUT: "node", EDGE_PUT: "edge", PROFILE_PUT: "profile"}


@dataclass(frozen=True, slots=True)
class Skipped:
    """An event that was not applied, and why."""

    event_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """A graph as events made it. Records are dictionaries, by id, in the order of their ids."""

    profiles: dict[str, Fields] = field(default_factory=dict)
    nodes: dict[str, Fields] = field(default_factory=dict)
    edges: dict[str, Fields] = field(default_factory=dict)
    paths: dict[str, MemoryPath] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()  # they make no sense
    refused: tuple[Skipped, ...] = ()  # the gate did not allow them
    events: int = 0  # the number of events

    def to_dict(self) -> Fields:
        """The graph and its paths, as JSON."""
        return {
            "profiles": self.profiles, "nodes": self.nodes, "edges": self.edges,
            "paths": {name: path.to_dict() for name, path in self.paths.items()},
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """Equal for equal graphs, whatever events they came from."""
        return sha256(orjson.dumps(self.to_dict(), option=orjson.OPT_SORT_KEYS)).hexdigest()


class Put(NamedTuple):
    """A record as an event put it."""

    path: str
    line: bytes
    approved: frozenset[str]  # the kinds of actions on it that were approved on that path by then


class Fold:
    """Events applied one after the other: the paths, and the records put on each of them."""

    def __init__(self, paths: Iterable[MemoryPath] = ()) -> None:
        self.state = PathBook(paths)
        self.skipped: list[Skipped] = []
        self.refused: list[Skipped] = []
        self.events = 0
        self._puts: dict[str, dict[str, tuple[Put, ...]]] = {what: {} for what in _PUTS.values()}  # latest last
        self._on: dict[str, set[tuple[str, str]]] = {}  # the records put on each path
        self._lent: set[str] = set()
        self._views: dict[str | None, list[Container[str]]] = {}

    def take(self, event: MemoryEvent) -> None:
        """Apply an event. One that makes no sense is skipped and named."""
        self.events += 1
        moved = None
        try:
            moved = path_event_in(event)
            if moved is not None:
                self.state.must_allow(moved)
        except Refused as error:
            self.skipped.append(Skipped(event.id, str(error)))
        else:
            if moved is not None:
                self.state.take(moved)
                self._views.clear()
            if moved is not event:
                self.state.stand(event)
        path, approved, why = event.path_id, _approved_by(event), _why_no_put(event)
        for what, name, fields in _put_by(event):
            try:
                line = _line(what, name, fields)
            except Refused as error:
                why = why or str(error)
                continue
            puts = self._puts[what].get(name, ())
            before = approved.union(*(each.approved for each in puts if each.path == path))
            others = (each for each in puts if each.path != path)
            self._puts[what][name] = (*others, Put(path, line, before))
            if path:
                self._on.setdefault(path, set()).add((what, name))
        if why:
            self.skipped.append(Skipped(event.id, why))

    def refuse(self, event: MemoryEvent, why: str) -> None:
        """Skip an event that the gate does not allow, and name it."""
        self.events += 1
        self.refused.append(Skipped(event.id, why))

    def lend(self, paths: Iterable[MemoryPath]) -> None:
        """Add paths that no event explains, as they are."""
        for path in paths:
            if path.path_id not in self.state:
                self.state.put(path)
                self._lent.add(path.path_id)
        self._views.clear()

    # -- what is visible -----------------------------------------------------------------------------------------------

    def is_current(self, path: str) -> bool:
        """True if a path is visible without naming it. A path that nobody branched is."""
        return path not in self.state or path in self._view(None)[0]

    def visible(self, what: str, name: str, path: str | None = None) -> bytes | None:
        """A record as seen from a path, without one as it is currently; None, if it is not visible."""
        puts = self._puts[what].get(name)
        return None if puts is None else self._visible(puts, self._view(path))

    def _visible(self, puts: tuple[Put, ...], view: list[Container[str]]) -> bytes | None:
        for paths in view:
            here = [put for put in puts if put.path in paths]
            if here:
                return here[-1].line
        return None

    def _view(self, path: str | None) -> list[Container[str]]:
        """The visible paths, nearest first; within one group the later event counts."""
        if path is None and path not in self._views:
            self._views[None] = [_Current(self.state)]
        elif path is not None and path not in self._views:
            above = self.state.line_of(path)
            line = [name for name in above if name == path or not self.state.is_abandoned(name)] or [path]
            groups = [{name, *self.state.with_merged(name)} for name in line]
            groups[-1].add("")
            self._views[path] = [*groups]
        return self._views[path]

    def versions(self, what: str, name: str) -> tuple[bytes, ...]:
        """All versions of a record in the log, on whichever path."""
        return tuple(put.line for put in self._puts[what].get(name, ()))

    def each(self, what: str, path: str | None = None) -> Iterator[tuple[str, bytes]]:
        """Every visible record, in the order of their ids."""
        puts, view = self._puts[what], self._view(path)
        for name in sorted(puts):
            line = self._visible(puts[name], view)
            if line is not None:
                yield name, line

    def merge_changes(self, path: str, into: str) -> Iterator[tuple[str, str, bytes | None, bytes, frozenset[str]]]:
        """The changes of a merge: each record as it is seen from `into`, as it would be, and what was approved."""
        merged, view = set(self.state.with_merged(path)), self._view(None if self.is_current(into) else into)
        for what, name in sorted({key for each in merged for key in self._on.get(each, ())}):
            puts = self._puts[what][name]
            put = [each for each in puts if each.path in merged or each.path in view[0]][-1]
            before = self._visible(puts, view)
            if put.path in merged and put.line != before:
                approved = put.approved.union(*(each.approved for each in puts if each.path in merged))
                yield what, name, before, put.line, approved

    def paths(self) -> dict[str, MemoryPath]:
        """The paths in the log, as they are now, in the order of their names."""
        return {name: path for name, path in self.state.records().items() if name not in self._lent}

    def snapshot(self, path: str | None = None) -> GraphSnapshot:
        """The graph as it is currently; with a path, as it is seen from there. NotFound, if there is no such path."""
        if path is not None:
            self.state.get(path)
        profiles, nodes, edges = (
            {name: orjson.loads(line) for name, line in self.each(what, path)} for what in ("profile", "node", "edge")
        )
        skipped, refused = tuple(self.skipped), tuple(self.refused)
        return GraphSnapshot(profiles, nodes, edges, self.paths(), skipped, refused, self.events)


class _Current:
    """The current paths; an unknown path is one of them."""

    def __init__(self, state: PathBook) -> None:
        self._state, self._known = state, state.current()

    def __contains__(self, path: object) -> bool:
        return path in self._known or path not in self._state  # type: ignore[operator]


def _approved_by(event: MemoryEvent) -> frozenset[str]:
    """The kind of action that an event applied with an approval; none, if it did not."""
    action = event.payload.get("action") if event.kind == APPLIED and event.payload.get("approval") else None
    kind = action.get("kind") if isinstance(action, dict) else None
    return frozenset({kind}) if isinstance(kind, str) else frozenset()


def replay(events: Iterable[MemoryEvent], path: str | None = None) -> GraphSnapshot:
    """The graph that `events` make; with a `path`, as it is seen from there. NotFound, if there is no such path."""
    fold = Fold()
    for event in events:
        fold.take(event)
    return fold.snapshot(path)


def path_event_in(event: MemoryEvent) -> MemoryEvent | None:
    """The path event in an event: itself, or the one that an applied action carries, under the action's own id."""
    if event.kind in PATH_KINDS:
        return event
    carried = event.payload.get("path_event") if event.kind == APPLIED else None
    if carried is None:
        return None
    if type(carried) is not dict or carried.keys() != _CARRIED or carried["kind"] not in PATH_KINDS:
        raise Refused(f"path_event is an object with {', '.join(sorted(_CARRIED))}, of one of the kinds of path events")
    return MemoryEvent(id=event.id, at=event.at, **carried)


def puts_of(event: MemoryEvent) -> Iterator[tuple[str, str, Fields]]:
    """The records that an event puts: the kind of each, its id and its fields. What is no record is skipped."""
    for what, name, fields in _put_by(event):
        try:
            yield what, name, orjson.loads(_line(what, name, fields))
        except Refused:
            continue


def why_unusable(event: MemoryEvent) -> str:
    """The reason why an event cannot put its records; empty, if it can, or if it has none."""
    try:
        for what, name, fields in _put_by(event):
            _line(what, name, fields)
    except Refused as error:
        return str(error)
    return _why_no_put(event)


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
                yield from ((what, name, fields) for name, fields in records.items())


def _line(what: str, name: str, fields: Any) -> bytes:
    """The line of a record that is put. Refused, if it is no record, or has another id."""
    if type(fields) is not dict:
        raise Refused(f"a put carries its {what} in the payload", "required")
    if fields.get("id") != name:
        raise Refused(f"the {what} put as {shown(name)} has the id {ascii(fields.get('id'))[:60]}", "mismatch")
    return settled_line(f"{what}s", line_of(fields), fields)
