"""Phrases that name a time, and the words that modify them.

Three layers: times in the calendar ("3 May", "Q3", "last summer", "at Christmas"), times counted from the moment a text
was said ("two weeks ago"), and what comes before, after or between them and changes which is meant ("since", "early
in", "the week before", "from … to …").

A form is a pattern, over the text in lowercase, and a reader. A reader gives nothing where the words mean something
else ("I may go", "we march on"), and raises ValueError or OverflowError where there is no such day ("30 February").
No pattern repeats without bound: the time grows with the length of the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from tallystick.text.dates import calendar
from tallystick.text.dates.calendar import Span, Yearly, days, months, nth


class StatedDate(NamedTuple):
    """A text, the same in lowercase, and the local time when it was said."""

    text: str
    low: str
    now: datetime


Found = re.Match[str]
Form = tuple[str, Callable[[Found, StatedDate], Span | None]]

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

S = r"[\s\u00a0\u202f]{1,3}"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
WHICH = rf"(?P<which>(?:this{S}|the{S})?(?:past|coming)|last|this|next|previous){S}"
SEASON = "(?:spring|summer|autumn|fall|winter)"
_YEAR = rf"(?:,?(?:{S}(?:of|in))?{S}(?P<year>(?:19|20)[0-9]{{2}}|['’][0-9]{{2}}|(?:last|this|next){S}year)\b)?"
_TH = "(?P<th>st|nd|rd|th)?"
_DAY = rf"(?P<day>[0-9]{{1,2}}){_TH}"
_TO = rf"(?:{S}(?:and|to|until|till|through){S}|\s?[-–]\s?)(?P<last>[0-9]{{1,2}})(?:st|nd|rd|th)?"

_FIRMLY_IN = frozenset(("in", "since", "during", "until", "till", "early", "mid", "late"))
_IN = _FIRMLY_IN | {"of", "by", "before", "after", "around", "through"}
_OVER = _IN | {"over", "for", "at", "on", "the"}
_ALSO_NAMES_OR_VERBS = frozenset(("mar", "apr", "may", "jun", "aug"))
_CAN = re.compile(rf"{S}(?:be|have|not|also|well|even|only|never|go|come|take|help|need|want|leave|stay)\b")
_ENDS = re.compile(r"\s?(?:[.,;:!?)]|\Z)")


def word_before(said: StatedDate, at: int) -> str:
    words = said.low[max(0, at - 16) : at].split()
    return words[-1].rstrip("-") if words else ""


def which_of(found: Found) -> str:
    """last, this, next, or nothing."""
    words = (found["which"] or "").split()
    word = words[-1] if words else ""
    return {"past": "last", "previous": "last", "coming": "next"}.get(word, word)


def _of_year(yearly: Yearly, found: Found, said: StatedDate, which: str = "") -> Span:
    """The one of the year that is named; else the one that `which` chooses."""
    year: str | None = found["year"]
    if not year:
        return calendar.choose(which, said.now, yearly)
    if year.endswith("year"):
        return yearly(said.now.year + {"last": -1, "this": 0, "next": 1}[year.split()[0]])
    return yearly(int(year) if year.isdigit() else 2000 + int(year[1:]))


def _number(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _small_word(said: StatedDate, at: int) -> bool:
    """Whether this is "may" or "march" in lowercase, as the verb is."""
    return said.low[at : at + 3] in ("may", "mar") and not said.text[at].isupper()


def _names_a_month(found: Found, said: StatedDate) -> bool:
    at, name, before = found.start("month"), found["month"].rstrip("."), word_before(said, found.start())
    capital = said.text[at].isupper()
    if found["year"]:
        return True
    if _small_word(said, at) and (found["which"] == "this" or _CAN.match(said.low, found.end())):
        return False
    if found["which"] or before in _FIRMLY_IN or (before in _IN and capital):
        return True
    if not capital or (len(name) < 5 and name not in ("may", "june", "july")):
        return False
    return name[:3] not in _ALSO_NAMES_OR_VERBS or before == "the" or before.endswith(("'s", "’s"))


def _month(found: Found, said: StatedDate) -> Span | None:
    if not _names_a_month(found, said):
        return None
    number = _number(found["month"])
    return _of_year(lambda year: months(year, number), found, said, which_of(found))


def _months(found: Found, said: StatedDate) -> Span:
    first, last = _number(found["month"]), _number(found["last"])
    return _of_year(lambda year: months(year, first, (last - first) % 12 + 1, "months"), found, said)


def _day(found: Found, said: StatedDate) -> Span | None:
    at, day = found.start("month"), found["day"]
    sure = found["th"] or found["year"] or "of" in found[0].split() or word_before(said, found.start()) == "on"
    ends = at > found.start("day") and _ENDS.match(said.low, found.end())
    if _small_word(said, at) and not (sure or ends):  # "2 may be enough", "we march 3 miles"
        return None
    month, number = _number(found["month"]), int(day) if day.isdigit() else ORDINALS.index(day) + 1
    return _of_year(lambda year: days(datetime(year, month, number)), found, said)


def _days(found: Found, said: StatedDate) -> Span | None:
    month, first, last = _number(found["month"]), int(found["day"]), int(found["last"])
    small = _small_word(said, found.start("month")) and not (found["year"] or found["between"])
    if last <= first or small:
        return None
    return _of_year(
        lambda year: Span(datetime(year, month, first), days(datetime(year, month, last)).end, "days"), found, said
    )


def _year_last(found: Found, _: StatedDate) -> Span | None:
    """Day first or month first? Only where one of them is above 12, both are the same, or dots say day first."""
    one, other, year = int(found["one"]), int(found["other"]), int(found["year"])
    if one > 12 or one == other or found["mark"] == ".":
        return days(datetime(year, other, one))
    return days(datetime(year, one, other)) if other > 12 else None


def _season(found: Found, said: StatedDate) -> Span | None:
    name, before = found["season"], word_before(said, found.start())
    led = before in _IN if name in ("fall", "spring") else before in _OVER or found["the"]
    if not (found["which"] or found["year"] or led):
        return None
    return _of_year(lambda year: calendar.season(year, name), found, said, which_of(found))


def _holiday(found: Found, said: StatedDate) -> Span | None:
    name = " ".join(re.sub(r"(year|valentine)['’]?s", r"\1", found["holiday"]).split())
    led = word_before(said, found.start()) in (_OVER - {"the", "for"} if name == "new year" else _OVER)
    if not (found["which"] or found["year"] or led or name.endswith((" eve", " day"))):
        return None
    return _of_year(_HOLIDAYS[name], found, said, which_of(found))


def _year(found: Found, said: StatedDate) -> Span | None:
    if found["decade"]:
        return months(int(found["year"]), 1, 120, "decade") if found["year"].endswith("0") else None
    led = word_before(said, found.start()) in _IN | {"year", "from"}
    return months(int(found["year"]), 1, 12, "year") if led else None


def _yearly(month: int, day: int, count: int = 1) -> Yearly:
    return lambda year: days(datetime(year, month, day), count)


_HOLIDAYS: dict[str, Yearly] = {
    "christmas": _yearly(12, 25), "xmas": _yearly(12, 25), "christmas eve": _yearly(12, 24),
    "christmas day": _yearly(12, 25), "xmas eve": _yearly(12, 24), "xmas day": _yearly(12, 25),
    "boxing day": _yearly(12, 26), "new year eve": _yearly(12, 31), "new year day": _yearly(1, 1),
    "new year": _yearly(12, 31, 2), "halloween": _yearly(10, 31), "valentine day": _yearly(2, 14),
    "thanksgiving": lambda year: calendar.weekday_by(datetime(year, 11, 28), 3, back=True, also_today=True),
}  # fmt: skip

FORMS: tuple[Form, ...] = (
    (rf"(?P<between>between{S}|from{S})?{_DAY}{_TO}(?:{S}of)?{S}(?P<month>{MONTH}){_YEAR}", _days),
    (rf"(?P<between>between{S}|from{S})?(?P<month>{MONTH}){S}{_DAY}{_TO}\b{_YEAR}", _days),
    (rf"(?:between|from){S}(?P<month>{MONTH}){S}(?:and|to|until|till|through){S}(?P<last>{MONTH}){_YEAR}", _months),
    (r"(?P<year>[12][0-9]{3})[-/](?P<month>[0-9]{1,2})[-/](?P<day>[0-9]{1,2})(?![0-9/-])",
     lambda found, _: days(datetime(int(found["year"]), int(found["month"]), int(found["day"])))),
    (r"(?P<one>[0-9]{1,2})(?P<mark>[/.])(?P<other>[0-9]{1,2})[/.](?P<year>(?:19|20)[0-9]{2})\b", _year_last),
    (rf"(?:the{S})?{_DAY}(?:{S}of)?{S}(?P<month>{MONTH}){_YEAR}", _day),
    (rf"(?:the{S})?(?P<day>{'|'.join(ORDINALS)})(?P<th>{S}of){S}(?P<month>{MONTH}){_YEAR}", _day),
    (rf"(?P<month>{MONTH}){S}(?:the{S})?{_DAY}\b(?!%|[:.%][0-9]|,[0-9]{{3}}){_YEAR}", _day),
    (rf"(?:{WHICH})?(?P<month>{MONTH}){_YEAR}", _month),
    (rf"q(?P<quarter>[1-4])\b{_YEAR}", lambda found, said:
     _of_year(lambda year: months(year, int(found["quarter"]) * 3 - 2, 3, "quarter"), found, said)),
    (rf"(?:{WHICH})?(?P<the>the{S})?(?P<season>{SEASON})\b{_YEAR}", _season),
    (rf"(?:{WHICH})?(?P<holiday>(?:christmas|xmas|new{S}year(?:['’]?s)?)(?:{S}(?:eve|day))?|boxing{S}day|halloween"
     rf"|thanksgiving|valentine['’]?s?{S}day)\b{_YEAR}", _holiday),
    (rf"(?:between|from){S}(?P<year>(?:19|20)[0-9]{{2}}){S}(?:and|to|until|till){S}"
     r"(?P<last>(?:19|20)[0-9]{2})\b", lambda found, _: months(
         int(found["year"]), 1, 12 * (int(found["last"]) - int(found["year"]) + 1), "years"
     ) if found["year"] < found["last"] else None),
    (r"(?:the\s)?(?P<year>(?:19|20)[0-9]{2})(?P<decade>s)?\b(?![-/.,][0-9])", _year),
)  # fmt: skip


# -- counted from now --------------------------------------------------------------------------------------------------

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
    """From which character to which a time is named, and the time."""

    first: int
    last: int
    span: Span


def phrases_in(said: StatedDate) -> list[Phrase]:
    """The times a text names, in their order, without overlap."""
    found, at = list[Phrase](), 0
    while start := _ANY.search(said.low, at):
        first, at = start.start(), start.start() + 1
        for match, reader in ((pattern.match(said.low, first), reader) for pattern, reader in _EACH):
            span = None
            with suppress(ValueError, OverflowError):  # 30 February, 9999 years ago
                span = reader(match, said) if match else None
            if match and span:
                at = match.end()
                found.append(Phrase(first, at, span))
                break
    return found


def weekday_number(name: str) -> int:
    return _WEEKDAYS.index(name[:3])


def counted(count: str, unit: str, moment: datetime, sign: int) -> Span:
    """So many units before (-1) or after (1) a moment: 3 days, two weeks, a few years."""
    least, limit = sorted(sign * each for each in _range_of(count))
    one, other = (calendar.around(calendar.shifted(moment, each, unit), unit) for each in (least, limit))
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
        return Span(today.start, calendar.shifted(today.end, limit, unit), f"{unit}s")
    return Span(calendar.shifted(today.start, -limit, unit), today.end, f"{unit}s")


def _unit(found: Found, said: StatedDate) -> Span | None:
    which, unit = which_of(found), found["unit"]
    if unit == "weekend" and found["which"].endswith("past"):
        return _begun_weekend(said)
    if unit not in PARTS:
        return nth(unit, said.now, {"last": -1, "this": 0, "next": 1}[which])
    if which == "this" or (which == "last" and unit in ("night", "evening")):
        return calendar.part_of_day(said.now - timedelta(which == "last"), unit)
    return None


def _begun_weekend(said: StatedDate) -> Span:
    return nth("weekend", said.now, 0 if said.now.weekday() >= 5 else -1)


def _looks_ahead(found: Found, said: StatedDate) -> bool:
    """ "I'll see you on …", "on … I am going"."""
    before = _AHEAD.search(said.low, max(0, found.start() - 60), found.start())
    return bool(before or _GOING.match(said.low, found.end()))


def _but_one(found: Found, said: StatedDate) -> Span:
    """The week before last, the Friday after next."""
    back, what = found["side"] == "before", found["what"]
    if what in calendar.SEASONS:
        one = calendar.choose("last" if back else "next", said.now, lambda year: calendar.season(year, what))
        return calendar.season(one.start.year + (-1 if back else 1), what)
    if what in ("week", "weekend", "month", "quarter", "year"):
        return nth(what, said.now, -2 if back else 2)
    one = calendar.weekday_by(said.now, weekday_number(what), back=back, also_today=False)
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
    return calendar.weekday_by(said.now, weekday_number(name), back=not on, also_today=also_today)


_AWAY = {"yesterday": -1, "today": 0, "tomorrow": 1}

_FORMS: tuple[Form, ...] = (
    (rf"(?P<beyond>(?:the{S})?day{S}(?:before{S}(?=yes)|after{S}(?=tom)))?(?P<word>today|yesterday|tomorrow)\b",
     lambda found, said: days(said.now + timedelta(_AWAY[found["word"]] * (2 if found["beyond"] else 1)))),
    (r"tonight\b", lambda _, said: calendar.part_of_day(said.now, "night")),
    (rf"the{S}other{S}day\b", lambda _, said: days(said.now - timedelta(7), 7, "days")),
    (rf"the{S}(?P<what>weekend|week|month|quarter|year|{WEEKDAY}|{SEASON}){S}"
     rf"(?P<side>before|after){S}(?:last|next)\b", _but_one),
    (rf"(?P<count>{COUNT}){S}(?P<unit>minute|hour|{UNIT})s?{S}(?P<side>ago|back|from{S}now|from{S}today)\b", _ago),
    (rf"in{S}(?P<count>{COUNT}){S}(?P<unit>day|week|month|year)s?\b(?!{S}of\b)", _ahead),
    (rf"(?P<in>(?:in|over|during|within|for){S})?(?:the|these|those){S}(?P<way>past|last|next)(?:{S}(?P<count>{COUNT}))?"
     rf"{S}(?P<unit>day|week|month|year)s?\b(?!{S}of\b)", _rolling),
    (rf"{WHICH}(?P<unit>weekend|week|month|quarter|year|decade|{'|'.join(PARTS)})\b(?!{S}of\b)", _unit),
    (rf"the{S}weekend\b", lambda found, said: nth("weekend", said.now)
     if word_before(said, found.start()) == "for" or _looks_ahead(found, said) else _begun_weekend(said)),
    (rf"(?:{WHICH}|the{S})?(?P<weekday>{WEEKDAY})", _weekday),
)  # fmt: skip

_ALL = FORMS + _FORMS
_EACH = tuple((re.compile(pattern, re.ASCII), reader) for pattern, reader in _ALL)
_UNNAMED = "|".join(re.sub("[(][?]P<[a-z]+>", "(?:", pattern) for pattern, _ in _ALL)
_ANY = re.compile(rf"(?u:\b)(?<![$€£])(?<![0-9][.,:/])(?:{_UNNAMED})", re.ASCII)


# -- modified ----------------------------------------------------------------------------------------------------------

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
_REACH = 48  # how far before a time its lead may begin
_PART = re.compile(rf"{S}(?P<part>morning|afternoon|evening|night)\b", re.ASCII)
_PAIR = re.compile(rf"(?:{S}(?:and|to|until|till|through){S}|\s?[-–]\s?)\Z", re.ASCII)
_NEXT_TO = re.compile(rf"(?:,|{S}of|{S}in)?(?:{S}on)?(?:{S}the)?{S}\Z", re.ASCII)
_WEEKDAY = re.compile(rf"(?:the{S})?{WEEKDAY}", re.ASCII)
_DATE = re.compile(rf"\b{MONTH}|[0-9]{{4}}", re.ASCII)


def modified_in(said: StatedDate) -> list[Phrase]:
    """The phrases with the words before them that modify them, and those that belong together as one."""
    done: list[Phrase] = []
    for phrase in phrases_in(said):
        part = _PART.match(said.low, phrase.last) if phrase.span.grain == "day" else None
        if part:  # "yesterday morning", "Friday night"
            span = calendar.part_of_day(phrase.span.start, part["part"])._replace(any_year=phrase.span.any_year)
            phrase = Phrase(phrase.first, part.end(), span)
        modified = _modified(said, phrase)
        while done and done[-1].last > modified.first:
            done.pop()
        one = _together(said, done[-1], modified) if done else None
        if one:
            done.pop()
        done.append(one or modified)
    return done


def _modified(said: StatedDate, phrase: Phrase) -> Phrase:
    """With "since", "early", "the week before" and the like, which may follow one another."""
    for _ in range(3):
        lead = _LEAD.search(said.low, max(0, phrase.first - _REACH), phrase.first)
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
    if word := lead["open"]:  # "since May", "after May", "before May", "by May": the far end is today, or that of time
        if word in ("since", "after"):
            start, today = span.start if word == "since" else span.end, days(now).end
            return Span(start, today if start < today else calendar.LAST, "since")
        return Span(calendar.FIRST, span.start if word.startswith(("before", "prior")) else span.end, "before")
    if lead["ordinal"]:
        led = _ordinal(lead["ordinal"], lead["what"], span)
    elif lead["part"]:
        led = _part(lead["part"], span)
    elif lead["count"]:
        led = counted(lead["count"], lead["units"], span.start, 1 if lead["way"] == "after" else -1)
    else:
        led = _adjacent(lead["unit"], lead["side"], span)
    return led._replace(any_year=span.any_year) if led else None


def _part(part: str, span: Span) -> Span | None:
    """Early, middle or late in a span of a week or more: a third of it, in whole days."""
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
        near = calendar.weekday_by(last_day if number < 0 else span.start, weekday, back=number < 0, also_today=True)
        start = near.start + timedelta(0 if number < 0 else 7 * number - 7)
        found = days(start, 2, "weekend") if what == "weekend" else days(start)
    return found if span.start <= found.start < span.end else None


def _adjacent(unit: str, side: str, span: Span) -> Span | None:
    """ "the week before 9 June", "the Friday after Christmas", "the weekend of 3 May", "the morning of 3 May"."""
    if side == "of":
        return _of(unit, span)
    back = side != "after" and side != "following"
    day = span.start - timedelta(1) if back else span.end
    if unit in PARTS:
        return calendar.part_of_day(day, unit)
    if unit in ("week", "fortnight"):
        count = 7 if unit == "week" else 14
        return days(span.start - timedelta(count) if back else span.end, count, unit)
    if unit == "weekend":
        near = span.start - timedelta(2) if back else span.end
        return days(calendar.weekday_by(near, 5, back=back, also_today=True).start, 2, "weekend")
    if unit in ("day", "month", "quarter", "year", "decade"):
        return nth(unit, span.start, -1) if back else nth(unit, span.end - timedelta(1), 1)
    return calendar.weekday_by(day, weekday_number(unit), back=back, also_today=True)


def _of(unit: str, span: Span) -> Span | None:
    if unit in PARTS:
        return calendar.part_of_day(span.start, unit) if span.grain == "day" else None
    if unit == "fortnight" or (unit == "day" and span.grain != "day"):
        return None
    if unit in ("day", "weekend", "week", "month", "quarter", "year", "decade"):
        return nth(unit, span.start)
    if span.grain != "week":
        return None
    return calendar.weekday_by(span.start, weekday_number(unit), back=False, also_today=True)


def _together(said: StatedDate, one: Phrase, other: Phrase) -> Phrase | None:
    """Two phrases as one: "from 3 May to 5 June", "Friday of last week", "on Tuesday, 3 May"."""
    if _PAIR.fullmatch(said.low, one.last, other.first) and word_before(said, one.first) in ("between", "from"):
        first, last = one.span, other.span
        if first.any_year and not last.any_year:
            years = (last.start.year - 1, last.start.year)
            near = [first._replace(start=calendar.in_year(first.start, year)) for year in years]
            first = max((span for span in near if span.start < last.end), default=first)
        is_any = first.any_year and last.any_year
        span = Span(first.start, last.end, "between", is_any) if first.start < last.end else None
    elif _NEXT_TO.fullmatch(said.low, one.last, other.first):
        span = _same(said, one, other)
    else:
        return None
    return Phrase(one.first, other.last, span) if span else None


def _same(said: StatedDate, one: Phrase, other: Phrase) -> Span | None:
    """The weekday in that week; or the date, where a day is named in both ways."""
    for day, week in ((one, other), (other, one)):
        if week.span.grain == "week" and _WEEKDAY.match(said.low, day.first, day.last):
            return calendar.weekday_by(week.span.start, day.span.start.weekday(), back=False, also_today=True)
    loose = one.span.grain in ("day", "week", "weekend", *PARTS)
    is_date = other.span.grain == "day" and _DATE.search(said.low, other.first, other.last)
    return other.span if loose and is_date and not _DATE.search(said.low, one.first, one.last) else None
