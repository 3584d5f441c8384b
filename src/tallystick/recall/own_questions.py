"""A question that was asked before is no answer to itself.

Whoever records conversations records questions, and nothing resembles a question more than the same one. A text that
only asks, and says nothing beyond the question's own words, cannot answer it; it stands behind whatever may.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tallystick.recall.question import Question
from tallystick.recall.signals import Measured
from tallystick.recall.support import State
from tallystick.text.recall_words import stem, telling

_ONLY_ASKED = 0.1  # what is left of its likeness
_WHOLLY = 0.99


def as_answers(question: Question, measured: Measured, states: Mapping[str, State]) -> NDArray[np.float64]:
    """For each candidate what share of its likeness counts: all of it, unless it only asks what is asked."""
    shares = np.ones(len(measured.blocks))
    known = {stem(word) for word in telling(question.asked)}
    for place in np.flatnonzero(measured.signals["asks"] >= _WHOLLY).tolist():
        if known.issuperset(map(stem, telling(states[measured.blocks[place]].content))):
            shares[place] = _ONLY_ASKED
    return shares
