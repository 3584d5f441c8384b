"""The protocol of a graph store. `isinstance` checks the method names only.

Saving a record again replaces it; saving the same again changes nothing. Lists are in the order of their ids, events in
the order in which they happened. Nothing is ever deleted: two nodes that are the same thing are merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.path import MemoryPath


@runtime_checkable
class MemoryGraphStore(Protocol):
    """Profiles, nodes, edges and paths."""

    def save_profile(self, profile: MemoryProfile) -> None: ...

    def load_profile(self, profile_id: str) -> MemoryProfile:
        """NotFound, if there is none of that id; so for every `load_…`."""

    def list_profiles(self) -> list[MemoryProfile]: ...

    def save_node(self, node: MemoryNode) -> None: ...

    def save_nodes(self, nodes: Iterable[MemoryNode]) -> None:
        """All of them or, if one is refused, none."""

    def load_node(self, node_id: str) -> MemoryNode: ...

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        """All, or those of one kind; with `merged`, also those that were merged into another."""

    def save_edge(self, edge: MemoryEdge) -> None:
        """Its ends need not exist yet."""

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
