"""Listening: a socket, its connections, strict HTTP framing, and a shutdown that loses nothing.

A server listens on this machine alone unless told otherwise. Clients that are silent or slow make room for others: a
new connection is never refused because of them; the oldest connection that waits for its client is closed instead.

A request that two programs could cut into pieces differently is refused with 400. h11 is lenient where older clients
were sloppy; what a proxy before us might read in another way is refused here, on the raw bytes: lines that end with a
bare LF, folded headers, a length that is given twice or together with `Transfer-Encoding`, and chunk sizes that are not
plain hexadecimal. The rest (white space before a colon, NUL, lengths that are not numbers) h11 refuses by itself.

Told to end, a server accepts nothing new, finishes running requests and ends what only waits. Told again, it waits for
no client; what was acknowledged is on disk in any case.
"""

import asyncio
import re
import resource
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tallystick.records.errors import Refused
from tallystick.surfaces.server.guard import Refusal, bracketed, is_loopback

HOST, PORT = "127.0.0.1", 8722
ENDING = Refusal(503, "this server is shutting down; restart it and try again")

_CONNECTIONS = 512  # at a time, or half of the files that this process may open if that is less
_AT_ONCE, _QUEUE = 128, 2048  # connections that are accepted at once, and that may wait for it
_SILENCE = 120  # seconds that a connection may be silent between two requests
_HEAD = 5.0  # seconds that the head of a request may take
_REST = 2.0  # seconds to read on after the last answer, so that a client that is still sending receives it
_NO_REQUEST = "invalid request: end lines with CRLF, do not fold headers, give the length of the body once\n"
_TIMEOUT, _STEP = 20.0, 0.05  # seconds that running requests may take at shutdown, and between two looks
_MOMENT = 2.0  # seconds of these that a client may be silent, or read nothing
_CONNECT = 0.5  # seconds to find out whether anybody listens
_ENDS = (signal.SIGINT, signal.SIGTERM)
_LENGTHS = (b"content-length", b"transfer-encoding")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,16}(?:;[\t -~]*)?\r\n")
_BARE = re.compile(rb"(?<!\r)\n")

Hurried = Callable[[], bool]


class Where(NamedTuple):
    """The address to listen on, and further names that clients may use for it."""

    host: str = HOST
    port: int = PORT
    also: Sequence[str] = ()


class Begun:
    """The requests that are running."""

    def __init__(self) -> None:
        self._count, self.is_ending = 0, False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request as running for as long as the block lasts."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def finish(self, is_hurried: Hurried) -> None:
        """Let them finish, for a limited time. New requests are to be refused."""
        self.is_ending = True
        for _ in range(int(_TIMEOUT / _STEP)):
            if not self._count or is_hurried():
                break
            await asyncio.sleep(_STEP)


class StrictBuffer(ReceiveBuffer):
    """The lines of heads, trailers and chunks, if they are written as RFC 9112 requires."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines of a head or a trailer, once it is complete."""
        end = 0 if self._data.startswith(b"\r\n") else self._data.find(b"\r\n\r\n")
        if _BARE.search(self._data[: len(self._data) if end < 0 else end]):
            raise h11.LocalProtocolError("a line ends without CR")
        lines = super().maybe_extract_lines()
        if lines:
            _check(lines)
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """The line before a chunk."""
        line = super().maybe_extract_next_line()
        if line is not None and not _CHUNK.fullmatch(line):
            raise h11.LocalProtocolError("not a chunk size")
        return line


def _check(lines: list[bytearray]) -> None:
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise h11.LocalProtocolError("a folded header")
    lengths = [name for line in lines if (name := bytes(line.partition(b":")[0]).lower()) in _LENGTHS]
    if len(lengths) > 1:
        raise h11.LocalProtocolError("the length is given twice")
    if b"transfer-encoding" in lengths and not lines[0].endswith(b" HTTP/1.1"):
        raise h11.LocalProtocolError("chunks need HTTP/1.1")


class _Transport:
    """A connection's transport, which is closed in two steps while its client is still sending.

    Closed at once, the system would answer unread bytes with a reset, and the last answer would be lost.
    """

    def __init__(self, inner: asyncio.Transport, connection: "_Connection") -> None:
        self._inner, self._connection, self.is_ending = inner, connection, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def is_closing(self) -> bool:
        return self.is_ending or self._inner.is_closing()

    def close(self) -> None:
        if self.is_closing() or not self._connection.is_sending:
            self._inner.close()
            return
        self.is_ending = True
        self._inner.write_eof()
        self._inner.resume_reading()
        self._connection.loop.call_later(_REST, self._inner.abort)


class _Connection(H11Protocol):
    """A connection. The head of a request has a time limit, so that silent and slow clients make room for others."""

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn._receive_buffer = StrictBuffer()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        _make_room(self.connections, self.limit_concurrency or _CONNECTIONS)
        super().connection_made(cast(asyncio.Transport, _Transport(transport, self)))
        self.heard = self.loop.time()
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # what comes after the last answer is dropped
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
        else:  # it was answered before the invalid part came
            self.transport.close()

    @property
    def is_sending(self) -> bool:
        """True if more of a request is to come than was read."""
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    @property
    def waits_for_client(self) -> bool:
        """True if nothing can be done here until the client goes on."""
        request: RequestResponseCycle | None = self.cycle
        return request is None or request.response_complete or request.more_body

    @property
    def owes(self) -> tuple[bool, int]:
        """The client's part: True if it has to send more, and the number of bytes that it has still to read."""
        request: RequestResponseCycle | None = self.cycle
        if request is None or request.response_complete:
            return False, 0
        return request.more_body, self.transport.get_write_buffer_size() if self.flow.write_paused else 0

    def _watch(self) -> None:
        """Start the time limit of a request's head, or stop it when the request is there."""
        request: RequestResponseCycle | None = self.cycle
        if request is not None and not request.response_complete:
            self._unwatch()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(_HEAD, self.transport.close)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _make_room(connections: set[Any], limit: int) -> None:
    """Close a connection that waits for its client, if there is no room for one more.

    One that never sent a request goes first, then the one that was silent for longest.
    """
    if len(connections) + 1 < limit:
        return
    waiting = [line for line in connections if isinstance(line, _Connection) and line.waits_for_client]
    if waiting:
        oldest = min(waiting, key=lambda line: (line.cycle is not None, line.heard))
        connections.discard(oldest)
        oldest.transport.abort()


class Server(uvicorn.Server):
    """Uvicorn with our shutdown. Being told to end is not an error: the program ends with 0."""

    def __init__(self, app: ASGIApp, finish: Callable[[Hurried], Awaitable[None]], ready: Callable[[], None]) -> None:
        """`ready` is called when it listens; `finish` is awaited at shutdown, when it no longer does."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        super().__init__(uvicorn.Config(
            app, http=_Connection, ws="none", lifespan="on", log_config=None, log_level="error", access_log=False,
            server_header=False, proxy_headers=False, backlog=_AT_ONCE, timeout_keep_alive=_SILENCE,
            timeout_graceful_shutdown=5,
            limit_concurrency=_CONNECTIONS if files < 0 else max(16, min(_CONNECTIONS, files // 2)),
        ))  # fmt: skip
        self._finish, self._ready = finish, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUE)  # more than are accepted at once, so that no client has to try twice
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
        """Drop clients that do not send the rest of a request, or do not read on."""
        before = {each: each.owes[1] for each in self._open()}
        while True:
            await asyncio.sleep(_MOMENT)
            lines = self._open()
            for line in lines:
                is_silent, left = line.owes
                if is_silent or (left and before.get(line) == left):
                    line.transport.abort()
            before = {line: line.owes[1] for line in lines}

    def _open(self) -> list[_Connection]:
        return [each for each in self.server_state.connections if isinstance(each, _Connection)]


def bound(where: Where) -> socket.socket:
    """A listening socket; refused before anything else is started, if there is none to be had."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise Refused(
            f"{where.host[:60]!r} is not an address of this machine; leave out --host for {HOST}", "name"
        ) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_QUEUE)
    except OSError as error:
        listening.close()
        raise Refused(
            f"cannot listen on {bracketed(where.host)}:{where.port}: {error.strerror}; choose another port with "
            "--port, or any free one with --port 0; if `tallystick serve` runs there, --link prints its login link",
            "unavailable",
        ) from None
    return listening


def is_listening(where: Where) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(where.host, where.host)
    try:
        with socket.create_connection((host, where.port), timeout=_CONNECT):
            return True
    except OSError:
        return False


def address(host: str, port: int) -> str:
    """The URL of a server that listens there, for a client on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, bracketed(host))
    return f"http://{name}:{port}"


def warned(host: str) -> Iterator[str]:
    """A warning for the person who started it, if other machines can reach that address."""
    if not is_loopback(host):
        yield (
            f"other machines can reach {host}: whoever has the token can read and write this memory, and "
            "the traffic is not encrypted; use a tunnel or a proxy with TLS"
        )
