"""Words for a time that has its place in the calendar: "3 May", "May 2023", "Q3", "last summer", "at Christmas".

A form is a pattern, over the text in small letters, and a reader. A reader gives nothing where the words mean something
else ("I may go", "we march on"), and raises ValueError or OverflowError where there is no such day ("30 February").
No pattern repeats without bound, so that any text is read in a time that grows with its length alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from tallystick.text.dates.calendar import Span, Yearly, choose, days, months, season, weekday_by


class StatedDate(NamedTuple):
    """A text, the same in small letters, and the time on the wall when it was said."""

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
    """The one of the year that was said; else the one that `which` chooses."""
    year: str | None = found["year"]
    if not year:
        return choose(which, said.now, yearly)
    if year.endswith("year"):
        return yearly(said.now.year + {"last": -1, "this": 0, "next": 1}[year.split()[0]])
    return yearly(int(year) if year.isdigit() else 2000 + int(year[1:]))


def _number(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _small_word(said: StatedDate, at: int) -> bool:
    """Whether "may" or "march" stands there in small letters, as the verb does."""
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


def _year_first(found: Found, _: StatedDate) -> Span:
    return days(datetime(int(found["year"]), int(found["month"]), int(found["day"])))


def _year_last(found: Found, _: StatedDate) -> Span | None:
    """Day first or month first? Only where one of them is above 12, both are the same, or dots say day first."""
    one, other, year = int(found["one"]), int(found["other"]), int(found["year"])
    if one > 12 or one == other or found["mark"] == ".":
        return days(datetime(year, other, one))
    return days(datetime(year, one, other)) if other > 12 else None


def _quarter(found: Found, said: StatedDate) -> Span:
    first = int(found["quarter"]) * 3 - 2
    return _of_year(lambda year: months(year, first, 3, "quarter"), found, said)


def _season(found: Found, said: StatedDate) -> Span | None:
    name, before = found["season"], word_before(said, found.start())
    led = before in _IN if name in ("fall", "spring") else before in _OVER or found["the"]
    if not (found["which"] or found["year"] or led):
        return None
    return _of_year(lambda year: season(year, name), found, said, which_of(found))


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


def _years(found: Found, _: StatedDate) -> Span | None:
    first, last = int(found["year"]), int(found["last"])
    return months(first, 1, 12 * (last - first + 1), "years") if first < last else None


def _yearly(month: int, day: int, count: int = 1) -> Yearly:
    return lambda year: days(datetime(year, month, day), count)


_HOLIDAYS: dict[str, Yearly] = {
    "christmas": _yearly(12, 25), "xmas": _yearly(12, 25), "christmas eve": _yearly(12, 24),
    "christmas day": _yearly(12, 25), "xmas eve": _yearly(12, 24), "xmas day": _yearly(12, 25),
    "boxing day": _yearly(12, 26), "new year eve": _yearly(12, 31), "new year day": _yearly(1, 1),
    "new year": _yearly(12, 31, 2), "halloween": _yearly(10, 31), "valentine day": _yearly(2, 14),
    "thanksgiving": lambda year: weekday_by(datetime(year, 11, 28), 3, back=True, also_today=True),
}  # fmt: skip

FORMS: tuple[Form, ...] = (
    (rf"(?P<between>between{S}|from{S})?{_DAY}{_TO}(?:{S}of)?{S}(?P<month>{MONTH}){_YEAR}", _days),
    (rf"(?P<between>between{S}|from{S})?(?P<month>{MONTH}){S}{_DAY}{_TO}\b{_YEAR}", _days),
    (rf"(?:between|from){S}(?P<month>{MONTH}){S}(?:and|to|until|till|through){S}(?P<last>{MONTH}){_YEAR}", _months),
    (r"(?P<year>[12][0-9]{3})[-/](?P<month>[0-9]{1,2})[-/](?P<day>[0-9]{1,2})(?![0-9/-])", _year_first),
    (r"(?P<one>[0-9]{1,2})(?P<mark>[/.])(?P<other>[0-9]{1,2})[/.](?P<year>(?:19|20)[0-9]{2})\b", _year_last),
    (rf"(?:the{S})?{_DAY}(?:{S}of)?{S}(?P<month>{MONTH}){_YEAR}", _day),
    (rf"(?:the{S})?(?P<day>{'|'.join(ORDINALS)})(?P<th>{S}of){S}(?P<month>{MONTH}){_YEAR}", _day),
    (rf"(?P<month>{MONTH}){S}(?:the{S})?{_DAY}\b(?!%|[:.%][0-9]|,[0-9]{{3}}){_YEAR}", _day),
    (rf"(?:{WHICH})?(?P<month>{MONTH}){_YEAR}", _month),
    (rf"q(?P<quarter>[1-4])\b{_YEAR}", _quarter),
    (rf"(?:{WHICH})?(?P<the>the{S})?(?P<season>{SEASON})\b{_YEAR}", _season),
    (rf"(?:{WHICH})?(?P<holiday>(?:christmas|xmas|new{S}year(?:['’]?s)?)(?:{S}(?:eve|day))?|boxing{S}day|halloween"
     rf"|thanksgiving|valentine['’]?s?{S}day)\b{_YEAR}", _holiday),
    (rf"(?:between|from){S}(?P<year>(?:19|20)[0-9]{{2}}){S}(?:and|to|until|till){S}"
     r"(?P<last>(?:19|20)[0-9]{2})\b", _years),
    (r"(?:the\s)?(?P<year>(?:19|20)[0-9]{2})(?P<decade>s)?\b(?![-/.,][0-9])", _year),
)  # fmt: skip
