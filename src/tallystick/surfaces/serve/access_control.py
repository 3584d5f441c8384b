"""What stands before everything that the server offers, and lets through only who may go there.

In this order, and nothing of a request is looked at before what stands above it:

    421   the name in `Host` is not one that we are known by, or there are none or several
    403   an `Origin` is given, and is not ours; `null` is nobody's
    403   a browser says that another site asks (`Sec-Fetch-Site`), and it is not a person who follows a link to here.
          Other ports of this machine are another site
    414   the address is longer than we take       431   the headers are
    503   the server is ending, or too many streams are open
    401   the key to that address is missing or wrong: see below. A person who comes by a link is sent to log in (303);
          a form that comes too late is given back, so that what was typed is not lost
    429   too much was asked in a short time; `Retry-After` says when to come again
    413   the body is longer than we take; it is refused before it is read
    408   it does not come in time: whoever is slow makes room for others
    400   its JSON is nested deeper than a ledger holds

Each address has one key. What programs ask (`/v1`, `/mcp`, `/metrics`) opens with the token, and with no cookie: a
browser sends cookies unasked. What a person looks at opens with a cookie, and with no token. `/healthz`, `/static` and
`/login` open without a key, and tell nothing of the memory. Nothing but HTTP is let through: a WebSocket is closed
before it is open.
"""

from __future__ import annotations

import logging
import time
from asyncio import timeout, to_thread
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse

from tallystick.records.errors import Refused
from tallystick.records.json import DEPTH, is_deeper
from tallystick.surfaces.serve.headers import Answer
from tallystick.surfaces.serve.limits import Limits, too_often
from tallystick.surfaces.server import guard
from tallystick.surfaces.server.guard import LIMIT, NOT_OURS, TOO_LONG, Refusal, said
from tallystick.surfaces.server.listen import ENDING, Begun
from tallystick.surfaces.web.render import fields_of, kept, shown

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from tallystick.memory.core.token import Token
    from tallystick.surfaces.serve.login import Sessions
    from tallystick.surfaces.serve.metrics import Metrics

logger = logging.getLogger("tallystick.http")

_STREAMED = ("/live", "/v1/events/stream")
_STREAMS = 128  # that may be open at once
_NO_JSON = (b"text/", b"application/x-ndjson", b"application/x-www-form-urlencoded")
_BODY = 30.0  # seconds that a body may take
_SHORT = 1 << 16  # bytes; what is longer takes a while to look through, and others are answered meanwhile
_LOG_IN = Refusal(401, "log in first: `tallystick serve --link` prints a link that does it")
_LATE = Refusal(408, "the rest of the request did not come in time; send it again", ((b"connection", b"close"),))
_TOO_DEEP = Refusal(400, f"this is nested deeper than {DEPTH}; say it in a flatter form")
_BROKEN = Refusal(500, "this failed inside tallystick; what was acknowledged is kept. Try again")
_FULL = Refusal(503, "too many streams are open; close one, and ask again", ((b"retry-after", b"10"),))


class Key(Enum):
    """What opens an address."""

    NONE = 0
    TOKEN = 1
    COOKIE = 2


@dataclass(frozen=True, slots=True)
class Place:
    """An address with all below it: who answers there, whom, and whether it is a person who reads the answer."""

    prefix: str
    app: ASGIApp
    key: Key
    is_page: bool = False
    depth: int = DEPTH  # of the JSON that is taken in

    def holds(self, path: str) -> bool:
        return path == self.prefix or path.startswith(f"{self.prefix}/")


class AccessControl:
    """The application that the server runs. An address that none of the `places` holds is the `site`'s."""

    def __init__(
        self, places: Sequence[Place], site: Place, names: guard.Names, token: Token, sessions: Sessions, *,
        life: ASGIApp, limits: Limits, metrics: Metrics,
    ) -> None:  # fmt: skip
        self._places, self._site, self._names = places, site, names
        self._token, self._sessions = token, sessions
        self._life, self._limits, self._metrics = life, limits, metrics
        self._streams = 0
        self.begun = Begun()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._watched(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, whatever happens, and count it."""
        place = next((each for each in self._places if each.holds(scope["path"])), self._site)
        answer, begun = Answer(send, is_page=place.is_page), time.perf_counter()
        is_stream = scope["path"] in _STREAMED
        try:
            await self._answer(place, scope, receive, answer, is_stream)
        except Exception as error:  # the outer edge: whoever asked is told, in words that tell nothing of the inside
            logger.error("a request failed: %s", type(error).__name__)
            if not answer.status:
                await _refuse(_BROKEN, place, scope, answer)
        finally:
            self._metrics.answered(scope, answer.status, time.perf_counter() - begun, is_stream=is_stream)

    async def _answer(self, place: Place, scope: Scope, receive: Receive, answer: Answer, is_stream: bool) -> None:
        refusal = self._refusal(place, scope, is_stream)
        if refusal is _LOG_IN and _is_navigation(scope):
            to = quote(scope["path"]) + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
            where = "/login" if to == "/" else f"/login?to={quote(to, safe='')}"
            await RedirectResponse(where, 303)(scope, receive, answer.send)
        elif refusal:
            is_form = refusal is _LOG_IN and place.is_page and scope["method"] == "POST"
            is_late = is_form and not await _keep(scope, receive)
            await _refuse(_LATE if is_late else refusal, place, scope, answer)
        else:
            with self.begun.one(), self._stream() if is_stream else nullcontext():
                body = await self._body(place, scope, receive)
                if isinstance(body, Refusal):
                    await _refuse(body, place, scope, answer)
                else:
                    await place.app(scope, body, answer.send)

    @contextmanager
    def _stream(self) -> Iterator[None]:
        """A stream is open for as long as the block lasts."""
        self._streams += 1
        self._metrics.streams.set(self._streams)
        try:
            yield
        finally:
            self._streams -= 1
            self._metrics.streams.set(self._streams)

    # -- who may ------------------------------------------------------------------------------------------------------

    def _refusal(self, place: Place, scope: Scope, is_stream: bool) -> Refusal | None:
        return (
            guard.unknown(scope, self._names)
            or (NOT_OURS if _is_from_elsewhere(scope) else None)
            or guard.too_wordy(scope)
            or (ENDING if self.begun.is_ending else None)
            or (_FULL if is_stream and self._streams >= _STREAMS else None)
            or self._locked(place, scope)
            or guard.too_long(scope["headers"], LIMIT)
        )

    def _locked(self, place: Place, scope: Scope) -> Refusal | None:
        """Why whoever asks does not have the key to that address, or has used it too often."""
        client = address_of(scope)
        refusal = guard.not_trusted(scope["headers"], self._token) if place.key is not Key.COOKIE else None
        if place.key is Key.TOKEN and refusal:
            seconds = self._limits.wrong.wait(client)
            return too_often(seconds) if seconds else refusal
        if place.key is not Key.COOKIE and not refusal:  # also where none is needed: no stranger uses up its share
            client = "token"
        elif session := self._sessions.of(said(scope["headers"], b"cookie")):
            scope.setdefault("state", {}).update(csrf=session.csrf, session=session)
            client = session.id
        elif place.key is Key.COOKIE:
            return _LOG_IN
        seconds = self._limits.usual.wait(client)
        return too_often(seconds) if seconds else None

    async def _body(self, place: Place, scope: Scope, receive: Receive) -> Receive | Refusal:
        """The way to a body that is neither too long nor too deep."""
        headers = scope["headers"]
        is_told = any(length.strip(b"0") for length in said(headers, b"content-length"))
        if not is_told and not said(headers, b"transfer-encoding"):
            return receive
        taken = await _taken(receive)
        if isinstance(taken, Refusal):
            return taken
        text, again = taken
        kind = b"".join(said(headers, b"content-type")[:1]).lower()
        if place.key is not Key.TOKEN or kind.startswith(_NO_JSON):
            return again
        is_deep = is_deeper(text, place.depth) if len(text) <= _SHORT else await to_thread(is_deeper, text, place.depth)
        return _TOO_DEEP if is_deep else again


async def _taken(receive: Receive) -> tuple[bytes, Receive] | Refusal:
    """The body, which has its time and its length, and the way to it for who reads it next."""
    try:
        async with timeout(_BODY):
            return await guard.body_of(receive, LIMIT) or TOO_LONG
    except TimeoutError:
        return _LATE


async def _refuse(refusal: Refusal, place: Place, scope: Scope, answer: Answer) -> None:
    """Say no, in the way that whoever asks can read."""
    if not place.is_page:
        await refusal.answer(answer.send)
        return
    title = "You are not logged in" if refusal is _LOG_IN else refusal.title
    page = shown(
        Request(scope), "refused.html", status=refusal.status, title=title, detail=refusal.detail,
        **kept(Request(scope)),
    )  # fmt: skip
    page.raw_headers.extend(refusal.headers)
    await page(scope, _nothing, answer.send)


async def _keep(scope: Scope, receive: Receive) -> bool:
    """Read a form that came after its session was over, so that the page that says so can give its words back.

    False, if it does not come.
    """
    if guard.too_long(scope["headers"], LIMIT):
        return True
    taken = await _taken(receive)
    if not isinstance(taken, Refusal):
        with suppress(Refused, ClientDisconnect):
            await fields_of(Request(scope, taken[1]))
    return taken is not _LATE


async def _nothing() -> dict[str, str]:
    return {"type": "http.disconnect"}


def address_of(scope: Scope) -> str:
    """Where a request comes from, as far as the connection tells."""
    return f"at {scope['client'][0]}" if scope.get("client") else "at nowhere"


def _is_from_elsewhere(scope: Scope) -> bool:
    """Whether a browser says that another site asks, other than by a link that a person followed."""
    headers = scope["headers"]
    sites = said(headers, b"sec-fetch-site")
    if not sites or sites in ([b"same-origin"], [b"none"]):
        return False
    is_link = said(headers, b"sec-fetch-mode") == [b"navigate"] and said(headers, b"sec-fetch-dest") == [b"document"]
    return not (is_link and scope["method"] == "GET")


def _is_navigation(scope: Scope) -> bool:
    """Whether a person goes to a page, rather than a script that asks for a piece of it."""
    headers = scope["headers"]
    return (
        scope["method"] in ("GET", "HEAD")
        and said(headers, b"sec-fetch-mode") in ([], [b"navigate"])
        and not said(headers, b"x-piece")
        and scope["path"] not in _STREAMED
    )
