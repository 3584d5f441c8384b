"""Logging in to the page: a link that works once, and a cookie that stands for it from then on.

Both are made of the token and of nothing that is kept: whoever has the token can make a link, so that
`tallystick serve --link` makes one without a word to the server; a session outlives a restart, and all of them end when
another token is made.

    code     when it was made, a word of its own, and a seal over both and the port. Good once, for ten minutes, and
             only for a server that was running when it was made: one that starts anew knows no code that was used
    cookie   a name of its own, until when it lasts, and a seal over both. For scripts it is not to be seen, other sites
             cannot send it, and its name holds the port, because a browser gives cookies to every port of a machine
    csrf     a seal over the session's name: the word that its forms carry

A session that is ended by logging out is refused until the server ends; its cookie is gone from the browser that held
it. To end every session for good: `tallystick serve --new-token`.
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

_AHEAD = 5.0  # seconds that a clock may have been set back between making a link and using it
_ENDED = 4096  # sessions that are remembered as ended
_LONG = 200  # letters; whatever is longer is none of ours

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who has logged in."""

    id: str
    until: int
    csrf: str


class Sessions:
    """Who may see the page of one server. `since` is when that started."""

    def __init__(self, token: Token, port: int, *, clock: Clock = time.time) -> None:
        self._token, self._port, self._clock = token, port, clock
        self._since = clock()
        self._used: dict[str, float] = {}  # words of codes, until when each would be good
        self._ended: dict[str, int] = {}  # sessions, until when each would have lasted
        self.cookie_name = f"tallystick-{port}"

    # -- codes -------------------------------------------------------------------------------------------------------

    def code(self) -> str:
        """A code that logs somebody in once."""
        return made_code(self._token, self._port, self._clock())

    def takes(self, code: str) -> bool:
        """Whether that code logs somebody in. It does so once."""
        now = self._clock()
        when, word, seal = _parts(code)
        if not _is_sealed(self._token, "code", f"{when}.{word}.{self._port}", seal):
            return False
        made = int(when) / 1000
        if not (max(self._since, now - CODE_LASTS) <= made + 0.001 and made <= now + _AHEAD) or word in self._used:
            return False
        self._used = {each: until for each, until in self._used.items() if until > now}
        self._used[word] = made + CODE_LASTS + _AHEAD
        return True

    def is_token(self, said: str) -> bool:
        """Whether that is the token itself, as somebody pastes it."""
        words = said.strip().removeprefix("Bearer ").strip()
        return self._token.is_said(words.encode("utf-8", "replace"))

    # -- sessions ----------------------------------------------------------------------------------------------------

    def begin(self) -> tuple[Session, str]:
        """A session, and what its cookie holds."""
        id, until = secrets.token_urlsafe(16), int(self._clock()) + LASTS
        return self._session(id, until), f"{until}.{id}.{_seal(self._token, 'session', f'{until}.{id}')}"

    def of(self, cookies: list[bytes]) -> Session | None:
        """Whose session that is, by the cookies that a browser sent; None, if nobody's."""
        for value in self._values(cookies):
            until, id, seal = _parts(value)
            if _is_sealed(self._token, "session", f"{until}.{id}", seal):
                lasts = int(until)
                if self._clock() < lasts and id not in self._ended:
                    return self._session(id, lasts)
        return None

    def end(self, session: Session) -> None:
        """It opens nothing any more."""
        now = self._clock()
        self._ended = {id: until for id, until in self._ended.items() if until > now}
        while len(self._ended) >= _ENDED:
            self._ended.pop(next(iter(self._ended)))
        self._ended[session.id] = session.until

    def _session(self, id: str, until: int) -> Session:
        return Session(id, until, _seal(self._token, "csrf", id))

    def _values(self, cookies: list[bytes]) -> list[str]:
        """What was sent under our name. A browser may hold several of it, for other paths."""
        found = []
        for line in cookies:
            for part in line.decode("latin-1").split(";"):
                name, _, value = part.strip().partition("=")
                if name == self.cookie_name:
                    found.append(value)
        return found[:4]


def made_code(token: Token, port: int, at: float) -> str:
    """A code for the page of the server at that port, made at that time."""
    said = f"{int(at * 1000)}.{secrets.token_urlsafe(16)}"
    return f"{said}.{_seal(token, 'code', f'{said}.{port}')}"


def _seal(token: Token, what_for: str, said: str) -> str:
    """What only the holder of the token can say about these words. One key for each use."""
    key = digest(token.secret.encode(), f"tallystick page: {what_for}".encode(), sha256)
    return urlsafe_b64encode(digest(key, said.encode(), sha256)).rstrip(b"=").decode()


def _is_sealed(token: Token, what_for: str, said: str, seal: str) -> bool:
    return compare_digest(_seal(token, what_for, said).encode(), seal.encode("utf-8", "replace"))


def _parts(text: str) -> tuple[str, str, str]:
    """A number and two words; of what is none of ours, words that no seal fits."""
    parts = text.split(".") if len(text) <= _LONG and text.isascii() else []
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 and parts[0].isdigit() else ("0", "", "")
