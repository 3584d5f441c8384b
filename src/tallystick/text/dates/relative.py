"""Where a text names a time, and which: what stands in the calendar, and what is counted from now: "two weeks ago".

Now is the moment the text was said. The forms are those of `dates` and the ones here, and keep the same promises.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from tallystick.text.dates import absolute as dates
from tallystick.text.dates.absolute import SEASON, WHICH, Form, Found, S, StatedDate, which_of, word_before
from tallystick.text.dates.calendar import (
    SEASONS,
    Span,
    around,
    choose,
    days,
    nth,
    part_of_day,
    season,
    shifted,
    weekday_by,
)

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
_SOME = {"few": (2, 5), "several": (3, 7)}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

COUNT = rf"(?:(?:a{S})?(?:couple(?:{S}of)?|few)|several|{'|'.join(NUMBERS)}|[0-9]{{1,4}})"
WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|thur?s?|fri|sat|sun)\b"
UNIT = r"(?:day|night|weekend|week|fortnight|month|quarter|year|decade)"
PARTS = ("morning", "afternoon", "evening", "night")

_AHEAD = re.compile(
    r"(?:\b(?:will|won't|gonna|going|plan(?:s|ning)? (?:to|on|for)|shall|let's|see you|can't wait|hope to)\b"
    r"|['’]ll\b)[^.!?]*\Z"
)
_GOING = re.compile(r",? (?:i|we|he|she|they)(?:['’]ll| will|(?:['’](?:m|re|s)| am| are| is) going)\b")
_NOT_FOR = re.compile(r"\b(?:ha(?:ve|s|d)n['’]t|didn['’]t|not|never|first|once)\b[^.!?]*\Z")


class Phrase(NamedTuple):
    """From which letter to which a time is named, and the time."""

    first: int
    last: int
    span: Span


def phrases_in(said: StatedDate) -> list[Phrase]:
    """The times a text names, in their order, none over another."""
    found, at = [], 0
    while start := _ANY.search(said.low, at):
        phrase = _read(said, start.start())
        if phrase:
            found.append(phrase)
        at = phrase.last if phrase else start.start() + 1
    return found


def _read(said: StatedDate, at: int) -> Phrase | None:
    for pattern, reader in _EACH:
        if match := pattern.match(said.low, at):
            with suppress(ValueError, OverflowError):  # 30 February, 9999 years ago
                if span := reader(match, said):
                    return Phrase(at, match.end(), span)
    return None


def weekday_number(name: str) -> int:
    return _WEEKDAYS.index(name[:3])


def counted(count: str, unit: str, moment: datetime, sign: int) -> Span:
    """So many units before (-1) or after (1) a moment: 3 days, two weeks, a few years."""
    least, limit = sorted(sign * each for each in _range_of(count))
    one, other = (around(shifted(moment, each, unit), unit) for each in (least, limit))
    return one if one == other else Span(one.start, other.end, f"{unit}s")


def _range_of(count: str) -> tuple[int, int]:
    """The least and the most that a count may mean: "3", "two", "a couple of", "a few"."""
    word = [each for each in count.split() if each != "of"][-1]
    if word in _SOME:
        return _SOME[word]
    number = int(word) if word.isdigit() else NUMBERS[word]
    return number, number


def _ago(found: Found, said: StatedDate) -> Span:
    unit, sign = found["unit"], -1 if found["side"] in ("ago", "back") else 1
    if unit not in ("minute", "hour"):
        return counted(found["count"], unit, said.now, sign)
    count = sum(_range_of(found["count"])) / 2
    middle = said.now + sign * (timedelta(hours=count) if unit == "hour" else timedelta(minutes=count))
    return Span(middle - timedelta(minutes=30), middle + timedelta(minutes=30), "hour")


def _ahead(found: Found, said: StatedDate) -> Span | None:
    in_a_day = found["unit"] == "day" and found["count"] == "a"  # "not built in a day", "haven't met in two weeks"
    if in_a_day or _NOT_FOR.search(said.low, max(0, found.start() - 40), found.start()):
        return None
    return counted(found["count"], found["unit"], said.now, 1)


def _rolling(found: Found, said: StatedDate) -> Span | None:
    """So long until today, or from today on: "the past two weeks", "in the last month", "the next few days"."""
    if not (found["count"] or found["in"] or found["way"] == "past"):
        return None
    today, unit = days(said.now), found["unit"]
    limit = _range_of(found["count"])[1] if found["count"] else 1
    if found["way"] == "next":
        return Span(today.start, shifted(today.end, limit, unit), f"{unit}s")
    return Span(shifted(today.start, -limit, unit), today.end, f"{unit}s")


def _unit(found: Found, said: StatedDate) -> Span | None:
    which, unit = which_of(found), found["unit"]
    if unit == "weekend" and found["which"].endswith("past"):
        return _begun_weekend(said)
    if unit not in PARTS:
        return nth(unit, said.now, {"last": -1, "this": 0, "next": 1}[which])
    if which == "this" or (which == "last" and unit in ("night", "evening")):
        return part_of_day(said.now - timedelta(which == "last"), unit)
    return None


def _weekend(found: Found, said: StatedDate) -> Span:
    ahead = word_before(said, found.start()) == "for" or _looks_ahead(found, said)
    return nth("weekend", said.now) if ahead else _begun_weekend(said)


def _begun_weekend(said: StatedDate) -> Span:
    return nth("weekend", said.now, 0 if said.now.weekday() >= 5 else -1)


def _looks_ahead(found: Found, said: StatedDate) -> bool:
    """ "I'll see you on …", "on … I am going"."""
    before = _AHEAD.search(said.low, max(0, found.start() - 60), found.start())
    return bool(before or _GOING.match(said.low, found.end()))


def _but_one(found: Found, said: StatedDate) -> Span:
    """The week before last, the Friday after next."""
    back, what = found["side"] == "before", found["what"]
    if what in SEASONS:
        one = choose("last" if back else "next", said.now, lambda year: season(year, what))
        return season(one.start.year + (-1 if back else 1), what)
    if what in ("week", "weekend", "month", "quarter", "year"):
        return nth(what, said.now, -2 if back else 2)
    one = weekday_by(said.now, weekday_number(what), back=back, also_today=False)
    return nth("day", one.start, -7 if back else 7)


def _weekday(found: Found, said: StatedDate) -> Span | None:
    name, which, before = found["weekday"], which_of(found), word_before(said, found.start())
    if before in ("every", "each", "black", "good", "most"):
        return None
    if len(name) < 6:  # "Fri" needs a word before it, and "sat" and "sun" are words of their own
        capital = said.text[found.start("weekday")].isupper()
        if not (which or before == "on") or (name in ("sat", "sun") and not capital):
            return None
    on = which in ("next", "this") or (not which and _looks_ahead(found, said))
    also_today = which == "this" or not (which or on)
    return weekday_by(said.now, weekday_number(name), back=not on, also_today=also_today)


def _day(found: Found, said: StatedDate) -> Span:
    away = {"yesterday": -1, "today": 0, "tomorrow": 1}[found["word"]]
    return days(said.now + timedelta(away * 2 if found["beyond"] else away))


def _tonight(_: Found, said: StatedDate) -> Span:
    return part_of_day(said.now, "night")


def _other_day(_: Found, said: StatedDate) -> Span:
    return days(said.now - timedelta(7), 7, "days")


_FORMS: tuple[Form, ...] = (
    (rf"(?P<beyond>(?:the{S})?day{S}(?:before{S}(?=yes)|after{S}(?=tom)))?(?P<word>today|yesterday|tomorrow)\b", _day),
    (r"tonight\b", _tonight),
    (rf"the{S}other{S}day\b", _other_day),
    (rf"the{S}(?P<what>weekend|week|month|quarter|year|{WEEKDAY}|{SEASON}){S}"
     rf"(?P<side>before|after){S}(?:last|next)\b", _but_one),
    (rf"(?P<count>{COUNT}){S}(?P<unit>minute|hour|{UNIT})s?{S}(?P<side>ago|back|from{S}now|from{S}today)\b", _ago),
    (rf"in{S}(?P<count>{COUNT}){S}(?P<unit>day|week|month|year)s?\b(?!{S}of\b)", _ahead),
    (rf"(?P<in>(?:in|over|during|within|for){S})?(?:the|these|those){S}(?P<way>past|last|next)(?:{S}(?P<count>{COUNT}))?"
     rf"{S}(?P<unit>day|week|month|year)s?\b(?!{S}of\b)", _rolling),
    (rf"{WHICH}(?P<unit>weekend|week|month|quarter|year|decade|{'|'.join(PARTS)})\b(?!{S}of\b)", _unit),
    (rf"the{S}weekend\b", _weekend),
    (rf"(?:{WHICH}|the{S})?(?P<weekday>{WEEKDAY})", _weekday),
)  # fmt: skip

_ALL = dates.FORMS + _FORMS
_EACH = tuple((re.compile(pattern, re.ASCII), reader) for pattern, reader in _ALL)
_UNNAMED = "|".join(re.sub("[(][?]P<[a-z]+>", "(?:", pattern) for pattern, _ in _ALL)
_ANY = re.compile(rf"(?u:\b)(?<![$€£])(?<![0-9][.,:/])(?:{_UNNAMED})", re.ASCII)
