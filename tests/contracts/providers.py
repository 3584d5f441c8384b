"""Who provides a store of episodes and a store of facts, and in what they are allowed to differ."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from tallystick.consolidate.classify import Deltas
from tallystick.memory.async_memory import AsyncMemory
from tallystick.records.episode import Episode
from tallystick.records.rule import ConsolidationRule
from tallystick.stores.memorystore import SQLiteFactStore, SQLiteMemoryStore

T = TypeVar("T")
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
ALL = ConsolidationRule(id="everything", then_emits=["people"])


class Stores(NamedTuple):
    """The two ends of promotion: `episodes` and `facts` have the methods of MemoryStore and FactStore."""

    episodes: Any
    facts: Any


@dataclass(frozen=True)
class Provider:
    """`open` gives bootstrapped stores in an empty folder, and the same ones again in a folder that has them."""

    name: str
    open: Callable[[Path], AbstractAsyncContextManager[Stores]]
    repeats_are_updates: bool  # the very same said again in one run is an update; else a noop that corroborates
    ids_are_everyones: bool  # an episode's id is taken for all scopes; else for its own
    is_cumulative: bool  # consolidate(rule) considers all episodes each time; else each once
    adds_as_told: bool  # an AddDelta is one more fact; else it corroborates what says the same, and replaces a rival

    def play(self, folder: Path, scene: Callable[[Stores], Awaitable[T]]) -> T:
        """Run a scene with the stores of a folder."""

        async def go() -> T:
            async with self.open(folder) as stores:
                return await scene(stores)

        return asyncio.run(go())


@dataclass(frozen=True)
class Opener:
    """Stores that are opened in the loop of the test that names them, and closed when it ends."""

    open: Callable[[], AbstractAsyncContextManager[Any]]


def run_async(test: pytest.Function) -> bool | None:
    """Run an `async def` test in a loop of its own, with its stores open. Other tests are left to pytest."""
    if not inspect.iscoroutinefunction(test.obj):
        return None

    async def go() -> None:
        async with AsyncExitStack() as stack:
            given = {name: test.funcargs[name] for name in inspect.signature(test.obj).parameters}
            for name, value in given.items():
                if isinstance(value, Opener):
                    given[name] = await stack.enter_async_context(value.open())
            await test.obj(**given)

    asyncio.run(go())
    return True


@asynccontextmanager
async def stand_alone(folder: Path) -> AsyncIterator[Stores]:
    async with SQLiteMemoryStore(path=folder / ".memory") as memory, SQLiteFactStore(path=folder / ".facts") as facts:
        yield Stores(memory, facts)


class OfEveryone:
    """`m.episodes`. A memory consolidates one user at a time; the suite speaks of all of them at once."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._episodes = memory.episodes
        self._users: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._episodes, name)

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        await self._episodes.put(episode, user=user, session=session, agent=agent)
        self._users[user] = None

    async def consolidate(self, rule: ConsolidationRule, **how: Any) -> Deltas:
        made = [await self._episodes.consolidate(rule, user=user, **how) for user in self._users or {"ana": None}]
        deltas = Deltas(delta for each in made for delta in each)
        deltas.findings += [finding for each in made for finding in each.findings]
        return deltas


@asynccontextmanager
async def over_the_ledger(folder: Path) -> AsyncIterator[Stores]:
    async with AsyncMemory(folder / "memory", user="ana") as memory:
        yield Stores(OfEveryone(memory), memory.facts)


PROVIDERS = [
    Provider(
        name="ledger",
        open=over_the_ledger,
        repeats_are_updates=False,
        ids_are_everyones=False,
        is_cumulative=True,
        adds_as_told=False,
    ),
    Provider(
        name="sqlite",
        open=stand_alone,
        repeats_are_updates=True,
        ids_are_everyones=True,
        is_cumulative=True,
        adds_as_told=True,
    ),
]


def told(name: str, content: str = "Ana moved to Oslo", *, after: float = 0, **metadata: Any) -> Episode:
    """An episode that happened `after` so many seconds."""
    return Episode(id=name, content=content, timestamp=NOON + timedelta(seconds=after), metadata=metadata)


async def put(stores: Stores, *episodes: Episode, user: str = "ana", session: str = "S1", agent: str = "rag") -> None:
    for episode in episodes:
        await stores.episodes.put(episode, user=user, session=session, agent=agent)


async def promote(stores: Stores, rule: ConsolidationRule = ALL) -> list[Any]:
    """Consolidate, and apply all that comes of it."""
    deltas = await stores.episodes.consolidate(rule)
    for delta in deltas:
        await stores.facts.apply_delta(delta)
    return deltas
