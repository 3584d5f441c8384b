"""`audit.jsonl`, and the part of `Memory` that answers for itself: who did what, and what was masked.

The file is derived: each line is an event of the ledger that acts, in the ledger's order, and its last line is the
bookmark. Whoever writes appends what is new, holding the file alone for that moment, so that two programs never write a
line twice. It is not synced. What a crash tore off its end is cut away and written again; if its last line is none of
the ledger's, all of it is made anew. What cannot be appended now is appended after the next write: no write waits for
the audit, and none fails because of it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

import orjson

from tallystick.memory.context import MemoryBase
from tallystick.memory.core.event_stream import events_from
from tallystick.memory.core.masking import Masker
from tallystick.records.audit import NAME, AuditLine, Auditor
from tallystick.records.errors import Closed, Refused, TallystickError
from tallystick.records.event import Event
from tallystick.stores.open_folder import OpenFolder

_PATIENCE = 0.2  # seconds that a write waits for another that appends
_AT_ONCE = 1 << 20  # bytes that are written together
_TAIL = 1 << 16


class AuditVerbs(MemoryBase):
    """What a memory tells of itself. `Memory` is one."""

    _masks: Masker

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds of secrets that were masked in what this thread last said."""
        return self._masks.last

    @cached_property
    def _audit_file(self) -> AuditFile:
        return AuditFile(self._folder, is_on=self._settings.audit, tell=self._tell)

    def audit(self, start: int = 0, *, follow: bool = False, pause: float = 0.2) -> Iterator[AuditLine]:
        """Who did what to this user's memory, from event `start` on: each act with its approval and its proof.

        It is read from the ledger, and repeats no words. With `follow` it goes on as others write.
        """
        for line in self._audit(start, follow=follow):
            if line is None:
                time.sleep(pause)
            else:
                yield line

    def _audit(self, start: int = 0, *, follow: bool = False) -> Iterator[AuditLine | None]:
        """The same, for whoever waits in their own way: None, where there is nothing new."""
        auditor = Auditor(self._folder.state.reviews.find)
        while True:
            for event in self._folder.events_of(self.user, start):
                start = event.seq + 1
                if line := auditor.line(event, self._folder.owner(event) or ""):
                    yield line
            if not follow:
                return
            yield None


class _Left(NamedTuple):
    """How this process left the file, and up to which event."""

    inode: int = -1
    size: int = -1
    written: int = -1
    through: int = -1

    @classmethod
    def of(cls, seen: os.stat_result, through: int) -> _Left:
        return cls(seen.st_ino, seen.st_size, seen.st_mtime_ns, through)


class AuditFile:
    """The audit of one folder, of all its users."""

    def __init__(self, folder: OpenFolder, *, is_on: bool, tell: Callable[[str], None] | None = None) -> None:
        self._folder, self._is_on, self._tell = folder, is_on, tell
        self.path = folder.ledger.folder.root / NAME
        self._auditor = Auditor(folder.state.reviews.find)
        self._left = _Left()
        self._told = False

    def follow(self, events: Sequence[Event]) -> None:
        """Something was written: these events, or, if none are given, whatever is new. It never fails."""
        if self._is_on and self._folder.ledger.writable:
            self._safely(lambda: self._follow(events))

    def rebuild(self) -> None:
        """Make it anew from the ledger."""
        if self._folder.ledger.writable:
            self._safely(lambda: self._follow((), again=True))

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Closed:  # meanwhile, by another thread; the next one who writes goes on
            return
        except (OSError, TallystickError) as error:
            if self._tell and not self._told:
                self._told = True
                why = error.strerror if isinstance(error, OSError) else error
                self._tell(f"{NAME} could not be written ({why}); `tallystick rebuild-index` makes it anew")

    def _follow(self, events: Sequence[Event], *, again: bool = False) -> None:
        with self._folder.ledger.turn(), self._alone() as fd:
            if fd is None:
                return
            seen = os.fstat(fd)
            if events and not again and self._left == _Left.of(seen, events[0].seq - 1):
                through = self._append(fd, events, events[0].seq - 1)
            else:
                self._folder.ledger.refresh()  # what the file tells is in the ledger, and now it is known here
                through = self._catch_up(fd, -1 if again else self._fixed(fd, seen.st_size))
            self._left = _Left.of(os.fstat(fd), through)

    @contextmanager
    def _alone(self) -> Iterator[int | None]:
        """The file, made if need be, held by nobody else; None, if somebody does not let go of it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self.path, flags, 0o600)
        try:
            yield fd if _lock(fd) else None
        finally:
            os.close(fd)

    def _fixed(self, fd: int, size: int) -> int:
        """The event of the last line, after a torn one was cut off; -1 if the file must be made anew."""
        line, end = _last_line(fd, size)
        if end < size:
            os.ftruncate(fd, end)
        try:
            last = AuditLine.from_dict(orjson.loads(line))
        except (ValueError, Refused):
            return -1
        chain = self._folder.ledger.chain()
        known = chain.hash_at(last.seq)
        is_moved_away = known is None and last.seq < chain.first
        return last.seq if known == last.hash or is_moved_away else -1

    def _catch_up(self, fd: int, last: int) -> int:
        """Everything behind the last line; where there is none, everything."""
        ledger = self._folder.ledger
        if last < 0:
            os.ftruncate(fd, 0)
            self._auditor = Auditor(self._folder.state.reviews.find)
        return self._append(fd, events_from(ledger, max(last + 1, ledger.chain().first)), last)

    def _append(self, fd: int, events: Iterable[Event], through: int) -> int:
        """Write the lines of events; return the last event that was looked at."""
        waiting, size = list[bytes](), 0
        for event in events:
            through = event.seq
            act = self._auditor.line(event, self._folder.owner(event) or "")
            if act is not None:
                waiting.append(act.to_line())
                size += len(waiting[-1])
            if size > _AT_ONCE:
                _write(fd, b"".join(waiting))
                waiting, size = [], 0
        _write(fd, b"".join(waiting))
        return through


def _last_line(fd: int, size: int) -> tuple[bytes, int]:
    """The last whole line, and where it ends. One that names very much is long."""
    length = _TAIL
    while True:
        start = max(0, size - length)
        tail = os.pread(fd, size - start, start)
        end = tail.rfind(b"\n") + 1
        begin = tail.rfind(b"\n", 0, max(end - 1, 0)) + 1
        if begin or not start:
            return tail[begin:end], start + end
        length *= 8


def _lock(fd: int) -> bool:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.002)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
