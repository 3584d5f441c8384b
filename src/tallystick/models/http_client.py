"""HTTP client for one POST to a model server, with retries.

The key leaves this machine in one header, to one address, encrypted (or over the loopback, unencrypted): no redirect is
followed, and it is in no error, however the server may echo it. A server that is busy, failing or silent is asked
again, each time later; after the last time that is `Busy`. An answer is read to a limit of bytes and of time; where a
time is given `within` which all must be done, no attempt begins and no pause is made beyond it.

The standard library does all of this. A client package would add dependencies to save about forty lines.
"""

import time
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from math import inf
from ssl import SSLCertVerificationError
from typing import Any, Never
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from tallystick.models.embedding import one_line, unavailable
from tallystick.records.errors import Busy, Refused

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_FIRST_WAIT, _LONGEST_WAIT, _SHORTEST = 0.5, 30.0, 0.001  # seconds
_CHUNK = 1 << 16
_QUOTED = 1 << 12  # bytes of a server's error message


class _Again(Exception):
    """A failure that may be gone next time; `after` is the server's Retry-After, in seconds."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class Declined(Refused):
    """A refusal of the server with an HTTP `status`."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    """No redirects: they would carry the key to another server."""

    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None


class HttpClient:
    """The client for one model of the server at `url`, and what is `below` that address."""

    def __init__(
        self, url: str, model: str, key: str, *, below: str, timeout: float, attempts: int,
        sleep: Callable[[float], None],
    ) -> None:  # fmt: skip
        if not model or not model.isprintable():
            raise Refused("an endpoint needs the name of its model: https://host/v1#model", "required")
        self.url, self._key = address(url, below=below), key.strip()  # read from a file, it ends in a newline
        if not (self._key.isascii() and self._key.isprintable()):
            raise Refused("the endpoint's key has characters that no header can carry; copy it again")
        self._timeout, self._attempts, self._sleep = timeout, attempts, sleep
        # a proxy is used for other machines, never for this one, where it would see the key in clear
        proxies = ProxyHandler({}) if is_loopback(self.url.hostname or "") else ProxyHandler()
        self._opener = build_opener(_NoRedirect, proxies)

    @property
    def place(self) -> str:
        """The address for messages: without a query, which might hold a secret."""
        return self.url._replace(query="").geturl()

    def post(self, body: bytes, *, limit: int, within: float = inf) -> bytes:
        """The server's answer to a JSON `body`, if that is `limit` bytes or fewer and comes `within` seconds."""
        asked, end = 0, time.monotonic() + within
        while True:
            left = end - time.monotonic()
            try:
                return self._once(body, limit, max(min(self._timeout, left), _SHORTEST))
            except _Again as error:
                asked += 1
                wait = min(max(error.after, _FIRST_WAIT * 2 ** (asked - 1)), _LONGEST_WAIT)
                if asked >= self._attempts or time.monotonic() + wait >= end:
                    times = "1 attempt" if asked == 1 else f"{asked} attempts"
                    raise Busy(f"{self.place}: {error} ({times}); try again later") from None
                self._sleep(wait)

    def _once(self, body: bytes, limit: int, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "tallystick"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self.url.geturl(), data=body, headers=headers, method="POST")
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return self._read(response, limit, deadline)
        except HTTPError as error:
            with error:
                self._complain(error)
        except (HTTPException, OSError) as error:
            cause = error.reason if isinstance(error, URLError) else error
            if isinstance(cause, SSLCertVerificationError):
                raise unavailable(f"{self.place}: its certificate is not trusted ({cause.verify_message})") from None
            raise _Again(self._reason(cause)) from None

    def _read(self, response: HTTPResponse, limit: int, deadline: float) -> bytes:
        parts, size = [], 0
        while chunk := response.read1(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise unavailable(f"{self.place} answers with more than {limit} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError
            parts.append(chunk)
        if response.length:
            raise _Again("the answer was cut off")
        return b"".join(parts)

    def _complain(self, error: HTTPError) -> Never:
        """Raise the error of a status other than 200."""
        status, after = error.code, error.headers.get("Retry-After")
        if status in _AGAIN:
            raise _Again(f"it answers {status}", float(after) if after and after.isascii() and after.isdigit() else 0.0)
        if status in (401, 403):
            raise unavailable(f"{self.place} answers {status}: the key is missing, wrong or not allowed this")
        if 300 <= status < 400:
            raise unavailable(f"{self.place} answers {status}, a redirect, which is not followed; correct the address")
        try:
            message = self._masked(error.read(_QUOTED).decode("utf-8", "replace"))
        except (HTTPException, OSError):
            message = ""
        raise Declined(f"{self.place} answers {status}: {message or 'no reason given'}", status)

    def _reason(self, error: object) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._timeout:g} s"
        if isinstance(error, ConnectionRefusedError):
            return "connection refused"
        return self._masked(str(error)) or type(error).__name__

    def _masked(self, message: str) -> str:
        """A server's message on one line, without the key it may have echoed."""
        return one_line(message.replace(self._key, "…") if self._key else message)


def address(url: str, *, below: str) -> SplitResult:
    """The address of `below` under a base URL: https, or http to this machine; nothing secret in it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise Refused("the endpoint's address is not a URL; it looks like https://host/v1", "name") from None
    if parts.username is not None or parts.password is not None:
        raise Refused(f"the address of {host} contains a name or a password; pass the key on its own")
    if not host or not (url.isascii() and url.isprintable()) or " " in url:
        raise Refused(f"{url!r} is not an endpoint's address; it looks like https://host/v1", "name")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise Refused(f"{host} must be reached by https; http is for this machine only")
    return parts._replace(path=f"{parts.path.rstrip('/')}/{below}", fragment="")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
