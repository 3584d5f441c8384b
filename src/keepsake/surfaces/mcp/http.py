"""The server over HTTP: one memory, one worker, shared by all clients that have the token.

It listens on this machine alone unless told otherwise, and answers nobody whom `guard` does not let in. Told to end, it
takes nothing new, finishes what was begun, ends what only waits, and lets go of the memory. Told again, it waits for
no client any more; what was acknowledged is on disk in any case.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from keepsake.memory.token import Token, new_token, token_of
from keepsake.records.errors import Refused
from keepsake.surfaces.cli.shown import shown
from keepsake.surfaces.guard import LIMIT, Guard, Names, Refusal, bracketed, is_loopback
from keepsake.surfaces.mcp.offers import Offers
from keepsake.surfaces.mcp.server import made

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from keepsake.surfaces.holder import Holder
    from keepsake.surfaces.mcp.tool import Tool

PATH = "/mcp"
HOST, PORT = "127.0.0.1", 8722

_SESSIONS = 256  # clients that began with a handshake and have not left
_IDLE = 30 * 60.0  # seconds after which one that is silent has left
_CONNECTIONS = 1024
_SILENCE = 120  # seconds that a connection may be silent between two requests
_HEAD = 20.0  # seconds that the head of a request may take
_PATIENCE, _STEP = 20.0, 0.05  # seconds that what was begun may take when the server ends, and between two looks
_ENDS = (signal.SIGINT, signal.SIGTERM)
_ELSEWHERE = Refusal(404, f"there is nothing here; the memory is at {PATH}")
_ENDING = Refusal(503, "this server is ending; start it again, and ask again")


class Where(NamedTuple):
    """Where to listen, and which further names clients may use for it."""

    host: str = HOST
    port: int = PORT
    also: Sequence[str] = ()


async def serve(
    hold: Holder, tools: Sequence[Tool], where: Where, *, note: Callable[[str], None], anew: bool = False
) -> None:
    """Answer clients until the program is told to end. `anew` makes another token first; `note` is told the address."""
    Names.at(where.host, 0, where.also)  # what cannot be a name is refused before anything is made
    listening = _bound(where)
    try:
        at = listening.getsockname()[1]
        folder, ledger = await hold.run(lambda desk: (desk.memory.folder, desk.memory.status().ledger))
        token = new_token(ledger) if anew else token_of(ledger)
        offers = Offers(hold)
        app = App(StreamableHTTPSessionManager(
            made(hold, tools, **offers.handlers), max_request_body_size=LIMIT, max_sessions=_SESSIONS,
            session_idle_timeout=_IDLE,
        ), offers)  # fmt: skip

        def tell() -> None:
            for line in _announced(str(folder), where.host, at, token):
                note(shown(line))

        config = _config(Guard(app, Names.at(where.host, at, where.also), token))
        await _Uvicorn(config, app, tell).serve([listening])
    finally:
        listening.close()
        await hold.close()


class App:
    """What the guard lets through to: one address, and the life of the sessions behind it."""

    def __init__(self, manager: StreamableHTTPSessionManager, offers: Offers) -> None:
        self._manager, self._offers = manager, offers
        self._begun, self._is_ending = 0, False
        self._over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] != PATH:
            await _ELSEWHERE.answer(send)
        elif self._is_ending:
            await _ENDING.answer(send)
        elif scope["method"] != "POST":  # a stream that only waits
            await self._manager.handle_request(scope, receive, send)
        else:
            self._begun += 1
            try:
                await self._manager.handle_request(scope, receive, send)
            finally:
                self._begun -= 1

    async def _live(self, receive: Receive, send: Send) -> None:
        """From the start to the end, which `finish` may bring about before it is asked for."""
        await receive()
        async with self._manager.run():
            await send({"type": "lifespan.startup.complete"})
            await self._over.wait()
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def finish(self, is_hurried: Callable[[], bool]) -> None:
        """Take nothing new, let what was begun come to its end, then end what only waits."""
        self._is_ending = True
        self._offers.close()
        for _ in range(int(_PATIENCE / _STEP)):
            if not self._begun or is_hurried():
                break
            await asyncio.sleep(_STEP)
        self._over.set()


class _Line(H11Protocol):
    """A connection. What a request begins with has its time: whoever is silent, or slow, makes room for others."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def _watch(self) -> None:
        """Time runs from the first byte, or from the beginning of the connection, until a request is there."""
        asked: RequestResponseCycle | None = self.cycle
        if asked is not None and not asked.response_complete:
            self._unwatch()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(_HEAD, self.transport.close)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Uvicorn(uvicorn.Server):
    """Uvicorn, ending as we do. Being told to end is no error: the program ends with 0."""

    def __init__(self, config: uvicorn.Config, app: App, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sign: signal.signal(sign, lambda *_: self._end()) for sign in _ENDS}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)

    def _end(self) -> None:
        self.force_exit, self.should_exit = self.should_exit, True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await self._app.finish(lambda: self.force_exit)
        await super().shutdown(sockets)


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app, http=_Line, ws="none", lifespan="on", log_config=None, log_level="error", access_log=False,
        server_header=False, proxy_headers=False, limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_SILENCE, timeout_graceful_shutdown=5,
    )  # fmt: skip


def _bound(where: Where) -> socket.socket:
    """A socket that is ours. Nothing was begun yet if there is none to be had."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise Refused(f"{where.host[:60]!r} is no address of this machine; leave --host out for {HOST}") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        raise Refused(
            f"cannot listen on {bracketed(where.host)}:{where.port}: {error.strerror}; choose another with --port, "
            "or --port 0 for any that is free"
        ) from None
    return made


def _announced(folder: str, host: str, port: int, token: Token) -> Iterable[str]:
    """What the person who started it needs to know. The token itself is never shown."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, bracketed(host))
    yield f"keepsake: serving {folder} at http://{shown}:{port}{PATH} until Ctrl-C"
    yield f"keepsake: clients say `Authorization: Bearer TOKEN`; the token is in {token.path}"
    if not is_loopback(host):
        yield (
            f"keepsake: other machines can reach {host}: whoever has the token reads and writes this memory, and what "
            "is sent can be read on the way; a tunnel or a proxy with TLS is safer"
        )
