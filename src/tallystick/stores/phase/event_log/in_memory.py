"""An event log that lives as long as its process. It holds lines, as the file does, so both return the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from tallystick.records.errors import NotFound
from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase.event_log.base import LineEventLog
from tallystick.stores.phase.event_log.line import event_of, fields_of, must_be_free, must_fit
from tallystick.stores.phase.event_log.protocol import Findings


class InMemoryMemoryEventLog(LineEventLog):
    """Events in memory."""

    def __init__(self, events: Iterable[MemoryEvent] = ()) -> None:
        self._lines: dict[str, bytes] = {}
        self._turn = threading.Lock()
        self.extend(events)

    def extend_lines(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """Add judged events, each as its id and its line: all, or, if one is refused, none."""
        with self._turn:
            fresh: dict[str, bytes] = {}
            for name, line in lines:
                must_be_free((name,), self._lines)
                must_be_free((name,), fresh)
                must_fit(name, line)
                fresh[name] = line
            self._lines |= fresh

    def get(self, event_id: str) -> MemoryEvent:
        """One event. NotFound, if there is none of that id."""
        line = self._lines.get(event_id)
        if line is None:
            raise NotFound(f"no event {event_id!r} in this log; check the id")
        return event_of(line)

    def diagnostics(self) -> Findings:
        """Nothing: only accepted events are here."""
        return []

    def _fields(self) -> Iterator[dict[str, Any]]:
        with self._turn:
            lines = [*self._lines.values()]
        return map(fields_of, lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._lines
