"""The API of a memory, asked without a network; in place of the door, one that knows only the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick import Memory
from tallystick.surfaces.api.operation import answer
from tallystick.surfaces.api.router import made
from tallystick.surfaces.server.worker import MemoryWorker

TOKEN = "the-token-of-these-tests"


@cache
def openapi() -> dict[str, Any]:
    """The description of the API: it takes a second to make, and is the same for every memory."""
    return made(None, None).openapi()


class OneLook:
    """A feed that says once how the memory stands, and ends: a server that stops at once."""

    async def changes(self) -> AsyncIterator[int]:
        yield 0


class Door:
    """Whoever has the token is in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and said != b"Bearer " + TOKEN.encode():
            await answer(401, "say the token")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Api(TestClient):
    """A client of the API of a memory. `m` says and asks beside it, as the person whose memory it is."""

    def __init__(self, m: Memory, *, trust: str = "agent", feed: Any = None) -> None:
        self.m = m
        self.hold = MemoryWorker(partial(Memory, m.folder, by="http:local", trust=trust, user=m.user))
        self.bare = made(self.hold, feed or OneLook())
        self.bare.openapi = openapi
        super().__init__(Door(self.bare), base_url="http://127.0.0.1:8722", raise_server_exceptions=False)
        self.headers["Authorization"] = f"Bearer {TOKEN}"

    def say(self, address: str, *, status: int = 200, headers: Any = None, **body: Any) -> Any:
        told = self.post(f"/v1/{address}", json=body, headers=headers)
        assert told.status_code == status, (address, told.status_code, told.text[:500])
        return orjson.loads(told.content)

    def see(self, address: str, *, status: int = 200, **how: Any) -> Any:
        told = self.get(f"/v1/{address}", **how)
        assert told.status_code == status, (address, told.status_code, told.text[:500])
        return orjson.loads(told.content)


@pytest.fixture
def m(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory") as memory:
        yield memory


@pytest.fixture
def api(m: Memory) -> Iterator[Api]:
    with Api(m) as client:
        yield client


@pytest.fixture
def person(m: Memory) -> Iterator[Api]:
    with Api(m, trust="human") as client:
        yield client
