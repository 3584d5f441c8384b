"""How signals become one number: weights that were learned, and ship as data.

The weights stand in `weights.json`, a set for each kind of embedder, with the constants that turn the best candidate's
bare numbers into how likely it answers at all. A belief is judged by other numbers than a turn of a conversation
(`rest`), where they were learned. `bench/fusion.py` and `bench/small.py` learn them; nothing here does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
    """How much speaks for each candidate, as a share of all that could; not below 0."""
    weights = {name: weight for name, weight in learned(kind)["weights"].items() if name not in drop}
    total = np.zeros(len(measured.blocks))
    for name, weight in weights.items():
        total += weight * measured.signals[name]
    limit = sum(weight for weight in weights.values() if weight > 0)
    shares: NDArray[np.float64] = np.clip(total / limit, 0, 1) if limit else total
    return shares


def fits(measured: Measured, kind: str, *, apart: bool = False) -> NDArray[np.float64]:
    """How likely each candidate answers at all, from 0 to 1; with `apart`, beliefs by numbers of their own."""
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
    """Below this a candidate is no hit, however good the others are."""
    return float(learned(kind)["belief_floor"]["few"] if of_beliefs else learned(kind)["floor"]["hit"])


def floor_of(kind: str, size: int) -> float:
    """Below this nothing fits. Among few memories the best of them is often a poor one, and still the right one."""
    return _between(learned(kind)["floor"], size)


def floor_of_beliefs(kind: str, size: int) -> float | None:
    """Below this no belief fits; None where nothing was learned for beliefs."""
    floor = learned(kind).get("belief_floor")
    return _between(floor, size) if floor else None


def _between(floor: Mapping[str, float], size: int) -> float:
    share = math.log(max(size, 1) / _FEW) / math.log(_MANY / _FEW)
    return float(floor["few"] + (floor["many"] - floor["few"]) * min(max(share, 0.0), 1.0))
