"""The server over HTTP: one memory, one worker, shared by all clients that have the token.

`server/listen` describes how it listens and ends, `server/guard` whom it lets in. On a signal it finishes open
requests, and then closes the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from tallystick.memory.core.token import Token, new_token, token_of
from tallystick.surfaces.mcp.offers import Offers
from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.server.guard import LIMIT, Guard, Names, Refusal
from tallystick.surfaces.server.listen import ENDING, Begun, Hurried, Server, Where, address, bound, warned

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from tallystick.surfaces.mcp.tool import Tool
    from tallystick.surfaces.server.worker import MemoryWorker

PATH = "/mcp"

_SESSIONS = 256  # clients with a handshake that are connected
_IDLE = 30 * 60.0  # seconds after which a silent client is disconnected
_ELSEWHERE = Refusal(404, f"no such address; the memory is at {PATH}")


async def serve(
    hold: MemoryWorker, tools: Sequence[Tool], where: Where, *, note: Callable[[str], None], renew: bool = False
) -> None:
    """Serve clients until a signal ends it. `renew` makes another token first; `note` gets the lines for the person."""
    Names.at(where.host, 0, where.also)  # a wrong name is refused before anything is made
    listening = bound(where)
    try:
        at = listening.getsockname()[1]
        folder, ledger, user = await hold.run(
            lambda context: (context.memory.folder, context.memory.status().ledger, context.memory.user)
        )
        token = new_token(ledger, user) if renew else token_of(ledger, user)
        app = App.of(hold, tools)

        def tell() -> None:
            for line in _announced(str(folder), where.host, at, token):
                note(shown(line))

        guard = Guard(app, Names.at(where.host, at, where.also), token)
        await Server(guard, app.finish, tell).serve([listening])
    finally:
        listening.close()
        await hold.close()


class App:
    """The application behind the guard: one address, and the life of its sessions."""

    def __init__(self, manager: StreamableHTTPSessionManager, offers: Offers) -> None:
        self._manager, self._offers = manager, offers
        self._begun, self._over = Begun(), asyncio.Event()

    @classmethod
    def of(cls, hold: MemoryWorker, tools: Sequence[Tool]) -> App:
        """The application that serves these tools over a memory."""
        offers = Offers(hold)
        return cls(StreamableHTTPSessionManager(
            made(hold, tools, **offers.handlers), max_request_body_size=LIMIT, max_sessions=_SESSIONS,
            session_idle_timeout=_IDLE,
        ), offers)  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] != PATH:
            await _ELSEWHERE.answer(send)
        elif self._begun.is_ending:
            await ENDING.answer(send)
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
        """Take no new requests, finish open ones, then end the streams that only wait."""
        self._offers.close()
        await self._begun.finish(is_hurried)
        self._over.set()


def _announced(folder: str, host: str, port: int, token: Token) -> Iterable[str]:
    """Lines for the person who started it. The token itself is never printed."""
    yield f"tallystick: serving {folder} at {address(host, port)}{PATH} until Ctrl-C"
    yield f"tallystick: clients send `Authorization: Bearer TOKEN`; the token is in {token.path}"
    yield from warned(host)
