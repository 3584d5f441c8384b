"""One SHA-256 over all that decides a vector."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path


def digest_of(*parts: str | bytes | Path) -> str:
    """The digest of texts, bytes and the content of files, in this order. Where a file lies does not matter."""
    whole = sha256()
    for part in parts:
        whole.update(_digest(part))
    return whole.hexdigest()


def _digest(part: str | bytes | Path) -> bytes:
    if isinstance(part, Path):
        with part.open("rb") as file:
            return file_digest(file, "sha256").digest()
    return sha256(part.encode() if isinstance(part, str) else part).digest()
