"""Event logs over lines: all but where the lines are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from tallystick.records.errors import Refused
from tallystick.records.fields import moment
from tallystick.records.graph.events import KINDS, MemoryEvent, is_kind
from tallystick.stores.phase.event_log.line import lines_of
from tallystick.stores.phase.event_log.protocol import Events
from tallystick.stores.phase.event_log.replay import GraphSnapshot, replay


class LineEventLog(ABC):
    """A `MemoryEventLog` of lines. Returned events belong to the caller: changing them changes nothing here."""

    @abstractmethod
    def extend_lines(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """Add judged events, each as its id and its line: all, or, if one is refused, none."""

    @abstractmethod
    def _fields(self) -> Iterator[dict[str, Any]]:
        """The fields of every event, in order."""

    def append(self, event: MemoryEvent) -> None:
        """Add one event. Refused if its id is taken, NotWritten if the disk refuses."""
        self.extend((event,))

    def extend(self, events: Iterable[MemoryEvent]) -> None:
        """Add several, or, if one of them is refused, none."""
        lines = lines_of(events)
        if lines:
            self.extend_lines(lines.items())

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the events make; with a path, as it is seen from there."""
        return replay(self, path)

    def __iter__(self) -> Iterator[MemoryEvent]:
        return map(MemoryEvent.judged, self._fields())

    def list(self, kind: str | None = None, path: str | None = None, since: datetime | str | None = None) -> Events:
        """The events of one kind, of one path, from one moment on, in the order of the log."""
        if kind is not None and not is_kind(kind):
            raise Refused(f"unknown kind {kind!r}; use one of {', '.join(KINDS)}, or one that begins with custom.")
        first = "" if since is None else moment(since)
        return [
            MemoryEvent.judged(fields) for fields in self._fields()
            if kind in (None, fields["kind"]) and path in (None, fields["path_id"]) and fields["at"] >= first
        ]  # fmt: skip
