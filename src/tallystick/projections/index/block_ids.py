"""The address of a block: one content of one user, on one path. Imports neither SQLAlchemy nor NumPy.

Within the owner's memory the address is the SHA-256 of the content, stripped and in lowercase; its first sixteen
digits are the block's id, as in any index of this layout. Everyone else's name goes into the hash, so that equal words
of two users are two blocks; so does the name of a path, so that the words of a branch are never in the main line. The
prefix has a capital letter, which no normalised content has, so no text of the owner's can spell another user's
address, or a path's.

Sixteen digits may collide. The whole address of a block is computed again from its content, and a block whose id is
taken by another address takes the next sixteen digits of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused

DIGITS = 16


def address(content: str, user: str = OWNER, path: str = "") -> str:
    """The 64 hexadecimal digits of one content of one user, on one path."""
    normalised = content.strip().lower()
    if path:
        normalised = f"P{len(user)}:{len(path)}:{user}{path}:{normalised}"
    elif user != OWNER:
        normalised = f"U{len(user)}:{user}:{normalised}"
    return sha256(normalised.encode("utf-8")).hexdigest()


def ids_for(whole: str) -> Iterator[str]:
    """The ids that a block at this address may have, in the order in which they are tried."""
    for start in range(0, len(whole), DIGITS):
        yield whole[start : start + DIGITS]
    yield whole


def content_hash(content: str) -> str:
    """The id of elfmem's block with this content: 64 bits, enough to tell 50,000 blocks apart."""
    try:
        return address(content)[:DIGITS]
    except UnicodeEncodeError:
        raise Refused("content holds a lone surrogate, which UTF-8 cannot encode; decode it again", "text") from None
