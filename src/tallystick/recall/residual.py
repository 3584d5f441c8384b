"""The rest of a question: what it asks, without whom or what it is asked about. A belief must answer that.

"Ana's blood type?" names Ana and asks for a blood type. A belief that names Ana covers the one and says nothing of the
other, so the name counts for nothing, and the rest has to be covered. A belief is complete by itself: if it names
others, it says nothing of whom the question names. A turn of a conversation is not judged by this: "she moved there in
May" has its names in the turns around it.

A name is what is written like one: with a capital, where other words have none, or with a possessive. Names that the
index knows were taken out of the question before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.vectors.product import steady
from tallystick.text.recall_words import STOP, WORD, without_possessive

Floats = NDArray[np.float32]

_TIMES = frozenset(  # they have capitals, and name nobody
    """
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)
_OF_SEVERAL = ("are", "were", "have", "do")  # "Backups are kept" begins with a capital, and names nobody
_READ = 2_000  # characters of a statement that are searched for names
_THE_SAME = 0.9999


class Rest(NamedTuple):
    """For each candidate: how much of the rest it covers, how near it is to it, and whom it names."""

    covers: Floats
    near: Floats
    others: NDArray[np.bool_]  # the question names somebody, and it names others
    nobody: NDArray[np.bool_]  # the question names somebody, and it names nobody
    alone: NDArray[np.bool_]  # it is a belief


def called_in(asked: str, words: Sequence[str]) -> tuple[int, ...]:
    """The places of those words of a question that are written as names; none, if there are no others."""
    written = _written(asked)
    capitals_tell = any(word[:1].islower() and word not in STOP for word in written)
    names = {
        without_possessive(word.lower()) for at, word in enumerate(written)
        if not _says_nothing(word) and (word.endswith("'s") or (capitals_tell and at > 0 and word[0].isupper()))
    }  # fmt: skip
    places = tuple(at for at, word in enumerate(words) if word in names)
    return places if len(places) < len(words) else ()


def _written(asked: str) -> list[str]:
    return WORD.findall(asked.replace("’", "'"))


def _says_nothing(word: str) -> bool:
    return word.lower() in STOP or word.lower() in _TIMES


def names_someone(text: str) -> bool:
    """True if a statement may name somebody: it has capitals, or begins with one and not with several things."""
    written = _written(text[:_READ])
    several = len(written) > 1 and written[0].endswith("s") and written[1] in _OF_SEVERAL
    return any(word[0].isupper() and not _says_nothing(word) for word in written[several:])


def covers_of_rest(alike: Floats, share: Floats, called: Sequence[int]) -> tuple[Floats, NDArray[np.bool_]]:
    """The share of the question that each candidate covers, without the first name it has; and whether it has one.

    `alike` is a row for each word of the question, and `share` what each of them is worth.
    """
    covered: Floats = steady(alike.T, share).astype(np.float32)
    holds = np.zeros(alike.shape[1], dtype=np.bool_)
    for place in called:
        first = (alike[place] >= _THE_SAME) & ~holds
        left = max(1.0 - float(share[place]), 1e-9)
        covered[first] = np.clip((covered[first] - share[place]) / left, 0, 1)
        holds |= first
    return covered, holds
