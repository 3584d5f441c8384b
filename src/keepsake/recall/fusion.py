"""How signals become one number: weights that were learned, and ship as data.

The weights stand in `weights.json`, a set for each kind of embedder, with the constants that turn the best candidate's
bare numbers into how likely it answers at all. `bench/fusion.py` learns them; nothing here does.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from keepsake.recall.signals import Measured

_FEW, _MANY = 20, 500  # memories between which the floor rises


@cache
def learned(kind: str) -> dict[str, Any]:
    """The weights for a kind of embedder, the constants of how well something answers, and the floor."""
    every = orjson.loads(files("keepsake.recall").joinpath("weights.json").read_bytes())
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


def fits(measured: Measured, best: int, kind: str) -> float:
    """How likely the best candidate answers at all, from 0 to 1."""
    constants = learned(kind)["fit"]
    signals = measured.signals
    bare = {"words": signals["words"][best], "near": measured.near[best], "date": signals["date"][best]}
    total = constants["bias"] + sum(constants.get(name, 0.0) * float(value) for name, value in bare.items())
    return 1 / (1 + math.exp(-max(min(total, 60.0), -60.0)))


def floor_of(kind: str, size: int) -> float:
    """Below this nothing fits. Among few memories the best of them is often a poor one, and still the right one."""
    floor = learned(kind)["floor"]
    share = math.log(max(size, 1) / _FEW) / math.log(_MANY / _FEW)
    return float(floor["few"] + (floor["many"] - floor["few"]) * min(max(share, 0.0), 1.0))
