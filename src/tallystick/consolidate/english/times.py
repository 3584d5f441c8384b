"""Since when and until when, as the words of a clause tell, read from the moment of the episode."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from tallystick.text.dates.absolute import StatedDate
from tallystick.text.dates.find import Span, spans_in
from tallystick.text.dates.relative import COUNT, phrases_in
from tallystick.text.words import DATE, MONTH, shown, words_of

_LEAD = re.compile(
    r"\b(?:since|until|till|from|in|on|by|before|after|around|about|back|up to|as of|during|the|early|late|mid|of|end|"
    r"start|beginning|middle|way|at|over|sometime|of)\s+\Z",
    re.IGNORECASE,
)
_LASTING = re.compile(
    rf"\bfor\s+(?:about\s+|over\s+|almost\s+|nearly\s+|around\s+|more than\s+|at least\s+|the\s+(?:last|past)\s+)?"
    rf"(?P<count>{COUNT})\s+(?P<unit>year|month|week|day)s?(?:\s+now)?\b",
    re.IGNORECASE | re.ASCII,
)
_LATE = timedelta(60)  # a deadline may be spoken of so long after it
_DATED = re.compile(r"[\w ,./-]+")
_YEAR = re.compile(r"(?:in\s+)?((?:19|20)[0-9]{2})\Z")


class Times(NamedTuple):
    """What a clause says of time, and where in it that stands."""

    valid_from: str = ""
    valid_to: str = ""
    span: Span | None = None  # a time that was named without "since" or "until"
    cuts: tuple[tuple[int, int], ...] = ()
    is_lasting: bool = False  # "for three years", "since May": what is told still holds


def times_in(text: str, now: datetime) -> Times:
    """The times that a clause names. Places are counted from the beginning of `text`."""
    lasting = _LASTING.search(text)
    if lasting and (spans := spans_in(f"{lasting['count']} {lasting['unit']}s ago", now)):
        return Times(_day(spans[0].start), "", None, (lasting.span(),), True)
    spans = spans_in(text, now)
    if not spans:
        return Times()
    cuts = _cuts(text, now)
    for span in spans:
        if span.grain == "since":
            return Times(_day(span.start), "", None, cuts, True)
        if span.grain == "before":
            is_end = re.search(r"\b(?:until|till|up to)\b", text, re.IGNORECASE) is not None
            return Times("", _day(span.end) if is_end else "", None, cuts)
        if span.grain in ("between", "years", "months") and re.search(r"\bfrom\b", text, re.IGNORECASE):
            return Times(_day(span.start), _day(span.end), None, cuts)
    return Times("", "", spans[0], cuts)


def since(times: Times) -> str:
    """From when something holds that began at the time named."""
    return times.valid_from or (_day(times.span.start) if times.span else "")


def until(times: Times, now: datetime) -> str:
    """Until when something held that ended at the time named: the day after it, and never later than tomorrow."""
    if times.valid_to or not times.span:
        return times.valid_to
    return _day(min(times.span.end, now + timedelta(1)))


def day_of(moment: datetime) -> str:
    return _day(moment)


def date_said(text: str, now: datetime) -> str:
    """The day that a text names, one to come where no year was said: "2026-05-03", or "" where it names none."""
    spans = spans_in(f"it will be {text}", now)
    if len(spans) != 1 or spans[0].grain != "day":
        return ""
    start = spans[0].start
    if spans[0].any_year and start < now - _LATE:
        with suppress(ValueError):  # 29 February
            start = start.replace(year=start.year + 1)
    return _day(start)


def birth_said(text: str) -> str:
    """A date of birth as it is kept: "1990-05-03", "3 May", "1990-05" or "1990"; "" for anything else."""
    if len(text) > 60 or not _DATED.fullmatch(text):
        return ""
    words = [word for word in words_of(text) if word[0] not in ("on", "in", "the", "of")]
    if len(words) == 1 and words[0][1] in (DATE, MONTH) and not words[0][0][:1].isalpha():
        return shown(words[0][0])
    year = _YEAR.match(text.strip())
    return year[1] if year else ""


def _cuts(text: str, now: datetime) -> tuple[tuple[int, int], ...]:
    """Where in the text times are named, with the words that lead to them."""
    low = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    cuts: list[tuple[int, int]] = []
    for phrase in phrases_in(StatedDate(text, low, now.replace(tzinfo=None, fold=0))):
        first = phrase.first
        for _ in range(4):
            lead = _LEAD.search(text, max(0, first - 14), first)
            if not lead:
                break
            first = lead.start()
        cuts.append((first, phrase.last))
    return tuple(cuts)


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
