"""Frames that were filled a moment ago, for as long as their own cache allows and nothing they were made from changed.

A frame is served again only if no event changed what is remembered (receipts do not), nothing has expired since, and
its time is not up, by the process's own clock and by the one that tells the date: the first stands still while a
machine sleeps, and the second may be set back. It is kept in this process alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from tallystick.records.filled_frame import FilledFrame

_MOST = 64


class _Kept(NamedTuple):
    mark: tuple[int, str]  # the last event that changed content
    until: float  # by the process's own clock
    seconds: float  # for which it may be kept
    since: str
    expires: str  # when the next memory expires; empty: none does
    framed: FilledFrame
    served: list[str]


class FrameCache:
    """A few filled frames, by all that was asked."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._kept: dict[str, _Kept] = {}

    def get(self, key: str, mark: tuple[int, str], now: str) -> tuple[FilledFrame, list[str]] | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.mark != mark or self._is_over(kept, now) or (kept.expires and kept.expires <= now):
            del self._kept[key]
            return None
        return kept.framed, list(kept.served)

    def put(
        self, key: str, mark: tuple[int, str], seconds: float, since: str, expires: str, framed: FilledFrame,
        served: list[str],
    ) -> None:  # fmt: skip
        if len(self._kept) >= _MOST:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = _Kept(mark, self._ticks() + seconds, seconds, since, expires, framed, list(served))

    def _is_over(self, kept: _Kept, now: str) -> bool:
        passed = (datetime.fromisoformat(now) - datetime.fromisoformat(kept.since)).total_seconds()
        return self._ticks() >= kept.until or not 0 <= passed < kept.seconds
