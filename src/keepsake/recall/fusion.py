"""How signals become one number: weights that were learned, and ship as data.

The weights stand in `weights.json`, a set for each kind of embedder, with the constants that turn the best candidate's
bare numbers into how likely it answers at all. `bench/fusion.py` learns them; nothing here does.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from keepsake.recall.signals import Measured

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
    most = sum(weight for weight in weights.values() if weight > 0)
    shares: NDArray[np.float64] = np.clip(total / most, 0, 1) if most else total
    return shares


def fits(measured: Measured, kind: str) -> NDArray[np.float64]:
    """How likely each candidate answers at all, from 0 to 1."""
    constants, signals = learned(kind)["fit"], measured.signals
    bare = {"words": signals["words"], "near": measured.near, "date": signals["date"]}
    total = np.full(len(measured.blocks), float(constants["bias"]))
    for name, values in bare.items():
        total += constants[name] * values
    sure: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(total, -60, 60)))
    return sure


def least_of(kind: str) -> float:
    """Below this a candidate is no hit, however good the others are."""
    return float(learned(kind)["floor"]["hit"])


def floor_of(kind: str, size: int) -> float:
    """Below this nothing fits. Among few memories the best of them is often a poor one, and still the right one."""
    floor = learned(kind)["floor"]
    share = math.log(max(size, 1) / _FEW) / math.log(_MANY / _FEW)
    return float(floor["few"] + (floor["many"] - floor["few"]) * min(max(share, 0.0), 1.0))
