"""Values that a statement holds (a price, a date, a version), which of them a question asks for, and words of change.

English, and read by the words alone: what is not recognised has no kind, and what asks for none takes any.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tallystick.text.recall_words import stem, telling, words

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|tember|ober)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NUMBERS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred"
)
_KINDS = {
    "date": re.compile(
        rf"\b(?:{_DAY}(?: of)? {_MONTH}|{_MONTH} {_DAY}|the \d{{1,2}}(?:st|nd|rd|th)|\d{{4}}-\d\d-\d\d)\b"
    ),
    "weekday": re.compile(rf"\b(?:{_WEEKDAY}s?|tue|wed|thu|fri)\b"),
    "time": re.compile(r"\b(?:\d{1,2}:\d\d|\d{1,2} ?[ap]m|noon|midnight)\b"),
    "version": re.compile(r"\b\d+\.\d+(?:\.\d+)?\b"),
    "money": re.compile(
        r"[$£€] ?\d|\d ?(?:€|£|euros?|eur|pounds?|dollars?|usd|gbp|quid|k\b|p\b)|\d\.\d[05]\b"
        r"|\b(?:price|cost|pay|paid|owe|rent|budget)\w*\b"
    ),
    "number": re.compile(rf"\d|\b(?:{_NUMBERS})\b"),
}
_DATED = re.compile("|".join((_KINDS["date"].pattern, _KINDS["time"].pattern)))
_VALUE = re.compile(rf"\b(?:{_NUMBERS}|{_WEEKDAY}|{_MONTH})\b|\d+(?:[.,:]\d+)*")
_ASKED = (
    (re.compile(r"\bwhen\b|\b(?:what|which) (?:dates?|days?|time|month|weekday)\b|\bdate of\b|\bdeadline\b"),
     frozenset({"date", "weekday", "time"})),
    (re.compile(r"\bversion\b"), frozenset({"version"})),
    (re.compile(r"\bhow much\b|\b(?:price|cost|rent|pay|fee|owe|budget|rate|salary|wage)s?\b"),
     frozenset({"money", "number"})),
    (re.compile(r"\bhow (?:many|long|old|often|far|big|high|large|heavy)\b|\b(?:number|percent|size|ratio|limit)\b"),
     frozenset({"number", "time"})),
)  # fmt: skip
_CHANGE = re.compile(
    r"\b(?:now|no longer|no more|instead|after all|any ?more|from now on|as of|as from|new|finally|in the end|actually"
    r"|rather|scrap|back (?:down |up )?to|up to|down to|(?:comes?|came|gone|went|goes|go) (?:up|down|forward)"
    r"|moved?|moves|moving|changed?|switch(?:ed|es)?|swapped|replace[sd]?|becomes?|will be"
    r"|raised|lowered|reduced|increased|extended|dropped|cut|pushed|postponed|delayed|cancell?ed|called off|pulled out"
    r"|brought forward|t(?:akes?|ook) over|steps? in|quit|left|corrections?|recounted|turns? out|turned out|wasn't"
    rf"|isn'?t|from (?:today|tomorrow|next|{_WEEKDAY}|{_MONTH}|the (?:first|second|\d+))|is (?:off|out|dead))\b|->|→"
)
_BEFORE = re.compile(
    r"\b(?:before|used to|originally|initially|at first|formerly|previous(?:ly)?|old|former|back then|at the time"
    r"|until)\b"
)


class Statement(NamedTuple):
    """What is read of a text to compare it with another. It depends on the text alone."""

    words: frozenset[str]  # by their stems
    kinds: frozenset[str]  # of the values in it
    values: frozenset[str]
    is_change: bool
    said: str  # its words in their order

    @classmethod
    def of(cls, text: str) -> Statement:
        told, said = frozenset(map(stem, telling(text))), " ".join(words(text))
        return cls(told, kinds_of(text), values_in(text), says_change(text), f" {said} ")

    def repeats(self, other: Statement) -> bool:
        """True if it quotes all that the other says."""
        return other.said in self.said


def kinds_of(text: str) -> frozenset[str]:
    """The kinds of value that a statement holds. The digits of a date or a time are no number."""
    low = text.lower()
    rest = _DATED.sub(" ", low)
    return frozenset(
        kind for kind, pattern in _KINDS.items() if pattern.search(low if kind in ("date", "time") else rest)
    )


def values_in(text: str) -> frozenset[str]:
    """The values that a statement holds: its numbers, weekdays and months."""
    return frozenset(_VALUE.findall(text.lower()))


def asked_kinds(question: str) -> frozenset[str]:
    """The kinds of value that answer a question; none, if any may."""
    low = question.lower()
    return next((kinds for pattern, kinds in _ASKED if pattern.search(low)), frozenset())


def says_change(text: str) -> bool:
    """True if a statement says that something is no longer as it was."""
    return _CHANGE.search(text.lower().replace("’", "'")) is not None


def asks_of_before(question: str) -> bool:
    """True if a question asks how something was before."""
    return _BEFORE.search(question.lower()) is not None
