"""A server without tools over a real memory, and the package's own client in front of it, in either era."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.server.lowlevel import Server

from tallystick import Memory
from tallystick.surfaces.mcp.offers import Offers
from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.server.worker import MemoryWorker

LEGACY, MODERN = "legacy", "2026-07-28"
ERAS = (LEGACY, MODERN)


@asynccontextmanager
async def offering(folder: Path, user: str = "me") -> AsyncIterator[tuple[MemoryWorker, Offers, Server[Any]]]:
    """A memory, what is offered of it, and a server of that."""
    hold = MemoryWorker(lambda: Memory(folder, user=user, by="mcp:test", trust="agent"))
    offers = Offers(hold, every=0.02)
    try:
        yield hold, offers, made(hold, (), **offers.handlers)
    finally:
        offers.close()
        await hold.close()


def play(
    scene: Callable[[Client], Awaitable[Any]], folder: Path, mode: str = MODERN, *, user: str = "me", **client: Any
) -> Any:
    """The result of a scene that is played by one client."""

    async def go() -> Any:
        async with offering(folder, user) as (_, _, server), Client(server, mode=mode, **client) as one:
            return await scene(one)

    return asyncio.run(asyncio.wait_for(go(), 120))
