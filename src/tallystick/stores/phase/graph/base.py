"""The protocol of a graph store, the common part of the two, and the one in memory, which lives as long as its process.

A graph in memory has every record as its line on disk, with indexes by kind, source and target. Lines are small, cannot
be changed from outside, and go to disk or into an envelope unchanged. A lookup by kind, source or target costs no more
than what has that key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import RLock
from typing import Any, NamedTuple, Protocol, runtime_checkable

import orjson

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.envelope import GraphEnvelope, Records, key_of, record_in
from tallystick.records.graph.events import MemoryEvent, copied
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, RecordFields, check_record, line_of
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.protocol import InMemoryMemoryEventLog, LineEventLog, must_fit

PARTS = ("profiles", "nodes", "edges", "paths", "activation_plans")

Lines = dict[str, dict[str, bytes]]  # records as they write themselves, by part and id
_KINDS: dict[str, type[Any]] = {
    "profiles": MemoryProfile, "nodes": MemoryNode, "edges": MemoryEdge, "paths": MemoryPath,
}  # fmt: skip


class Row(NamedTuple):
    """A line, and its index keys. A node that was merged into another is not found by its kind."""

    line: bytes
    kind: str = ""
    source: str = ""
    target: str = ""


def row_of(part: str, line: bytes, fields: RecordFields) -> Row:
    """The row of a judged record."""
    if part == "edges":
        return Row(line, fields["kind"], fields["source"], fields["target"])
    if part == "nodes" and "merged" not in fields:
        return Row(line, fields["kind"])
    return Row(line)


def row_in(part: str, line: bytes) -> Row:
    return row_of(part, line, orjson.loads(line) if part in ("nodes", "edges") else {})


@dataclass(slots=True)
class Changes:
    """Changes to save together."""

    lines: Lines = field(default_factory=lambda: {part: {} for part in PARTS})
    events: dict[str, bytes] = field(default_factory=dict)
    metadata: RecordFields = field(default_factory=dict)
    extra: RecordFields = field(default_factory=dict)
    head: str = ""  # the profile that an envelope names first
    gone: dict[str, set[str]] = field(default_factory=dict)  # records of a part that are to be dropped
    rewrite: bool = False  # files that cannot be read are overwritten: all their records are known


class Groups:
    """Names by key. A single one is stored as itself: most nodes have an edge or two, sets would be most of a graph."""

    def __init__(self) -> None:
        self._groups: dict[str, str | set[str]] = {}

    def add(self, key: str, name: str) -> None:
        group = self._groups.setdefault(key, name)
        if isinstance(group, set):
            group.add(name)
        elif group != name:
            self._groups[key] = {group, name}

    def remove(self, key: str, name: str) -> None:
        group = self._groups.get(key)
        if isinstance(group, set):
            group.discard(name)
        elif group == name:
            del self._groups[key]

    def names(self, key: str) -> list[str]:
        group = self._groups.get(key, ())
        return [group] if isinstance(group, str) else sorted(group)

    def size(self, key: str) -> int:
        group = self._groups.get(key, ())
        return 1 if isinstance(group, str) else len(group)


class Contents:
    """Everything in a graph store except its events."""

    __slots__ = ("extra", "head", "into", "kinds", "metadata", "out", "tables")

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, bytes]] = {part: {} for part in PARTS}
        self.kinds = {"nodes": Groups(), "edges": Groups()}
        self.out, self.into = Groups(), Groups()
        self.metadata: RecordFields = {}
        self.extra: RecordFields = {}
        self.head = ""

    def put(self, part: str, name: str, row: Row) -> None:
        """Put a record, in place of one of the same name."""
        table = self.tables[part]
        if name in table:
            if table[name] == row.line:
                return
            self.drop(part, name)
        table[name] = row.line
        if row.kind:
            self.kinds[part].add(row.kind, name)
        if row.source:
            self.out.add(row.source, name)
            self.into.add(row.target, name)

    def drop(self, part: str, name: str) -> None:
        """Remove a record, as when it is no longer on disk."""
        line = self.tables[part].pop(name)
        if part not in self.kinds:
            return
        row = row_in(part, line)
        self.kinds[part].remove(row.kind, name)
        if part == "edges":
            self.out.remove(row.source, name)
            self.into.remove(row.target, name)

    def apply(self, changes: Changes) -> None:
        for part, names in changes.gone.items():
            for name in names & self.tables[part].keys():
                self.drop(part, name)
        for part, lines in changes.lines.items():
            for name, line in lines.items():
                self.put(part, name, row_in(part, line))
        self.metadata = {**self.metadata, **changes.metadata}
        self.extra = {**self.extra, **changes.extra}
        self.head = changes.head or self.head

    def lines(self, part: str) -> Iterator[bytes]:
        """All of a part, by name."""
        table = self.tables[part]
        return map(table.__getitem__, sorted(table))

    def edges(self, source: str | None, target: str | None) -> Iterable[str]:
        """The names of the edges to look at, in order: all that have these ends, and perhaps others."""
        if source is None and target is None:
            return sorted(self.tables["edges"])
        if target is None or (source is not None and self.out.size(source) <= self.into.size(target)):
            return self.out.names(source or "")
        return self.into.names(target)


@runtime_checkable
class MemoryGraphStore(Protocol):
    """Profiles, nodes, edges and paths. `isinstance` checks the method names only.

    Saving a record again replaces it; saving the same again changes nothing. Lists are in the order of their ids,
    events in the order in which they happened. Nothing is ever deleted: two nodes that are the same thing are merged.
    """

    def save_profile(self, profile: MemoryProfile) -> None: ...

    def load_profile(self, profile_id: str) -> MemoryProfile:
        """NotFound, if there is none of that id; so for every `load_…`."""

    def list_profiles(self) -> list[MemoryProfile]: ...

    def save_node(self, node: MemoryNode) -> None:
        self.save_nodes([node])

    def save_nodes(self, nodes: Iterable[MemoryNode]) -> None:
        """All of them or, if one is refused, none."""

    def load_node(self, node_id: str) -> MemoryNode: ...

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        """All, or those of one kind; with `merged`, also those that were merged into another."""

    def save_edge(self, edge: MemoryEdge) -> None:
        """Its ends need not exist yet."""
        self.save_edges([edge])

    def save_edges(self, edges: Iterable[MemoryEdge]) -> None:
        """All of them or, if one is refused, none."""

    def load_edge(self, edge_id: str) -> MemoryEdge: ...

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        """All, or those with that source, that target and that kind; the first `limit` of them."""

    def save_path(self, path: MemoryPath) -> None: ...

    def load_path(self, path_id: str) -> MemoryPath: ...

    def list_paths(self) -> list[MemoryPath]: ...

    def list_events(self) -> list[MemoryEvent]: ...

    def export_envelope(self) -> GraphEnvelope: ...

    def import_envelope(self, envelope: GraphEnvelope) -> None:
        """Import all of it; nothing, if one record is refused. A record of the same id is replaced, an event never."""


class KeptGraph(MemoryGraphStore, ABC):
    """A `MemoryGraphStore` over contents that somebody keeps."""

    _log: LineEventLog

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Contents]:
        """The current contents. Nobody changes them meanwhile."""

    @abstractmethod
    def _save(self, changes: Changes) -> None:
        """Save it. What is refused changes nothing."""

    def save_profile(self, profile: MemoryProfile) -> None:
        self._save_all("profiles", [profile])

    def load_profile(self, profile_id: str) -> MemoryProfile:
        return self._load("profiles", profile_id)  # type: ignore[no-any-return]

    def list_profiles(self) -> list[MemoryProfile]:
        return self._all("profiles")

    def save_path(self, path: MemoryPath) -> None:
        self._save_all("paths", [path])

    def load_path(self, path_id: str) -> MemoryPath:
        return self._load("paths", path_id)  # type: ignore[no-any-return]

    def list_paths(self) -> list[MemoryPath]:
        return self._all("paths")

    def save_activation_plan(self, plan: RecordFields) -> None:
        """Save a plan, an object with an `id`."""
        check_record(plan)
        changes = Changes()
        changes.lines["activation_plans"][key_of("activation_plans", plan)] = line_of(plan)
        self._save(changes)

    def list_activation_plans(self) -> list[RecordFields]:
        with self._reading() as contents:
            return [orjson.loads(line) for line in contents.lines("activation_plans")]

    def list_events(self) -> list[MemoryEvent]:
        return self._log.list()

    def save_nodes(self, nodes: Iterable[MemoryNode]) -> None:
        self._save_all("nodes", nodes)

    def load_node(self, node_id: str) -> MemoryNode:
        return self._load("nodes", node_id)  # type: ignore[no-any-return]

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        with self._reading() as contents:
            table = contents.tables["nodes"]
            names = contents.kinds["nodes"].names(kind) if kind is not None and not merged else sorted(table)
            found: Iterator[MemoryNode] = (record_in("nodes", table[name]) for name in names)
            return [node for node in found if (merged or not node.merged) and kind in (None, node.kind)]

    def save_edges(self, edges: Iterable[MemoryEdge]) -> None:
        self._save_all("edges", edges)

    def load_edge(self, edge_id: str) -> MemoryEdge:
        return self._load("edges", edge_id)  # type: ignore[no-any-return]

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        with self._reading() as contents:
            table = contents.tables["edges"]
            names = contents.edges(source, target)
            if kind is not None and source is None and target is None:
                names = contents.kinds["edges"].names(kind)
            found: Iterator[MemoryEdge] = (record_in("edges", table[name]) for name in names)
            wanted = (
                edge for edge in found
                if source in (None, edge.source) and target in (None, edge.target) and kind in (None, edge.kind)
            )  # fmt: skip
            return list(islice(wanted, limit))

    def export_envelope(self) -> GraphEnvelope:
        """All of it except activation plans. Equal for equal contents."""
        with self._reading() as contents:
            profiles = contents.tables["profiles"]
            head = contents.head if contents.head in profiles else min(profiles, default="")
            parts = {part: Records[Any](part, contents.lines(part)) for part in _KINDS}
            return GraphEnvelope(
                profile=record_in("profiles", profiles[head]) if head else None,
                events=Records("events", self._log.lines()), metadata=copied(contents.metadata),
                extra=copied(contents.extra), **parts,  # type: ignore[arg-type]
            )  # fmt: skip

    def import_envelope(self, envelope: GraphEnvelope) -> None:
        changes = Changes(metadata=copied(envelope.metadata), extra=copied(envelope.extra))
        if envelope.profile is not None:
            changes.lines["profiles"][envelope.profile.id] = envelope.profile.to_line()
            changes.head = envelope.profile.id if envelope.profiles else ""
        for part in _KINDS:
            changes.lines[part].update((name, line) for name, line, _ in envelope.settled(part))
        changes.events = {name: line for name, line, _ in envelope.settled("events")}
        for name, line in changes.events.items():
            must_fit(name, line)
        self._save(changes)

    def lines_of(self, part: str) -> dict[str, bytes]:
        """The lines of a part, by id."""
        with self._reading() as contents:
            return dict(contents.tables[part])

    def put_back(self, lines: Lines, gone: dict[str, set[str]], *, rewrite: bool = False) -> None:
        """Put `lines` (by part and id) and drop what is `gone`; with `rewrite`, also in files that cannot be read."""
        changes = Changes(gone=gone, rewrite=rewrite)
        changes.lines |= lines
        self._save(changes)

    def _save_all(self, part: str, records: Iterable[Any]) -> None:
        changes = Changes()
        for record in records:
            if not isinstance(record, _KINDS[part]):
                raise Refused(f"{part} holds {_KINDS[part].__name__} records, not {type(record).__name__}")
            fields = record.to_dict()
            changes.lines[part][key_of(part, fields)] = line_of(fields)
        self._save(changes)

    def _load(self, part: str, name: str) -> Any:
        with self._reading() as contents:
            line = contents.tables[part].get(name)
            if line is None:
                raise NotFound(f"no {part[:-1]} {ascii(name)[:60]}; check the id")
            return record_in(part, line)

    def _all(self, part: str) -> list[Any]:
        with self._reading() as contents:
            return [record_in(part, line) for line in contents.lines(part)]


class InMemoryMemoryGraphStore(KeptGraph):
    """A `MemoryGraphStore` without a disk. Any thread may call it."""

    def __init__(self) -> None:
        self._contents, self._lock, self._log = Contents(), RLock(), InMemoryMemoryEventLog()

    @contextmanager
    def _reading(self) -> Iterator[Contents]:
        with self._lock:
            yield self._contents

    def _save(self, changes: Changes) -> None:
        with self._lock:
            self._log.extend_new(changes.events)
            self._contents.apply(changes)
