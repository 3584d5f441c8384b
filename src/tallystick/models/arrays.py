"""From texts to rows, the part that is the same for every embedder.

A model is never asked about a blank text, and what it answers is looked at: the right shape, finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tallystick.records.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BYTES_PER_TOKEN = 4  # of English, in the usual vocabularies


def rows_for(texts: Sequence[str], dimensions: int, model: Callable[[list[str]], NDArray[Any]]) -> NDArray[np.float32]:
    """A row for each text: zeros for the blank, and for the others what `model` says, made length one."""
    import numpy as np

    if isinstance(texts, str):
        raise Refused("embed takes a list of texts; put the one text into a list")
    given = [readable(text) for text in texts]
    said = [place for place, text in enumerate(given) if text]
    rows = np.zeros((len(given), dimensions), dtype=np.float32)
    if said:
        answer = model([given[place] for place in said])
        if answer.shape != (len(said), dimensions):
            raise Refused(
                f"the model gave vectors of shape {answer.shape}, not {(len(said), dimensions)}", "unavailable"
            )
        rows[said] = unit(answer)
    return rows


def readable(text: str) -> str:
    """`text` as any model can take it: surrogate pairs joined, lone ones replaced; nothing, if it is blank."""
    if text.isspace():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """The rows, each of length one; a row of zeros stays as it is."""
    import numpy as np

    wide = rows.astype(np.float64)
    if not np.isfinite(wide).all():
        raise Refused("the model gave a vector that holds NaN or infinity; it cannot be used", "unavailable")
    limit = np.abs(wide).max(axis=1, keepdims=True)
    wide /= np.where(limit > 0, limit, 1)  # first, or the squares of great numbers overflow
    length = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return (wide / np.where(length > 0, length, 1)).astype(np.float32)


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` has, where nobody can tell."""
    size = len(readable(text).encode())
    return -(-size // _BYTES_PER_TOKEN)
