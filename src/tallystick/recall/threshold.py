"""Whether anything answers at all: how likely each candidate does, and which of them reach their floor.

Beliefs and turns of a conversation are judged apart, each kind by its own best: a belief that does not answer says
nothing about the turns behind it, nor the other way round. Where a frame asks for what bears on a task, or where
nothing was learned for beliefs, a belief is judged like a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.recall.fusion import fits, least_of
from tallystick.recall.signals import Measured

_BESIDE = 0.5  # of the best belief's: what is less likely than that is noise beside it


class Floors(NamedTuple):
    """Below which nothing fits."""

    turns: float
    beliefs: float | None = None  # None: they are judged like turns


class Judged(NamedTuple):
    """How likely each candidate answers, and whether it may be an answer; `fit` and `floor` are those of `best`."""

    sure: NDArray[np.float64]
    reached: NDArray[np.bool_]
    best: int
    fit: float
    floor: float


def judge(
    measured: Measured, kind: str, order: Sequence[int], floors: Floors, counts: NDArray[np.float64] | float = 1.0,
    among: NDArray[np.bool_] | bool = True,
) -> Judged:  # fmt: skip
    """Judge the candidates. `order` is all of them, the best first; if none reaches its floor, the first is `best`.

    `counts` is what share of each one's likeness counts; only those `among` can be answers.
    """
    apart = floors.beliefs is not None
    sure = fits(measured, kind, apart=apart) * counts
    alone = measured.rest.alone & apart
    reached = np.zeros(len(order), dtype=np.bool_)
    for mine, floor in ((~alone & among, floors.turns), (alone & among, floors.beliefs or 0.0)):
        first = _leading(measured, order, mine)
        if first is not None and sure[first] >= floor:
            least = least_of(kind, of_beliefs=bool(alone[first]))
            beside = _BESIDE * sure[first] if alone[first] and floor >= least else 0.0
            reached |= mine & (sure >= max(min(floor, least), beside))
    best = next((place for place in order if reached[place]), order[0])
    return Judged(sure, reached, best, float(sure[best]), (floors.beliefs or 0.0) if alone[best] else floors.turns)


def _leading(measured: Measured, order: Sequence[int], mine: NDArray[np.bool_]) -> int | None:
    """The best of a kind, by which it is judged; if one holds a name that the question has, the best of those."""
    named = ~(measured.rest.others | measured.rest.nobody)
    among = (place for wanted in (mine & named, mine) for place in order if wanted[place])
    return next(among, None)
