"""Recency and reinforcement of blocks: both from 0 to 1, whatever the rows say.

A block fades with the hours that were worked since it was last stated or used, not with the calendar. Negative hours
(a clock that was set back, a row from elsewhere) count as none, so nothing is fresher than fresh.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def recency(decay: float, hours: float) -> float:
    """Freshness of a block, `hours` of work after it was last reinforced."""
    return math.exp(-max(decay, 0.0) * max(hours, 0.0))


def share(count: int, limit: int) -> float:
    """Reinforcement of a block, relative to the one that was reinforced most; 0 where none was."""
    if limit <= 0 or count <= 0:
        return 0.0
    return min(math.log1p(count) / math.log1p(limit), 1.0)


def recencies(decay: NDArray[np.float64], hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """`recency` for many blocks at once."""
    import numpy as np

    found: NDArray[np.float64] = np.exp(-np.maximum(decay, 0.0) * np.maximum(hours, 0.0))
    return found


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """`share` for many blocks at once, relative to the one of them that was reinforced most."""
    import numpy as np

    limit = float(counts.max(initial=0.0))
    found: NDArray[np.float64] = np.log1p(np.maximum(counts, 0.0)) / math.log1p(limit) if limit > 0 else counts * 0.0
    return np.minimum(found, 1.0)
