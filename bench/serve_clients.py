"""Many clients of a server over HTTP, in one process of their own: they ask, count what is wrong, and tell how long.

    python bench/serve_clients.py HOST PORT CLIENTS modern|handshake        (the token, and then orders, come by stdin)

An order is a line of JSON, a list of questions; the answer is a line too: seconds, and how many went wrong. A client
here is a few lines over a socket: what it costs is taken from the other core, and as little of it as can be.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip
_HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass
class Line:
    """One client, on one connection that stays open."""

    host: str
    port: int
    token: str
    era: str
    session: str = ""
    reading: asyncio.StreamReader = field(init=False)
    writing: asyncio.StreamWriter = field(init=False)

    async def _open(self) -> None:
        self.reading, self.writing = await asyncio.open_connection(self.host, self.port, limit=1 << 24)

    async def begin(self) -> None:
        await self._open()
        if self.era == HANDSHAKE:
            head, _ = await self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO})
            self.session = _header(head, b"mcp-session-id")
            await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def is_answered(self, question: str) -> bool:
        params: dict[str, Any] = {"name": "recall", "arguments": {"question": question, "k": 5}}
        if self.era == MODERN:
            params["_meta"] = _META
        head, body = await self._post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        return head.startswith(b"HTTP/1.1 200") and b'"notes":[' in body and b'"isError":true' not in body

    async def _post(self, said: dict[str, Any]) -> tuple[bytes, bytes]:
        if self.reading.at_eof():  # a server closes a line on which nothing was said for a while
            await self._open()
        body = orjson.dumps(said)
        about = {"Mcp-Protocol-Version": self.era, "Mcp-Method": said["method"], "Mcp-Name": "recall"}
        lines = [
            "POST /mcp HTTP/1.1", f"Host: {self.host}:{self.port}", f"Authorization: Bearer {self.token}",
            "Content-Type: application/json", "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in about.items()),
            *([f"Mcp-Session-Id: {self.session}"] if self.session else []), "", "",
        ]  # fmt: skip
        self.writing.write("\r\n".join(lines).encode() + body)
        head = await self.reading.readuntil(b"\r\n\r\n")
        return head, await self._body(head)

    async def _body(self, head: bytes) -> bytes:
        if length := _header(head, b"content-length"):
            return await self.reading.readexactly(int(length))
        parts = []
        while size := int(await self.reading.readline(), 16):
            parts.append((await self.reading.readexactly(size + 2))[:-2])
        await self.reading.readline()
        return b"".join(parts)


def _header(head: bytes, name: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip().decode()
    return ""


async def _all(lines: list[Line], questions: list[str]) -> dict[str, float]:
    """All of them asked, each once, by whichever client is free."""
    waiting: Iterator[str] = iter(questions)
    wrong = 0

    async def go_on(line: Line) -> None:
        nonlocal wrong
        for question in waiting:
            wrong += not await line.is_answered(question)

    start = time.perf_counter()
    await asyncio.gather(*map(go_on, lines))
    return {"seconds": time.perf_counter() - start, "wrong": wrong}


async def main(host: str, port: str, count: str, era: str) -> None:
    token = sys.stdin.readline().strip()
    spoken = MODERN if era == "modern" else HANDSHAKE
    lines = [Line(host, int(port), token, spoken) for _ in range(int(count))]
    for line in lines:
        await line.begin()
    for order in iter(sys.stdin.readline, ""):
        await asyncio.sleep(0.01)  # to hear which lines were closed while nobody asked
        print(orjson.dumps(await _all(lines, orjson.loads(order))).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
