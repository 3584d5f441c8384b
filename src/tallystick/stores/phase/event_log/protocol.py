"""The protocol of an event log. `isinstance` checks the method names only.

Events come back in the order in which they were appended, always. An id is taken once and for good. `diagnostics`
reports damaged lines, with their places; readers skip them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase.event_log.replay import GraphSnapshot

MALFORMED = "malformed-line"  # not JSON, or not an event
UNKNOWN_SCHEMA = "unknown-schema"  # an event of a schema version that this program does not know
DUPLICATE = "duplicate-id"  # an id that an earlier line has; the first one counts
TORN = "torn-end"  # a last line without its newline, acknowledged to nobody

Events = list[MemoryEvent]


@dataclass(frozen=True, slots=True)
class LogFinding:
    """One line that is no event to us: where it is, and why."""

    code: str
    line: int  # the first is 1
    byte: int  # where the line begins
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Findings = list[LogFinding]


@runtime_checkable
class MemoryEventLog(Protocol):
    """Events, appended and never changed."""

    def append(self, event: MemoryEvent) -> None:
        """Add one event. It is stored when this returns. Refused if its id is taken."""

    def extend(self, events: Iterable[MemoryEvent]) -> None:
        """Add several, or, if one of them is refused, none."""

    def get(self, event_id: str) -> MemoryEvent:
        """One event. NotFound, if there is none of that id."""

    def list(self, kind: str | None = None, path: str | None = None, since: datetime | str | None = None) -> Events:
        """The events of one kind, of one path, from one moment on; without any of these, all."""

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the events make; with a path, as it is seen from there."""

    def diagnostics(self) -> Findings:
        """The lines that were skipped, in their order."""

    def __iter__(self) -> Iterator[MemoryEvent]:
        """All events, one after the other."""

    def __len__(self) -> int: ...

    def __contains__(self, event_id: object) -> bool: ...
