"""The few addresses that belong to the server itself: logging in and out, what changed, how it is, and its files.

Logging in answers with a page that leads on, and not with a redirect: a browser that was sent here by another program
would follow that without the cookie, which it gives only to what our own pages ask for.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from tallystick.records.errors import TallystickError
from tallystick.surfaces.serve.access_control import address_of
from tallystick.surfaces.serve.limits import Limits
from tallystick.surfaces.serve.login import LASTS, Sessions
from tallystick.surfaces.serve.metrics import TYPE, Metrics
from tallystick.surfaces.web.render import fields_of, form_of, shown, then

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.changes import Feed
    from tallystick.surfaces.server.worker import MemoryWorker

STATIC = Path(__file__).parents[1] / "web" / "static"

_HEARTBEAT = 15  # seconds between two signs of life on a stream
_PATIENCE = 2.0  # seconds after which a memory that is at work counts as one that can be read
_OURS = re.compile(r"/(?:[A-Za-z0-9_.~%?&=+,:@-][A-Za-z0-9/_.~%?&=+,:@-]*)?", re.ASCII)
_LONG = 2000  # letters of an address
_WRONG_CODE = "That link was used already, or is older than ten minutes, or was made before this server started."
_WRONG_TOKEN = "That is not the token of this memory."


@dataclass(frozen=True, slots=True)
class Front:
    """What those addresses need."""

    hold: MemoryWorker
    feed: Feed
    sessions: Sessions
    limits: Limits
    metrics: Metrics
    makes_link: str  # the command
    token_path: str  # empty, where whoever is to log in may be anybody

    def for_people(self) -> list[BaseRoute]:
        """What belongs to the site."""
        return [
            Route("/login", self._login, methods=["GET"]), Route("/login", self._say_token, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]), Route("/live", self._live, methods=["GET"]),
        ]  # fmt: skip

    def for_programs(self) -> Starlette:
        """What stands by itself."""
        routes = [
            Route("/healthz", self._health, methods=["GET"]), Route("/metrics", self._metrics, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]  # fmt: skip
        return Starlette(routes=routes, exception_handlers={HTTPException: _nothing_here})

    # -- logging in --------------------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        code, to = request.query_params.get("code", ""), _ours(request.query_params.get("to", ""))
        if code and request.method == "GET":
            return self._in(request, to) if self.sessions.takes(code) else self._wrong(request, to, _WRONG_CODE)
        return then(to) if "session" in request.scope.get("state", {}) else self._form(request, to)

    async def _say_token(self, request: Request) -> Response:
        fields = await fields_of(request)
        to = _ours(fields.get("to", ""))
        if self.sessions.is_token(fields.get("token", "")):
            return self._in(request, to)
        return self._wrong(request, to, _WRONG_TOKEN)

    def _in(self, request: Request, to: str) -> Response:
        _, value = self.sessions.begin()
        answer = shown(request, "login.html", to=to, is_in=True)
        self._set_cookie(request, answer, value, LASTS)
        return answer

    def _wrong(self, request: Request, to: str, why: str) -> Response:
        if seconds := self.limits.wrong.wait(address_of(request.scope)):
            answer = self._form(request, to, "Too many tries. Wait a moment.", 429)
            answer.headers["retry-after"] = str(seconds)
            return answer
        return self._form(request, to, why, 401)

    def _form(self, request: Request, to: str, wrong: str = "", status: int = 200) -> Response:
        ways = {"makes_link": self.makes_link, "token_path": self.token_path}
        return shown(request, "login.html", status=status, to=to, is_in=False, wrong=wrong, **ways)

    async def _logout(self, request: Request) -> Response:
        await form_of(request)
        self.sessions.end(request.scope["state"]["session"])
        answer = then("/login")
        self._set_cookie(request, answer, "", 0)
        return answer

    def _set_cookie(self, request: Request, answer: Response, value: str, lasts: int) -> None:
        """A proxy that says it was reached safely is believed: the cookie then travels in no other way."""
        said = (request.headers.get("x-forwarded-proto", ""), request.headers.get("origin", "").partition(":")[0])
        answer.set_cookie(
            self.sessions.cookie_name, value, max_age=lasts, path="/", httponly=True, samesite="strict",
            secure="https" in said,
        )  # fmt: skip

    # -- what changed, and how it is -----------------------------------------------------------------------------------

    async def _live(self, request: Request) -> Response:  # noqa: ARG002
        return EventSourceResponse(self._told(), ping=_HEARTBEAT)

    async def _told(self) -> AsyncIterator[dict[str, str]]:
        async for newest in self.feed.changes():
            yield {"event": "change", "data": str(newest)}

    async def _health(self, request: Request) -> Response:  # noqa: ARG002
        """That it runs, and whether the ledger can be read. One that is at work can."""
        try:
            is_good = not await asyncio.wait_for(self.hold.run(lambda context: _trouble(context.memory)), _PATIENCE)
        except TimeoutError:
            is_good = True
        except (TallystickError, OSError, sqlite3.Error):
            is_good = False
        return JSONResponse({"status": "ok" if is_good else "damaged"}, 200 if is_good else 503)

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002
        await self.hold.run(lambda context: self.metrics.look(context.memory))
        return Response(self.metrics.text(), media_type=TYPE)


def _trouble(memory: Memory) -> str:
    """What is wrong with the ledger as it is on disk now."""
    _ = memory.ledger.size  # which looks, and raises if the ledger is gone or another
    return memory.trouble


_NOT_HERE = "there is nothing at this address that takes this; the page begins at /, the API at /v1"


async def _nothing_here(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": _NOT_HERE}
    return JSONResponse(told, error.status_code, error.headers, media_type="application/problem+json")


def _ours(to: str) -> str:
    """An address of this site; home, if it is any other."""
    return to if len(to) <= _LONG and _OURS.fullmatch(to) else "/"
