"""What makes two texts the same block. Imports neither SQLAlchemy nor NumPy."""

from __future__ import annotations

import hashlib

from tallystick.records.errors import Refused


def content_hash(content: str) -> str:
    """The id of the block with this content: the first 16 hex digits of the SHA-256 of the normalised text.

    Normalised: white space at both ends removed, all lower case. 64 bits are enough to tell 50,000 blocks apart.
    """
    normalised = content.strip().lower()
    try:
        encoded = normalised.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("content holds a lone surrogate, which no UTF-8 can carry; decode it anew", "text") from None
    return hashlib.sha256(encoded).hexdigest()[:16]
