"""`AsyncMemory`: the calls of `Memory`, awaited.

Writing waits for the disk, and SQLite blocks: so each memory has one worker thread, and every call is made there. Calls
may come from any event loop and any thread. Methods and their arguments are those of `Memory`; what iterates there, is
iterated with `async for` here. `LEFT_OUT` says what is not offered, and why.

    async with AsyncMemory("./notes") as m:
        await m.observe("Let's ship on Friday.", session="standup")
        await m.episodes.recent(session="standup", limit=10)
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.exchange.files import FileStore
from tallystick.memory.facts.rules import RuleStore
from tallystick.memory.facts.store import FactService
from tallystick.memory.graph.entities import EntityStore
from tallystick.memory.graph.graph import GraphService
from tallystick.memory.maintenance.ledger import LedgerService
from tallystick.memory.maintenance.tidy import TidyService
from tallystick.memory.memory import Memory
from tallystick.memory.pages.store import PageStore
from tallystick.memory.paths.paths import PathService
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.memory.recall.sessions import ConfigStore, FrameStore, SessionService
from tallystick.memory.reviews.reviews import ReviewService
from tallystick.records.errors import Closed

Run = Callable[[Callable[[], Any]], Awaitable[Any]]

NOUNS = {
    "beliefs": BeliefStore, "config": ConfigStore, "entities": EntityStore, "episodes": EpisodeStore,
    "facts": FactService,
    "files": FileStore, "frames": FrameStore, "graph": GraphService, "ledger": LedgerService, "pages": PageStore,
    "paths": PathService,
    "receipts": ReceiptStore, "reviews": ReviewService, "rules": RuleStore, "tidy": TidyService, "work": SessionService,
}  # fmt: skip

LEFT_OUT = {
    "batch": "it belongs to a thread, and calls of many would come in between",
    "close": "it is offered by itself, and ends the thread",
    "embedder": "it is read, not called",
    "mark_withheld": "it is for servers, which serve whoever asks",
    "masked": "it speaks of the last call, and others come in between; what was masked is gone from what is returned",
    "on": "calls take a `path`",
    "policy": "it is read, not called; `check_policy` asks it",
    "restore": "it makes a memory; open it afterwards",
    "trouble": "it is read, not called; `status` tells it",
    "trust": "whoever opened it said so",
    "writable": "it is read, not called",
}
_END = object()
_PAUSE = 0.2  # seconds between two looks, where what is to come is followed


class _Awaited:
    """The methods of a class, each made in the memory's thread. `_held` gives the object itself, there."""

    def __init__(self, run: Run, held: Callable[[], Any]) -> None:
        self._run, self._held = run, held

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def call(self: _Awaited, *given: Any, **named: Any) -> Any:
        return await self._run(lambda: function(self._held(), *given, **named))

    return call


def _iterated(function: Callable[..., Iterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    @wraps(function)
    async def iterate(self: _Awaited, *given: Any, **named: Any) -> AsyncIterator[Any]:
        pause = named.pop("pause", _PAUSE) if named.get("follow") else 0.0
        name = f"_{function.__name__}" if named.get("follow") else function.__name__  # its twin does not wait
        each = await self._run(lambda: getattr(self._held(), name)(*given, **named))
        while (item := await self._run(partial(next, each, _END))) is not _END:
            if item is None:
                await asyncio.sleep(pause)
            else:
                yield item

    return iterate


def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a class that are offered here, by name."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_") and name not in LEFT_OUT}


def _awaited(kind: type) -> type[_Awaited]:
    body = {
        name: _iterated(method) if inspect.isgeneratorfunction(method) else _called(method)
        for name, method in methods_of(kind).items()
    }
    return type(f"Async{kind.__name__}", (_Awaited,), {**body, "__doc__": kind.__doc__})


_OF_NOUNS = {name: _awaited(kind) for name, kind in NOUNS.items()}


class AsyncMemory(_awaited(Memory)):  # type: ignore[misc]  # a base that is made here, which mypy cannot follow
    """A memory folder whose calls are awaited. Options are those of `Memory`; it is opened by the first call."""

    def __init__(self, path: str | Path | None = None, **options: Any) -> None:
        super().__init__(self._in_thread, self._opened)
        self._open = partial(Memory, path, **options)
        self._memory: Memory | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tallystick")
        for name, kind in _OF_NOUNS.items():
            setattr(self, name, kind(self._in_thread, partial(self._noun, name)))

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        try:
            begun = self._thread.submit(work)
        except RuntimeError:
            raise Closed("this memory is closed; open it again to go on") from None
        return await asyncio.wrap_future(begun)

    def _opened(self) -> Memory:
        if self._memory is None:
            self._memory = self._open()
        return self._memory

    def _noun(self, name: str) -> Any:
        return getattr(self._opened(), name)

    async def close(self) -> None:
        """Let go of the folder. Everything that was acknowledged is on disk already. A second time changes nothing."""

        def close() -> None:
            if self._memory is not None:
                self._memory.close()

        with suppress(Closed):
            await self._in_thread(close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> AsyncMemory:
        await self._in_thread(self._opened)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
