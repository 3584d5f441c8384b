"""An event log in a file: one event a line, appended and never changed.

    {"at":"2026-05-18T09:00:00.000000Z","id":"e-1","kind":"node.put","path_id":"","payload":{"node":{…}},
     "schema_version":1,"subject_ids":["n-1"]}

(shown here on two lines).
Acknowledged means on disk. An id is refused if any line has it, whoever wrote that line: new lines of the file are read
under the lock before anything is decided. Events come in the order of their lines. After a crash the events of an
`extend` may be there up to one of them, and never half of one.

A line that is no event (malformed, of an unknown schema version, an id for the second time) is skipped and reported by
`diagnostics`. Nothing repairs it. A file with a line of a newer program is read and not written to.

Only the position of each id is kept in memory. It follows the file: a file that was replaced or cut is read again. How
the file grows, and what a crash leaves: see `stores/phase/event_log/line_file`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallystick.ledger.chain import raw_lines
from tallystick.ledger.disk import Disk, pread_range
from tallystick.records.errors import NotFound, NotWritable
from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase.event_log.line_file import TIMEOUT, LineFile, Pen
from tallystick.stores.phase.event_log.protocol import (
    DUPLICATE,
    TORN,
    UNKNOWN_SCHEMA,
    Bad,
    Findings,
    LineEventLog,
    LogFinding,
    event_of,
    fields_of,
    must_be_free,
    must_fit,
)

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
            self._take(at, raw)
        self.level(fd, end)

    def _take(self, at: int, raw: bytes) -> None:
        self.lines += 1
        try:
            name = fields_of(raw)["id"]
        except Bad as bad:
            self.findings.append(LogFinding(bad.code, self.lines, at, bad.reason))
            if bad.id:
                self.taken.setdefault(bad.id, -1)
            return
        if self.taken.setdefault(name, at) == at:
            self.count += 1
        else:
            reason = f"an earlier line has the event {ascii(name)[:80]} already; the first one counts"
            self.findings.append(LogFinding(DUPLICATE, self.lines, at, reason))


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
        """Add judged events, each as its id and its line, with one sync: all, or, if one is refused, none.

        They are written as they come, so that any number of them takes little memory.
        """
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
        """One event. NotFound, if there is none of that id."""
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
        """The lines that are skipped, in their order, and what a crash left at the end."""
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
