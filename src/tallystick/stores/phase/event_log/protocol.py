"""Event logs: the protocol, how a line is judged, and the log in memory.

A line that this program wrote is recognised by its bytes: written again it is the same, so its form needs no further
check. Any other line is read strictly (no key twice, no NaN, no lone surrogate, no depth beyond the limit), so that two
readers cannot read two things. The log in memory holds lines too, so that both logs return the same.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import orjson

from tallystick.records.errors import NotFound, Refused
from tallystick.records.fields import moment
from tallystick.records.graph.events import KINDS, SCHEMA_VERSION, MemoryEvent, fault_in, is_kind, shown
from tallystick.records.graph.nodes import line_of
from tallystick.records.json import DEPTH, loads
from tallystick.stores.phase.event_log.replay import GraphSnapshot, replay

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


# -- one line ----------------------------------------------------------------------------------------------------------


MAX_LINE = 1 << 24

_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


class Bad(Exception):
    """A line that is no event known to this program. `id` is its own, if it has one."""

    def __init__(self, code: str, reason: str, id: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason, self.id = code, reason, id


def fields_of(raw: bytes) -> dict[str, Any]:
    """The fields of a line, if it is an event of this schema version; else Bad."""
    if len(raw) > MAX_LINE:
        raise Bad(MALFORMED, f"a line of {len(raw)} bytes; the limit is {MAX_LINE}")
    try:
        fields = orjson.loads(raw)
        if raw.count(b"[") + raw.count(b"{") > DEPTH or orjson.dumps(fields, option=_SORTED) != raw:
            fields = loads(raw)
    except ValueError as error:
        raise Bad(MALFORMED, reason_of(error)) from None
    if isinstance(fields, dict) and fields.get("schema_version") != SCHEMA_VERSION and "schema_version" in fields:
        name = fields.get("id")
        raise Bad(UNKNOWN_SCHEMA, unknown_version(fields["schema_version"]), name if isinstance(name, str) else "")
    fault = fault_in(fields)
    if fault or type(fields["schema_version"]) is not int:
        raise Bad(MALFORMED, fault or "schema_version is not a whole number")
    return fields  # type: ignore[no-any-return]


def reason_of(error: Exception) -> str:
    """The message of an error about JSON, in one printable line."""
    text = f"not JSON: {error.msg}" if isinstance(error, orjson.JSONDecodeError) else str(error)
    return ascii(text)[1:-1][:200]


def unknown_version(version: object) -> str:
    return f"schema version {ascii(version)[:40]}, and this program knows {SCHEMA_VERSION}"


def event_of(raw: bytes) -> MemoryEvent:
    """The event in a line; else Bad."""
    return MemoryEvent.judged(fields_of(raw))


def must_fit(name: str, line: bytes) -> None:
    """Refused, if a line would be too long to be read again."""
    if len(line) >= MAX_LINE:
        raise Refused(f"event {shown(name)} is {len(line)} bytes long, not below {MAX_LINE}; split it", "size")


def must_be_free(name: str, taken: Container[str]) -> None:
    """Refused, if an id is taken."""
    if name in taken:
        raise Refused(f"event {name!r} exists already; an event is appended once", "exists")


# -- a log of lines ----------------------------------------------------------------------------------------------------


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
        lines = []
        for event in events:
            if not isinstance(event, MemoryEvent):
                raise Refused(f"a log accepts memory events, not {type(event).__name__}")
            lines.append((event.id, event.to_line()))
        if lines:
            self.extend_lines(lines)

    def extend_new(self, lines: Mapping[str, bytes]) -> None:
        """Add those of some judged events (by id, without newlines) that are new.

        Refused, if an event of the same id has other content: then nothing is added.
        """
        known = {fields["id"]: line_of(fields) for fields in self._fields() if fields["id"] in lines} if lines else {}
        for name, line in lines.items():
            if known.get(name, line) != line:
                raise Refused(f"event {shown(name)} exists with other content; events never change", "exists")
        if len(known) < len(lines):
            self.extend_lines((name, line + b"\n") for name, line in lines.items() if name not in known)

    def lines(self) -> tuple[bytes, ...]:
        """Every event as its line, without the newline, in order."""
        return tuple(map(line_of, self._fields()))

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
                must_be_free(name, self._lines)
                must_be_free(name, fresh)
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
