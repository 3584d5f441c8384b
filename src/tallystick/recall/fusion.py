"""Fusion: from signals to one score, and to the decision whether anything answers at all.

The weights were learned and ship as data: `weights.json` has a set for each kind of embedder, with the constants that
turn a candidate's bare numbers into the likelihood that it answers. A belief is judged by other numbers than a turn of
a conversation (`rest`), where they were learned. `bench/fusion.py` and `bench/small.py` learn them; nothing here does.

Beliefs and turns of a conversation are judged apart, each kind by its own best: a belief that does not answer says
nothing about the turns after it, nor the other way round. Where a frame asks for what bears on a task, or where
nothing was learned for beliefs, a belief is judged like a turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from tallystick.recall.signals import Measured

_FEW, _MANY = 20, 500  # memories between which the floor rises


@cache
def learned(kind: str) -> dict[str, Any]:
    """The weights for a kind of embedder, the constants of how well something answers, and the floor."""
    every = orjson.loads(Path(__file__).with_name("weights.json").read_bytes())
    found: dict[str, Any] = every[kind]
    return found


def similarity(measured: Measured, kind: str, drop: frozenset[str] = frozenset()) -> NDArray[np.float64]:
    """Weighted sum of each candidate's signals, as a share of the possible sum; not below 0."""
    weights = {name: weight for name, weight in learned(kind)["weights"].items() if name not in drop}
    total = np.zeros(len(measured.blocks))
    for name, weight in weights.items():
        total += weight * measured.signals[name]
    limit = sum(weight for weight in weights.values() if weight > 0)
    shares: NDArray[np.float64] = np.clip(total / limit, 0, 1) if limit else total
    return shares


def fits(measured: Measured, kind: str, *, apart: bool = False) -> NDArray[np.float64]:
    """Likelihood that each candidate answers at all, from 0 to 1; with `apart`, beliefs by numbers of their own."""
    constants, signals, rest = learned(kind)["fit"], measured.signals, measured.rest
    turns = _sum(constants, {"words": signals["words"], "near": measured.near, "date": signals["date"]})
    if apart:
        own = learned(kind)["belief"]
        beliefs = {"rest": np.sqrt(rest.covers), "near": rest.near, "others": rest.others, "nobody": rest.nobody}
        turns = np.where(rest.alone, _sum(own, beliefs) + constants["date"] * signals["date"], turns)
    sure: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(turns, -60, 60)))
    return sure


def _sum(constants: Mapping[str, float], values: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    total = np.full(len(next(iter(values.values()))), float(constants["bias"]))
    for name, each in values.items():
        total += constants[name] * each
    return total


def least_of(kind: str, *, of_beliefs: bool = False) -> float:
    """The least likelihood of a hit, however good the others are."""
    return float(learned(kind)["belief_floor"]["few"] if of_beliefs else learned(kind)["floor"]["hit"])


def floor_of(kind: str, size: int) -> float:
    """The floor below which nothing fits. Among few memories the right one often scores low."""
    return _between(learned(kind)["floor"], size)


def floor_of_beliefs(kind: str, size: int) -> float | None:
    """The floor for beliefs; None where nothing was learned for them."""
    floor = learned(kind).get("belief_floor")
    return _between(floor, size) if floor else None


def _between(floor: Mapping[str, float], size: int) -> float:
    share = math.log(max(size, 1) / _FEW) / math.log(_MANY / _FEW)
    return float(floor["few"] + (floor["many"] - floor["few"]) * min(max(share, 0.0), 1.0))


_BESIDE = 0.5  # of the best belief's: what is less likely than that is noise


class Floors(NamedTuple):
    """The likelihoods below which nothing fits."""

    turns: float
    beliefs: float | None = None  # None: they are judged like turns


class Judged(NamedTuple):
    """Likelihood of each candidate, and which may be answers; `fit` and `floor` are those of `best`."""

    sure: NDArray[np.float64]
    reached: NDArray[np.bool_]
    best: int
    fit: float
    floor: float

    def better(self, other: Judged) -> Judged:
        """Of the same candidates for two questions that mean the same: what answers either."""
        first, second = (self, other) if self.fit - self.floor >= other.fit - other.floor else (other, self)
        return first._replace(sure=np.maximum(first.sure, second.sure), reached=first.reached | second.reached)


def judge(
    measured: Measured, kind: str, order: Sequence[int], floors: Floors, counts: NDArray[np.float64] | float = 1.0,
    among: NDArray[np.bool_] | bool = True,
) -> Judged:  # fmt: skip
    """Judge the candidates. `order` is all of them, best first; if none reaches its floor, the first is `best`.

    `counts` is the share of each one's likeness that counts; only those `among` can be answers.
    """
    apart = floors.beliefs is not None
    sure = fits(measured, kind, apart=apart) * counts
    alone = measured.rest.alone & apart
    named = ~(measured.rest.others | measured.rest.nobody)
    reached = np.zeros(len(order), dtype=np.bool_)
    for mine, floor in ((~alone & among, floors.turns), (alone & among, floors.beliefs or 0.0)):
        # A kind is judged by its best; if one has a name that the question has, by the best of those.
        first = next((place for wanted in (mine & named, mine) for place in order if wanted[place]), None)
        if first is not None and sure[first] >= floor:
            least = least_of(kind, of_beliefs=bool(alone[first]))
            beside = _BESIDE * sure[first] if alone[first] and floor >= least else 0.0
            reached |= mine & (sure >= max(min(floor, least), beside))
    best = next((place for place in order if reached[place]), order[0])
    return Judged(sure, reached, best, float(sure[best]), (floors.beliefs or 0.0) if alone[best] else floors.turns)
