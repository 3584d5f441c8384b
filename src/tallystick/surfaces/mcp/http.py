"""MCP over HTTP as an application: one memory, shared by all clients. `serve/app` serves it behind access control."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from tallystick.surfaces.mcp.server import Offers, made
from tallystick.surfaces.mcp.tool import Tool
from tallystick.surfaces.server.guard import LIMIT, Refusal
from tallystick.surfaces.server.listen import Begun, Hurried
from tallystick.surfaces.server.worker import MemoryWorker

PATH = "/mcp"

_SESSIONS = 256  # clients with a handshake that are connected
_IDLE = 30 * 60.0  # seconds after which a silent client is disconnected
_ELSEWHERE = Refusal(404, f"no such address; the memory is at {PATH}")


class App:
    """One address, and the life of its sessions."""

    def __init__(self, hold: MemoryWorker, tools: Sequence[Tool]) -> None:
        self._offers = Offers(hold)
        self._manager = StreamableHTTPSessionManager(
            made(hold, tools, **self._offers.handlers), max_request_body_size=LIMIT, max_sessions=_SESSIONS,
            session_idle_timeout=_IDLE,
        )  # fmt: skip
        self._begun, self._over = Begun(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] != PATH:
            await _ELSEWHERE.answer(send)
        elif scope["method"] != "POST":  # a stream that only waits
            await self._manager.handle_request(scope, receive, send)
        else:
            with self._begun.one():
                await self._manager.handle_request(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run from the start to the end, which `finish` may bring about first."""
        await receive()
        async with self._manager.run():
            await send({"type": "lifespan.startup.complete"})
            await self._over.wait()
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def finish(self, is_hurried: Hurried) -> None:
        """Let open requests finish, then end the streams that only wait. Access control lets no new ones in."""
        self._offers.close()
        await self._begun.finish(is_hurried)
        self._over.set()
