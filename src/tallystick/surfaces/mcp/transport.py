"""The server at the end of a pipe: standard input and output belong to the protocol, and to nothing else.

It ends when the client closes the pipe, after what was asked is answered, or at once when the system tells it to. A
line that is no message is answered too, so that nobody waits for ever.
"""

from __future__ import annotations

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

_PATIENCE = 5.0  # seconds for what was asked before the pipe was closed
_CANCELLED, _ENDLESS = "notifications/cancelled", "subscriptions/listen"  # the latter is answered when all ends
_NO_MESSAGE = "this line is no message of the protocol, in JSON and UTF-8; nothing was done"


async def serve(hold: MemoryWorker, tools: Sequence[Tool], *, source: int = 0, **handlers: Any) -> None:
    """Answer one client until it closes the pipe."""
    server = made(hold, tools, **handlers)
    hold.warm_up()
    with own_output() as sink:
        async with anyio.create_task_group() as tasks:
            stop = tasks.cancel_scope.cancel
            _end_when_told(stop)
            wire = _Wire(source, sink, stop)
            tasks.start_soon(wire.read)
            tasks.start_soon(wire.write)
            try:
                await server.run(wire.come, wire.go, server.create_initialization_options())
            finally:
                with anyio.CancelScope(shield=True):
                    wire.output.end()
                    await hold.close()
            stop()


def _end_when_told(stop: Any) -> None:
    """Leave in order at the system's word. Only the main thread is told."""
    loop = asyncio.get_running_loop()
    for told in (signal.SIGTERM, signal.SIGINT):
        with suppress(RuntimeError, ValueError):
            loop.add_signal_handler(told, stop)


class _Wire:
    """Messages of the protocol, one a line, both ways."""

    def __init__(self, source: int, sink: int, stop: Any) -> None:
        self._lines, self.output = Lines(source), Output(sink, stop)
        self._read, self.come = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.go, self._written = anyio.create_memory_object_stream[SessionMessage](0)
        self._open: set[types.RequestId] = set()  # asked and not answered
        self._idle = asyncio.Event()

    async def read(self) -> None:
        async with self._read:
            while (line := await self._lines.next()) is not None:
                await self._take(line)
            self._idle.clear()
            if self._open:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._idle.wait(), _PATIENCE)

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
        """Nobody waits for this one any more. What a client has cancelled, it is not told about."""
        if isinstance(name, int | str):
            self._open.discard(name)
        if not self._open:
            self._idle.set()


def refusal(line: bytes) -> types.JSONRPCError:
    """The answer to what is no message; to its sender's number, if that can be made out."""
    try:
        said = None if line == TOO_LONG else json.loads(line)
    except (ValueError, RecursionError):
        said = None
    name = said.get("id") if isinstance(said, dict) else None
    is_number = isinstance(name, int) and not isinstance(name, bool)
    code = types.PARSE_ERROR if said is None else types.INVALID_REQUEST
    error = types.ErrorData(code=code, message=_NO_MESSAGE)
    known = name if is_number or (isinstance(name, str) and name.isascii()) else None
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=error)


# -- lines in, lines out, each in a thread of its own, so that neither a silent nor a slow peer stops the --------------


LONGEST = 64 << 20  # bytes of a line; what is longer is dropped as it comes
TOO_LONG = b"\0"  # stands for such a line
_CHUNK, _AHEAD = 1 << 16, 256  # bytes read at once; lines that may wait


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
    """What comes in, line by line. No more than a few hundred wait to be taken."""

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
        try:
            self._loop.call_soon_threadsafe(self._come.put_nowait, line)
        except RuntimeError:  # the loop has ended, and nobody waits for it
            return


def split(read: Callable[[], bytes]) -> Iterator[bytes]:
    """The lines of what `read` gives, without their ends. The last one may lack its end."""
    parts: list[bytes] = []
    size = 0
    while chunk := _or_nothing(read):
        first, *rest = chunk.split(b"\n")
        for piece in rest:
            yield b"".join([*parts, first]) if size + len(first) <= LONGEST else TOO_LONG
            parts, size, first = [], 0, piece
        size += len(first)
        parts = [*parts, first] if size <= LONGEST else []
    if size:
        yield b"".join(parts) if size <= LONGEST else TOO_LONG


def _or_nothing(read: Callable[[], bytes]) -> bytes:
    """A pipe that breaks is a pipe that ends."""
    try:
        return read()
    except OSError:
        return b""


class Output:
    """What goes out. `gone` is called, once, if there is nobody to take it any more."""

    def __init__(self, sink: int, gone: Callable[[], None]) -> None:
        self._sink, self._gone, self._loop = sink, gone, asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._write, daemon=True, name="tallystick-writes")
        self._thread.start()

    def put(self, line: bytes) -> None:
        self._lines.put(line)

    def end(self) -> None:
        """Give what was put a moment to get through."""
        self._lines.put(None)
        self._thread.join(_PATIENCE)

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except OSError:
            try:
                self._loop.call_soon_threadsafe(self._gone)
            except RuntimeError:  # as above
                return
