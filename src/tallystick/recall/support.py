"""Support of a memory besides its likeness to the question: confidence, freshness, edges, use, sources.

    recency         fades with the hours worked since it was last stated or used
    reinforcement   how often it was, relative to the most used candidate
    centrality      the weight of its edges, relative to the candidate with most; what is new has had no time for any
    corroboration   how many sources state it
    trust, path     whose word it is, and whether it was learned on the path that asks
    outcomes        good and bad results of using it; they reorder what answers, and let nothing else in
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.rows import FAITH
from tallystick.projections.index.search import SourceRow

Floats = NDArray[np.float64]

_FRESH = 1.0  # hours of work within which a block counts as new
_NEWCOMER = 0.3  # the centrality of what is new
_MANY = 5  # sources beyond which another adds nothing

_WORD = {"human": 1.0, "agent": 0.97, "import": 0.97, "tool": 0.9, "web": 0.85}
_ELSEWHERE = 0.97  # what was learned on another path than the one that asks
_REPEATED = 0.8  # an echo of what recall served ranks below what it repeats
_BY_VOICES = 0.05
_BY_STATE = 0.02  # how much confidence, freshness and use move what is otherwise equal
_BY_OUTCOME = 0.15  # how much the outcomes of using it can


class State(NamedTuple):
    """The columns of a block that recall uses."""

    block: str
    content: str
    confidence: float
    reinforced: int
    decay: float
    last: float  # active hours at which it was last stated or used


class Support(NamedTuple):
    """Support of the candidates, a number from 0 to 1 for each of them."""

    confidence: Floats
    recency: Floats
    centrality: Floats
    reinforcement: Floats
    corroboration: Floats


def support_of(
    states: Sequence[State], sources: Sequence[Sequence[SourceRow]], now: float, degree: Mapping[str, float]
) -> Support:  # fmt: skip
    blocks, _, confidence, reinforced, decay, last = zip(*states, strict=True)
    hours = np.maximum(now - np.array(last, dtype=float), 0.0)
    stated = [sum(not source.echo for source in each) for each in sources]  # an echo counts for nothing
    voices = np.log(np.maximum(np.array(stated, dtype=float), 1.0))
    limit = max(degree.values(), default=0.0)
    central = np.array([degree.get(block, 0.0) for block in blocks]) / limit if limit else np.zeros(len(blocks))
    return Support(
        np.array(confidence, dtype=float),
        recencies(np.array(decay, dtype=float), hours),
        np.where(hours <= _FRESH, np.maximum(central, _NEWCOMER), central),
        shares(np.array(reinforced, dtype=float)),
        np.minimum(voices / math.log(_MANY), 1.0),
    )


def recencies(decay: Floats, hours: Floats) -> Floats:
    """`decay.recency` for many blocks at once."""
    found: Floats = np.exp(-np.maximum(decay, 0.0) * np.maximum(hours, 0.0))
    return found


def shares(counts: Floats) -> Floats:
    """`decay.share` for many blocks at once, relative to the one of them that was reinforced most."""
    limit = float(counts.max(initial=0.0))
    found: Floats = np.log1p(np.maximum(counts, 0.0)) / math.log1p(limit) if limit > 0 else counts * 0.0
    return np.minimum(found, 1.0)


def weighed(weights: Mapping[str, float], likeness: Floats, support: Support) -> Floats:
    """The five signals by a frame's weights."""
    total = np.zeros(len(likeness))
    for name, weight in weights.items():
        total += weight * (likeness if name == "similarity" else getattr(support, name))
    return total / sum(weights.values())


def backing(support: Support, sources: Sequence[Sequence[SourceRow]], path: str) -> Floats:
    """The factor of each score for who states it, and for its state."""
    word = np.array([_word(said[0]) if len(said) == 1 else max(map(_word, said)) for said in sources])
    if path:
        word = word * np.array([1.0 if any(s.path == path for s in said) else _ELSEWHERE for said in sources])
    state = support.confidence + support.recency + support.reinforcement
    raised: Floats = word * (1 + _BY_VOICES * support.corroboration + _BY_STATE * state)
    return raised


def proven(proofs: Mapping[str, tuple[float, float]], blocks: Sequence[str]) -> Floats:
    """The factor of each score for the outcomes of using it: how much was good, and how much bad."""
    lean = np.zeros(len(blocks))
    for place, block in enumerate(blocks) if proofs else ():
        good, bad = proofs.get(block, (0.0, 0.0))
        lean[place] = (good - bad) / (good + bad + FAITH)
    moved: Floats = 1 + _BY_OUTCOME * lean
    return moved


def _word(source: SourceRow) -> float:
    return _WORD[source.trust] * _REPEATED if source.echo else _WORD[source.trust]


def degrees(edges: Iterable[tuple[str, str, float]], blocks: Sequence[str]) -> dict[str, float]:
    """The weight of the edges of each block. An edge of two of them may be listed twice, and counts once."""
    mine = set(blocks)
    found: dict[str, float] = {}
    for one, other, weight in set(edges):
        for end in {one, other} & mine:
            found[end] = found.get(end, 0.0) + weight
    return found
