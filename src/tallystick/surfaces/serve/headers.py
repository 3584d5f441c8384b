"""What every answer of ours carries, so that a browser does nothing with it but show it.

A page may load what we serve, and nothing else: no script that stands in it, no picture from elsewhere, no frame. What
a program asked for is not to be shown at all. Nothing is kept by anybody on the way, unless the answer says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_POLICY = "default-src 'none'; frame-ancestors 'none'"


def _always(policy: str) -> list[tuple[bytes, bytes]]:
    told = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",  # without one, a browser calls our own forms nobody's: `Origin: null`
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        "content-security-policy": policy,
    }
    return [(name.encode(), value.encode()) for name, value in told.items()]


_OF_PAGES, _OF_PROGRAMS = _always(PAGE_POLICY), _always(_POLICY)
_OURS = frozenset(name for name, _ in _OF_PAGES)


class Answer:
    """The way of an answer to the client. It knows the status, once the answer has begun; 0 until then."""

    def __init__(self, send: Send, *, is_page: bool) -> None:
        self._send, self._is_page = send, is_page
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            theirs = [(name, value) for name, value in message.get("headers", ()) if name not in _OURS]
            names = {name for name, _ in theirs}
            if b"cache-control" not in names:
                theirs.append((b"cache-control", b"private, no-cache" if b"etag" in names else b"no-store"))
            message = {**message, "headers": theirs + (_OF_PAGES if self._is_page else _OF_PROGRAMS)}
        await self._send(message)
