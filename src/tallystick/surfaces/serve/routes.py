"""The server's own addresses: login and logout, the stream of changes, health, metrics and static files.

Login answers with a page that leads on, not with a redirect: a browser that another program sent here would follow a
redirect without the new cookie, which it sends only with requests of our own pages.
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
from tallystick.surfaces.serve.access_control import Limits, address_of
from tallystick.surfaces.serve.login import LASTS, Sessions
from tallystick.surfaces.serve.metrics import TYPE, Metrics
from tallystick.surfaces.web.render import read_fields, read_form, redirect, render

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.changes import Feed
    from tallystick.surfaces.server.worker import MemoryWorker

STATIC = Path(__file__).parents[1] / "web" / "static"

_HEARTBEAT = 15  # seconds between two signs of life on a stream
_TIMEOUT = 2.0  # seconds after which a busy memory counts as readable
_OURS = re.compile(r"/(?:[A-Za-z0-9_.~%?&=+,:@-][A-Za-z0-9/_.~%?&=+,:@-]*)?", re.ASCII)
_LONG = 2000  # characters of an address
_WRONG_CODE = "This link was used already, is older than ten minutes, or was made before this server started."
_WRONG_TOKEN = "This is not the token of this memory."


@dataclass(frozen=True, slots=True)
class Front:
    """The handlers of those addresses, and the objects they need."""

    worker: MemoryWorker
    feed: Feed
    sessions: Sessions
    limits: Limits
    metrics: Metrics
    link_command: str
    token_path: str  # empty where anybody may see the login page

    def for_people(self) -> list[BaseRoute]:
        """Routes of the site."""
        return [
            Route("/login", self._login, methods=["GET"]), Route("/login", self._paste_token, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]), Route("/live", self._live, methods=["GET"]),
        ]  # fmt: skip

    def for_programs(self) -> Starlette:
        """An application of its own."""
        routes = [
            Route("/healthz", self._health, methods=["GET"]), Route("/metrics", self._metrics, methods=["GET"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]  # fmt: skip
        return Starlette(routes=routes, exception_handlers={HTTPException: _http_error})

    # -- login -------------------------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        code, to = request.query_params.get("code", ""), _ours(request.query_params.get("to", ""))
        if code and request.method == "GET":
            return self._log_in(request, to, "" if self.sessions.takes(code) else _WRONG_CODE)
        return redirect(to) if "session" in request.scope.get("state", {}) else self._form(request, to)

    async def _paste_token(self, request: Request) -> Response:
        fields = await read_fields(request)
        is_token = self.sessions.is_token(fields.get("token", ""))
        return self._log_in(request, _ours(fields.get("to", "")), "" if is_token else _WRONG_TOKEN)

    def _log_in(self, request: Request, to: str, error: str) -> Response:
        """A new session; or the form again, with the error."""
        if not error:
            answer: Response = render(request, "login.html", to=to, is_in=True)
            self._set_cookie(request, answer, self.sessions.begin()[1], LASTS)
        elif seconds := self.limits.wrong.wait(address_of(request.scope)):
            answer = self._form(request, to, "Too many tries. Wait a moment.", 429)
            answer.headers["retry-after"] = str(seconds)
        else:
            answer = self._form(request, to, error, 401)
        return answer

    def _form(self, request: Request, to: str, error: str = "", status: int = 200) -> Response:
        context = {"link_command": self.link_command, "token_path": self.token_path, "error": error}
        return render(request, "login.html", status=status, to=to, is_in=False, **context)

    async def _logout(self, request: Request) -> Response:
        await read_form(request)
        self.sessions.end(request.scope["state"]["session"])
        answer = redirect("/login")
        self._set_cookie(request, answer, "", 0)
        return answer

    def _set_cookie(self, request: Request, answer: Response, value: str, lasts: int) -> None:
        """Set the cookie; for HTTPS only, if a proxy says that it was reached that way."""
        schemes = (request.headers.get("x-forwarded-proto", ""), request.headers.get("origin", "").partition(":")[0])
        answer.set_cookie(
            self.sessions.cookie_name, value, max_age=lasts, path="/", httponly=True, samesite="strict",
            secure="https" in schemes,
        )  # fmt: skip

    # -- changes, health, metrics --------------------------------------------------------------------------------------

    async def _live(self, request: Request) -> Response:  # noqa: ARG002
        async def changes() -> AsyncIterator[dict[str, str]]:
            async for newest in self.feed.changes():
                yield {"event": "change", "data": str(newest)}

        return EventSourceResponse(changes(), ping=_HEARTBEAT)

    async def _health(self, request: Request) -> Response:  # noqa: ARG002
        """Report that the server runs, and whether the ledger can be read. A busy one can."""
        try:
            is_good = not await asyncio.wait_for(self.worker.run(lambda context: _trouble(context.memory)), _TIMEOUT)
        except TimeoutError:
            is_good = True
        except (TallystickError, OSError, sqlite3.Error):
            is_good = False
        return JSONResponse({"status": "ok" if is_good else "damaged"}, 200 if is_good else 503)

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002
        await self.worker.run(lambda context: self.metrics.look(context.memory))
        return Response(self.metrics.text(), media_type=TYPE)


def _trouble(memory: Memory) -> str:
    """The problem of the ledger as it is on disk now, if there is one."""
    _ = memory.ledger.size  # reads the disk, and raises if the ledger is gone or replaced
    return memory.trouble


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "nothing here accepts this request; the page is at /, the API at /v1"
    problem = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": detail}
    return JSONResponse(problem, error.status_code, error.headers, media_type="application/problem+json")


def _ours(to: str) -> str:
    """An address of this site; `/` if it is any other."""
    return to if len(to) <= _LONG and _OURS.fullmatch(to) else "/"
