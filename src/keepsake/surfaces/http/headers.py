"""What every answer of ours carries, so that a browser does nothing with it but show it.

A page may load what we serve, and nothing else: no script that stands in it, no picture from elsewhere, no frame. What
a program asked for is not to be shown at all. Nothing is kept by anybody on the way, unless the answer says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import Message, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_POLICY = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with none at all, a browser calls our own forms nobody's: `Origin: null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Answer:
    """The way of an answer to the client. It knows the status, once the answer has begun; 0 until then."""

    def __init__(self, send: Send, *, is_page: bool) -> None:
        self._send, self._is_page = send, is_page
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=list(message.get("headers", ())))
            for name, value in _ALWAYS.items():
                headers[name] = value
            headers["content-security-policy"] = PAGE_POLICY if self._is_page else _POLICY
            headers.setdefault("cache-control", "private, no-cache" if "etag" in headers else "no-store")
            message = {**message, "headers": headers.raw}
        await self._send(message)
