"""Event logs: the protocol, how a line is judged, the log in memory, and the log in a file.

A line that this program wrote is recognised by its bytes: written again it is the same, so its form needs no further
check. Any other line is read strictly (no key twice, no NaN, no lone surrogate, no depth beyond the limit), so that two
readers cannot read two things. The log in memory holds lines too, so that both logs return the same.

A log in a file has one event a line, in their order. An id is refused if any line has it, whoever wrote that line: new
lines of the file are read under the lock before anything is decided. After a crash the events of an `extend` may be
there up to one of them, and never half of one. How the file grows: see `stores/phase/event_log/line_file`.

A line that is no event (malformed, of an unknown schema version, an id for the second time) is skipped and reported by
`diagnostics`. Nothing repairs it. A file with a line of a newer program is read and not written to. Only the position
of each id is kept in memory; a file that was replaced or cut is read again.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import orjson

from tallystick.ledger.disk import Disk, pread_range
from tallystick.ledger.folder.chain import raw_lines
from tallystick.records.display import Displayable
from tallystick.records.errors import NotFound, NotWritable, Refused
from tallystick.records.fields import moment
from tallystick.records.graph.events import KINDS, SCHEMA_VERSION, MemoryEvent, fault_in, is_kind, shown
from tallystick.records.graph.nodes import line_of
from tallystick.records.json import DEPTH, loads
from tallystick.stores.phase.event_log.line_file import TIMEOUT, LineFile, Pen
from tallystick.stores.phase.event_log.replay import GraphSnapshot, replay

MALFORMED = "malformed-line"  # not JSON, or not an event
UNKNOWN_SCHEMA = "unknown-schema"  # an event of a schema version that this program does not know
DUPLICATE = "duplicate-id"  # an id that an earlier line has; the first one counts
TORN = "torn-end"  # a last line without its newline, acknowledged to nobody

Events = list[MemoryEvent]


@dataclass(frozen=True, slots=True)
class LogFinding(Displayable):
    """One line that is no event to us: where it is, and why."""

    code: str
    line: int  # the first is 1
    byte: int  # where the line begins
    reason: str


Findings = list[LogFinding]


@runtime_checkable
class MemoryEventLog(Protocol):
    """Events, appended and never changed."""

    def append(self, event: MemoryEvent) -> None:
        """Add one event. It is stored when this returns. Refused if its id is taken, NotWritten if a disk refuses."""

    def extend(self, events: Iterable[MemoryEvent]) -> None:
        """Add several, or, if one of them is refused, none."""

    def get(self, event_id: str) -> MemoryEvent:
        """One event. NotFound, if there is none of that id."""

    def list(self, kind: str | None = None, path: str | None = None, since: datetime | str | None = None) -> Events:
        """The events of one kind, of one path, from one moment on; without any of these, all."""

    def replay(self, path: str | None = None) -> GraphSnapshot:
        """The graph that the events make; with a path, as it is seen from there."""

    def diagnostics(self) -> Findings:
        """The lines that were skipped, in their order, and what a crash left at the end."""

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
    if name in taken:
        raise Refused(f"event {name!r} exists already; an event is appended once", "exists")


class LineEventLog(MemoryEventLog, ABC):
    """A `MemoryEventLog` of lines. Returned events belong to the caller: changing them changes nothing here."""

    @abstractmethod
    def extend_lines(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """Add judged events, each as its id and its line: all, or, if one is refused, none."""

    @abstractmethod
    def _fields(self) -> Iterator[dict[str, Any]]:
        """The fields of every event, in order."""

    def append(self, event: MemoryEvent) -> None:
        self.extend((event,))

    def extend(self, events: Iterable[MemoryEvent]) -> None:
        lines = []
        for event in events:
            if not isinstance(event, MemoryEvent):
                raise Refused(f"a log accepts memory events, not {type(event).__name__}")
            lines.append((event.id, event.to_line()))
        if lines:
            self.extend_lines(lines)

    def extend_new(self, lines: Mapping[str, bytes]) -> None:
        """Add those of some judged events that are new. Refused, if one exists with other content: none is added."""
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
        return replay(self, path)

    def __iter__(self) -> Iterator[MemoryEvent]:
        return map(MemoryEvent.judged, self._fields())

    def list(self, kind: str | None = None, path: str | None = None, since: datetime | str | None = None) -> Events:
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
        with self._turn:
            fresh: dict[str, bytes] = {}
            for name, line in lines:
                must_be_free(name, self._lines)
                must_be_free(name, fresh)
                must_fit(name, line)
                fresh[name] = line
            self._lines |= fresh

    def get(self, event_id: str) -> MemoryEvent:
        line = self._lines.get(event_id)
        if line is None:
            raise NotFound(f"no event {event_id!r} in this log; check the id")
        return event_of(line)

    def diagnostics(self) -> Findings:
        return []  # only accepted events are here

    def _fields(self) -> Iterator[dict[str, Any]]:
        with self._turn:
            lines = [*self._lines.values()]
        return map(fields_of, lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._lines


_TAIL = 256  # bytes at the end of what was read, by which the file is recognised


class _Position:
    """The position in a file: how far it was read, where each id is, which lines were skipped."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.taken: dict[str, int] = {}  # the byte of an id's line; -1 if its event cannot be read
        self.findings: Findings = []
        self.lines = self.count = self._end = 0
        self._file: tuple[int, int] | None = None
        self._last = b""

    def adding(self, lines: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
        """The lines to append, each noted as it goes. Refused, if an id is taken."""
        at = self._end
        for name, line in lines:
            must_be_free(name, self.taken)
            must_fit(name, line)
            self.taken[name] = at
            self.lines, self.count, at = self.lines + 1, self.count + 1, at + len(line)
            yield line

    def take_back(self, count: int) -> None:
        """Forget all but the first `count` ids: what was added after these is not on disk."""
        while len(self.taken) > count:
            self.taken.popitem()
            self.lines, self.count = self.lines - 1, self.count - 1

    def level(self, fd: int, end: int) -> None:
        """The file was read up to its end."""
        self._file, self._end = _inode_of(fd), end
        self._last = pread_range(fd, max(0, end - _TAIL), end)

    def catch_up(self, fd: int, end: int) -> None:
        """Read what was appended since. A file that was replaced, cut or rewritten is read again."""
        if fd < 0:
            self._forget()
            return
        tail = pread_range(fd, max(0, self._end - _TAIL), self._end)
        if self._file != _inode_of(fd) or end < self._end or tail != self._last:
            self._forget()
        for at, raw in raw_lines(fd, self._end, end):
            self.lines += 1
            try:
                name = fields_of(raw)["id"]
            except Bad as bad:
                self.findings.append(LogFinding(bad.code, self.lines, at, bad.reason))
                if bad.id:
                    self.taken.setdefault(bad.id, -1)
                continue
            if self.taken.setdefault(name, at) == at:
                self.count += 1
            else:
                reason = f"an earlier line has the event {ascii(name)[:80]} already; the first one counts"
                self.findings.append(LogFinding(DUPLICATE, self.lines, at, reason))
        self.level(fd, end)


def _inode_of(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class JsonlMemoryEventLog(LineEventLog):
    """Events in the file `path`, which the first append creates. Any number of these may be open on one file."""

    def __init__(self, path: str | Path, *, disk: Disk | None = None, timeout: float = TIMEOUT) -> None:
        self._file = LineFile(path, disk=disk, timeout=timeout)
        self._known = _Position()
        self._turn = threading.RLock()

    @property
    def path(self) -> Path:
        return self._file.path

    def extend_lines(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """They are written as they come, with one sync, so that any number of them takes little memory."""
        with self._writing() as pen:
            count = len(self._known.taken)
            try:
                pen.append(self._known.adding(lines))
            except BaseException:
                self._known.take_back(count)
                raise
            self._known.level(pen.fd, pen.end)

    def create(self) -> None:
        """Create the file, if it is missing. NotWritable, if it is read-only."""
        with self._writing():
            return

    @contextmanager
    def _writing(self) -> Iterator[Pen]:
        """The file held alone, and its new lines read. NotWritable, if a newer program wrote to it."""
        with self._turn, self._file.writing() as pen:
            self._known.catch_up(pen.fd, pen.end)
            self._must_be_known()
            yield pen

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote to the file."""
        with self._reading():
            self._must_be_known()

    def _must_be_known(self) -> None:
        for found in self._known.findings:
            if found.code == UNKNOWN_SCHEMA:
                where = f"{self.path}, line {found.line}, byte {found.byte}"
                raise NotWritable(f"{where}: {found.reason}; upgrade tallystick: nothing was written")

    def get(self, event_id: str) -> MemoryEvent:
        with self._reading() as (fd, end):
            at = self._known.taken.get(event_id, -1)
            if at < 0:
                raise NotFound(f"no event {event_id!r} in {self.path}; check the id")
            _, raw = next(raw_lines(fd, at, end))
            return event_of(raw)

    def places(self) -> dict[str, tuple[int, int]]:
        """The line of each event, the first is 1, and the byte at which it begins."""
        with self._reading() as (fd, end):
            names = {at: name for name, at in self._known.taken.items() if at >= 0}
            lines = enumerate(raw_lines(fd, 0, end) if fd >= 0 else (), 1)
            return {names[at]: (number, at) for number, (at, _) in lines if at in names}

    def diagnostics(self) -> Findings:
        with self._reading() as (fd, end):
            size = os.fstat(fd).st_size if fd >= 0 else 0
            found = [*self._known.findings]
            if size > end:
                reason = f"{size - end} bytes that were never acknowledged; the next append sets them aside"
                found.append(LogFinding(TORN, self._known.lines + 1, end, reason))
            return found

    def __len__(self) -> int:
        with self._reading():
            return self._known.count

    def __contains__(self, event_id: object) -> bool:
        with self._reading():
            return isinstance(event_id, str) and self._known.taken.get(event_id, -1) >= 0

    @contextmanager
    def _reading(self) -> Iterator[tuple[int, int]]:
        """The open file and its end, after its new lines were read."""
        with self._turn, self._file.reading() as (fd, end):
            self._known.catch_up(fd, end)
            yield fd, end

    def _fields(self) -> Iterator[dict[str, Any]]:
        with self._reading() as (fd, end):
            for at, raw in raw_lines(fd, 0, end):
                try:
                    fields = fields_of(raw)
                except Bad:
                    continue
                if self._known.taken.get(fields["id"]) == at:
                    yield fields
