"""The newer of two statements that say something else of the same thing, before the older one.

"The rent is 900 now" comes before "the rent is 800", though a question resembles the older one more: if it is nearly as
good an answer, holds the kind of value that is asked for, and shares with the older one what is asked and what it is
about. Nothing is decided here for good: what is outdated for one question answers another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.recall.question import Question
from tallystick.text.dates.find import Span
from tallystick.text.recall_words import stem
from tallystick.text.values import Statement, asked_kinds, asks_of_before

REACH = 14  # the best candidates, of which any may be the newer one
_OLDER = 6  # and of which any may be the older
_NEARLY = 0.6  # of the older one's score
_WORDS, _NEAR, _KIND, _CHANGE = 0.7, 0.4, 0.12, 0.15  # what shared words, nearness, a kind of value and a change count
_LEAST_WORDS = 4.0  # the weight of words that a short statement counts for
_SURE, _LIKELY, _MAYBE = 0.9, 0.55, 0.45  # of one thing: whatever is asked; with some of what is asked; with most of it
_SOME, _MOST = 0.3, 0.5
_ABOVE, _BELOW = 0.01, 0.05  # of the best score: how far the newer one is put above the older, and that one below
_LONG_GONE = timedelta(180)
_OUTSIDE = ("tool", "web")  # what they say passes nobody else's word

Weight = Callable[[Iterable[str]], float]


class Comparison(NamedTuple):
    """Some of the best candidates, as far as they are to be compared."""

    statements: Mapping[int, Statement]  # by place
    near: NDArray[np.float32]  # how near each of them is to each other, in that order
    rare: Mapping[str, float]  # how rare their words are, by the stems


def newer_first(
    question: Question, scores: NDArray[np.float64], best: Sequence[int], sources: Sequence[Sequence[SourceRow]],
    compare: Callable[[Sequence[int]], Comparison], marked: Callable[[str], Collection[str]], now: datetime,
) -> dict[int, int]:  # fmt: skip
    """Put the newer of the `best` candidates above the older, in `scores`: for each that moved, the one that it passed.

    Few of them are nearly as good as an older one: only these are read, by `compare`. What was `marked` when it was
    recorded as saying otherwise than an older one passes that one, if it has most of what is asked.
    """
    known = {place: marked(sources[place][0].id) for place in best[:_OLDER]}
    pairs = _pairs(scores, best[:REACH], sources, known)
    if not pairs or asks_of_before(question.asked) or any(_is_past(span, now) for span in question.spans):
        return {}
    statements, near, rare = compare(sorted({place for pair in pairs for place in pair}))
    column = {place: at for at, place in enumerate(statements)}

    def weight(words: Iterable[str]) -> float:
        return sum(rare[word] for word in words)

    asked, kinds = frozenset(map(stem, question.words)), asked_kinds(question.asked)
    top, passed = float(scores.max(initial=0.0)), dict[int, int]()
    for place, ahead in pairs:
        newer, older = statements[place], statements[ahead]
        is_standing = sources[ahead][0].standing > sources[place][0].standing
        is_marked = sources[place][0].id in known[ahead]
        nearly = is_marked or _NEARLY * scores[ahead] <= scores[place]
        may_pass = nearly and scores[place] < scores[ahead] and (newer.is_change or not is_standing)
        if may_pass and _says_otherwise(newer, older, kinds):
            same = _of_one_thing(newer, older, float(near[column[place], column[ahead]]), weight)
            share = _share_of_asked(newer, older, asked, weight)
            if (is_marked and share >= _MOST) or _is_enough(same, share, newer, older):
                scores[place] = scores[ahead] + _ABOVE * top
                scores[ahead] -= _BELOW * top
                passed[place] = ahead
    return passed


def _pairs(
    scores: NDArray[np.float64], best: Sequence[int], sources: Sequence[Sequence[SourceRow]],
    known: Mapping[int, Collection[str]],
) -> list[tuple[int, int]]:  # fmt: skip
    """The newer and the older of each two that may be compared, in the order of time."""
    first = {place: sources[place][0] for place in best}
    when = {place: (source.happened or source.at, source.since_seq) for place, source in first.items()}
    return [
        (place, ahead) for place in sorted(best, key=when.__getitem__) for ahead in best[:_OLDER]
        if when[ahead] < when[place] and scores[place] < scores[ahead]
        and (_NEARLY * scores[ahead] <= scores[place] or first[place].id in known[ahead])
        and _may_speak(first[place], first[ahead])
    ]  # fmt: skip


def _may_speak(newer: SourceRow, older: SourceRow) -> bool:
    """True unless both are turns of conversations, where the later replaces nothing, or the newer is from outside, or
    repeats what recall served."""
    is_talk = newer.what == older.what == "episode"
    return not is_talk and not newer.echo and (newer.trust not in _OUTSIDE or newer.trust == older.trust)


def _is_past(span: Span, now: datetime) -> bool:
    """True if a time is over; a day of any year is the next one, if the last one is long gone."""
    since = now - span.end
    return since > timedelta(1) and not (span.any_year and since > _LONG_GONE)


def _says_otherwise(newer: Statement, older: Statement, kinds: frozenset[str]) -> bool:
    """True if the newer one holds the kind of value that is asked for, where the older one does, and another value.
    Whoever quotes all of a statement does not correct it."""
    if newer.repeats(older) or (kinds & older.kinds and not kinds & newer.kinds):
        return False
    return newer.is_change or not older.values or newer.values != older.values


def _of_one_thing(newer: Statement, older: Statement, near: float, weight: Weight) -> float:
    """How much two statements say of one thing."""
    least = max(_LEAST_WORDS, min(weight(newer.words), weight(older.words)))
    same = _WORDS * weight(newer.words & older.words) / least + _NEAR * near
    return same + _KIND * bool(newer.kinds & older.kinds) + _CHANGE * newer.is_change


def _share_of_asked(newer: Statement, older: Statement, asked: frozenset[str], weight: Weight) -> float:
    """The share of what the older one has of the question that the newer one has too."""
    had = asked & older.words
    return weight(had & newer.words) / max(weight(had), 1e-9)


def _is_enough(same: float, share: float, newer: Statement, older: Statement) -> bool:
    if same >= _LIKELY:
        return same >= _SURE or share >= _SOME
    return same >= _MAYBE and share >= _MOST and (newer.is_change or bool(newer.kinds & older.kinds))
