"""The newer of two statements that say something else of the same thing, before the older one.

"The rent is 900 now" comes before "the rent is 800", though a question resembles the older one more: if it is nearly as
good an answer, holds the kind of value that is asked for, and shares with the older one what is asked and what it is
about. Nothing is decided here for good: what is outdated for one question answers another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.recall.question import Question
from tallystick.text.dates.find import Span
from tallystick.text.recall_words import stem, telling
from tallystick.text.values import asked_kinds, asks_of_before, kinds_of, says_change, values_in

REACH = 14  # the best candidates, of which any may be the newer one
_OLDER = 6  # and of which any may be the older
_NEARLY = 0.6  # of the older one's score
_WORDS, _NEAR, _KIND, _CHANGE = 0.7, 0.4, 0.12, 0.15  # what shared words, nearness, a kind of value and a change count
_LEAST_WORDS = 4.0  # the weight of words that a short statement counts for
_SURE, _LIKELY, _MAYBE = 0.9, 0.55, 0.45  # of one thing: whatever is asked; with some of what is asked; with most of it
_SOME, _MOST = 0.4, 0.6
_ABOVE, _BELOW = 0.01, 0.05  # of the best score: how far the newer one is put above the older, and that one below
_LONG_GONE = timedelta(180)
_OUTSIDE = ("tool", "web")  # what they say passes nobody else's word

Weight = Callable[[Iterable[str]], float]


@dataclass(frozen=True, slots=True)
class Statement:
    """What is read of a candidate to compare it with another."""

    at: tuple[str, int]
    source: SourceRow
    words: frozenset[str]  # by their stems
    values: frozenset[str]
    stated: frozenset[str]  # the values themselves
    is_change: bool

    @classmethod
    def of(cls, source: SourceRow, text: str) -> Statement:
        when, said = (source.happened or source.at, source.since_seq), frozenset(map(stem, telling(text)))
        return cls(when, source, said, kinds_of(text), values_in(text), says_change(text))


def newer_first(
    question: Question, scores: NDArray[np.float64], order: Sequence[int], statements: Sequence[Statement],
    near: NDArray[np.float32], rare: Mapping[str, float], now: datetime,
) -> dict[int, int]:  # fmt: skip
    """Put the newer of the best candidates above the older, in `scores`: for each that moved, the one that it passed.

    `order` begins with the best, `statements` are those, and `near` is how near they are to one another. `rare` is how
    rare words are, by their stems.
    """
    if asks_of_before(question.asked) or any(_is_past(span, now) for span in question.spans):
        return {}

    def weight(words: Iterable[str]) -> float:
        return sum(rare.get(word, 0.0) for word in words)

    asked, kinds = frozenset(map(stem, question.words)), asked_kinds(question.asked)
    top, passed = float(scores.max(initial=0.0)), dict[int, int]()
    for new in sorted(range(len(statements)), key=lambda each: statements[each].at):
        newer, place = statements[new], order[new]
        for old, older in enumerate(statements[:_OLDER]):
            ahead = order[old]
            nearly = _NEARLY * scores[ahead] <= scores[place] < scores[ahead]
            if nearly and older.at < newer.at and _may_pass(newer, older, kinds):
                same = _of_one_thing(newer, older, float(near[new, old]), weight)
                if _is_enough(same, _share_of_asked(newer, older, asked, weight), newer, older):
                    scores[place] = scores[ahead] + _ABOVE * top
                    scores[ahead] -= _BELOW * top
                    passed[place] = ahead
    return passed


def _is_past(span: Span, now: datetime) -> bool:
    """True if a time is over; a day of any year is the next one, if the last one is long gone."""
    since = now - span.end
    return since > timedelta(1) and not (span.any_year and since > _LONG_GONE)


def _may_pass(newer: Statement, older: Statement, kinds: frozenset[str]) -> bool:
    """True if the newer one holds the kind of value that is asked for, where the older one does, and may speak."""
    if kinds & older.values and not kinds & newer.values:
        return False
    if newer.source.what == older.source.what == "episode":  # what is said later in a conversation replaces nothing
        return False
    if newer.source.trust in _OUTSIDE and newer.source.trust != older.source.trust:
        return False
    if newer.stated == older.stated != frozenset() and not newer.is_change:  # of something else, the same
        return False
    return not older.source.standing or newer.source.standing > 0 or newer.is_change


def _of_one_thing(newer: Statement, older: Statement, near: float, weight: Weight) -> float:
    """How much two statements say of one thing."""
    least = max(_LEAST_WORDS, min(weight(newer.words), weight(older.words)))
    same = _WORDS * weight(newer.words & older.words) / least + _NEAR * near
    return same + _KIND * bool(newer.values & older.values) + _CHANGE * newer.is_change


def _share_of_asked(newer: Statement, older: Statement, asked: frozenset[str], weight: Weight) -> float:
    """The share of what the older one has of the question that the newer one has too."""
    had = asked & older.words
    return weight(had & newer.words) / max(weight(had), 1e-9)


def _is_enough(same: float, share: float, newer: Statement, older: Statement) -> bool:
    if same >= _LIKELY:
        return same >= _SURE or share >= _SOME
    return same >= _MAYBE and share >= _MOST and (newer.is_change or bool(newer.values & older.values))
