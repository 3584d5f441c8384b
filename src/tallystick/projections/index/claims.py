"""The claim of a belief, as a column of the index: two must share it to be able to contradict each other."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2s

from tallystick.text.claims import claim_of

_DIGITS = 8


@lru_cache(maxsize=64)  # the writer asks for it, and so does the index a moment later
def claim_key(text: str, triple: tuple[str, ...] = ()) -> str | None:
    """A short name for the topic of a belief; None if it claims nothing that another could deny."""
    claim = claim_of(text, triple)
    return blake2s(claim.key.encode("utf-8", "replace"), digest_size=_DIGITS).hexdigest() if claim else None
