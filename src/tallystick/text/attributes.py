"""Values of attributes, and whether a statement gives one another value: "strong white now 21.20", after "strong white
19.50 a sack, comes on Mondays".

An attribute is what stands around a value in its clause. A newer statement changes it for certain, if it names just
that attribute, says that something changed, and says little else; else it may. Running figures ("1,905 sold as of 31
October"), exceptions ("only this week"), another's attributes, and numbers that name a thing ("invoice 18") change
nothing. English, by the words alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tallystick.text.recall_words import STOP, spelled, stem, words

VERSION = 1  # of these rules; what they found is recorded with it
LONGEST = 600  # characters: a longer text is not read
_LONGEST_NOUN = 20

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|tember|ober)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_NUMBERS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred"
)
_CURRENCY = "€|£|euros?|eur|pounds?|dollars?|quid|p|usd|gbp"
_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in (
    ("date", rf"\b(?:{_DAY}(?: of)? {_MONTH}|{_MONTH} {_DAY}|\d{{4}}-\d\d-\d\d|the {_DAY[:-1]})\b"),
    ("time", r"\b(?:\d{1,2}:\d\d(?: ?[ap]m)?\b|\d{1,2}(?:\.\d\d)? ?[ap]m\b|noon\b|midnight\b|half past \w+)"),
    ("weekday", rf"\b{_WEEKDAY}\b"),
    ("money", rf"[$£€] ?\d[\d,.]*|\b\d[\d,.]*k? ?(?:{_CURRENCY})\b"),
    ("percent", r"\b\d+(?:\.\d+)? ?(?:%|percent\b)"),
    ("version", r"\b(?:\d+\.\d+(?:\.\d+)+|v\d+(?:\.\d+)*)\b"),
    ("number", rf"\b(?:\d[\d,.]*\d|\d+|{_NUMBERS})\b"),
)), re.IGNORECASE)  # fmt: skip
_DIGIT = re.compile(r"\d")
_SPELLED = frozenset(  # every value has one of these, or a digit
    [*_NUMBERS.split("|"), "noon", "midnight", "half"]
    + [
        day + ending
        for day in "mon tue tues wed wednes thu thurs fri sat satur sun".split()  # noqa: SIM905
        for ending in ("", "s", "day", "days")
    ]
)
_ALIKE = frozenset({"money", "number", "version"})  # 4.20 may be any of them
_NUMBERED = re.compile(  # what has a number instead of a name
    r"\b(?:room|invoice|ticket|order|no|nr|number|pr|issue|gate|platform|bay|bus|line|flat|house|page|chapter|drawer|shelf"
    r"|box|freezer|floor|unit|year|class|form|day|week|step|phase|part|type|model|lab|hall|seat|table|track|route|account"
    r"|customer|case|card|desk|stall|booth|lot|item|version|bench|pier|dock|wing|street|road|flight|train|tram|channel)"
    r"[.:]? (?:#|no\.? ?|nr\.? ?)?\Z|[#-]\Z", re.IGNORECASE,
)  # fmt: skip
_SUBJECT = re.compile(  # "Warehouse 17 is": a number that says which one
    r"(?:\A|[.;!?]\s|\n)(?:the |our |my )?[\w-]+ \d+ (?=(?:is|was|are|has|had|will|can|must|should|needs|holds)\b)",
    re.IGNORECASE,
)
_NAMES = re.compile(r"(?<=[a-z0-9,;] )[A-ZÀ-Þ][\w-]+|\b[A-ZÀ-Þ][\w-]+(?=['’]s\b)")
_CLAUSE = re.compile(r"[.;!?]\s|,\s|\s-\s|\n|\s\(|\)")
_CHANGE = re.compile(
    r"\b(?:now|no longer|no more|instead|after all|any ?more|from now on|as of|finally|scrap|(?:up|down|back) to"
    r"|(?:goes|gone|went|go|comes?|came|putting it) (?:up|down)|moved|moves|changed|switch(?:ed|es)?|becomes?|raised"
    r"|lowered|reduced|increased|extended|cut to|pushed|postponed|t(?:akes?|ook) over|turn(?:ed|s) out|was wrong"
    r"|correction|recounted|make that)\b|->|→",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:as of|so far|to date|up to now|(?:just|only) (?:this|once|today|for)|this (?:once|week)|for (?:once|today)"
    r"|one[- ]off|except(?:ion)?)\b(?! (?:today|now|this|next|the|monday|tomorrow))", re.IGNORECASE,
)  # fmt: skip
_OF_CHANGE = frozenset(map(stem, """
    now longer instead anymore new moved moves changed switched becomes raised lowered reduced increased extended cut
    pushed postponed finally goes gone went put putting come came from correction
""".split()))  # fmt: skip  # noqa: SIM905
_LITTLE, _BACK, _MOST, _ALL = 0.3, 0.5, 0.55, 0.99  # shares of words, by weight
_SAYS_NO_MORE = 0.9

Weight = Callable[[Iterable[str]], float]
Place = tuple[int, int]  # the characters of a value


class Value(NamedTuple):
    kind: str
    text: str
    place: Place
    around: frozenset[str]  # the stems of its clause
    before: frozenset[str]  # and of those before it
    names: frozenset[str]  # in its clause
    spelled: frozenset[str]  # its words as they are: "shipped" is not "ships"


class Attributes(NamedTuple):
    """What is read of a statement."""

    values: list[Value]
    words: frozenset[str]  # by their stems, without those of change
    is_change: bool
    numbered: frozenset[tuple[str, str]]  # the things in it that have a number instead of a name


class Change(NamedTuple):
    """The value of an attribute in an older statement, and in a newer one."""

    was: Place
    now: Place
    is_certain: bool
    is_all: bool  # the older one says nothing else


def read(text: str) -> Attributes:
    has_any = _DIGIT.search(text) or not _SPELLED.isdisjoint(spelled(text))
    if len(text) > LONGEST or not has_any or _PASSING.search(text):
        return Attributes([], frozenset(), False, frozenset())
    ends = [0, *(match.end() for match in _CLAUSE.finditer(text)), len(text)]
    values, numbered = list[Value](), set[tuple[str, str]]()
    subjects = {match.end() - 1 for match in _SUBJECT.finditer(text)}
    for match in _VALUE.finditer(text):
        start, end = match.span()
        is_number = match.lastgroup == "number"
        if is_number and (end in subjects or _NUMBERED.search(text, max(0, start - _LONGEST_NOUN), start)):
            numbered.add((" ".join(words(text[:start])[-1:]), match[0]))
            continue
        first = max(end for end in ends if end <= match.start())
        last = min(end for end in ends if end >= match.end())
        clause, said = text[first:last], match[0].rstrip()
        place, names = (match.start(), match.start() + len(said)), frozenset(_NAMES.findall(_VALUE.sub(" ", clause)))
        before, as_said = _stems(text[first : match.start()]), frozenset(words(_VALUE.sub(" ", clause)))
        values.append(Value(match.lastgroup or "", said.lower(), place, _stems(clause), before, names, as_said))
    return Attributes(values, _stems(text), _CHANGE.search(text) is not None, frozenset(numbered))


def _stems(text: str) -> frozenset[str]:
    told = (stem(word) for word in words(_VALUE.sub(" ", text)) if word not in STOP and len(word) > 1)
    return frozenset(told) - _OF_CHANGE


def changed(new: Attributes, old: Attributes, weight: Weight) -> Change | None:
    """The value that a newer statement gives an attribute of an older one; None, if it does not seem to."""
    found = [
        (*shares, one, other)
        for one in new.values for other in old.values
        if _is_other(one, other) and (shares := _shares(one, other, weight))
    ]  # fmt: skip
    if not found or _is_another_one(new, old):
        return None
    of_new, of_old, before, one, other = max(found, key=lambda each: (sum(each[:3]), each[3].kind != "weekday"))
    both, mine = weight(new.words & old.words), weight(new.words)
    is_just_that = of_new >= _ALL and before >= _ALL and of_old >= _BACK
    share = both / mine if mine else 0.0
    is_certain = new.is_change and is_just_that and share >= _BACK
    is_said_alike = {stem(each) for each in one.spelled & other.spelled} >= one.around & other.around
    is_changed = new.is_change and of_new >= _MOST and of_old >= _LITTLE
    may_be = share >= _LITTLE and (is_changed or (is_just_that and is_said_alike))
    if not (is_certain or may_be):
        return None
    says_no_more = len(old.values) == 1 and both >= _SAYS_NO_MORE * weight(old.words)
    return Change(other.place, one.place, is_certain, says_no_more)


def _is_another_one(new: Attributes, old: Attributes) -> bool:
    """Whether they are about things of another number, or the same words tell more than one value, each another one:
    "Ola, 14, has locker 5", after "Ola, 12, has locker 3"."""
    if {noun for noun, _ in new.numbered} & {noun for noun, _ in old.numbered} and not new.numbered & old.numbered:
        return True
    if new.is_change or new.words != old.words or len(new.values) != len(old.values):
        return False
    return sum(one.text != other.text for one, other in zip(new.values, old.values, strict=True)) > 1


def _is_other(one: Value, other: Value) -> bool:
    if one.names and other.names and not one.names & other.names:
        return False
    return one.text != other.text and (one.kind == other.kind or {one.kind, other.kind} <= _ALIKE)


def _shares(one: Value, other: Value, weight: Weight) -> tuple[float, float, float] | None:
    """The share of the newer attribute's words that the older one has, the reverse, and of those before the value."""
    both = weight(one.around & other.around)
    if not both:
        return None
    before = weight(one.before)
    of_before = weight(one.before & other.before) / before if before else 0.0
    return both / weight(one.around), both / weight(other.around), of_before


def by_rarity(rare: Mapping[str, float]) -> Weight:
    return lambda stems: sum(rare.get(each, 0.0) for each in stems)
