"""Times with the words that bend them: "since", "early in", "the week before", and two phrases that make one.

`phrases` finds where a time is named. What stands before it, after it, or between two of them, changes which is meant.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta

from tallystick.text.dates.absolute import MONTH, ORDINALS, S, StatedDate, word_before
from tallystick.text.dates.calendar import FIRST, LAST, Span, days, in_year, nth, part_of_day, weekday_by
from tallystick.text.dates.relative import COUNT, PARTS, UNIT, WEEKDAY, Phrase, counted, phrases_in, weekday_number

_ENDING = rf"(?:{S}the)?[\s\u00a0\u202f-]{{1,3}}\Z"
_LEAD = re.compile(
    rf"(?:\b(?P<ordinal>first|second|third|fourth|fifth|last|final|1st|2nd|3rd|4th|5th){S}"
    rf"(?P<what>day|weekend|week|half|quarter|month|{WEEKDAY}){S}(?:of|in)(?:{S}the{S}month{S}of)?"
    rf"|\b(?P<part>early|mid|late|(?:start|beginning|middle|end){S}of)(?:{S}in)?"
    rf"|\b(?P<unit>{UNIT}|morning|afternoon|evening|{WEEKDAY}){S}(?P<side>before|after|of|prior{S}to|following)"
    rf"|\b(?P<count>{COUNT}){S}(?P<units>day|week|month|year)s?{S}(?P<way>before|after|prior{S}to)"
    rf"|\b(?P<open>since|before|until|till|by|after|as{S}of|prior{S}to|up{S}to)){_ENDING}",
    re.ASCII,
)
_ROOM = 48  # how far before a time its lead may begin
_PART = re.compile(rf"{S}(?P<part>morning|afternoon|evening|night)\b", re.ASCII)
_PAIR = re.compile(rf"(?:{S}(?:and|to|until|till|through){S}|\s?[-–]\s?)\Z", re.ASCII)
_BESIDE = re.compile(rf"(?:,|{S}of|{S}in)?(?:{S}on)?(?:{S}the)?{S}\Z", re.ASCII)
_WEEKDAY = re.compile(rf"(?:the{S})?{WEEKDAY}", re.ASCII)
_DATE = re.compile(rf"\b{MONTH}|[0-9]{{4}}", re.ASCII)


def bent_in(said: StatedDate) -> list[Phrase]:
    """The phrases with the words before them that bend them, and those that belong together as one."""
    done: list[Phrase] = []
    for phrase in phrases_in(said):
        bent = _bent(said, _with_part_of_day(said, phrase))
        while done and done[-1].last > bent.first:
            done.pop()
        one = _together(said, done[-1], bent) if done else None
        if one:
            done.pop()
        done.append(one or bent)
    return done


def _with_part_of_day(said: StatedDate, phrase: Phrase) -> Phrase:
    """ "yesterday morning", "Friday night"."""
    part = _PART.match(said.low, phrase.last) if phrase.span.grain == "day" else None
    if not part:
        return phrase
    span = part_of_day(phrase.span.start, part["part"])._replace(any_year=phrase.span.any_year)
    return Phrase(phrase.first, part.end(), span)


def _bent(said: StatedDate, phrase: Phrase) -> Phrase:
    """With "since", "early", "the week before" and the like, which may follow one another."""
    for _ in range(3):
        lead = _LEAD.search(said.low, max(0, phrase.first - _ROOM), phrase.first)
        if not lead:
            break
        span = None
        with suppress(ValueError, OverflowError):
            span = _led(lead, phrase.span, said.now)
        if not span:
            break
        phrase = Phrase(lead.start(), phrase.last, span)
    return phrase


def _led(lead: re.Match[str], span: Span, now: datetime) -> Span | None:
    if lead["open"]:
        return _open(lead["open"], span, now)
    if lead["ordinal"]:
        led = _ordinal(lead["ordinal"], lead["what"], span)
    elif lead["part"]:
        led = _third(lead["part"], span)
    elif lead["count"]:
        led = counted(lead["count"], lead["units"], span.start, 1 if lead["way"] == "after" else -1)
    else:
        led = _beside(lead["unit"], lead["side"], span)
    return led._replace(any_year=span.any_year) if led else None


def _open(word: str, span: Span, now: datetime) -> Span:
    """ "since May", "after May", "before May", "by May": the far end is today, or as far as time goes."""
    if word in ("since", "after"):
        start, today = span.start if word == "since" else span.end, days(now).end
        return Span(start, today if start < today else LAST, "since")
    return Span(FIRST, span.start if word.startswith(("before", "prior")) else span.end, "before")


def _third(part: str, span: Span) -> Span | None:
    """Early, middle or late in a stretch of a week or more: a third of it, in whole days."""
    third = (span.end - span.start).days // 3
    if third < 2:
        return None
    first, last = span.start + timedelta(third), span.start + timedelta(2 * third)
    if part.startswith(("early", "start", "beginning")):
        return Span(span.start, first, "part")
    return Span(first, last, "part") if part.startswith("mid") else Span(last, span.end, "part")


def _ordinal(word: str, what: str, span: Span) -> Span | None:
    """ "the first weekend of August 2023", "the second half of May", "the last Friday in June"."""
    number = -1 if word in ("last", "final") else int(word[0]) if word[0].isdigit() else ORDINALS.index(word) + 1
    last_day = span.end - timedelta(1)
    if what == "half":
        middle = span.start + timedelta((span.end - span.start).days // 2)
        return Span(span.start, middle, "part") if number == 1 else Span(middle, span.end, "part")
    if what == "week":
        found = days(span.end - timedelta(7) if number < 0 else span.start + timedelta(7 * number - 7), 7, "week")
    elif what in ("day", "month", "quarter"):
        found = nth(what, last_day) if number < 0 else nth(what, span.start, number - 1)
    else:
        weekday = 5 if what == "weekend" else weekday_number(what)
        near = weekday_by(last_day if number < 0 else span.start, weekday, back=number < 0, also_today=True)
        start = near.start + timedelta(0 if number < 0 else 7 * number - 7)
        found = days(start, 2, "weekend") if what == "weekend" else days(start)
    return found if span.start <= found.start < span.end else None


def _beside(unit: str, side: str, span: Span) -> Span | None:
    """ "the week before 9 June", "the Friday after Christmas", "the weekend of 3 May", "the morning of 3 May"."""
    if side == "of":
        return _of(unit, span)
    back = side != "after" and side != "following"
    day = span.start - timedelta(1) if back else span.end
    if unit in PARTS:
        return part_of_day(day, unit)
    if unit in ("week", "fortnight"):
        count = 7 if unit == "week" else 14
        return days(span.start - timedelta(count) if back else span.end, count, unit)
    if unit == "weekend":
        saturday = weekday_by(span.start - timedelta(2) if back else span.end, 5, back=back, also_today=True)
        return days(saturday.start, 2, "weekend")
    if unit in ("day", "month", "quarter", "year", "decade"):
        return nth(unit, span.start, -1) if back else nth(unit, span.end - timedelta(1), 1)
    return weekday_by(day, weekday_number(unit), back=back, also_today=True)


def _of(unit: str, span: Span) -> Span | None:
    if unit in PARTS:
        return part_of_day(span.start, unit) if span.grain == "day" else None
    if unit == "fortnight" or (unit == "day" and span.grain != "day"):
        return None
    if unit in ("day", "weekend", "week", "month", "quarter", "year", "decade"):
        return nth(unit, span.start)
    return weekday_by(span.start, weekday_number(unit), back=False, also_today=True) if span.grain == "week" else None


def _together(said: StatedDate, one: Phrase, other: Phrase) -> Phrase | None:
    """Two phrases as one: "from 3 May to 5 June", "Friday of last week", "on Tuesday, 3 May"."""
    if _PAIR.fullmatch(said.low, one.last, other.first) and word_before(said, one.first) in ("between", "from"):
        span = _from_to(one.span, other.span)
    elif _BESIDE.fullmatch(said.low, one.last, other.first):
        span = _same(said, one, other)
    else:
        return None
    return Phrase(one.first, other.last, span) if span else None


def _from_to(one: Span, other: Span) -> Span | None:
    if one.any_year and not other.any_year:
        near = [one._replace(start=in_year(one.start, year)) for year in (other.start.year - 1, other.start.year)]
        one = max((span for span in near if span.start < other.end), default=one)
    if one.start >= other.end:
        return None
    return Span(one.start, other.end, "between", one.any_year and other.any_year)


def _same(said: StatedDate, one: Phrase, other: Phrase) -> Span | None:
    """The day of the week that the week tells; or the date, where a day is said in both ways."""
    for day, week in ((one, other), (other, one)):
        if week.span.grain == "week" and _WEEKDAY.match(said.low, day.first, day.last):
            return weekday_by(week.span.start, day.span.start.weekday(), back=False, also_today=True)
    loose = one.span.grain in ("day", "week", "weekend", *PARTS)
    is_date = other.span.grain == "day" and _DATE.search(said.low, other.first, other.last)
    return other.span if loose and is_date and not _DATE.search(said.low, one.first, one.last) else None
