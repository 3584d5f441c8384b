"""Vectors as the index stores them: little-endian float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.records.errors import Damaged, Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[Any]

_FLOAT32 = "<f4"
_BYTES = 4


def embedding_to_bytes(vec: Vector) -> bytes:
    """Convert a vector to bytes for storage. NaN, infinity, an empty vector or a matrix is refused."""
    import numpy as np

    given = np.asarray(vec)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise Refused(f"an embedding is a vector of numbers, not {given.dtype} of shape {given.shape}")
    with np.errstate(over="ignore"):  # too great for 32 bits: infinite, and refused with the others
        floats = given.astype(_FLOAT32)
    if not np.isfinite(floats).all():
        raise Refused("an embedding contains finite numbers only; this one has NaN or infinity")
    return floats.tobytes()


def bytes_to_embedding(data: bytes) -> NDArray[np.float32]:
    """Convert stored bytes back to a vector, which is read-only: copy it to change it."""
    import numpy as np

    if not data or len(data) % _BYTES:
        raise Damaged(f"an embedding of {len(data)} bytes is not made of {_BYTES}-byte floats; embed the block again")
    return np.frombuffer(data, dtype=_FLOAT32)
