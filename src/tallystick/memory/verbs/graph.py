"""The part of `Memory` that knows who and what memories are about."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from tallystick.memory.context import MemoryBase
from tallystick.records.event import Event

if TYPE_CHECKING:
    from tallystick.memory.graph.graph import GraphService


class GraphVerbs(MemoryBase):
    """Entities and how they are related. `Memory` is one."""

    @cached_property
    def graph(self) -> GraphService:
        """Entities, and how they are related: what beliefs are about, and what was saved beside it."""
        from tallystick.memory.graph.graph import GraphService

        return GraphService(self._graph_at, self._gate, self.user, self._after_erasing)

    @abstractmethod
    def _after_erasing(self) -> None:
        """Words were destroyed: whatever is derived from them grows back."""

    def _follow_graph(self, events: list[Event]) -> None:
        if "_graph_at" in self.__dict__:
            self._graph_at.follow(events)

    def _close_graph(self) -> None:
        if "_graph_at" in self.__dict__:
            self._graph_at.close()
