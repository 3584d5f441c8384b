"""How use and disuse count: both from 0 to 1, whatever the rows say.

A block fades with the hours that were worked since it was last said or used, not with the calendar. Hours that come
out negative (a clock that was set back, a row from elsewhere) count as none, so nothing is fresher than fresh.
"""

from __future__ import annotations

import math


def recency(decay: float, hours: float) -> float:
    """How fresh a block is, `hours` of work after it was last reinforced."""
    return math.exp(-max(decay, 0.0) * max(hours, 0.0))


def share(count: int, most: int) -> float:
    """How often a block was reinforced, against the one that was most often; where none was, nothing."""
    if most <= 0 or count <= 0:
        return 0.0
    return min(math.log1p(count) / math.log1p(most), 1.0)
