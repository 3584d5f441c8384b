"""How much one client may ask for in a time: a bucket for each, that fills at a steady pace.

Whoever has asked too much is told when to come again, and nobody else notices. The number of clients that are known at
a time is bounded: the one that was silent for longest is forgotten, and begins with a full bucket.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil

from tallystick.surfaces.server.guard import Refusal

RATE = 200.0  # requests a second
_BURST = 2  # seconds' worth of requests that may come at once
_WRONG, _WRONG_AT_ONCE = 0.5, 20.0  # keys that are wrong: a second, and at once
_CLIENTS = 4096


class Buckets:
    """A bucket for each client, by any name. Without a `rate`, everything is let through."""

    def __init__(self, rate: float, burst: float | None = None, *, ticks: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._ticks = rate, ticks
        self._most = burst if burst is not None else max(1.0, rate * _BURST)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how much is in it, and when that was

    def wait(self, client: str) -> int:
        """Take one from a client's bucket: 0, or in how many seconds there will be one."""
        if not self._rate:
            return 0
        now = self._ticks()
        left, then = self._left.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        is_enough = left >= 1
        self._left[client] = (left - is_enough, now)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0 if is_enough else max(1, ceil((1 - left) / self._rate))


class Limits:
    """What one server lets its clients ask. Keys that are wrong have a bucket of their own, which is small."""

    def __init__(self, rate: float = RATE) -> None:
        self.usual = Buckets(rate)
        self.wrong = Buckets(_WRONG, _WRONG_AT_ONCE)


def too_often(seconds: int) -> Refusal:
    """The answer to whoever asks too much."""
    return Refusal(429, "that was too much in a short time; ask again later", ((b"retry-after", b"%d" % seconds),))
