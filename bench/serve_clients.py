"""Many clients of a server over HTTP, in one process of their own: they ask, count what is wrong, and tell how long.

    python bench/serve_clients.py HOST PORT CLIENTS modern|handshake|api|page

The token (for `page`, the cookie), and then orders, come by stdin. An order is a line of JSON, a list of questions; the
answer is a line too: seconds, and how many went wrong. A client here is a few lines over a socket: what it costs is
taken from the other core, and as little of it as can be.
"""

from __future__ import annotations

import asyncio
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

import orjson

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip
_HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass
class Line(ABC):
    """One client, on one connection that stays open. Each kind of client asks in its own way."""

    host: str
    port: int
    token: str
    reading: asyncio.StreamReader = field(init=False)
    writing: asyncio.StreamWriter = field(init=False)

    async def begin(self) -> None:
        self.reading, self.writing = await asyncio.open_connection(self.host, self.port, limit=1 << 24)

    @abstractmethod
    async def is_answered(self, question: str) -> bool:
        """Ask, and see whether the answer is one."""

    async def _sent(self, first: str, headers: dict[str, str], body: bytes = b"") -> tuple[bytes, bytes]:
        if self.reading.at_eof():  # a server closes a line on which nothing was said for a while
            await Line.begin(self)
        all_headers = {"Host": f"{self.host}:{self.port}", **headers, "Content-Length": str(len(body))}
        lines = [f"{first} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items()), "", ""]
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

    @property
    def _says_who(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}


@dataclass
class Modern(Line):
    """MCP as it is now: every request says all."""

    era = MODERN

    async def is_answered(self, question: str) -> bool:
        params: dict[str, Any] = {"name": "recall", "arguments": {"question": question, "k": 5}}
        if self.era == MODERN:
            params["_meta"] = _META
        head, body = await self._post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        return head.startswith(b"HTTP/1.1 200") and b'"notes":[' in body and b'"isError":true' not in body

    async def _post(self, said: dict[str, Any], **more: str) -> tuple[bytes, bytes]:
        about = {"Mcp-Protocol-Version": self.era, "Mcp-Method": said["method"], "Mcp-Name": "recall"}
        accepted = {"Accept": "application/json, text/event-stream"}
        return await self._sent("POST /mcp", self._says_who | accepted | about | more, orjson.dumps(said))


@dataclass
class Handshake(Modern):
    """MCP as it was: a session is begun first."""

    session: str = ""
    era = HANDSHAKE

    async def begin(self) -> None:
        await super().begin()
        head, _ = await self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO})
        self.session = _header(head, b"mcp-session-id")
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def _post(self, said: dict[str, Any], **more: str) -> tuple[bytes, bytes]:
        return await super()._post(said, **more, **({"Mcp-Session-Id": self.session} if self.session else {}))


@dataclass
class Api(Line):
    """The API."""

    async def is_answered(self, question: str) -> bool:
        body = orjson.dumps({"question": question, "k": 5})
        head, answer = await self._sent("POST /v1/recall", self._says_who, body)
        return head.startswith(b"HTTP/1.1 200") and b'"hits":[' in answer


@dataclass
class Reader(Line):
    """A person's browser that opens the page of results; `token` is its cookie."""

    async def is_answered(self, question: str) -> bool:
        head, answer = await self._sent(f"GET /search?q={quote_plus(question)}", {"Cookie": self.token})
        return head.startswith(b"HTTP/1.1 200") and answer.rstrip().endswith(b"</html>")


KINDS: dict[str, type[Line]] = {"modern": Modern, "handshake": Handshake, "api": Api, "page": Reader}


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


async def main(host: str, port: str, count: str, kind: str) -> None:
    token = sys.stdin.readline().strip()
    lines = [KINDS[kind](host, int(port), token) for _ in range(int(count))]
    for line in lines:
        await line.begin()
    for order in iter(sys.stdin.readline, ""):
        await asyncio.sleep(0.01)  # to hear which lines were closed while nobody asked
        print(orjson.dumps(await _all(lines, orjson.loads(order))).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
