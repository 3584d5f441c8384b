"""Running consolidation rules when they are due, for as long as the server runs.

A run that was begun is finished. What goes wrong in one is told in a line, and tried again at the next look. The memory
in which they run is opened when the first rule is there, and not before.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

from tallystick.memory.scheduler import EVERY, Schedule
from tallystick.records.errors import Closed, TallystickError

if TYPE_CHECKING:
    from tallystick.records.rule import Consolidated
    from tallystick.surfaces.server.worker import CallContext, MemoryWorker


class Rules:
    """The scheduler of one server: rules run in `hold`, and `other` holds the same memory already.

    `done` is called for each rule that ran; `failed` is told what went wrong.
    """

    def __init__(
        self, hold: MemoryWorker, other: MemoryWorker, *, done: Callable[[Consolidated], None],
        failed: Callable[[str], None],
        every: float = EVERY,
    ) -> None:  # fmt: skip
        self._hold, self._other, self._done, self._failed, self._every = hold, other, done, failed, every
        self._is_open = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look from time to time, beginning now."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                self._is_open = self._is_open or await self._other.run(_are_kept)
                if self._is_open:
                    await self._hold.run(self._look)
            except Closed:
                return
            except (TallystickError, OSError, sqlite3.Error) as error:
                self._failed(f"rules could not be run: {error}")
            await asyncio.sleep(self._every)

    def _look(self, context: CallContext) -> None:
        Schedule(context.memory, done=self._done, failed=self._failed).look()

    def stop(self) -> None:
        """Look no more. Whoever closes the memory waits for the run that is under way."""
        if self._task is not None:
            self._task.cancel()


def _are_kept(context: CallContext) -> bool:
    return bool(context.memory.rules.all(everyone=True))
