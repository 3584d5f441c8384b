"""Times that a text names: "last Friday", "the week before 9 June 2023", "in May".

They are read from the moment the text was said, in that moment's zone, always the same way. A reading may be wrong:
nobody can know which of two summers was meant, so the nearest one that fits the words is taken. A text that names no
time gives nothing, and no text of any kind raises.

Most texts name none, which one search shows. `time_phrases` is loaded only where there may be one.
"""

from __future__ import annotations

import re
from datetime import datetime

from tallystick.text.dates.calendar import FIRST, LAST, Span, fit, in_a_zone

__all__ = ["Span", "fit", "spans_in", "wants_a_time"]

_LONGEST = 50_000  # characters that are read; a text of nothing but dates takes a fifth of a second then
_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}  # İ and the like keep their length

_HINT = re.compile(
    r"\b(?:to(?:day|night|morrow)|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:day|night|week|weekend|fortnight|month|quarter|year|decade|hour|minute)s?|morning|afternoon|evening"
    r"|spring|summer|autumn|fall|winter|christmas|xmas|halloween|thanksgiving|q[1-4]"
    r"|mon|tues?|wed|thur?s?|fri|sat|sun|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:19|20)[0-9]{2}s?|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4})\b",
    re.ASCII,
)

_ASKED = "(?:did|do|does|is|are|was|were|am|will|would|has|have|had|can|could|should|shall|might)"
_ASKS = re.compile(
    rf"\bwhen(?:['’]s\b|(?: exactly)?,? {_ASKED}\b)|\bwhen\s?(?:[?]|\Z)"
    r"|\b(?:know|tell me|remember|recall|say|said|ask|sure|out|idea|since|until) when\b"
    r"|\b(?:what|which) (?:(?:exact|calendar) )?(?:date|day|year|month|week|weekend|season|time|hour)s?"
    rf"(?:['’]s\b| (?:{_ASKED}|of|and|or|in)\b|\s?(?:[?,]|\Z))"
    r"|\bwhat(?:['’]s| is| was| were) the (?:exact )?(?:date|day|year|month|time)\b|\bhow (?:long|soon|recently)\b"
    r"|\bhow (?:many|much) (?:more )?(?:minutes|hours|days|weeks|months|years|decades|time)\b",
    re.ASCII,
)
_JUST_WHEN = re.compile(r"\s{0,9}when\b[^,]*[?]\s{0,9}\Z", re.ASCII)  # "When Ana moved?", not "When sad, what helps?"


def spans_in(text: str, now: datetime) -> list[Span]:
    """The spans of time that a text names, read from the moment it was said.

    They are in the zone of `now` (a `now` without one is taken as UTC), in the order of the text, each once.
    Of a very long text only the first part is read.
    """
    text = text[:_LONGEST]
    low = text.translate(_LOWER)
    if not _HINT.search(low):
        return []
    from tallystick.text.dates.time_phrases import StatedDate, modified_in

    zone = in_a_zone(now).tzinfo
    found = modified_in(StatedDate(text, low, now.replace(tzinfo=None, fold=0)))
    spans = (span for _, _, span in found if FIRST <= span.start < span.end <= LAST)
    return list(dict.fromkeys(
        span._replace(start=span.start.replace(tzinfo=zone), end=span.end.replace(tzinfo=zone)) for span in spans
    ))  # fmt: skip


def wants_a_time(question: str) -> bool:
    """Whether a question asks for a date, a time or how long: "when did", "what year", "how many days"."""
    low = question.translate(_LOWER)
    return (_ASKS.search(low) or _JUST_WHEN.match(low)) is not None
