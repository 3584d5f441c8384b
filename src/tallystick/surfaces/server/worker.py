"""One memory in a thread of its own: a memory allows one thread at a time, and a protocol must not wait for it.

Calls run one after the other, in the order in which they came. A call that is cancelled before its turn does not run;
one that has started is finished, and its result is dropped.

Changes of the memory, whoever made them: noticed once, and passed on to all listeners.

Everything that changes is in the ledger, so a look at the state of its file, without a lock and without reading, tells
whether there is anything new. Receipts and snapshots change nothing that is remembered. A slow listener misses no
change, only the numbers between: it gets the newest one when it asks again, and nobody waits for it.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tallystick.memory.memory import Memory
from tallystick.records.errors import Closed, Refused, RolledBack, TallystickError
from tallystick.records.event import Event
from tallystick.records.progress import Progress
from tallystick.stores.places import is_memory, revision

T = TypeVar("T")
Opens = Callable[[], "Memory"]


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of a call: the memory, a progress callback, and the session and agent if the call names none."""

    memory: Memory
    on_progress: Progress | None = None
    session: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """The way to record a person's own approval: through which client, in the same memory, opened for it.

    `options` select that memory on the command line, where it is not the default one.
    """

    door: str
    opens: Opens
    options: str = ""


class MemoryWorker:
    """The memory of one server. `opens` opens it; without a `person`, nobody is asked for approval here."""

    def __init__(self, opens: Opens, *, person: Person | None = None, session: str = "", agent: str = "") -> None:
        self._opens, self.person = opens, person
        self._session, self._agent = session, agent
        self._memory: Memory | None = None
        self._only: tuple[Path, str] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tallystick")

    async def run(self, work: Callable[[CallContext], T], on_progress: Progress | None = None) -> T:
        """Run `work` on the memory, in its thread."""
        try:
            call = self._thread.submit(lambda: work(self._context(on_progress)))
        except RuntimeError:
            raise Closed("this memory is closed; restart the server") from None
        return await asyncio.wrap_future(call)

    def only(self, folder: Path, ledger: str) -> None:
        """Open no other ledger than that one, and create none, whatever has become of the folder since."""
        self._only = folder, ledger

    def again(self) -> Memory:
        """The same memory, opened once more: for long work in another thread, which closes it."""
        if self._only is None:
            return self._opens()
        folder, ledger = self._only
        if not is_memory(folder):
            raise RolledBack(f"{folder} is gone; put it back, or restart the server for a new one")
        memory = self._opens()
        if memory.status().ledger != ledger:
            memory.close()
            raise RolledBack(f"{folder} has another ledger than when the server started; restart it to use that one")
        return memory

    def warm_up(self) -> None:
        """Open the memory in the background. If that fails, the first call gets the error."""
        self._thread.submit(self._context, None)

    def _context(self, on_progress: Progress | None) -> CallContext:
        if self._memory is None:
            self._memory = self.again()
            self._memory.mark_withheld()
        return CallContext(self._memory, on_progress, self._session, self._agent)

    async def close(self) -> None:
        """Close the memory after the calls that have started. A second call changes nothing."""

        def close() -> None:
            memory, self._memory = self._memory, None
            if memory is not None:
                memory.close()

        try:
            closing = self._thread.submit(close)
        except RuntimeError:
            return
        self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closing))


# -- changes of the memory ---------------------------------------------------------------------------------------------


EVERY = 0.25  # seconds between two looks
_NO_CHANGE = ("receipt.", "snapshot/", "ledger.state/")


class ChangeDetector:
    """The position up to which the ledger was read. Everything but `is_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self.next = self.place = 0  # the first event that was not read; the first after the last change
        self._folder: Path | None = None  # None: in a database, where nobody tells, so one looks each second
        self._is_begun = False
        self._seen: object = None

    def begin(self, memory: Memory) -> None:
        """Start from now: nothing that is there is new."""
        self._is_begun = True
        with suppress(Refused):
            self._folder = memory.folder
        self._seen = self._revision()
        self.next = self.place = memory.status().events

    def is_due(self) -> bool:
        """True if there may be something to read."""
        return self._is_begun and self._revision() != self._seen

    def _revision(self) -> object:
        return revision(self._folder) if self._folder else int(time.monotonic())

    def look(self, memory: Memory) -> list[Event]:
        """The changes since the last look. If this raises, they are read again the next time."""
        now = self._revision()
        news = list(memory.log(self.next))
        if news:
            self.next = news[-1].seq + 1
        changed = [event for event in news if not event.op.startswith(_NO_CHANGE)]
        if changed:
            self.place = self.next
        self._seen = now
        return changed


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
