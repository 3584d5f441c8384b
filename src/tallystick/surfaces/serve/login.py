"""Login to the page: a link that works once, and the cookie of the session that it begins.

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

from __future__ import annotations

import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest, digest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.memory.core.token import Token

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
    """The sessions of one server."""

    def __init__(self, token: Token, port: int, *, clock: Clock = time.time) -> None:
        self._token, self._port, self._clock = token, port, clock
        self._since = clock()
        self._used: dict[str, float] = {}  # nonces of codes, until each expires
        self._ended: dict[str, int] = {}  # sessions, until each expires
        self.cookie_name = f"tallystick-{port}"

    # -- codes -------------------------------------------------------------------------------------------------------

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

    # -- sessions ----------------------------------------------------------------------------------------------------

    def begin(self) -> tuple[Session, str]:
        """A new session, and the value of its cookie."""
        id, until = secrets.token_urlsafe(16), int(self._clock()) + LASTS
        return self._session(id, until), f"{until}.{id}.{_mac(self._token, 'session', f'{until}.{id}')}"

    def of(self, cookies: list[bytes]) -> Session | None:
        """The session of the cookies that a browser sent; None if there is none."""
        for value in self._values(cookies):
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

    def _values(self, cookies: list[bytes]) -> list[str]:
        """The values of our cookie. A browser may have several, for other paths."""
        pairs = [part.strip().partition("=") for line in cookies for part in line.decode("latin-1").split(";")]
        return [value for name, _, value in pairs if name == self.cookie_name][:4]


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
