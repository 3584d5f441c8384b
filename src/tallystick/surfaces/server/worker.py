"""One memory in a thread of its own: a memory allows one thread at a time, and a protocol must not wait for it.

Calls run one after the other, in the order in which they came. A call that is cancelled before its turn does not run;
one that has started is finished, and its result is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tallystick.records.errors import Closed, RolledBack
from tallystick.records.progress import Progress
from tallystick.stores.open_folder import is_memory

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.memory.memory import Memory

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
