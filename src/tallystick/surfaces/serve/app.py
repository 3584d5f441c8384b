"""`tallystick serve`: the web page, the API, MCP and the rule scheduler, in one process, for one user's memory; and
`tallystick mcp --http`: MCP alone.

Each part opens the folder by itself, with a trust of its own: the page as the owner of the memory, the API and MCP as
whoever was named when the server started, the rules like `tallystick consolidate --due`. `server/listen` has how the
server listens and ends, `serve/access_control` whom it answers.

The server's own addresses: login and logout, the stream of changes, health, metrics and static files.

Login answers with a page that leads on, not with a redirect: a browser that another program sent here would follow a
redirect without the new cookie, which it sends only with requests of our own pages.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import socket

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from tallystick.memory.core.token import Token, new_token, token_of
from tallystick.memory.memory import Memory
from tallystick.memory.scheduler import EVERY, Schedule
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import Closed, TallystickError
from tallystick.records.event import Event
from tallystick.records.json import DEPTH
from tallystick.records.rule import Consolidated
from tallystick.records.status import Status
from tallystick.surfaces.api import router as api
from tallystick.surfaces.mcp.offers import Offers
from tallystick.surfaces.mcp.server import made
from tallystick.surfaces.mcp.tool import Tool
from tallystick.surfaces.present.text import shown
from tallystick.surfaces.serve.access_control import LASTS, AccessControl, Key, Limits, Place, Sessions, address_of
from tallystick.surfaces.serve.metrics import TYPE, Metrics
from tallystick.surfaces.server.guard import LIMIT, Names, Refusal, is_loopback
from tallystick.surfaces.server.listen import PORT, Begun, Hurried, Server, Where, address, bound, warned
from tallystick.surfaces.server.worker import Feed, MemoryWorker
from tallystick.surfaces.web.app import create_app
from tallystick.surfaces.web.render import read_fields, read_form, redirect, render

PATH = "/mcp"
STATIC = Path(__file__).parents[1] / "web" / "static"

_HEARTBEAT = 15  # seconds between two signs of life on a stream
_TIMEOUT = 2.0  # seconds after which a busy memory counts as readable
_OURS = re.compile(r"/(?:[A-Za-z0-9_.~%?&=+,:@-][A-Za-z0-9/_.~%?&=+,:@-]*)?", re.ASCII)
_LONG = 2000  # characters of an address
_WRONG_CODE = "This link was used already, is older than ten minutes, or was made before this server started."
_WRONG_TOKEN = "This is not the token of this memory."
_SESSIONS = 256  # clients with a handshake that are connected
_IDLE = 30 * 60.0  # seconds after which a silent client is disconnected
_ELSEWHERE = Refusal(404, f"no such address; the memory is at {PATH}")


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


class McpApp:
    """MCP over HTTP: one address, one memory that all clients share, and the life of their sessions."""

    def __init__(self, hold: MemoryWorker, tools: Sequence[Tool]) -> None:
        self._offers = Offers(hold)
        self._manager = StreamableHTTPSessionManager(
            made(hold, tools, **self._offers.handlers), max_request_body_size=LIMIT, max_sessions=_SESSIONS,
            session_idle_timeout=_IDLE,
        )  # fmt: skip
        self._begun, self._over = Begun(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] != PATH:
            await _ELSEWHERE.answer(send)
        elif scope["method"] != "POST":  # a stream that only waits
            await self._manager.handle_request(scope, receive, send)
        else:
            with self._begun.one():
                await self._manager.handle_request(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run from the start to the end, which `finish` may bring about first."""
        await receive()
        async with self._manager.run():
            await send({"type": "lifespan.startup.complete"})
            await self._over.wait()
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def finish(self, is_hurried: Hurried) -> None:
        """Let open requests finish, then end the streams that only wait. Access control lets no new ones in."""
        self._offers.close()
        await self._begun.finish(is_hurried)
        self._over.set()


# -- the servers -------------------------------------------------------------------------------------------------------


_MCP_DEPTH = DEPTH + 4  # levels of JSON, with those that the protocol adds around its content
_NOTICES = 20  # that are kept
_OPENING = 16  # events that are searched for what opening the memory did


@dataclass(frozen=True, slots=True)
class Holds:
    """The memory, opened once for each part."""

    page: MemoryWorker
    api: MemoryWorker
    mcp: MemoryWorker
    rules: MemoryWorker

    async def close(self) -> None:
        for worker in (self.api, self.mcp, self.rules, self.page):
            await worker.close()


class ServerNotices:
    """Lines for the owner about what the memory did by itself since the server started; only the newest are kept.

    Each is printed on standard error too. `lines` is the same list for as long as the server runs.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.lines: list[str] = []
        self._note, self._since = note, stamp(system_clock())

    def __call__(self, line: str) -> None:
        """Add a line, unless it is there already."""
        if line not in self.lines:
            self.lines.append(line)
            del self.lines[:-_NOTICES]
            with suppress(OSError):  # nobody reads standard error any more; the memory's own work goes on
                self._note(f"tallystick: {shown(line)}")

    def opened(self, memory: Memory) -> None:
        """Add what opening the memory did, by its last events."""
        newest = memory.status().events
        self.hear(event for event in memory.log(max(0, newest - _OPENING)) if event.ts >= self._since)

    def hear(self, events: Iterable[Event]) -> None:
        """Add what the ledger recorded about its own recovery."""
        for event in events:
            if event.op.startswith("ledger.torn/"):
                size = (event.body or {}).get("bytes", 0)
                self(
                    f"a crash interrupted a write: its {size:,} bytes were set aside (event {event.seq}); it had not "
                    "been acknowledged, and nothing else is lost"
                )


async def serve(
    holds: Holds, tools: Sequence[Tool], where: Where, *, notices: ServerNotices, note: Callable[[str], None],
    options: str = "", rate: float | None = None, renew: bool = False, ready: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve everything until the program is told to end. `note` prints how to reach it; `ready` gets a login link.

    `notices` collects what the memory does by itself; `options` are those of a command that selects the same memory;
    `renew` makes a new token first.
    """
    async with _listening(holds.page, where, holds.close, renew=renew) as (listening, where, status, token):
        await holds.page.run(lambda context: notices.opened(context.memory))
        for worker in (holds.api, holds.mcp, holds.rules):  # these open it when they are first asked
            worker.only(Path(status.folder), status.ledger)
        link_command = f"tallystick serve --link{options}{'' if where.port == PORT else f' --port {where.port}'}"
        served = _Served(holds, tools, where, token, notices, rate, link_command)

        def announce() -> None:
            base, folder = address(where.host, where.port), f"{status.folder}{' (new)' * (status.events == 1)}"
            link = f"{base}/login?code={served.sessions.code()}"
            _print(
                note, where,
                f"serving {folder} at {base} until Ctrl-C",
                f"open {link} (works once, for ten minutes; `{link_command}` makes another)",
                f"programs use {base}/v1 and {base}{PATH} with `Authorization: Bearer TOKEN`; it is in {token.path}",
            )  # fmt: skip
            if ready is not None:
                ready(link)

        await served.begin()
        await Server(served.access, served.finish, announce).serve([listening])


async def serve_mcp(
    hold: MemoryWorker, tools: Sequence[Tool], where: Where, *, note: Callable[[str], None], renew: bool = False
) -> None:  # fmt: skip
    """Serve MCP alone, as often as clients that have the token ask, until the program is told to end."""
    async with _listening(hold, where, hold.close, renew=renew) as (listening, where, status, token):
        mcp = McpApp(hold, tools)
        access = AccessControl(
            (), Place("", mcp, Key.TOKEN, depth=_MCP_DEPTH), Names.at(*where), token, Sessions(token, where.port),
            life=mcp, limits=Limits(0), metrics=Metrics(),
        )  # fmt: skip
        lines = (
            f"serving {status.folder} at {address(where.host, where.port)}{PATH} until Ctrl-C",
            f"clients send `Authorization: Bearer TOKEN`; the token is in {token.path}",
        )
        finish, announce = partial(_finish, access, mcp), partial(_print, note, where, *lines)
        await Server(access, finish, announce).serve([listening])


@asynccontextmanager
async def _listening(
    worker: MemoryWorker, where: Where, close: Callable[[], Awaitable[None]], *, renew: bool
) -> AsyncIterator[tuple[socket, Where, Status, Token]]:  # fmt: skip
    """A socket, its address, the status of the memory and its token. An invalid name is refused before all that."""
    try:
        Names.at(*where)
        with bound(where) as listening:
            where = where._replace(port=listening.getsockname()[1])
            status, user = await worker.run(lambda context: (context.memory.status(), context.memory.user))
            yield listening, where, status, (new_token if renew else token_of)(status.ledger, user)
    finally:
        await close()


def _print(note: Callable[[str], None], where: Where, *lines: str) -> None:
    """Print how to reach the server, for the person who started it. The token itself is never printed."""
    for line in (*lines, *warned(where.host)):
        note(shown(f"tallystick: {line}"))


async def _finish(access: AccessControl, mcp: McpApp, is_hurried: Hurried) -> None:
    """Accept nothing new, and let running requests finish."""
    access.begun.is_ending = True
    await asyncio.gather(access.begun.finish(is_hurried), mcp.finish(is_hurried))


class _Served:
    def __init__(
        self, holds: Holds, tools: Sequence[Tool], where: Where, token: Token, notices: ServerNotices,
        rate: float | None, link_command: str,
    ) -> None:  # fmt: skip
        metrics, limits = Metrics(), Limits(rate)
        self.sessions = Sessions(token, where.port)
        self._feed = Feed(holds.page, hear=notices.hear)
        self._rules = Rules(holds.rules, holds.page, done=lambda _: metrics.rules.inc(), failed=notices)
        self._mcp = McpApp(holds.mcp, tools)
        help_to_log_in = (link_command, str(token.path)) if is_loopback(where.host) else ("tallystick serve --link", "")
        front = Front(holds.page, self._feed, self.sessions, limits, metrics, *help_to_log_in)
        site = create_app(holds.page, routes=front.for_people(), notices=notices.lines)
        programs, answers = front.for_programs(), api.made(holds.api, self._feed)
        self.access = AccessControl(
            (
                Place("/v1", answers, Key.TOKEN), Place("/openapi.json", answers, Key.TOKEN),
                Place(PATH, self._mcp, Key.TOKEN, depth=_MCP_DEPTH),
                Place("/metrics", programs, Key.TOKEN), Place("/healthz", programs, Key.NONE),
                Place("/static", programs, Key.NONE), Place("/login", site, Key.NONE, is_page=True),
            ),
            Place("", site, Key.COOKIE, is_page=True), Names.at(*where), token, self.sessions,
            life=self._mcp, limits=limits, metrics=metrics,
        )  # fmt: skip

    async def begin(self) -> None:
        await self._feed.begin()
        self._rules.start()

    async def finish(self, is_hurried: Hurried) -> None:
        """End what only waits, too."""
        self.access.begun.is_ending = True
        self._rules.stop()
        await self._feed.close()
        await _finish(self.access, self._mcp, is_hurried)


class Rules:
    """The rule scheduler of one server: rules run in `worker`; `other` has the same memory open already.

    `done` is called for each rule that ran; `failed` gets what went wrong, which is tried again at the next look. A run
    that has started is finished. `worker` opens the memory when there is a first rule, and not before.
    """

    def __init__(
        self, worker: MemoryWorker, other: MemoryWorker, *, done: Callable[[Consolidated], None],
        failed: Callable[[str], None], every: float = EVERY,
    ) -> None:  # fmt: skip
        self._worker, self._other, self._done, self._failed, self._every = worker, other, done, failed, every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look for due rules now, and then from time to time."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        has_rules = False
        while True:
            try:
                has_rules = has_rules or await self._other.run(
                    lambda context: bool(context.memory.rules.all(everyone=True))
                )
                if has_rules:
                    await self._worker.run(
                        lambda context: Schedule(context.memory, done=self._done, failed=self._failed).look()
                    )
            except Closed:
                return
            except (TallystickError, OSError, sqlite3.Error) as error:
                self._failed(f"rules could not be run: {error}")
            await asyncio.sleep(self._every)

    def stop(self) -> None:
        """Look no more. Closing the memory waits for a run that has started."""
        if self._task is not None:
            self._task.cancel()
