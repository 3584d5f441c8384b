"""Changes of the memory, whoever made them: noticed once, and passed on to all listeners.

Everything that changes is in the ledger, so a look at the state of its file, without a lock and without reading, tells
whether there is anything new. Receipts and snapshots change nothing that is remembered. A slow listener misses no
change, only the numbers between: it gets the newest one when it asks again, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records.errors import Closed, TallystickError

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event
    from tallystick.surfaces.server.worker import MemoryWorker

EVERY = 0.25  # seconds between two looks
_NO_CHANGE = ("receipt.", "snapshot/", "ledger.state/")


class ChangeDetector:
    """The position up to which the ledger was read. Everything but `is_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self.next = self.place = 0  # the first event that was not read; the first after the last change
        self._wal: Path | None = None
        self._state: tuple[int, ...] = ()

    def begin(self, memory: Memory) -> None:
        """Start from now: nothing that is there is new."""
        self._wal = memory.folder / "events.wal"
        self._state = _stat(self._wal)
        self.next = self.place = memory.status().events

    def is_due(self) -> bool:
        """True if there may be something to read."""
        return self._wal is not None and _stat(self._wal) != self._state

    def look(self, memory: Memory) -> list[Event]:
        """The changes since the last look. If this raises, they are read again the next time."""
        now = _stat(self._wal) if self._wal else ()
        news = list(memory.log(self.next))
        if news:
            self.next = news[-1].seq + 1
        changed = [event for event in news if not event.op.startswith(_NO_CHANGE)]
        if changed:
            self.place = self.next
        self._state = now
        return changed


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


class Feed:
    """The listeners of one server. `hear` gets the events of each look before any listener is woken."""

    def __init__(
        self, worker: MemoryWorker, *, every: float = EVERY, hear: Callable[[list[Event]], None] | None = None
    ) -> None:  # fmt: skip
        self._worker, self._every, self._hear = worker, every, hear
        self._detector = ChangeDetector()
        self._turn = asyncio.Condition()
        self._newest = -1
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start from the ledger's current state, and follow it until `close`."""
        await self._worker.run(lambda context: self._detector.begin(context.memory))
        self._newest = self._detector.next - 1
        self._task = asyncio.create_task(self._follow())

    async def changes(self) -> AsyncIterator[int]:
        """The number of the newest event: at once, and again after every change. Ends with the server."""
        last = None
        while True:
            async with self._turn:
                while self._newest == last and not self._is_over:
                    await self._turn.wait()
                if self._is_over:
                    return
                last = self._newest
            yield last

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            if not self._detector.is_due():
                continue
            try:
                changed = await self._worker.run(lambda context: self._detector.look(context.memory))
            except Closed:
                return
            except (TallystickError, OSError, sqlite3.Error):  # busy or damaged: requests get the error; we look again
                continue
            if changed:
                if self._hear is not None:
                    self._hear(changed)
                self._newest = changed[-1].seq
                await self._wake()

    async def _wake(self) -> None:
        async with self._turn:
            self._turn.notify_all()

    async def close(self) -> None:
        """End every stream. A second call changes nothing."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        await self._wake()
