"""Recency and reinforcement of blocks: both from 0 to 1, whatever the rows say.

A block fades with the hours that were worked since it was last stated or used, not with the calendar. Negative hours
(a clock that was set back, a row from elsewhere) count as none, so nothing is fresher than fresh.
"""

from __future__ import annotations

import math


def recency(decay: float, hours: float) -> float:
    """Freshness of a block, `hours` of work after it was last reinforced."""
    return math.exp(-max(decay, 0.0) * max(hours, 0.0))


def share(count: int, limit: int) -> float:
    """Reinforcement of a block, relative to the one that was reinforced most; 0 where none was."""
    if limit <= 0 or count <= 0:
        return 0.0
    return min(math.log1p(count) / math.log1p(limit), 1.0)
