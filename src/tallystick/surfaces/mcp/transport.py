"""The server over a pipe: standard input and output belong to the protocol, and to nothing else.

It ends when the client closes the pipe, after open requests are answered, or at once on a signal. A line that is not a
message is answered too, so that nobody waits for ever.

Reading and writing have a thread each, so that neither a silent nor a slow client stops the event loop. The threads end
with the process, whatever they wait for. While a pipe is open, file descriptor 1 leads to standard error: an accidental
print cannot spoil the protocol.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.mcp.tool import Tool
from tallystick.surfaces.server.worker import MemoryWorker

LONGEST = 64 << 20  # bytes of a line; a longer one is dropped as it comes
TOO_LONG = b"\0"  # stands for such a line
_CHUNK, _AHEAD = 1 << 16, 256  # bytes read at once; lines that may wait
_TIMEOUT = 5.0  # seconds for open requests after the pipe was closed
_WRITE_TIMEOUT = 5.0  # seconds for a slow client to take the last lines
_CANCELLED, _ENDLESS = "notifications/cancelled", "subscriptions/listen"  # the latter is answered when all ends
_NO_MESSAGE = "this line is not a message of the protocol, in JSON and UTF-8; nothing was done"


async def serve(hold: MemoryWorker, tools: Sequence[Tool], *, source: int = 0, **handlers: Any) -> None:
    """Serve one client until it closes the pipe."""
    server = made(hold, tools, **handlers)
    hold.warm_up()
    with own_output() as sink:
        async with anyio.create_task_group() as tasks:
            stop = tasks.cancel_scope.cancel
            for number in (signal.SIGTERM, signal.SIGINT):
                with suppress(RuntimeError, ValueError):  # only the main thread gets signals
                    asyncio.get_running_loop().add_signal_handler(number, stop)
            pipe = _Pipe(source, sink, stop)
            tasks.start_soon(pipe.read)
            tasks.start_soon(pipe.write)
            try:
                await server.run(pipe.come, pipe.go, server.create_initialization_options())
            finally:
                with anyio.CancelScope(shield=True):
                    pipe.output.end()
                    await hold.close()
            stop()


class _Pipe:
    """Messages of the protocol, one a line, both ways."""

    def __init__(self, source: int, sink: int, stop: Any) -> None:
        self._lines, self.output = Lines(source), Output(sink, stop)
        self._read, self.come = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.go, self._written = anyio.create_memory_object_stream[SessionMessage](0)
        self._open: set[types.RequestId] = set()  # requests that are not answered yet
        self._idle = asyncio.Event()

    async def read(self) -> None:
        async with self._read:
            while (line := await self._lines.next()) is not None:
                await self._take(line)
            self._idle.clear()
            if self._open:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._idle.wait(), _TIMEOUT)

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._put(refusal(line))
            return
        if isinstance(message, types.JSONRPCRequest) and message.method != _ENDLESS:
            self._open.add(message.id)
        if isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._answered((message.params or {}).get("requestId"))
        await self._read.send(SessionMessage(message))

    async def write(self) -> None:
        async with self._written:
            async for item in self._written:
                self._put(item.message)

    def _put(self, message: types.JSONRPCMessage) -> None:
        self.output.put(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._answered(message.id)

    def _answered(self, name: object) -> None:
        """Nobody waits for this request any more: it is answered or cancelled."""
        if isinstance(name, int | str):
            self._open.discard(name)
        if not self._open:
            self._idle.set()


def refusal(line: bytes) -> types.JSONRPCError:
    """The answer to a line that is not a message, with its id, if it has one."""
    try:
        found = None if line == TOO_LONG else json.loads(line)
    except (ValueError, RecursionError):
        found = None
    name = found.get("id") if isinstance(found, dict) else None
    is_number = isinstance(name, int) and not isinstance(name, bool)
    code = types.PARSE_ERROR if found is None else types.INVALID_REQUEST
    error = types.ErrorData(code=code, message=_NO_MESSAGE)
    known = name if is_number or (isinstance(name, str) and name.isascii()) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=error)


# -- lines in, lines out -----------------------------------------------------------------------------------------------


@contextmanager
def own_output() -> Iterator[int]:
    """Standard output for the protocol alone."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


class Lines:
    """Lines that come in. No more than a few hundred are read ahead."""

    def __init__(self, source: int) -> None:
        self._source, self._loop = source, asyncio.get_running_loop()
        self._come: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = Semaphore(_AHEAD)
        Thread(target=self._read, daemon=True, name="tallystick-reads").start()

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        line = await self._come.get()
        self._room.release()
        return line

    def _read(self) -> None:
        for line in split(lambda: os.read(self._source, _CHUNK)):
            self._give(line)
        self._give(None)

    def _give(self, line: bytes | None) -> None:
        self._room.acquire()
        with suppress(RuntimeError):  # the loop has ended, and nobody waits for it
            self._loop.call_soon_threadsafe(self._come.put_nowait, line)


def split(read: Callable[[], bytes]) -> Iterator[bytes]:
    """The lines of what `read` gives, without their ends, which the last may lack. A broken pipe is a closed one."""
    parts: list[bytes] = []
    size = 0
    with suppress(OSError):
        while chunk := read():
            first, *rest = chunk.split(b"\n")
            for piece in rest:
                yield b"".join([*parts, first]) if size + len(first) <= LONGEST else TOO_LONG
                parts, size, first = [], 0, piece
            size += len(first)
            parts = [*parts, first] if size <= LONGEST else []
    if size:
        yield b"".join(parts) if size <= LONGEST else TOO_LONG


class Output:
    """Lines that go out. `gone` is called, once, if the client has gone."""

    def __init__(self, sink: int, gone: Callable[[], None]) -> None:
        self._sink, self._gone, self._loop = sink, gone, asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._write, daemon=True, name="tallystick-writes")
        self._thread.start()

    def put(self, line: bytes) -> None:
        self._lines.put(line)

    def end(self) -> None:
        """Wait a moment for the last lines."""
        self._lines.put(None)
        self._thread.join(_WRITE_TIMEOUT)

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except OSError:
            with suppress(RuntimeError):  # as above
                self._loop.call_soon_threadsafe(self._gone)
