"""An event log that lives as long as its process. It holds lines, as the file does, so both give back the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import datetime

from tallystick.records.errors import NotFound
from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase.event_log.filters import wanted
from tallystick.stores.phase.event_log.line import event_of, fields_of, lines_of, must_be_free, must_fit
from tallystick.stores.phase.event_log.protocol import Events, Findings
from tallystick.stores.phase.event_log.replay import GraphSnapshot, replay


class InMemoryMemoryEventLog:
    """Events in memory. What is handed out is the caller's own: changing it changes nothing here."""

    def __init__(self, events: Iterable[MemoryEvent] = ()) -> None:
        self._lines: dict[str, bytes] = {}
        self._turn = threading.Lock()
        self.extend(events)

    def append(self, event: MemoryEvent) -> None:
        """Add one event. Refused if its id is taken."""
        self.extend((event,))

    def extend(self, events: Iterable[MemoryEvent]) -> None:
        """Add several, or, if one of them is refused, none."""
        self.extend_lines(lines_of(events).items())

    def extend_lines(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """Add events that were judged, each as its id and its line: all, or, if one is refused, none."""
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
            raise NotFound(f"there is no event {event_id!r} in this log")
        return event_of(line)

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the events make; with a path, as it is seen from there."""
        return replay(self, path)

    def diagnostics(self) -> Findings:
        """Nothing: only what `append` took is here."""
        return []

    def __iter__(self) -> Iterator[MemoryEvent]:
        with self._turn:
            lines = [*self._lines.values()]
        return map(event_of, lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._lines

    def list(self, kind: str | None = None, path: str | None = None, since: datetime | str | None = None) -> Events:
        """The events of one kind, of one path, from one moment on, as they were appended."""
        fits = wanted(kind, path, since)
        with self._turn:
            lines = [*self._lines.values()]
        return [MemoryEvent.judged(told) for told in map(fields_of, lines) if fits(told)]
