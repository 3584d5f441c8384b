"""The common part of the two graph stores, and the one in memory, which lives as long as its process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from threading import RLock
from typing import Any

import orjson

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.envelope import GraphEnvelope, Records, key_of, record_in
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, RecordFields, check_record, line_of
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.protocol import InMemoryMemoryEventLog, LineEventLog, must_fit
from tallystick.stores.phase.graph.contents import Changes, Contents, Lines, copied

_KINDS: dict[str, type[Any]] = {
    "profiles": MemoryProfile, "nodes": MemoryNode, "edges": MemoryEdge, "paths": MemoryPath,
}  # fmt: skip


class KeptGraph(ABC):
    """A `MemoryGraphStore` over contents that somebody keeps."""

    _log: LineEventLog

    # -- where it is kept ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Contents]:
        """The current contents. Nobody changes them meanwhile."""

    @abstractmethod
    def _save(self, changes: Changes) -> None:
        """Save it. What is refused changes nothing."""

    # -- profiles, paths and plans -------------------------------------------------------------------------------------

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

    # -- nodes and edges -----------------------------------------------------------------------------------------------

    def save_node(self, node: MemoryNode) -> None:
        self._save_all("nodes", [node])

    def save_nodes(self, nodes: Iterable[MemoryNode]) -> None:
        """All of them or, if one is refused, none."""
        self._save_all("nodes", nodes)

    def load_node(self, node_id: str) -> MemoryNode:
        return self._load("nodes", node_id)  # type: ignore[no-any-return]

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        """All, or those of one kind; with `merged`, also those that were merged into another."""
        with self._reading() as contents:
            table = contents.tables["nodes"]
            names = contents.kinds["nodes"].names(kind) if kind is not None and not merged else sorted(table)
            found: Iterator[MemoryNode] = (record_in("nodes", table[name]) for name in names)
            return [node for node in found if (merged or not node.merged) and kind in (None, node.kind)]

    def save_edge(self, edge: MemoryEdge) -> None:
        """Its ends need not exist yet."""
        self._save_all("edges", [edge])

    def save_edges(self, edges: Iterable[MemoryEdge]) -> None:
        """All of them or, if one is refused, none."""
        self._save_all("edges", edges)

    def load_edge(self, edge_id: str) -> MemoryEdge:
        return self._load("edges", edge_id)  # type: ignore[no-any-return]

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        """All, or those with that source, that target and that kind; the first `limit` of them."""
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

    # -- envelopes -----------------------------------------------------------------------------------------------------

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
        """Import all of it, or nothing. A record with the same id is replaced; an event never is."""
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
        """Follow a log: put `lines` (by part and id) and drop what is `gone`, all of it or nothing.

        With `rewrite`, files that cannot be read are rewritten, and copies of them are set aside.
        """
        changes = Changes(gone=gone, rewrite=rewrite)
        changes.lines |= lines
        self._save(changes)

    # -- any part ------------------------------------------------------------------------------------------------------

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


# -- in memory ---------------------------------------------------------------------------------------------------------


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
