"""What happened, or was due, on the days that a question names.

"What broke on Tuesday?" is answered by what was said that Tuesday, whatever its words; "what is due on Friday?", by
what names that Friday. The longer the time, the less it tells. A question that asks when something was names no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.index.search import SourceRow
from tallystick.recall.question import Question
from tallystick.text.dates.calendar import days, in_year
from tallystick.text.dates.find import Span, spans_in

_NAMED, _NAMED_AMONG, _SAID_BEFORE = 0.9, 0.6, 0.2  # a day that a text names; some days; said then of what is to come
_BY_DAYS = ((3, 1.0), (8, 0.6), (32, 0.3))  # the longest time that is asked for, in days, and how much it counts
_A_FEW = timedelta(8)  # a text that names a longer time is not about any of its days
_SOURCES = 3  # of a block that are read


def at_that_time(
    question: Question, sources: Sequence[Sequence[SourceRow]], texts: Sequence[str], now: datetime,
    known: dict[str, list[Span]],
) -> NDArray[np.float64]:  # fmt: skip
    """How well each candidate's time is the one that the question names, from 0 to 1.

    `known` keeps the days that were read of texts, by the source.
    """
    fits = np.zeros(len(texts))
    every = [] if question.is_when else [(span, count) for span in _times(question.spans) if (count := _counts(span))]
    for place, (said, text) in enumerate(zip(sources, texts, strict=True)) if every else ():
        moments = {source.id: _moment(source) for source in said[:_SOURCES]}
        for name in moments.keys() - known.keys():
            known[name] = _days_in(text, moments[name])
        named = [span for name in moments for span in known[name]]
        fits[place] = max(count * _fit(span, list(moments.values()), named, now) for span, count in every)
    return fits


def _days_in(text: str, moment: datetime) -> list[Span]:
    return [span for span in _times(spans_in(text, moment)) if span.end - span.start < _A_FEW]


def _times(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans; where no year may be named, of the next one too. "By Friday" and "until Friday" name that Friday."""
    for span in spans:
        known = days(span.end - timedelta(1)) if span.grain == "before" else span
        yield known
        if span.any_year or span.grain == "before":
            year = known.start.year + 1
            yield known._replace(start=in_year(known.start, year), end=in_year(known.end, year))


def _counts(span: Span) -> float:
    length = (span.end - span.start).days
    return next((count for longest, count in _BY_DAYS if length <= longest), 0.0)


def _moment(source: SourceRow) -> datetime:
    moment = datetime.fromisoformat(source.happened or source.valid_from or source.at)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _fit(asked: Span, moments: Sequence[datetime], named: Sequence[Span], now: datetime) -> float:
    is_past = asked.start <= now
    best = 1.0 if is_past else _SAID_BEFORE
    if not any(asked.start <= moment < asked.end for moment in moments):
        best = 0.0
    for span in named:
        if span.start < asked.end and asked.start < span.end:
            of_a_day = _NAMED if is_past else 1.0
            best = max(best, of_a_day if span.end - span.start <= timedelta(1) else _NAMED_AMONG)
    return best
