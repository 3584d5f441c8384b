"""What two beliefs must share to be able to contradict one another, as a column of the index."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2s

from tallystick.text.claims import claim_of

_DIGITS = 8


@lru_cache(maxsize=64)  # who states a belief asks for it, and so does the index a moment later
def claim_key(text: str, triple: tuple[str, ...] = ()) -> str | None:
    """A short name for what a belief speaks of; None if it claims nothing that another could deny."""
    claim = claim_of(text, triple)
    return blake2s(claim.key.encode("utf-8", "replace"), digest_size=_DIGITS).hexdigest() if claim else None
