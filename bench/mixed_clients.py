"""The clients of `bench/mixed.py`, in one process of their own. Each is of one kind and goes on until it is stopped.

    python bench/mixed_clients.py PORT CLIENTS

The token, the cookie, and then orders come by stdin. An order is a line: for how many seconds to go on. The answer is a
line of JSON: how many requests were answered, how many of them were writes, and how many answers were wrong.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from itertools import count

import orjson
from serve_clients import Handshake, Line, Modern

HOST = "127.0.0.1"
NUMBERS = count()  # no two writes say the same
PAGES = ("/", "/timeline", "/pages", "/reviews", "/graph", "/search?q=who+moved+to+Bergen")
READS = tuple(f"/v1/{what}?limit=20" for what in ("beliefs", "episodes", "events", "facts")) + ("/v1/status",)


def said() -> str:
    number = next(NUMBERS)
    return f"Person {number % 97} keeps {number} things in room {number % 53} of house {number // 53}"


@dataclass
class Looking(Line):
    """A person who goes from page to page; `token` is the cookie."""

    async def is_answered(self, question: str) -> bool:
        head, body = await self._sent(f"GET {PAGES[hash(question) % len(PAGES)]}", {"Cookie": self.token})
        return head.startswith(b"HTTP/1.1 200") and body.rstrip().endswith(b"</html>")


@dataclass
class Reading(Line):
    """A program that lists what there is."""

    async def is_answered(self, question: str) -> bool:
        head, body = await self._sent(f"GET {READS[hash(question) % len(READS)]}", self._says_who)
        return head.startswith(b"HTTP/1.1 200") and body.startswith(b"{")


@dataclass
class Writing(Line):
    """A program that remembers and observes in turn."""

    async def is_answered(self, question: str) -> bool:
        verb = ("remember", "observe")[hash(question) % 2]
        head, _ = await self._sent(f"POST /v1/{verb}", self._says_who, orjson.dumps({"text": said()}))
        return head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201"))


@dataclass
class Recalling(Line):
    """A program that asks."""

    async def is_answered(self, question: str) -> bool:
        body = orjson.dumps({"question": question, "k": 5})
        head, answer = await self._sent("POST /v1/recall", self._says_who, body)
        return head.startswith(b"HTTP/1.1 200") and b'"hits":[' in answer


@dataclass
class Visiting(Handshake):
    """A client of MCP that comes with a handshake, asks once, and leaves."""

    async def begin(self) -> None:
        """The connection is opened here; the session, with each visit."""
        await Line.begin(self)

    async def is_answered(self, question: str) -> bool:
        self.session = ""
        self.writing.close()
        await Handshake.begin(self)
        is_good = await super().is_answered(question)
        about = {"Mcp-Session-Id": self.session, "Mcp-Protocol-Version": self.era}
        head, _ = await self._sent("DELETE /mcp", self._says_who | about)
        return is_good and head.startswith(b"HTTP/1.1 200")


@dataclass
class Listening(Line):
    """A program that opens a stream, hears the first of it, and goes."""

    async def begin(self) -> None:
        """A connection is made for each stream."""

    async def is_answered(self, question: str) -> bool:  # noqa: ARG002
        await super().begin()
        lines = (f"Host: {self.host}:{self.port}", f"Authorization: Bearer {self.token}", "", "")
        self.writing.write("\r\n".join(("GET /v1/events/stream HTTP/1.1", *lines)).encode())
        head = await self.reading.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.1)
        self.writing.close()
        return head.startswith(b"HTTP/1.1 200")


KINDS: tuple[type[Line], ...] = (Looking, Reading, Writing, Recalling, Modern, Visiting, Listening)


async def _go_on(lines: list[Line], seconds: float) -> dict[str, int]:
    """Let all of them do what they do, until the time is over and the last answer has come."""
    end, done = time.monotonic() + seconds, {"requests": 0, "writes": 0, "wrong": 0}

    async def work(line: Line) -> None:
        for number in count():
            if time.monotonic() >= end:
                return
            is_good = await line.is_answered(f"who keeps {number} things in room {number % 53}?")
            done["requests"] += 1
            done["writes"] += isinstance(line, Writing)
            done["wrong"] += not is_good

    await asyncio.gather(*map(work, lines))
    return done


async def main(port: str, clients: str) -> None:
    token, cookie = (sys.stdin.readline().strip() for _ in range(2))
    kinds = [KINDS[number % len(KINDS)] for number in range(int(clients))]
    lines = [kind(HOST, int(port), cookie if kind is Looking else token) for kind in kinds]
    for line in lines:
        await line.begin()
    for order in iter(sys.stdin.readline, ""):
        await asyncio.sleep(0.01)  # to hear which lines were closed while nobody asked
        print(orjson.dumps(await _go_on(lines, float(order))).decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
