"""`audit.jsonl`: who did what to a memory, one line for each event that acts, in the ledger's order.

The file is derived, and its last line is the position. Whoever writes appends what is new under the file's lock, so two
programs never write a line twice. It is not synced. A torn last line is cut off and written again; if the last line is
not one of the ledger's, the whole file is rebuilt. What cannot be appended now is appended after the next write: no
write waits for the audit, and none fails because of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import orjson

from tallystick.memory.core.follower import events_from
from tallystick.projections.database import wait_for_lock
from tallystick.records.audit import NAME, AuditLine, Auditor, line_of
from tallystick.records.errors import Closed, Refused, TallystickError
from tallystick.records.event import Event
from tallystick.stores.open_folder import OpenFolder

_TIMEOUT = 0.2  # seconds that a write waits for another that appends
_AT_ONCE = 1 << 20  # bytes that are written together
_TAIL = 1 << 16


class AuditFile:
    """The audit of one folder, of all its users."""

    def __init__(self, folder: OpenFolder, *, is_on: bool, notify: Callable[[str], None]) -> None:
        self._folder, self._is_on, self._notify = folder, is_on, notify
        self.path = folder.root / NAME
        self._auditor = Auditor(folder.state.reviews.find)
        self._left = (-1, -1, -1, -1)  # inode, size and time of the file as this process left it, and the last event
        self._has_warned = False

    def follow(self, events: Sequence[Event]) -> None:
        """Append what was written: these events or, if none are given, whatever is new. It never fails."""
        if self._is_on and self._folder.ledger.writable:
            self._safely(lambda: self._follow(events))

    def rebuild(self) -> None:
        """Rebuild it from the ledger."""
        if self._folder.ledger.writable:
            self._safely(lambda: self._follow((), again=True))

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Closed:  # meanwhile, by another thread; the next one who writes goes on
            return
        except (OSError, TallystickError) as error:
            if not self._has_warned:
                self._has_warned = True
                why = error.strerror if isinstance(error, OSError) else error
                self._notify(f"{NAME} could not be written ({why}); run `tallystick rebuild-index` to rebuild it")

    def _follow(self, events: Sequence[Event], *, again: bool = False) -> None:
        with self._folder.ledger.turn(), self._alone() as fd:
            if fd is None:
                return
            seen = os.fstat(fd)
            if events and not again and self._left == _state_of(seen, events[0].seq - 1):
                through = self._append(fd, events, events[0].seq - 1)
            else:
                self._folder.ledger.refresh()  # what the file tells is in the ledger, and now it is known here
                through = self._catch_up(fd, -1 if again else self._fixed(fd, seen.st_size))
            self._left = _state_of(os.fstat(fd), through)

    @contextmanager
    def _alone(self) -> Iterator[int | None]:
        """The file, made if need be, and locked; None, if another program keeps the lock."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self.path, flags, 0o600)
        try:
            yield fd if wait_for_lock(fd, _TIMEOUT) else None
        finally:
            os.close(fd)

    def _fixed(self, fd: int, size: int) -> int:
        """The event of the last line, after a torn one was cut off; -1 if the file must be rebuilt."""
        line, end = _last_line(fd, size)
        if end < size:
            os.ftruncate(fd, end)
        try:
            last = AuditLine.from_dict(orjson.loads(line))
        except (ValueError, Refused):
            return -1
        ledger = self._folder.ledger
        known = ledger.hash_at(last.seq)
        is_moved_away = known is None and last.seq < ledger.first
        return last.seq if known == last.hash or is_moved_away else -1

    def _catch_up(self, fd: int, last: int) -> int:
        """Append everything after the last line; if there is none, everything."""
        ledger = self._folder.ledger
        if last < 0:
            os.ftruncate(fd, 0)
            self._auditor = Auditor(self._folder.state.reviews.find)
        return self._append(fd, events_from(ledger, max(last + 1, ledger.first)), last)

    def _append(self, fd: int, events: Iterable[Event], through: int) -> int:
        """Write the lines of events; return the last event that was looked at."""
        waiting: list[bytes] = []
        size = 0
        for event in events:
            through = event.seq
            if (fields := self._auditor.fields(event, self._folder.owner(event) or "")) is not None:
                waiting.append(line_of(fields))
                size += len(waiting[-1])
            if size > _AT_ONCE:
                _write(fd, b"".join(waiting))
                waiting, size = [], 0
        _write(fd, b"".join(waiting))
        return through


def _state_of(seen: os.stat_result, through: int) -> tuple[int, int, int, int]:
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, through


def _last_line(fd: int, size: int) -> tuple[bytes, int]:
    """The last complete line, and where it ends."""
    length = _TAIL
    while True:
        start = max(0, size - length)
        tail = os.pread(fd, size - start, start)
        end = tail.rfind(b"\n") + 1
        begin = tail.rfind(b"\n", 0, max(end - 1, 0)) + 1
        if begin or not start:
            return tail[begin:end], start + end
        length *= 8


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
