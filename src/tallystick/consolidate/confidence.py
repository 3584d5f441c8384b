"""Confidence of a fact, from the trust of its source, the number of witnesses, and how firmly it is stated.

    word       what one word of the source is worth: human 0.8, agent and import 0.6, tool 0.45, web 0.3;
               less, if the source states less
    doubt      (1 - word) × (1/2 + 1/(2 × witnesses)): each further witness takes less of it, half of it stays
    confidence (1 - doubt) × (0.6 if hedged) × (how sure the reader is, where words were read)

    witnesses            1      2      3      10     ∞     hedged, 1    read with 0.6, 1
    human                0.8    0.85   0.867  0.89   0.9   0.48         0.48
    agent, import        0.6    0.7    0.733  0.78   0.8   0.36         0.36
    tool                 0.45   0.588  0.633  0.698  0.725 0.27         0.27
    web                  0.3    0.475  0.533  0.615  0.65  0.18         0.18

So no number of agents, tools or pages outweighs one person, and what a person only supposes, or what only a model read
in their words, stays below one half, where recall labels it as unsure. More trust, more witnesses, more firmness
or a surer reader never make it less. Nothing exceeds 0.9.

What this cannot know: whether witnesses really are independent. Count sessions or agents, never repetitions.
"""

from __future__ import annotations

from tallystick.records.policy import RANK

HEDGED = 0.6  # what is left of "I think", "maybe", "probably"

_WORD = {3: 0.8, 2: 0.6, 1: 0.45, 0: 0.3}  # by rank of trust
_LASTING = 0.5  # of the doubt in one word, what no number of witnesses takes away
_MANY = 1_000_000  # more witnesses than this say no more
_PLACES = 4


def earned(
    *, trust: str, witnesses: int, hedged: bool = False, extractor: float = 1.0, stated: float = 1.0
) -> float:  # fmt: skip
    """The confidence of a fact, from 0 to 0.9.

    `witnesses` are independent sources: distinct sessions or agents. `extractor` is the confidence of a reader that the
    words mean this; what metadata states outright was not read. `stated` is the confidence that the source names: it
    may lower what its trust is worth, and cannot raise it.
    """
    word = min(_WORD[RANK[trust]], stated)
    doubt = (1 - word) * (_LASTING + (1 - _LASTING) / min(witnesses, _MANY))
    return round((1 - doubt) * (HEDGED if hedged else 1.0) * extractor, _PLACES)
