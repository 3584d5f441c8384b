"""The token that opens a memory over HTTP: made once, kept among this user's files, never shown.

It lies beside the signing keys and not in the memory folder. A folder is backed up, copied and sent away; such a copy
must not open the live memory. There is one token for each ledger, so that a client of one memory cannot open another,
and a folder that is moved keeps its own; and within it one for each user. No file name contains a user's name.

The file is complete or absent, and for its owner alone (mode 0600). One that others can read is refused: anybody may
have read it. A crash while a new one is made leaves the old one.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from tallystick.ledger.checkpoint import safe_name
from tallystick.ledger.disk import Disk, ensure_folder, replace
from tallystick.ledger.lock import Lock
from tallystick.memory import settings
from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused

_BYTES = 32
_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_RENEW = "`tallystick mcp --http --new-token` makes a new one"


@dataclass(frozen=True, slots=True)
class Token:
    """A secret of 256 bits, and the file that holds it."""

    path: Path
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if not _SHAPE.fullmatch(self.secret):
            raise Refused(f"{self.path} contains no token; {_RENEW}", "file")

    def is_said(self, by: bytes) -> bool:
        """Whether these are its bytes, compared in constant time."""
        return compare_digest(self.secret.encode(), by)


def token_of(ledger: str, user: str = OWNER) -> Token:
    """The token that opens a user's memory in a ledger, made on first use."""
    path = _path(ledger, user)
    if not path.exists():
        return _made(path, renew=False)
    if path.stat().st_mode & 0o077:
        raise Refused(f"{path} can be read by other users; {_RENEW}", "place")
    return _read(path)


def new_token(ledger: str, user: str = OWNER) -> Token:
    """A new token for a user of a ledger. Servers that start from now on refuse the old one."""
    return _made(_path(ledger, user), renew=True)


def _path(ledger: str, user: str) -> Path:
    whose = "" if user == OWNER else f"-{sha256(user.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return settings.tokens_folder() / f"{safe_name(ledger)}{whose}.token"


def _made(path: Path, *, renew: bool) -> Token:
    """The token at `path`, made if there is none, or to `renew` it."""
    disk = Disk()
    ensure_folder(disk, path.parent)
    lock = Lock(path.parent / "lock", disk, timeout=30.0)
    try:
        with lock.exclusive():
            if renew or not path.exists():
                path.with_name(f"{path.name}.new").unlink(missing_ok=True)  # what a crash left may have any mode
                replace(disk, path, secrets.token_urlsafe(_BYTES).encode() + b"\n")
            return _read(path)
    finally:
        lock.close()


def _read(path: Path) -> Token:
    return Token(path, path.read_bytes().decode("ascii", "replace").strip())
