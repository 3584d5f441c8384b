"""What is said of those whom the best candidates name: the second step of a question that needs two.

"What number do I ring for whoever fetches the kids?" names nobody. What answers its first half names Carina, and what
else names Carina comes next, after the best, as far as that one answers. A name is a word that some candidate writes
with a capital within a sentence, or somebody's who speaks; one that is everywhere leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.text.aliases import NO_NAME
from tallystick.text.recall_words import words

_BEST = 4  # candidates whose names are followed
_KEPT = {"belief": 3, "episode": 5}  # of the best that stay where they are, by what the first of them is
_WORTH = 0.3  # of the score of the one that names somebody: what the others gain
_BELOW = 0.999  # of the score of the last that stays: what they can reach
_FEW, _OFTEN = 4, 0.1  # candidates that may have a name, or this share of them: else it is everywhere
_LEAST = 3  # characters of a name
_WITHIN = r"[^\s.!?:\"'(][\s,;][\"'(]?{}"  # a sentence: no point, and no quotation begins right before


def by_hops(
    scores: NDArray[np.float64], order: Sequence[int], sources: Sequence[Sequence[SourceRow]], texts: Sequence[str],
    asked: str,
) -> NDArray[np.float64]:  # fmt: skip
    """The scores, with what the candidates gain."""
    low = [text.lower() for text in texts]
    speakers = [_words_of(" ".join(each.agent for each in said if each.agent)) for said in sources]
    nobody, gained, known = NO_NAME.union(words(asked)), np.zeros(len(texts)), dict[str, list[int]]()
    for place in order[:_BEST]:
        for name in (_words_of(low[place]) | speakers[place]) - nobody:
            if name not in known:
                known[name] = _named(name, low, texts, speakers)
            for other in known[name]:
                gained[other] = max(gained[other], scores[place])
    kept = list(order[: _KEPT[sources[order[0]][0].what]])
    moved: NDArray[np.float64] = np.minimum(scores + _WORTH * gained, np.maximum(scores, scores[kept[-1]] * _BELOW))
    moved[kept] = scores[kept]
    return moved


def _words_of(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= _LEAST}


def _named(name: str, low: Sequence[str], texts: Sequence[str], speakers: Sequence[set[str]]) -> list[int]:
    """The places of the candidates with a word that is a name; none, if it is not, or is everywhere."""
    near = [place for place, text in enumerate(low) if name in text or name in speakers[place]]
    written, speaks = name.capitalize(), [place for place in near if name in speakers[place]]
    if len(near) < 2 or not (speaks or any(written in texts[place] for place in near)):
        return []
    whole, within = re.compile(rf"\b{re.escape(name)}(?:['’]?s)?\b"), re.compile(_WITHIN.format(re.escape(written)))
    places = [place for place in near if place in speaks or whole.search(low[place])]
    is_name = bool(speaks) or any(within.search(texts[place]) for place in places)
    return places if is_name and len(places) <= max(_FEW, _OFTEN * len(texts)) else []
