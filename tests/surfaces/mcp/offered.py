"""A server without tools over a real memory, and the package's own client in front of it, in either era."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client

from tallystick import Memory
from tallystick.surfaces.mcp.offers import Offers
from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.server.worker import MemoryWorker

LEGACY, MODERN = "legacy", "2026-07-28"
ERAS = (LEGACY, MODERN)


def play(
    scene: Callable[[Client], Awaitable[Any]], folder: Path, mode: str = MODERN, *, user: str = "me", **client: Any
) -> Any:
    """What a scene comes to that is played by one client."""

    async def go() -> Any:
        hold = MemoryWorker(lambda: Memory(folder, user=user, by="mcp:test", trust="agent"))
        offers = Offers(hold, every=0.02)
        try:
            async with Client(made(hold, (), **offers.handlers), mode=mode, **client) as one:
                return await scene(one)
        finally:
            offers.close()
            await hold.close()

    return asyncio.run(asyncio.wait_for(go(), 120))
