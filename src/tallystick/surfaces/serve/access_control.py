"""Access control: every request passes it before anything else sees the request.

The checks, in this order; nothing of a request is read before the checks above it have passed:

    421   `Host` is not a name of this server, is missing, or is given twice
    403   `Origin` is given and is not ours; `null` is nobody's
    403   a browser says that another site asks (`Sec-Fetch-Site`), other than by a link that a person followed. Other
          ports of this machine are other sites
    414   the address is too long       431   the headers are
    503   the server is shutting down, or too many streams are open
    401   the key to that address is missing or wrong: see below. A person who follows a link is sent to log in (303); a
          form that comes too late is given back, so that what was typed is not lost
    429   too many requests in a short time; `Retry-After` says when to try again
    413   the body is too long; it is refused before it is read
    408   the body does not arrive in time
    400   its JSON is nested more deeply than a ledger allows

Each address has one key. Addresses for programs (`/v1`, `/mcp`, `/metrics`) need the token, and accept no cookie: a
browser sends cookies by itself. Pages need a cookie, and accept no token. `/healthz`, `/static` and `/login` need no
key, and tell nothing of the memory. A WebSocket is closed before it is open.

Answers carry headers that let a browser do nothing but show them: a page may load what we serve and nothing else, and
an answer to a program is not to be shown at all. Nothing is cached on the way unless the answer allows it.

Login to the page: a link that works once, and the cookie of the session that it begins.

Both are derived from the token, and nothing is stored: whoever has the token can make a link, so `tallystick serve
--link` makes one without asking the server; a session survives a restart; and all sessions end with a new token.

    code     when it was made, a nonce, and a MAC over both and the port. Valid once, for ten minutes, and only for a
             server that was running when it was made: a restarted one does not know which codes were used
    cookie   when it ends, the session's id, and a MAC over both. Scripts cannot read it, other sites cannot send it,
             and its name contains the port, because a browser sends cookies to every port of a machine
    csrf     a MAC over the session's id, which its forms carry

Logging out removes the cookie from the browser, and this server refuses the session from then on. To end all sessions
for good: `tallystick serve --new-token`.
"""

import logging
import secrets
import time
from asyncio import timeout, to_thread
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from hmac import compare_digest, digest
from math import ceil
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.memory.core.token import Token
from tallystick.records.errors import Refused
from tallystick.records.json import DEPTH, is_deeper
from tallystick.surfaces.serve.metrics import Metrics
from tallystick.surfaces.server import guard
from tallystick.surfaces.server.guard import NOT_OURS, TOO_LONG, Refusal, values
from tallystick.surfaces.server.listen import ENDING, Begun
from tallystick.surfaces.web.render import read_fields, render, unsaved

LASTS = 30 * 24 * 3600  # seconds, of a session
CODE_LASTS = 600  # seconds, of a link

_AHEAD = 5.0  # seconds that the clock may have been set back between making a link and using it
_ENDED = 4096  # sessions that are remembered as ended
_LONG = 200  # characters; anything longer is not ours

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Session:
    """A person who has logged in."""

    id: str
    until: int
    csrf: str


class Sessions:
    def __init__(self, token: Token, port: int, *, clock: Clock = time.time) -> None:
        self._token, self._port, self._clock = token, port, clock
        self._since = clock()
        self._used: dict[str, float] = {}  # nonces of codes, until each expires
        self._ended: dict[str, int] = {}  # sessions, until each expires
        self.cookie_name = f"tallystick-{port}"

    def code(self) -> str:
        """A code that logs somebody in once."""
        return made_code(self._token, self._port, self._clock())

    def takes(self, code: str) -> bool:
        """True if that code is valid, which it is once."""
        now = self._clock()
        when, nonce, mac = _parts(code)
        if not _is_valid(self._token, "code", f"{when}.{nonce}.{self._port}", mac):
            return False
        made = int(when) / 1000
        if not (max(self._since, now - CODE_LASTS) <= made + 0.001 and made <= now + _AHEAD) or nonce in self._used:
            return False
        self._used = {each: until for each, until in self._used.items() if until > now}
        self._used[nonce] = made + CODE_LASTS + _AHEAD
        return True

    def is_token(self, text: str) -> bool:
        """True if that is the token, as somebody pastes it."""
        words = text.strip().removeprefix("Bearer ").strip()
        return self._token.is_said(words.encode("utf-8", "replace"))

    def begin(self) -> tuple[Session, str]:
        """A new session, and the value of its cookie."""
        id, until = secrets.token_urlsafe(16), int(self._clock()) + LASTS
        return self._session(id, until), f"{until}.{id}.{_mac(self._token, 'session', f'{until}.{id}')}"

    def of(self, cookies: list[bytes]) -> Session | None:
        """The session of the cookies that a browser sent; None if there is none."""
        pairs = [part.strip().partition("=") for line in cookies for part in line.decode("latin-1").split(";")]
        ours = [value for name, _, value in pairs if name == self.cookie_name]
        for value in ours[:4]:  # a browser may have several, for other paths
            until, id, mac = _parts(value)
            is_valid = _is_valid(self._token, "session", f"{until}.{id}", mac)
            if is_valid and self._clock() < int(until) and id not in self._ended:
                return self._session(id, int(until))
        return None

    def end(self, session: Session) -> None:
        """Refuse it from now on."""
        now = self._clock()
        self._ended = {id: until for id, until in self._ended.items() if until > now}
        while len(self._ended) >= _ENDED:
            self._ended.pop(next(iter(self._ended)))
        self._ended[session.id] = session.until

    def _session(self, id: str, until: int) -> Session:
        return Session(id, until, _mac(self._token, "csrf", id))


def made_code(token: Token, port: int, at: float) -> str:
    """A code for the server at that port, made at that time."""
    code = f"{int(at * 1000)}.{secrets.token_urlsafe(16)}"
    return f"{code}.{_mac(token, 'code', f'{code}.{port}')}"


def _mac(token: Token, purpose: str, text: str) -> str:
    """A message authentication code that only the holder of the token can make. One key for each purpose."""
    key = digest(token.secret.encode(), f"tallystick page: {purpose}".encode(), sha256)
    return urlsafe_b64encode(digest(key, text.encode(), sha256)).rstrip(b"=").decode()


def _is_valid(token: Token, purpose: str, text: str, mac: str) -> bool:
    return compare_digest(_mac(token, purpose, text).encode(), mac.encode("utf-8", "replace"))


def _parts(text: str) -> tuple[str, str, str]:
    """A number and two words; of a text that is not ours, words that no MAC fits."""
    parts = text.split(".") if len(text) <= _LONG and text.isascii() else []
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 and parts[0].isdigit() else ("0", "", "")


logger = logging.getLogger("tallystick.http")

RATE = 200.0  # requests a second, of one client
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_BURST = 2  # seconds' worth of requests that may come at once
_WRONG, _WRONG_AT_ONCE = 0.5, 20.0  # wrong keys: a second, and at once
_CLIENTS = 4096  # that have a bucket
_STREAMED = ("/live", "/v1/events/stream")
_STREAMS = 128  # that may be open at once
_NO_JSON = (b"text/", b"application/x-ndjson", b"application/x-www-form-urlencoded")
_BODY = 30.0  # seconds that a body may take
_SHORT = 1 << 16  # bytes of a body that is checked at once; a longer one is checked in a thread
_LOG_IN = Refusal(401, "log in first: `tallystick serve --link` prints a login link")
_LATE = Refusal(408, "the request body did not arrive in time; send it again", ((b"connection", b"close"),))
_TOO_DEEP = Refusal(400, f"the JSON is nested more than {DEPTH} levels deep; send a flatter form")
_BROKEN = Refusal(500, "tallystick failed on this request; everything already acknowledged is saved. Try again")
_FULL = Refusal(503, "too many streams are open; close one and try again", ((b"retry-after", b"10"),))


def _headers(policy: str) -> list[tuple[bytes, bytes]]:
    headers = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",  # without one, a browser sends our own forms with `Origin: null`
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        "content-security-policy": policy,
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()]


_PAGE_HEADERS, _API_HEADERS = _headers(PAGE_POLICY), _headers("default-src 'none'; frame-ancestors 'none'")
_OURS = frozenset(name for name, _ in _PAGE_HEADERS)


class Answer:
    """The way of a response to the client. `status` is 0 until the response has begun."""

    def __init__(self, send: Send, *, is_page: bool) -> None:
        self._send, self._is_page = send, is_page
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [(name, value) for name, value in message.get("headers", ()) if name not in _OURS]
            names = {name for name, _ in headers}
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"private, no-cache" if b"etag" in names else b"no-store"))
            message = {**message, "headers": headers + (_PAGE_HEADERS if self._is_page else _API_HEADERS)}
        await self._send(message)


class Buckets:
    """Rate limits: a token bucket for each client, by any name. A `rate` of 0 allows everything.

    The number of buckets is limited: the client that was silent for longest is dropped, and starts with a full one.
    """

    def __init__(self, rate: float, burst: float | None = None, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._ticks = rate, ticks
        self._size = burst if burst is not None else max(1.0, rate * _BURST)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how much is in each, and since when

    def wait(self, client: str) -> int:
        """Take one from a client's bucket: 0, or the seconds until there is one."""
        if not self._rate:
            return 0
        now = self._ticks()
        left, then = self._left.pop(client, (self._size, now))
        left = min(self._size, left + (now - then) * self._rate)
        is_enough = left >= 1
        self._left[client] = (left - is_enough, now)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0 if is_enough else max(1, ceil((1 - left) / self._rate))


class Limits:
    """The rate limits of one server. Wrong keys have buckets of their own, which are small."""

    def __init__(self, rate: float | None = None) -> None:
        self.usual = Buckets(RATE if rate is None else rate)
        self.wrong = Buckets(_WRONG, _WRONG_AT_ONCE)


class Key(Enum):
    NONE = 0
    TOKEN = 1
    COOKIE = 2


@dataclass(frozen=True, slots=True)
class Place:
    """An address with everything below it: its application, its key, and whether a person reads the answer."""

    prefix: str
    app: ASGIApp
    key: Key
    is_page: bool = False
    depth: int = DEPTH  # of the JSON that is accepted

    def holds(self, path: str) -> bool:
        return path == self.prefix or path.startswith(f"{self.prefix}/")


class AccessControl:
    """The application that the server runs. An address in none of the `places` is the `site`'s."""

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
        """Answer a request, whatever happens, and count it."""
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        place = next((each for each in self._places if each.holds(scope["path"])), self._site)
        answer, start = Answer(send, is_page=place.is_page), time.perf_counter()
        is_stream = scope["path"] in _STREAMED
        try:
            await self._answer(place, scope, receive, answer, is_stream)
        except Exception as error:  # the outer edge: the client gets an answer that reveals nothing of the inside
            logger.error("a request failed: %s", type(error).__name__)
            if not answer.status:
                await _refuse(_BROKEN, place, scope, answer)
        finally:
            self._metrics.answered(scope, answer.status, time.perf_counter() - start, is_stream=is_stream)

    async def _answer(self, place: Place, scope: Scope, receive: Receive, answer: Answer, is_stream: bool) -> None:
        refusal = self._refusal(place, scope, is_stream)
        if refusal is _LOG_IN and _is_navigation(scope):
            to = quote(scope["path"]) + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
            where = "/login" if to == "/" else f"/login?to={quote(to, safe='')}"
            await RedirectResponse(where, 303)(scope, receive, answer.send)
        elif refusal:
            is_form = refusal is _LOG_IN and place.is_page and scope["method"] == "POST"
            is_late = is_form and not await _keep_form(scope, receive)
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
        """Count a stream as open for as long as the block lasts."""
        self._streams += 1
        self._metrics.streams.set(self._streams)
        try:
            yield
        finally:
            self._streams -= 1
            self._metrics.streams.set(self._streams)

    def _refusal(self, place: Place, scope: Scope, is_stream: bool) -> Refusal | None:
        return (
            guard.unknown(scope, self._names)
            or (NOT_OURS if _is_from_elsewhere(scope) else None)
            or guard.too_wordy(scope)
            or (ENDING if self.begun.is_ending else None)
            or (_FULL if is_stream and self._streams >= _STREAMS else None)
            or self._locked(place, scope)
            or guard.too_long(scope["headers"])
        )

    def _locked(self, place: Place, scope: Scope) -> Refusal | None:
        """The refusal of a client that does not have the key to an address, or has used it too often."""
        client = address_of(scope)
        refusal = guard.not_trusted(scope["headers"], self._token) if place.key is not Key.COOKIE else None
        if place.key is Key.TOKEN and refusal:
            return _too_often(self._limits.wrong.wait(client)) or refusal
        if place.key is not Key.COOKIE and not refusal:  # also where no key is needed: strangers use up no share of it
            client = "token"
        elif session := self._sessions.of(values(scope["headers"], b"cookie")):
            scope.setdefault("state", {}).update(csrf=session.csrf, session=session)
            client = session.id
        elif place.key is Key.COOKIE:
            return _LOG_IN
        return _too_often(self._limits.usual.wait(client))

    async def _body(self, place: Place, scope: Scope, receive: Receive) -> Receive | Refusal:
        """The way to a body that is neither too long nor nested too deeply."""
        headers = scope["headers"]
        has_length = any(length.strip(b"0") for length in values(headers, b"content-length"))
        if not has_length and not values(headers, b"transfer-encoding"):
            return receive
        body = await _read(receive)
        if isinstance(body, Refusal):
            return body
        text, again = body
        kind = b"".join(values(headers, b"content-type")[:1]).lower()
        if place.key is not Key.TOKEN or kind.startswith(_NO_JSON):
            return again
        is_deep = is_deeper(text, place.depth) if len(text) <= _SHORT else await to_thread(is_deeper, text, place.depth)
        return _TOO_DEEP if is_deep else again


def _too_often(seconds: int) -> Refusal | None:
    if not seconds:
        return None
    return Refusal(429, "too many requests; try again later", ((b"retry-after", b"%d" % seconds),))


async def _read(receive: Receive) -> tuple[bytes, Receive] | Refusal:
    """The body, within its time and length, and the way to it for who reads it next."""
    try:
        async with timeout(_BODY):
            return await guard.body_of(receive) or TOO_LONG
    except TimeoutError:
        return _LATE


async def _refuse(refusal: Refusal, place: Place, scope: Scope, answer: Answer) -> None:
    """Answer with a page for a person, and with JSON for a program."""
    if not place.is_page:
        await refusal.answer(answer.send)
        return
    request, title = Request(scope), "You are not logged in" if refusal is _LOG_IN else refusal.title
    page = render(
        request, "refused.html", status=refusal.status, title=title, detail=refusal.detail, **unsaved(request)
    )  # fmt: skip
    page.raw_headers.extend(refusal.headers)

    async def disconnected() -> dict[str, str]:
        return {"type": "http.disconnect"}

    await page(scope, disconnected, answer.send)


async def _keep_form(scope: Scope, receive: Receive) -> bool:
    """Read a form of a session that has ended, so that the page that says so can give its text back.

    False if it does not arrive in time.
    """
    if guard.too_long(scope["headers"]):
        return True
    body = await _read(receive)
    if not isinstance(body, Refusal):
        with suppress(Refused, ClientDisconnect):
            await read_fields(Request(scope, body[1]))
    return body is not _LATE


def address_of(scope: Scope) -> str:
    """The address of a client, as far as the connection tells."""
    return f"at {scope['client'][0]}" if scope.get("client") else "at nowhere"


def _is_from_elsewhere(scope: Scope) -> bool:
    """True if a browser says that another site asks, other than by a link that a person followed."""
    headers = scope["headers"]
    sites = values(headers, b"sec-fetch-site")
    if not sites or sites in ([b"same-origin"], [b"none"]):
        return False
    mode, target = values(headers, b"sec-fetch-mode"), values(headers, b"sec-fetch-dest")
    return not (mode == [b"navigate"] and target == [b"document"] and scope["method"] == "GET")


def _is_navigation(scope: Scope) -> bool:
    """True if a person opens a page, not a script that fetches a piece of one."""
    headers = scope["headers"]
    return (
        scope["method"] in ("GET", "HEAD")
        and values(headers, b"sec-fetch-mode") in ([], [b"navigate"])
        and not values(headers, b"x-piece")
        and scope["path"] not in _STREAMED
    )
