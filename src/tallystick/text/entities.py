"""Whom a statement begins with, and what kind of thing a name stands for: "Maya is our designer", "the Atlas project".

Only what is said outright counts, and only English is read. Whatever stays open is nobody, or a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.text.aliases import CAPITAL, NO_NAME, PLACES, RELATIONS
from tallystick.text.recall_words import STOP

LONGEST = 600  # characters of a text that are read
VERSION = 3  # of what a statement is filed by; it is recorded with it

_ROLES = (
    "designer developer engineer manager director founder owner boss lead chef baker cook waiter nurse doctor teacher"
    " student lawyer accountant architect analyst researcher scientist writer editor photographer artist musician"
    " consultant intern apprentice assistant secretary officer driver farmer gardener"
    " carpenter electrician plumber colleague friend neighbour neighbor flatmate roommate coach trainer mate maintainer"
    " pianist cellist violinist guitarist singer drummer conductor composer dancer actor actress translator interpreter"
    " journalist reporter producer publisher programmer administrator receptionist bookkeeper treasurer chairman"
    " chairwoman caretaker janitor inspector surgeon physiotherapist therapist technician beekeeper warden clerk judge"
    " mayor pilot priest vicar barber butcher tailor tenant solicitor barrister notary midwife paramedic pharmacist"
    " optician surveyor builder roofer painter joiner mechanic cleaner barista referee librarian historian biologist"
    " chemist physicist economist lecturer postdoc headteacher"
)
_ACTS = (
    "said says told tells asked asks wants wanted likes liked loves loved hates prefers lives lived works worked joined"
    " left thinks thought phoned wrote hopes plays drinks eats studies teaches married moved knows speaks needs takes"
    " runs leads owns manages was born agreed promised suggested reported has does handles joins starts started covers"
    " eats sleeps pays brings told picks collects delivers gets brought sent signed came visits visited reads keeps"
    " gave gives rang called calls bought paid met meets made makes found finds cooked cooks teaches taught borrowed"
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
    r"(?:,? (?:an? |the |my |our )|(?:,[^.,]*,)? (?:is|was|as) (?:an? |the |my |our )?|, | = )(?:[\w&-]+ ){0,2}"
)


def _any(words: str) -> str:
    return "|".join(words.replace("was born", "was_born").split()).replace("_", " ")


_OF_ME = (
    r"(?:name|birthday|blood type|height|age) (?:is|=)"
    r"|(?:phone|email|address)(?: number| address)? (?:is|=) \S*[\d@]"
)
_WISH = re.compile(r"I (?:really |always |usually |do not |don['’]t )*(?:prefer|like|dislike|enjoy|can['’]t stand)\b")
_SELF = re.compile(
    r"(?:I was born|I live in|I work (?:at|for|as)|I speak|I come from|I grew up|I studied"
    r"|(?:I['’]?m|I am) (?:an?|from|\d+|allergic|vegetarian|vegan|married|single|left-handed|right-handed)"
    rf"|[Mm]y (?:full |first |last |middle )?(?:{_OF_ME}))"
)
_PEOPLE = f"{_any(_ROLES)}|{'|'.join(RELATIONS)}"
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in (  # in the text, NAME is the name
    ("person", r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? NAME\b"),
    ("person", rf"\b(?:my|our|his|her|their) (?:[a-z]+ ){{0,2}}(?:{_PEOPLE})s?(?: is| =|,|:)? NAME\b"),
    ("person", rf"\bNAME{_IS}(?:{_PEOPLE})\b"),
    ("person", r"\bNAME,? (?:(?:the|an?|our|my) [a-z]+(?: [a-z]+)? )?who\b"),
    ("person", rf"\bNAME'?s (?:{_any(_OWN)})\b"),
    ("org", r"\bNAME,? (?:GmbH|AG|Inc|Ltd|LLC|Corp|Co|PLC|SA|BV)\b"),
    ("org", rf"\b(?:{_FIRMS}|client|customer) NAME\b"),
    ("org", rf"\bNAME{_IS}(?:{_FIRMS})\b"),
    ("org", r"\b(?:works?|worked|job|invoice|contract|order) (?:at|for|with|from) NAME\b"),
    ("project", r"\b(?:project|initiative) NAME\b"),
    ("project", r"\bNAME (?:project|initiative|launch|milestone|sprint|roadmap|backlog)\b"),
    ("project", r"\bNAME (?:ships|is due|goes live|launches|was released|is behind)\b"),
    ("event", r"\bNAME (?:takes place|is held|starts at|begins at)\b"),
    ("tool", r"\bNAME (?:v\d|\d+\.\d|version|API|CLI|SDK|library|server|cluster|plugin|database)"),
    ("tool", r"\b(?:upgraded?|install(?:ed)?|deploy(?:ed)?|written in|migrated? to|using|uses?) NAME\b"),
    ("person", rf"\bNAME{_OFTEN} (?:{_any(_ACTS)})\b"),
    ("person", rf"\bNAME(?:,.*,)? (?:is|was|and I are){_OFTEN} (?:{_any(_STATES)})\b"),
    ("person", r"\bNAME\b[^.]*\b(?:he|she|him|her|his|hers|himself|herself)\b"),
))  # fmt: skip
_UNNAMED = re.compile(  # what is said of a person who is named elsewhere: "my sister bakes bread", "architect, ..."
    rf"(?:s?he\b|(?:my |our |the )(?:[a-z]+[ -]){{0,2}}(?:{_PEOPLE})\b(?!['’])"
    rf"|(?:[a-z]+ ){{0,2}}(?:{_PEOPLE})(?=[,.;]))",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\bcall(?:s|ed)? (?:him|her)\b")
_NO_PERSON = re.compile(
    rf"\A(?:Client|Customer|Supplier|Hotel|Team|Class|Project|Saint|St|New|Old)\b|\b(?:{PLACES})\Z"
)
_HE = re.compile(r"s?he\b", re.IGNORECASE)
_OF_ONE = re.compile(r"\b(?:he|him|his|she|her)\b")
_NAME = rf"{CAPITAL}(?: {CAPITAL}){{0,2}}"
_SURE = _any("designer developer engineer manager director founder owner boss baker cook waiter nurse doctor teacher"
             " student lawyer accountant architect plumber electrician gardener carpenter colleague friend neighbour"
             " neighbor flatmate roommate landlord landlady supervisor brother sister son daughter mother father wife"
             " husband partner uncle aunt cousin niece nephew inspector surgeon therapist physiotherapist technician"
             " midwife mechanic caretaker receptionist bookkeeper treasurer translator librarian pharmacist beekeeper"
             " builder tenant solicitor")  # fmt: skip
_SUBJECT = re.compile(
    rf"(?P<relation>(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?(?:{_SURE}),? )?(?P<title>(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? )?"
    rf"(?:[Tt]he )?(?P<name>{_NAME}|[a-z][\w-]+)(?P<role>(?:,[^.,]*,)? (?:is|was) (?:my|our|the|an?) (?:[a-z]+ ){{0,2}}"
    rf"(?:{_SURE})\b(?!['’]))?"
)
_FIRST = """
    will may rose mark grace faith bill hope joy art drew jack pat sue chase grant rich guy frank ray today tomorrow
    yesterday tonight now then here call tell ask pay email visit remind hire can should did does do
"""
ALSO_WORDS = frozenset(_FIRST.split())  # they begin sentences, though some are names too
_BY_NAME = tuple(
    (kind, re.compile(rf"\b(?:{words})\.?$", re.IGNORECASE)) for kind, words in (
        ("org", f"gmbh|ag|inc|ltd|llc|corp|plc|university|hospital|{_FIRMS}"),
        ("event", "meeting|conference|workshop|wedding|party|retreat|festival|offsite|exam"),
        ("project", "project|initiative"),
    )
)  # fmt: skip
_KIND = re.compile(r"(project|org|event|tool|topic):? \w", re.IGNORECASE)
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? \w", re.IGNORECASE)
_SURNAME = r"(?: [A-Z][\w'’-]+)?"


_EQUALS = re.compile(rf"(?:[Tt]he )?(?P<name>{_NAME}|[a-z][\w-]+(?: [a-z][\w-]+)?) = (?=[^\W\d])")
_WITHIN = re.compile(  # the end of a sentence's beginning: a word that is no name; no quotation begins right after it
    r"(?<![^\s(])(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.?|[^\WA-ZÀ-Þ][^\s.!?:]*[^\s.!?:\"'‘“(]?) \Z"
)
_LONGEST_WORD = 40


class Subject(NamedTuple):
    """Whom a statement begins with: what may be the name, the longest first; and its kind, if it says that this is a
    name: "Noor is our cook", "granary = the main database"."""

    names: list[str]
    kind: str


_NONE = Subject([], "")


def subject_of(text: str) -> Subject:
    text = text[:LONGEST]
    if (found := _EQUALS.match(text)) and found["name"].split()[0].casefold() not in NO_NAME | ALSO_WORDS:
        return Subject([found["name"]], kind_in(found["name"], text))
    found = _SUBJECT.match(text)
    words = re.sub("['’]s?$", "", found["name"]).split() if found else []
    first = words[0].casefold() if words else ""
    if not found or first in NO_NAME or (len(words) == 1 and first in ALSO_WORDS):
        return _NONE
    is_latin = words[0][0] < "\u0250"  # other scripts have no capitals that would tell where a name ends
    names = [" ".join(words[:size]) for size in range(len(words), 0, -1)]
    is_introduced = found["name"][0].isupper() and bool(found["relation"] or found["title"] or found["role"])
    is_full = len(words) > 1 and first not in STOP and not text.lower().startswith("the ")
    may_be_person = is_full and not _NO_PERSON.search(names[0]) and kind_in(names[0], text) == "person"
    return Subject(names[:1] if is_latin else names, "person" if is_introduced or may_be_person else "")


def is_name_in(name: str, text: str) -> bool:
    """True if a statement uses a word as a name: it has a capital where other words have none."""
    return name[:1].isupper() and any(
        _WITHIN.search(text, max(0, place - _LONGEST_WORD), place) for place in _places(name, text)
    )


def is_word_in(word: str, text: str) -> bool:
    return any(True for _ in _places(word, text))


def _places(word: str, text: str) -> Iterator[int]:
    """Where a word, or several, stands in a text as it is written."""
    place = text.find(word)
    while place >= 0:
        end = place + len(word)
        if not (text[end : end + 1].isalnum() or text[place - 1 : place].isalnum()):
            yield place
        place = text.find(word, end)


def is_of_one(text: str) -> bool:
    """Whether it goes on about a person: "She joined in May", "everyone calls him Barty"."""
    return bool(_HE.match(text) or _CALLED.search(text[:LONGEST]))


def of_oneself(text: str) -> str:
    """What somebody says of themself: "preferences", how they want things; "profile", who they are; else nothing."""
    return "preferences" if _WISH.match(text) else "profile" if _SELF.match(text) else ""


def kind_in(name: str, text: str) -> str:
    """The kind of a name: person, org, project, event, tool or topic."""
    name, text = name.strip(), text[:LONGEST]
    if named := _KIND.match(name):
        return named[1].lower()
    for kind, ending in _BY_NAME:
        if ending.search(name):
            return kind
    if _TITLE.match(name):
        return "person"
    if name.casefold() not in text.casefold():
        is_full = len(name.split()) == 2 and name.istitle()
        return "person" if _UNNAMED.match(text) or (_OF_ONE if is_full else _CALLED).search(text) else "topic"
    text = re.sub(rf"(?<!\w)(?i:{re.escape(name)}){_SURNAME}(?!\w)", "NAME", text.replace("NAME", "name"))
    return next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "topic") if "NAME" in text else "topic"
