"""What kind of thing a name stands for, as far as the words around it say: "Maya is our designer", "the Atlas project".

Only what is said outright counts, and only English is read. Whatever stays open is a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tallystick.text.aliases import CAPITAL, NO_NAME, RELATIONS

LONGEST = 600  # characters of a text that are read
VERSION = 1  # of what a statement is filed by; it is recorded with it

_ROLES = (
    "designer developer engineer manager director founder owner boss lead chef baker cook waiter nurse doctor teacher"
    " student lawyer accountant architect analyst researcher scientist writer editor photographer artist musician"
    " consultant intern apprentice assistant secretary officer driver farmer gardener"
    " carpenter electrician plumber colleague friend neighbour neighbor flatmate roommate coach trainer"
)
_ACTS = (
    "said says told tells asked asks wants wanted likes liked loves loved hates prefers lives lived works worked joined"
    " left thinks thought phoned wrote hopes plays drinks eats studies teaches married moved knows speaks needs takes"
    " runs leads owns manages was born agreed promised suggested reported has does handles joins starts started covers"
    " eats sleeps pays brings told picks collects delivers gets"
)
_OWN = (
    "birthday wife husband partner mother father sister brother daughter son family phone email address allergy"
    " favourite favorite desk boss flat"
)


_FIRMS = "company|supplier|vendor|firm|bank|agency|employer"
_STATES = (
    "allergic vegetarian vegan expecting pregnant away sick ill scared afraid married single retired together \\d+"
    " colour-blind color-blind off on"
)
_OFTEN = "(?: only| also| always| never| usually| still| both)?"
_IS = (  # what follows says what it is: ", our", ", retired", " is the", ", head of platform, is my"
    r"(?:,? (?:an? |the |my |our )|(?:,[^.,]*,)? (?:is|was|as) (?:an? |the |my |our )?|, )(?:[a-z]+ ){0,2}"
)


def _any(words: str) -> str:
    return "|".join(words.replace("was born", "was_born").split()).replace("_", " ")


NAME = rf"{CAPITAL}(?: {CAPITAL}){{0,2}}"
_MOST = 8  # phrases of a statement
_PHRASE = re.compile(rf"\b{NAME}")
_LEAD = re.compile(r"(?:(?:My|Our) (?:[a-z]+ ){1,3})?(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? )?")
_HOW = "(?:really |always |never |usually |do not |don['’]t |would )*"
_WISH = re.compile(
    rf"^(?:I|we)(?:['’]d)? {_HOW}(?:prefer|like|love|hate|dislike|enjoy|can['’]t stand|want|wish)\b"
    r"|^(?:please|always|never|don['’]t)\b.*\b(?:me|my|I)\b", re.IGNORECASE,
)  # fmt: skip
_OF_ME = "name|birthday|phone|phone number|address|email|job|blood type|height|age"
_SELF = re.compile(
    r"^(?:I['’]?m|I am|I was born|I live|I work|I have been|I speak|I come from|I grew up|I studied|I moved|I drive"
    rf"|I own|my (?:full |first |last |middle )?(?:{_OF_ME})(?: is|:| =))\b", re.IGNORECASE,
)  # fmt: skip
_PEOPLE = f"{_any(_ROLES)}|{'|'.join(RELATIONS)}"
_PATTERNS = (  # by kind; in the text, NAME is the name
    ("person", r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? NAME\b"),
    ("person", rf"\b(?:my|our|his|her|their) (?:[a-z]+ ){{0,2}}(?:{_PEOPLE})s?(?: is| =|,|:)? NAME\b"),
    ("person", rf"\bNAME{_IS}(?:{_PEOPLE})\b"),
    ("person", rf"\bNAME'?s (?:{_any(_OWN)})\b"),
    ("org", r"\bNAME,? (?:GmbH|AG|Inc|Ltd|LLC|Corp|Co|PLC|SA|BV)\b"),
    ("org", rf"\b(?:{_FIRMS}|client|customer) NAME\b"),
    ("org", rf"\bNAME{_IS}(?:{_FIRMS})\b"),
    ("org", r"\b(?:works?|worked|job|invoice|contract|order) (?:at|for|with|from) NAME\b"),
    ("project", r"\b(?:project|initiative) NAME\b"),
    ("project", r"\bNAME (?:project|initiative|launch|milestone|sprint|roadmap|backlog)\b"),
    ("project", r"\bNAME (?:ships|is due|goes live|launches|was released|is behind)\b"),
    ("event", r"\bNAME (?:takes place|is held|starts at|begins at)\b"),
    ("tool", r"\bNAME (?:v?\d|version|API|CLI|SDK|library|server|cluster|plugin|database)"),
    ("tool", r"\b(?:upgraded?|install(?:ed)?|deploy(?:ed)?|written in|migrated? to|using|uses?) NAME\b"),
    ("person", rf"\bNAME{_OFTEN} (?:{_any(_ACTS)})\b"),
    ("person", rf"\bNAME(?:,.*,)? (?:is|was|and I are){_OFTEN} (?:{_any(_STATES)})\b"),
    ("person", r"\bNAME\b[^.]*\b(?:he|she|him|her|his|hers|himself|herself)\b"),
)  # fmt: skip
_IS_PERSON = tuple(  # by these alone, a statement makes somebody known
    re.compile(pattern.replace("NAME", rf"(?P<name>{NAME})")) for pattern in (
        rf"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ ){{0,2}}(?:{_PEOPLE})(?: is| =|,|:)? NAME\b",
        rf"\bNAME{_IS}(?:{_PEOPLE})\b",
        r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? NAME\b",
        rf"^NAME{_OFTEN} (?:{_any(_ACTS)})\b",
    )
)  # fmt: skip
_BY_NAME = tuple(
    (kind, re.compile(rf"\b(?:{words})\.?$", re.IGNORECASE)) for kind, words in (
        ("org", f"gmbh|ag|inc|ltd|llc|corp|plc|university|hospital|{_FIRMS}"),
        ("event", "meeting|conference|workshop|wedding|party|retreat|festival|offsite|exam"),
        ("project", "project|initiative"),
    )
)  # fmt: skip
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? \w", re.IGNORECASE)
_SURNAME = r"(?: [A-Z][\w'’-]+)?"


def people_in(text: str) -> list[str]:
    """The names of people that a statement makes known. A lone word with a capital says nothing where it begins one."""
    found = (
        (match["name"], number == len(_IS_PERSON) - 1) for number, pattern in enumerate(_IS_PERSON)
        for match in pattern.finditer(text)
    )  # fmt: skip
    names = (name for name, is_bare in found if " " in name or not is_bare)
    return [name for name in dict.fromkeys(names) if name.casefold() not in NO_NAME]


def named_in(text: str) -> Iterator[tuple[list[str], int]]:
    """What may be a name, and where it stands: words with capitals, or of a script that has none; the longest first."""
    for match in islice(_PHRASE.finditer(text), _MOST):
        words, at = re.sub("['’]s?$", "", match[0]).split(" "), match.start()
        while words and words[0].casefold() in NO_NAME:
            at += len(words.pop(0)) + 1
        if words:
            yield [" ".join(words[:size]) for size in range(len(words), 0, -1)], at


def start_of(text: str) -> int:
    """Where the first name may stand: after "My daughter", "Dr."."""
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def of_oneself(text: str) -> str:
    """What somebody says of themself: "preferences", how they want things; "profile", who they are; else nothing."""
    if _WISH.search(text):
        return "preferences"
    return "profile" if _SELF.match(text) else ""


def kind_in(name: str, text: str) -> str:
    """The kind of a name: person, org, project, event, tool or topic."""
    name, text = name.strip(), text[:LONGEST]
    for kind, ending in _BY_NAME:
        if ending.search(name):
            return kind
    if _TITLE.match(name):
        return "person"
    if name.casefold() in text.casefold():
        this = f"(?i:{re.escape(name)}){_SURNAME}"
        for kind, pattern in _PATTERNS:
            if re.search(pattern.replace("NAME", this), text):
                return kind
    return "topic"
