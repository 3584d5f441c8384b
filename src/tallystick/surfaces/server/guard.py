"""Checks of the head and length of an HTTP request, which `serve/access_control` makes before anything else; and the
HTTP status of each error.

Any page in a browser can send requests to this machine, and one whose name resolves to this machine's address (DNS
rebinding) can read the answers; so `Host` and `Origin` are checked also on this machine's own address. A refusal is one
short line of `application/problem+json`, the same for everyone, and repeats nothing of the request.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import Any

import orjson
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from tallystick.memory.core.token import Token
from tallystick.records import errors

LIMIT = 4 << 20  # bytes of a body; four times the longest line of a ledger
ADDRESS, HEAD = 1 << 14, 1 << 16  # bytes of an address with its query, and of all headers

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_ANY = ("0.0.0.0", "::")
_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?", re.ASCII)
Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that ends a request."""

    status: int
    detail: str
    headers: tuple[Header, ...] = ()

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    async def answer(self, send: Send) -> None:
        problem = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        body = orjson.dumps(problem) + b"\n"
        headers = [
            (b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"), *self.headers,
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


_NOT_US = Refusal(421, "unknown host name; use the address that the server printed when it started")
NOT_OURS = Refusal(403, "requests from other sites are not allowed")
_NO_TOKEN = Refusal(
    401, "send `Authorization: Bearer TOKEN`; the server printed where its token is when it started",
    ((b"www-authenticate", b'Bearer realm="tallystick"'),),
)  # fmt: skip
_WRONG_TOKEN = Refusal(
    401, "wrong token; the server printed where it is when it started",
    ((b"www-authenticate", b'Bearer realm="tallystick", error="invalid_token"'),),
)  # fmt: skip
_LONG_ADDRESS = Refusal(414, "the address is too long; use a request body")
_LONG_HEAD = Refusal(431, "the headers are too long; send fewer")
_NO_LENGTH = Refusal(400, "the length of the body is not a number")
TOO_LONG = Refusal(413, "the request is too large; split it", ((b"connection", b"close"),))


@dataclass(frozen=True, slots=True)
class Names:
    """The names of this server: values of `Host` and of `Origin`, in lowercase."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]

    @classmethod
    def at(cls, host: str, port: int, also: Iterable[str] = ()) -> "Names":
        """The names of a server that listens there: those of this machine, the address itself, and others.

        `also` are names as clients write them, such as a proxy's, with a port if it is not the default one.
        """
        others = [_checked(name) for name in also]
        own = [*_LOOPBACK, *([] if host in _ANY else [bracketed(host).lower()])]
        served = {f"{name}:{port}" for name in own} | {name for name in own if port == 80}
        hosts = served | set(others)
        hosts |= {f"{name}:{port}" for name in others if name.rpartition("]")[2].count(":") != 1}  # without a port
        origins = {f"http://{name}" for name in hosts} | {f"https://{name}" for name in others}
        return cls(frozenset(map(str.encode, hosts)), frozenset(map(str.encode, origins)))


def unknown(scope: Scope, names: Names) -> Refusal | None:
    """The refusal of a request that is not meant for us, or comes from another site."""
    headers = scope["headers"]
    hosts, origins = values(headers, b"host"), values(headers, b"origin")
    if len(hosts) != 1 or hosts[0].lower() not in names.hosts or scope["path"][:1] != "/":
        return _NOT_US
    if origins and (len(origins) > 1 or origins[0].lower() not in names.origins):
        return NOT_OURS
    return None


def too_wordy(scope: Scope) -> Refusal | None:
    """The refusal of an address or headers that are too long."""
    if len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b"")) > ADDRESS:
        return _LONG_ADDRESS
    if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
        return _LONG_HEAD
    return None


def not_trusted(headers: Iterable[Header], token: Token) -> Refusal | None:
    """The refusal of a request without the token."""
    given = values(headers, b"authorization")
    if len(given) != 1:
        return _NO_TOKEN
    scheme, _, secret = given[0].partition(b" ")
    if scheme.lower() != b"bearer" or not token.is_said(secret.strip()):
        return _WRONG_TOKEN
    return None


def too_long(headers: Iterable[Header]) -> Refusal | None:
    """The refusal of a body by its declared length."""
    for length in values(headers, b"content-length"):
        if not length.isdigit():
            return _NO_LENGTH
        if len(length) > 18 or int(length) > LIMIT:
            return TOO_LONG
    return None


def bracketed(host: str) -> str:
    """A host as it is written in a URL."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return f"[{address.compressed}]" if isinstance(address, IPv6Address) else address.compressed


def is_loopback(host: str) -> bool:
    """True if only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _checked(name: str) -> str:
    """A name that a client may use, in lowercase."""
    lower = name.lower()
    if not _NAME.fullmatch(lower) or ".." in lower:
        raise errors.Refused(
            f"{name[:60]!r} is not a host name; write it like memory.example.org or memory.example.org:8443", "name"
        )
    return lower


def values(headers: Iterable[Header], name: bytes) -> list[bytes]:
    """The values of a header, whose name is in lowercase."""
    return [value for key, value in headers if key == name]


async def body_of(receive: Receive) -> tuple[bytes, Receive] | None:
    """A body, and the way to it for who reads it next; None if it exceeds the limit."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body), _again(message, receive)
        body += message.get("body", b"")
        if len(body) > LIMIT:
            return None
        more = message.get("more_body", False)
    whole = bytes(body)
    return whole, _again({"type": "http.request", "body": whole, "more_body": False}, receive)


def _again(first: Any, then: Receive) -> Receive:
    """The same stream, with what was read already in front."""
    waiting = [first]

    async def next_one() -> Any:
        return waiting.pop() if waiting else await then()

    return next_one


_STATUS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], HTTPStatus], ...] = (  # the first that matches
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.KeyReused, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.NeedsApproval, HTTPStatus.ACCEPTED),  # nothing was changed yet; a review is pending
    (errors.NotApproved, HTTPStatus.FORBIDDEN),
    ((errors.NotWritable, errors.UnknownVersion, errors.Closed), HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.Refused, HTTPStatus.BAD_REQUEST),
    (errors.Moved, HTTPStatus.CONFLICT),
    ((errors.Busy, errors.Unfinished, errors.Damaged), HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: errors.TallystickError) -> HTTPStatus:
    """The status of an answer about this error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def allowed(routes: Iterable[BaseRoute], request: Request) -> str:
    """The value of `Allow` for an address: the methods of all routes that lead there."""
    found: set[str] = set()
    for route in routes:
        if route.matches(request.scope)[0] != Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return ", ".join(sorted(found))
