"""Predications: a clause without its subject, with its times; and the drafts of claims that rules make of it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from tallystick.consolidate.english.clauses import Verb
from tallystick.consolidate.english.objects import Kind
from tallystick.text.dates.find import Span, spans_in
from tallystick.text.dates.time_phrases import COUNT, StatedDate, phrases_in
from tallystick.text.word_lists import PREPOSITIONS, STOPS
from tallystick.text.words import DATE, MONTH, Token, shown, words_of

CONNECTS = frozenset(("and", "&"))


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim about the subject of its clause, or about `subject` where one is given."""

    predicate: str
    object: str
    end: int  # where in the content the words that say it end
    confidence: float = 0.6
    is_denied: bool = False
    instead_of: str = ""
    valid_from: str = ""
    valid_to: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Words that belong together, and the preposition before them: ("at", "Acme")."""

    preposition: str
    words: list[Token]


@dataclass(frozen=True, slots=True)
class Predication:
    """A clause without its subject."""

    verb: Verb
    words: list[Token]  # after the verb, times cut out; a word before a cut has the mark "t"
    times: Times
    now: datetime
    not_this: list[Token]  # "… but at Initech", "…, not Acme": what it is said to stand in the place of
    is_first: bool = True  # the subject is who speaks
    last: int = 0  # where the times named end
    named: str = ""  # the words of the first time named

    def parts(self) -> list[Part]:
        """The words up to the first comma, conjunction or beginning of another thought, split at prepositions."""
        parts = [Part("", [])]
        for token in self.words:
            low = token.low
            if low in CONNECTS:
                before, after = parts[-1].words[-1:], self.words[self.words.index(token) + 1 :][:1]
                if not (token.text == "&" and all(each and each[0].is_name for each in (before, after))):
                    break  # no "Marks & Spencer"
            if low in PREPOSITIONS:
                parts.append(Part(low, []))
            elif low == "or":
                return []  # one of the two, and nobody knows which
            elif low in STOPS:
                break
            else:
                parts[-1].words.append(token)
            if token.mark == "t":
                parts.append(Part("", []))
            elif token.mark:
                break
        return [part for part in parts if part.words]

    def part(self, *prepositions: str) -> list[Token]:
        """The words after the first of these prepositions; "" is right after the verb."""
        return next((part.words for part in self.parts() if part.preposition in prepositions), [])

    def direct(self) -> list[Token]:
        """The words right after the verb, if no preposition stands before them."""
        parts = self.parts()
        return parts[0].words if parts and parts[0].preposition == "" and self.words[:1] == parts[0].words[:1] else []

    def listed(self, kind: Kind) -> list[tuple[str, int]]:
        """ "tea, coffee and long walks": each object and where it ends, up to the first that is of another kind."""
        found: list[tuple[str, int]] = []
        items, is_bounded = self._items()
        for at, item in enumerate(items):
            clause = kind(item)
            if not clause or (is_bounded and at + 1 == len(items)):
                break
            found.append((clause, item[-1].end))
        return found

    def _items(self) -> tuple[list[list[Token]], bool]:
        """The words between commas and "and"; and whether a "that" narrows the last of them: "stories that …"."""
        items: list[list[Token]] = [[]]
        is_bounded = False
        for at, token in enumerate(self.words):
            if token.low in CONNECTS:
                items.append([])
            elif token.low in STOPS or token.low in ("not", "for"):
                if token.low == "or":
                    return [], False
                is_bounded = token.low in _BOUNDS and bool(items[-1]) and not items[-1][-1].mark
                break
            else:
                items[-1].append(token)
                if token.mark == "," and _goes_on(self.words, at):
                    items.append([])
                elif token.mark:
                    break
        return [item for item in items if item], is_bounded


_BOUNDS = frozenset(("that", "which", "who", "where", "when", "whose", "how", "what", "than", "if", "as"))


def _goes_on(words: list[Token], at: int) -> bool:
    """Whether a list goes on after a comma: an "and" comes before anything else ends it."""
    for token in words[at + 1 :]:
        if token.low in CONNECTS:
            return True
        if token.low in STOPS or token.mark not in ("", ","):
            return False
    return False


# --- times: since when and until when, read from the moment of the episode


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
    """The times of a clause, and where in it they are named."""

    valid_from: str = ""
    valid_to: str = ""
    span: Span | None = None  # a time that was named without "since" or "until"
    cuts: tuple[tuple[int, int], ...] = ()
    is_lasting: bool = False  # "for three years", "since May": it still holds


def times_in(text: str, now: datetime) -> Times:
    """The times that a clause names. Positions are counted from the beginning of `text`."""
    lasting = _LASTING.search(text)
    if lasting and (spans := spans_in(f"{lasting['count']} {lasting['unit']}s ago", now)):
        return Times(day_of(spans[0].start), "", None, (lasting.span(),), True)
    spans = spans_in(text, now)
    if not spans:
        return Times()
    cuts = _cuts(text, now)
    for span in spans:
        if span.grain == "since":
            return Times(day_of(span.start), "", None, cuts, True)
        if span.grain == "before":
            is_end = re.search(r"\b(?:until|till|up to)\b", text, re.IGNORECASE) is not None
            return Times("", day_of(span.end) if is_end else "", None, cuts)
        if span.grain in ("between", "years", "months") and re.search(r"\bfrom\b", text, re.IGNORECASE):
            return Times(day_of(span.start), day_of(span.end), None, cuts)
    return Times("", "", spans[0], cuts)


def since(times: Times) -> str:
    """From when something holds that began at the time named."""
    return times.valid_from or (day_of(times.span.start) if times.span else "")


def until(times: Times, now: datetime) -> str:
    """Until when something held that ended at the time named: the day after it, and never later than tomorrow."""
    if times.valid_to or not times.span:
        return times.valid_to
    return day_of(min(times.span.end, now + timedelta(1)))


def date_said(text: str, now: datetime) -> str:
    """The day that a text names, one to come where no year is named: "2026-05-03", or "" where it names none."""
    spans = spans_in(f"it will be {text}", now)
    if len(spans) != 1 or spans[0].grain != "day":
        return ""
    start = spans[0].start
    if spans[0].any_year and start < now - _LATE:
        with suppress(ValueError):  # 29 February
            start = start.replace(year=start.year + 1)
    return day_of(start)


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
    low = "".join(each.lower() if each.isascii() else each for each in text)
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


def day_of(moment: datetime) -> str:
    return moment.date().isoformat()
