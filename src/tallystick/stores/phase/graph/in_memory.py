"""A graph in memory, gone with the process. Results are copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from tallystick.stores.phase.event_log.line import new_ones
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.contents import Changes, Contents


class InMemoryMemoryGraphStore(KeptGraph):
    """A `MemoryGraphStore` without a disk. Any thread may call it."""

    def __init__(self) -> None:
        self._contents, self._lock = Contents(), RLock()
        self._events: dict[str, bytes] = {}

    @contextmanager
    def _reading(self) -> Iterator[Contents]:
        with self._lock:
            yield self._contents

    def _save(self, changes: Changes) -> None:
        with self._lock:
            fresh = new_ones(self._events, changes.events)
            self._contents.apply(changes)
            self._events.update(fresh)

    def _event_lines(self) -> list[bytes]:
        with self._lock:
            return list(self._events.values())
