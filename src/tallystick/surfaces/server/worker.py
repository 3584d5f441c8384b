"""One memory, open in a thread of its own: a memory allows one thread at a time, and a protocol must not wait for it.

Calls are made one after the other, in the order in which they came. One that is given up before its turn is not made;
one that has begun is finished, and its answer is dropped.
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
    """What a call works on: the memory, whom to tell how far it is, and who speaks where a call does not say."""

    memory: Memory
    on_progress: Progress | None = None
    session: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """How a person's own word is taken down: through which door, in the same memory, opened for it.

    `options` name that memory on the command line, where it is not the usual one.
    """

    door: str
    opens: Opens
    options: str = ""


class MemoryWorker:
    """The memory of one server. `opens` opens it; without a `person`, nobody's yes is asked for here."""

    def __init__(self, opens: Opens, *, person: Person | None = None, session: str = "", agent: str = "") -> None:
        self._opens, self.person = opens, person
        self._session, self._agent = session, agent
        self._memory: Memory | None = None
        self._only: tuple[Path, str] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tallystick")

    async def run(self, work: Callable[[CallContext], T], on_progress: Progress | None = None) -> T:
        """Do `work` on the memory, in its thread."""
        try:
            begun = self._thread.submit(lambda: work(self._context(on_progress)))
        except RuntimeError:
            raise Closed("this memory is closed; start the server again") from None
        return await asyncio.wrap_future(begun)

    def again(self) -> Memory:
        """The same memory, opened once more: for long work in a thread of its own, which closes it."""
        return self._opened()

    def only(self, folder: Path, ledger: str) -> None:
        """Open no other ledger than that one, and make none, whatever has become of the folder since."""
        self._only = folder, ledger

    def _opened(self) -> Memory:
        if self._only is None:
            return self._opens()
        folder, ledger = self._only
        if not is_memory(folder):
            raise RolledBack(f"{folder} is not there any more; put it back, or start the server again for a new one")
        memory = self._opens()
        if memory.status().ledger != ledger:
            memory.close()
            raise RolledBack(f"{folder} holds another ledger than when the server started; start it again for that one")
        return memory

    def warm_up(self) -> None:
        """Begin to open the memory, so that the first call need not wait for it. What goes wrong, a call will meet."""
        self._thread.submit(self._context, None)

    def _context(self, on_progress: Progress | None) -> CallContext:
        if self._memory is None:
            self._memory = self._opened()
            self._memory.mark_withheld()
        return CallContext(self._memory, on_progress, self._session, self._agent)

    async def close(self) -> None:
        """Let go of the folder, after what has begun. A second time changes nothing."""

        def close() -> None:
            memory, self._memory = self._memory, None
            if memory is not None:
                memory.close()

        try:
            begun = self._thread.submit(close)
        except RuntimeError:
            return
        self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(begun))
