"""How a server of ours listens, whatever it serves: a socket, its connections, and an end that loses nothing.

It listens on this machine alone unless told otherwise. Whoever connects and then says nothing, or says it too slowly,
makes room for others: a new connection is never refused for those that wait for their client, the oldest of these is
closed instead. A request that can be read in two ways is refused (see `framing`). Told to end, it takes nothing new,
finishes what was begun and ends what only waits. Told again, it waits for no client any more; what was acknowledged is
on disk in any case.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tallystick.records.errors import Refused
from tallystick.surfaces.server.framing import StrictBuffer
from tallystick.surfaces.server.guard import Refusal, bracketed, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST, PORT = "127.0.0.1", 8722
ENDING = Refusal(503, "this server is ending; start it again, and ask again")

_CONNECTIONS = 512  # at a time, or half of the files that this process may have open if that is less
_AT_ONCE, _QUEUE = 128, 2048  # connections that are accepted at once, and that may wait for it
_SILENCE = 120  # seconds that a connection may be silent between two requests
_HEAD = 5.0  # seconds that the head of a request may take
_REST = 2.0  # seconds to read on after the last answer, so that a client that is still sending gets to see it
_NO_REQUEST = "not a valid request: end lines with CRLF, do not fold headers, give the body's length once\n"
_PATIENCE, _STEP = 20.0, 0.05  # seconds that what was begun may take when the server ends, and between two looks
_MOMENT = 2.0  # seconds of these that a client may take to say the rest, or to read on
_GLANCE = 0.5  # seconds to see whether anybody listens
_ENDS = (signal.SIGINT, signal.SIGTERM)

Hurried = Callable[[], bool]


class Where(NamedTuple):
    """Where to listen, and which further names clients may use for it."""

    host: str = HOST
    port: int = PORT
    also: Sequence[str] = ()


class Begun:
    """What was begun and has not come to its end."""

    def __init__(self) -> None:
        self._count, self.is_ending = 0, False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Something is begun, and ended with the block."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def finish(self, is_hurried: Hurried) -> None:
        """Let it come to its end, in a time that has one. Whoever asks for something new is to be sent away."""
        self.is_ending = True
        for _ in range(int(_PATIENCE / _STEP)):
            if not self._count or is_hurried():
                break
            await asyncio.sleep(_STEP)


class _Transport:
    """A connection's transport, which is closed in two steps while its client is still sending.

    Closed at once, the system would answer the bytes that nobody read with a reset, and the last answer would be lost
    with them.
    """

    def __init__(self, inner: asyncio.Transport, line: _Line) -> None:
        self._inner, self._line, self.is_ending = inner, line, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def is_closing(self) -> bool:
        return self.is_ending or self._inner.is_closing()

    def close(self) -> None:
        if self.is_closing() or not self._line.is_sending:
            self._inner.close()
            return
        self.is_ending = True
        self._inner.write_eof()
        self._inner.resume_reading()
        self._line.loop.call_later(_REST, self._inner.abort)


class _Line(H11Protocol):
    """A connection. What a request begins with has its time: whoever is silent, or slow, makes room for others."""

    _late: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn._receive_buffer = StrictBuffer()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        _make_room(self.connections, self.limit_concurrency or _CONNECTIONS)
        super().connection_made(cast(asyncio.Transport, _Transport(transport, self)))
        self.heard = self.loop.time()
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # what comes after the last answer is read for nothing
            return
        self.heard = self.loop.time()
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(_NO_REQUEST)
        else:  # it was answered before the bad part came
            self.transport.close()

    @property
    def is_sending(self) -> bool:
        """Whether more of a request is to be expected than was read."""
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    @property
    def waits_for_client(self) -> bool:
        """Whether nothing can be done here until the client goes on."""
        asked: RequestResponseCycle | None = self.cycle
        return asked is None or asked.response_complete or asked.more_body

    @property
    def owes(self) -> tuple[bool, int]:
        """Whether it is the client who is waited for, and how much it has still to read; nothing, if it is us."""
        asked: RequestResponseCycle | None = self.cycle
        if asked is None or asked.response_complete:
            return False, 0
        return asked.more_body, self.transport.get_write_buffer_size() if self.flow.write_paused else 0

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


def _make_room(connections: set[Any], limit: int) -> None:
    """Close a connection that waits for its client, if there are too many for one more.

    One that never asked for anything goes first, then the one that was silent for longest.
    """
    if len(connections) + 1 < limit:
        return
    waiting = [line for line in connections if isinstance(line, _Line) and line.waits_for_client]
    if waiting:
        oldest = min(waiting, key=lambda line: (line.cycle is not None, line.heard))
        connections.discard(oldest)
        oldest.transport.abort()


class Server(uvicorn.Server):
    """Uvicorn, ending as we do. Being told to end is no error: the program ends with 0."""

    def __init__(self, app: ASGIApp, finish: Callable[[Hurried], Awaitable[None]], ready: Callable[[], None]) -> None:
        """`finish` is waited for when the end has come and nobody new is heard; `ready` is called when all are."""
        super().__init__(_config(app))
        self._finish, self._ready = finish, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUE)  # no longer as many as are accepted at once, so that none has to knock twice
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
        hurrying = asyncio.create_task(self._hurry())
        await self._finish(lambda: self.force_exit)
        hurrying.cancel()
        await super().shutdown(sockets)

    async def _hurry(self) -> None:
        """Let go of whoever does not say the rest of a request, or does not read on."""
        before = {each: each.owes[1] for each in self._lines()}
        while True:
            await asyncio.sleep(_MOMENT)
            lines = self._lines()
            for line in lines:
                is_silent, left = line.owes
                if is_silent or (left and before.get(line) == left):
                    line.transport.abort()
            before = {line: line.owes[1] for line in lines}

    def _lines(self) -> list[_Line]:
        return [each for each in self.server_state.connections if isinstance(each, _Line)]


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, http=_Line, ws="none", lifespan="on", log_config=None, log_level="error", access_log=False,
        server_header=False, proxy_headers=False, limit_concurrency=_limit(), backlog=_AT_ONCE,
        timeout_keep_alive=_SILENCE, timeout_graceful_shutdown=5,
    )  # fmt: skip


def _limit() -> int:
    """How many connections there may be at a time."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _CONNECTIONS if files < 0 else max(16, min(_CONNECTIONS, files // 2))


def bound(where: Where) -> socket.socket:
    """A socket that is ours. Nothing was begun yet if there is none to be had."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise Refused(
            f"{where.host[:60]!r} is no address of this machine; leave --host out for {HOST}", "name"
        ) from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_QUEUE)
    except OSError as error:
        made.close()
        raise Refused(
            f"cannot listen on {bracketed(where.host)}:{where.port}: {error.strerror}; choose another with --port, "
            "or --port 0 for any that is free; if it is `tallystick serve` that listens there, --link opens its page",
            "unavailable",
        ) from None
    return made


def is_listening(where: Where) -> bool:
    """Whether anybody listens there; who it is, is not asked."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(where.host, where.host)
    try:
        with socket.create_connection((host, where.port), timeout=_GLANCE):
            return True
    except OSError:
        return False


def address(host: str, port: int) -> str:
    """How a client on this machine reaches a server that listens there."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, bracketed(host))
    return f"http://{shown}:{port}"


def warned(host: str) -> Iterator[str]:
    """What the person who started it should know of that address, if anything."""
    if not is_loopback(host):
        yield (
            f"tallystick: other machines can reach {host}: whoever has the token reads and writes this memory, and "
            "what "
            "is sent can be read on the way; a tunnel or a proxy with TLS is safer"
        )
