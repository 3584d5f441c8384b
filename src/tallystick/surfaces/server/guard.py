"""What a request over HTTP must show before anything else sees it, on this machine's own address too.

Any page that a person opens in a browser can send requests to this machine, and one that takes this machine's address
for its own name (DNS rebinding) can read the answers. So, in this order:

    421   the name in `Host` is not one that we are known by, or there are none or several
    403   an `Origin` is given, and is not ours; `null` is nobody's
    414   the address is longer than we take       431   the headers are
    401   the token is missing or wrong
    413   the body is longer than we take; it is refused before it is read

`Guard` asks all of that of everyone; `serve/access_control`, which stands before the page too, asks of some for a
cookie instead. An answer is one short line of `application/problem+json`, the same for everyone, and repeats nothing of
the request. Nothing but HTTP is let through: a WebSocket is closed before it is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.records.errors import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from tallystick.memory.core.token import Token

LIMIT = 4 << 20  # bytes of a body; a line of the ledger holds a quarter of that
ADDRESS, HEAD = 1 << 14, 1 << 16  # bytes of an address with its question, and of all headers

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_ANY = ("0.0.0.0", "::")
_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?", re.ASCII)
_TITLES = {
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    408: "Request Timeout", 413: "Content Too Large",
    414: "URI Too Long", 421: "Misdirected Request", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Names:
    """What we may be called: values of `Host` and of `Origin`, in small letters."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]

    @classmethod
    def at(cls, host: str, port: int, also: Iterable[str] = ()) -> Names:
        """Those of a server that listens there: this machine's own, the address itself, and what else it is known by.

        `also` are names as clients write them, with a port if it is not the usual one, such as a proxy's.
        """
        told = [_checked(name) for name in also]
        own = [*_LOOPBACK, *([] if host in _ANY else [bracketed(host).lower()])]
        served = {f"{name}:{port}" for name in own} | {name for name in own if port == 80}
        hosts = served | set(told) | {f"{name}:{port}" for name in told if not _has_port(name)}
        origins = {f"http://{name}" for name in hosts} | {f"https://{name}" for name in told}
        return cls(frozenset(map(str.encode, hosts)), frozenset(map(str.encode, origins)))


class Guard:
    """An application that answers only whom it may."""

    def __init__(self, app: ASGIApp, names: Names, token: Token, *, limit: int = LIMIT) -> None:
        self._app, self._names, self._token, self._limit = app, names, token, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif refusal := self._refusal(scope):
            await refusal.answer(send)
        elif (whole := await whole_body(scope, receive, self._limit)) is None:
            await TOO_LONG.answer(send)
        else:
            await self._app(scope, whole, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        return (
            unknown(scope, self._names)
            or too_wordy(scope)
            or not_trusted(scope["headers"], self._token)
            or too_long(scope["headers"], self._limit)
        )


def unknown(scope: Scope, names: Names) -> Refusal | None:
    """Why a request is not meant for us, or comes from somebody else's page; None, if neither."""
    headers = scope["headers"]
    hosts, origins = said(headers, b"host"), said(headers, b"origin")
    if len(hosts) != 1 or hosts[0].lower() not in names.hosts or scope["path"][:1] != "/":
        return _NOT_US
    if origins and (len(origins) > 1 or origins[0].lower() not in names.origins):
        return NOT_OURS
    return None


def too_wordy(scope: Scope) -> Refusal | None:
    """Why an address, or what stands under it, is refused by its length; None, if it is not."""
    if len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b"")) > ADDRESS:
        return _LONG_ADDRESS
    if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
        return _LONG_HEAD
    return None


def not_trusted(headers: Iterable[Header], token: Token) -> Refusal | None:
    """Why whoever asks does not have the token; None, if they do."""
    shown = said(headers, b"authorization")
    if len(shown) != 1:
        return NO_TOKEN
    scheme, _, secret = shown[0].partition(b" ")
    if scheme.lower() != b"bearer" or not token.is_said(secret.strip()):
        return _WRONG_TOKEN
    return None


def too_long(headers: Iterable[Header], limit: int) -> Refusal | None:
    """Why a body is refused by its length alone, as it was told; None, if it is not."""
    for told in said(headers, b"content-length"):
        if not told.isdigit():
            return _NO_LENGTH
        if len(told) > 18 or int(told) > limit:
            return TOO_LONG
    return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that ends a request."""

    status: int
    detail: str
    headers: tuple[Header, ...] = ()

    @property
    def title(self) -> str:
        return _TITLES[self.status]

    async def answer(self, send: Send) -> None:
        told = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        body = orjson.dumps(told) + b"\n"
        headers = [
            (b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"), *self.headers,
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


_NOT_US = Refusal(421, "this server is not known by that name; use the address that it printed when it started")
NOT_OURS = Refusal(403, "a page from elsewhere may not ask this server")
NO_TOKEN = Refusal(
    401, "say `Authorization: Bearer TOKEN`; the server printed where its token is when it started",
    ((b"www-authenticate", b'Bearer realm="tallystick"'),),
)  # fmt: skip
_WRONG_TOKEN = Refusal(
    401, "this is not the token; the server printed where it is when it started",
    ((b"www-authenticate", b'Bearer realm="tallystick", error="invalid_token"'),),
)  # fmt: skip
_LONG_ADDRESS = Refusal(414, "the address is too long; send what you have to say in a body")
_LONG_HEAD = Refusal(431, "the headers are too long; send fewer")
_NO_LENGTH = Refusal(400, "the length of the body is not a number")
TOO_LONG = Refusal(413, "the request is too long; say it in several", ((b"connection", b"close"),))


def bracketed(host: str) -> str:
    """An address as it stands in a URL."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[{address.compressed}]" if isinstance(address, IPv6Address) else address.compressed


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _checked(name: str) -> str:
    """A name that a client may use, in small letters."""
    small = name.lower()
    if not _NAME.fullmatch(small) or ".." in small:
        raise Refused(
            f"{name[:60]!r} is no name of a server; it is like memory.example.org or memory.example.org:8443", "name"
        )
    return small


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def said(headers: Iterable[Header], name: bytes) -> list[bytes]:
    """All that a request says under that name, which is in small letters."""
    return [value for key, value in headers if key == name]


async def whole_body(scope: Scope, receive: Receive, limit: int) -> Receive | None:
    """The way to the body. One whose length was not told is read here, and None if it goes over the limit."""
    if not said(scope["headers"], b"transfer-encoding"):
        return receive
    taken = await body_of(receive, limit)
    return taken and taken[1]


async def body_of(receive: Receive, limit: int) -> tuple[bytes, Receive] | None:
    """A body, and the way to it for who reads it next; None if it goes over the limit."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body), _again(message, receive)
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        more = message.get("more_body", False)
    whole = bytes(body)
    return whole, _again({"type": "http.request", "body": whole, "more_body": False}, receive)


def _again(first: Any, then: Receive) -> Receive:
    """What was read already comes first."""
    waiting = [first]

    async def next_one() -> Any:
        return waiting.pop() if waiting else await then()

    return next_one
