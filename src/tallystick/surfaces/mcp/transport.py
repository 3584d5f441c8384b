"""The server at the end of a pipe: standard input and output belong to the protocol, and to nothing else.

It ends when the client closes the pipe, after what was asked is answered, or at once when the system tells it to. A
line that is no message is answered too, so that nobody waits for ever.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from tallystick.surfaces.mcp.pipe import TOO_LONG, Lines, Output, own_output
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
