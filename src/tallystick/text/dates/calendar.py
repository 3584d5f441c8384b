"""Spans of time: days, weeks, months and years, and how well a moment fits one.

A span holds its start and not its end. Weeks begin on Monday, a weekend is Saturday and Sunday, and the seasons are
those of the north, by whole months. Times in here are local, without a zone: the caller adds it.

A day that does not exist (30 February) is a ValueError. So is one before the year 1 or after 9999, or an OverflowError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

FIRST, LAST = datetime(1, 1, 3), datetime(9999, 12, 29)  # so near the ends that any zone can still be reckoned in
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_DAYS = {"day": 1, "night": 1, "weekend": 7, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}

# The longest span, in days, and what a moment counts: in it, up to 10 days after it, up to 31, up to 7 days before.
_FIT = (
    (3, 1.0, 0.8, 0.3, 0.5),
    (15, 1.0, 0.7, 0.2, 0.4),
    (32, 1.0, 0.4, 0.0, 0.0),
    (94, 0.6, 0.2, 0.0, 0.0),
    (367, 0.3, 0.0, 0.0, 0.0),
    (10**7, 0.15, 0.0, 0.0, 0.0),
)


class Span(NamedTuple):
    """A span of time that was named."""

    start: datetime
    end: datetime  # exclusive
    grain: str  # its name: day, night, week, weekend, month, season, year, since, before …
    any_year: bool = False  # "in May": no year was named, so the same days of another year fit as well


Yearly = Callable[[int], Span]  # what comes once a year, in the year asked for


def fit(spans: Sequence[Span], moment: datetime) -> float:
    """How well a moment fits, 0 to 1: in the best of the spans, a little after it (people report afterwards), or just
    before. The longer a span, the less a hit in it counts. A moment without a zone is taken as UTC."""
    aware, best = in_a_zone(moment), 0.0
    for each in spans:
        span = _nearest(each, aware) if each.any_year else each
        length, late = (span.end - span.start).days, aware - span.end
        inside, soon, later, before = next(parts for longest, *parts in _FIT if length <= longest)
        if aware < span.start:
            best = max(best, before if span.start - aware <= timedelta(7) else 0.0)
        elif aware < span.end:
            best = max(best, inside)
        else:
            best = max(best, soon if late < timedelta(10) else later if late < timedelta(31) else 0.0)
    return best


def _nearest(span: Span, moment: datetime) -> Span:
    """The same days of that year in which the moment comes after them, or up to a week (and a little) before."""
    years = math.floor(((moment - span.start).days + 9) / 365.2425)
    if years == 0:
        return span
    length, over = span.end - span.start, span.end.year - span.start.year
    year = min(max(span.start.year + years, 2), 9997 - over)
    start = in_year(span.start, year)
    end = start + length if length < timedelta(7) else in_year(span.end, year + over)  # so that February may grow
    return span._replace(start=start, end=end)


def in_year(moment: datetime, year: int) -> datetime:
    """The same day of another year; 29 February is 28 February where there is none."""
    return moment.replace(year=year, day=min(moment.day, _length(year, moment.month)))


def in_a_zone(moment: datetime) -> datetime:
    return moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC)


def days(start: datetime, count: int = 1, grain: str = "day") -> Span:
    """So many days, from the one of `start` on."""
    first = start.replace(hour=0, minute=0, second=0, microsecond=0)
    return Span(first, first + timedelta(count), grain)


def months(year: int, month: int, count: int = 1, grain: str = "month") -> Span:
    first = datetime(year, month, 1)
    return Span(first, shifted(first, count, "month"), grain)


def season(year: int, name: str) -> Span:
    """The season that begins in `year`."""
    return months(year, SEASONS[name], 3, "season")


def part_of_day(day: datetime, name: str) -> Span:
    """Its morning, afternoon, evening or night; the night goes on until six."""
    midnight = days(day).start
    first, last = _HOURS[name]
    return Span(midnight + timedelta(hours=first), midnight + timedelta(hours=last), name)


def shifted(moment: datetime, count: int, unit: str) -> datetime:
    """So many units on, or back. A month on from the 31st is the last day of a shorter month."""
    if unit in _DAYS:
        return moment + timedelta(count * _DAYS[unit])
    year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[unit], 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, _length(year, month + 1)))


def _length(year: int, month: int) -> int:
    return (datetime(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day


def nth(unit: str, moment: datetime, count: int = 0) -> Span:
    """The day, week, weekend, month, quarter, year or decade that holds `moment`; or so many later."""
    holding = _HOLDING.get(unit, days)
    return holding(shifted(holding(moment).start, count, unit))


_HOLDING: dict[str, Callable[[datetime], Span]] = {
    "week": lambda moment: days(moment - timedelta(moment.weekday()), 7, "week"),
    "weekend": lambda moment: days(moment + timedelta(5 - moment.weekday()), 2, "weekend"),
    "month": lambda moment: months(moment.year, moment.month),
    "quarter": lambda moment: months(moment.year, (moment.month - 1) // 3 * 3 + 1, 3, "quarter"),
    "year": lambda moment: months(moment.year, 1, 12, "year"),
    "decade": lambda moment: months(moment.year // 10 * 10, 1, 120, "decade"),
}


def weekday_by(moment: datetime, weekday: int, *, back: bool, also_today: bool) -> Span:
    """The nearest such weekday, back or on from a moment."""
    day = days(moment).start
    away = (day.weekday() - weekday) % 7 if back else (weekday - day.weekday()) % 7
    away = away or (0 if also_today else 7)
    return days(day + timedelta(-away if back else away))


def around(moment: datetime, unit: str) -> Span:
    """What "so many units ago" means once counted back to `moment`: the day; or the week, month or year around it."""
    if unit in ("year", "decade", "weekend"):
        return nth(unit, moment)
    if unit == "month":
        return days(moment - timedelta(15), 31, "month")
    if unit in ("week", "fortnight"):
        return days(moment - timedelta(3), 7, "week")
    return days(moment)


def choose(which: str, now: datetime, yearly: Yearly) -> Span:
    """The last, next or this one of what comes once a year; without such a word, the latest one that has begun."""
    near = list[Span]()
    for year in range(max(now.year - 8, 1), min(now.year + 8, 9998) + 1):  # a leap day may be eight years away
        with suppress(ValueError):
            near.append(yearly(year))
    today = days(now).start
    if which == "last":
        return max(span for span in near if span.end <= today)
    if which == "next":
        return min(span for span in near if span.start > today)
    if which == "this":
        return next((span for span in near if span.start <= today < span.end), None) or yearly(now.year)
    return max(span for span in near if span.start <= today)._replace(any_year=True)
