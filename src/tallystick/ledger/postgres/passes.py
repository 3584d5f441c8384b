"""The pass for a ledger: what shows the database that a program may be within it. See `schema.sql`.

Whoever has a key makes passes for any ledger; a program that serves others makes one for whom it has authenticated.
Two keys may be valid at once, so that one can be replaced while programs run.
"""

from __future__ import annotations

import hmac
import os
import re
from typing import NamedTuple

from tallystick.records.errors import Refused

_BLOCK = 64  # bytes of SHA-256
_LEAST = 16
_ID = re.compile(r"[0-9a-z]{1,32}\Z")


class PassKey(NamedTuple):
    """A key by which passes are signed. Its text, `id:hex`, is a secret."""

    id: str
    secret: bytes

    @classmethod
    def generate(cls) -> PassKey:
        return cls(os.urandom(4).hex(), os.urandom(32))

    @classmethod
    def parse(cls, text: str) -> PassKey:
        """The key of its text. Refused, without the text, if it is not one."""
        name, _, digits = text.strip().partition(":")
        try:
            secret = bytes.fromhex(digits)
        except ValueError:
            secret = b""
        if not _ID.match(name) or not _LEAST <= len(secret) <= _BLOCK:
            raise Refused("not a pass key; it looks like 1f00c0de:<64 hex digits>")
        return cls(name, secret)

    def __str__(self) -> str:
        return f"{self.id}:{self.secret.hex()}"

    def pads(self) -> tuple[bytes, bytes]:
        """The inner and outer pads of HMAC: what the database checks with."""
        padded = self.secret.ljust(_BLOCK, b"\0")
        return bytes(each ^ 0x36 for each in padded), bytes(each ^ 0x5C for each in padded)

    def sign(self, subject: str, role: str, expires: int) -> str:
        """A pass for a subject (a ledger's id, or `name:` and its name) and a role in the database, until a second."""
        said = f"{subject}\n{role}\n{expires}".encode()
        return f"{self.id}.{expires}.{hmac.digest(self.secret, said, 'sha256').hex()}"
