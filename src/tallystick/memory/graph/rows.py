"""The graph of one user, as its rows tell it at this moment: what a walk or a comparison asks."""

from __future__ import annotations

from typing import Any, cast

from tallystick.projections.graph.open_database import GraphFile
from tallystick.records.errors import NotFound
from tallystick.records.graph.envelope import record_in
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.protocol import MemoryGraphStore


class GraphRows:
    """The part of a `MemoryGraphStore` that is asked. It holds for as long as whoever made it has the rows."""

    def __init__(self, db: GraphFile, user: str) -> None:
        self.db, self.user = db, user

    def store(self) -> MemoryGraphStore:
        """For whoever only asks."""
        return cast(MemoryGraphStore, self)

    def load(self, part: str, name: str) -> Any:
        line = self.db.line(self.user, part, name) if is_text(name) else None
        if line is None:
            raise NotFound(f"there is no {part[:-1]} {ascii(name)[:60]}")
        return record_in(part, line)

    def all(self, part: str) -> list[Any]:
        return [record_in(part, line) for line in self.db.lines(self.user, part)]

    def load_node(self, node_id: str) -> MemoryNode:
        return self.load("nodes", node_id)  # type: ignore[no-any-return]

    def list_nodes(self, kind: str | None = None, *, merged: bool = False) -> list[MemoryNode]:
        if not _can_be(kind):
            return []
        return [record_in("nodes", line) for line in self.db.nodes(self.user, kind, merged=merged)]

    def list_edges(
        self, source: str | None = None, target: str | None = None, kind: str | None = None, *, limit: int | None = None
    ) -> list[MemoryEdge]:
        if not (_can_be(source) and _can_be(target) and _can_be(kind)):
            return []
        return [record_in("edges", line) for line in self.db.edges(self.user, source, target, kind, limit)]


def is_text(name: object) -> bool:
    """Whether anything can be called so: half a character is in no record."""
    try:
        return isinstance(name, str) and bool(name.encode())
    except UnicodeEncodeError:
        return False


def _can_be(name: str | None) -> bool:
    return name is None or is_text(name)
