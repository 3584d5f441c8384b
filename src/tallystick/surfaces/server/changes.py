"""Who wants to know that the memory changed, and being told: one look at the ledger for all of them.

A glance at the ledger's file tells whether there is anything to look at, whoever wrote it. Receipts and snapshots
change nothing that is remembered, and wake nobody. A listener that is slow misses no change, only the numbers between:
it is told the newest one when it asks again, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from tallystick.records.errors import Closed, TallystickError
from tallystick.surfaces.server.change_detector import ChangeDetector

if TYPE_CHECKING:
    from tallystick.records.event import Event
    from tallystick.surfaces.server.worker import MemoryWorker

EVERY = 0.25  # seconds between two glances


class Feed:
    """The listeners of one server. `hear` is given the events of each look, before anybody is woken."""

    def __init__(
        self, hold: MemoryWorker, *, every: float = EVERY, hear: Callable[[list[Event]], None] | None = None
    ) -> None:  # fmt: skip
        self._hold, self._every, self._hear = hold, every, hear
        self._glance = ChangeDetector()
        self._turn = asyncio.Condition()
        self._newest = -1
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Know how the ledger stands, and look after it from now on, until `close`."""
        await self._hold.run(lambda context: self._glance.begin(context.memory))
        self._newest = self._glance.next - 1
        self._task = asyncio.create_task(self._follow())

    async def changes(self) -> AsyncIterator[int]:
        """The number of the newest event: at once, and again whenever something changed. Ends with the server."""
        told = None
        while True:
            async with self._turn:
                while self._newest == told and not self._is_over:
                    await self._turn.wait()
                if self._is_over:
                    return
                told = self._newest
            yield told

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            if not self._glance.is_due():
                continue
            try:
                changed = await self._hold.run(lambda context: self._glance.look(context.memory))
            except Closed:
                return
            except (TallystickError, OSError, sqlite3.Error):  # busy, damaged: who asks is told; we look again
                continue
            if changed:
                await self._tell(changed)

    async def _tell(self, changed: list[Event]) -> None:
        if self._hear is not None:
            self._hear(changed)
        self._newest = changed[-1].seq
        async with self._turn:
            self._turn.notify_all()

    async def close(self) -> None:
        """End every stream that hangs on it. A second time changes nothing."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        async with self._turn:
            self._turn.notify_all()
