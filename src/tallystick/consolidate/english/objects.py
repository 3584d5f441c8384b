"""Objects of claims: each kind takes the words at that place and gives the object, or nothing.

A kind is strict. Words that it does not know how to end make no object, so half a sentence is never kept.
"""

from __future__ import annotations

from collections.abc import Callable

from tallystick.text import word_lists as lists
from tallystick.text.grammar import FORMS, GOING
from tallystick.text.word_lists import set_of
from tallystick.text.words import BLOT, Token

Kind = Callable[[list[Token]], str]  # the object, or ""

_ARTICLES = frozenset(("a", "an", "the"))
_INSIDE = set_of("of the de da do di van von der la le el & for upon")
_NATURE = set_of("beach sea ocean outdoors mountains countryside rain snow cold heat forest piano guitar violin")
_NOT_A_PLACE_OF_WORK = set_of(
    "home night moment time times least once first last end work office living free money fun reason while"
    " weekend weekends morning day days hours life best peace exam exams test goal goals change future company"
    " companies clients place"
)
_DANGLING = set_of("a an the of to in with at on for and very my our up out about from by as like")
_COUNTRYSIDE = frozenset(("countryside", "suburbs", "city", "mountains", "country"))
_EMPTY = set_of("thing things stuff way idea ideas part fact feeling kind sort bit lot lots time moment look sound")


def trimmed(tokens: list[Token]) -> list[Token]:
    """The words without those at the end that add nothing: "now", "any more", "a lot"."""
    while tokens:
        if taken := lists.TRAILING.end(tokens):
            tokens = tokens[:-taken]
        elif tokens[-1].low in lists.TRAILERS and len(tokens) > 1:
            tokens = tokens[:-1]
        else:
            break
    return tokens


def text_of(tokens: list[Token]) -> str:
    """The words as they were written, one space between them."""
    clause = ""
    for at, token in enumerate(tokens):
        clause += (" " if at and token.start > tokens[at - 1].end else "") + token.text
    return clause


def _bare(tokens: list[Token]) -> list[Token]:
    tokens = trimmed(tokens)
    return tokens[1:] if tokens and tokens[0].low in _ARTICLES else tokens


def _is_blotted(tokens: list[Token]) -> bool:
    return any(BLOT in token.text for token in tokens)


def name(tokens: list[Token]) -> str:
    """Words with capital letters: "Acme", "the University of Porto" without its article."""
    tokens = _bare(tokens)
    if not 0 < len(tokens) <= 6 or _is_blotted(tokens) or not (tokens[0].is_name and tokens[-1].is_name):
        return ""
    if any(not token.is_name and token.low not in _INSIDE for token in tokens) or tokens[0].low in lists.NOT_NAMES:
        return ""
    return text_of(tokens)


def person(tokens: list[Token]) -> str:
    clause = name(tokens)
    is_person = clause and len(tokens) <= 3 and all(token.is_name for token in tokens)
    return clause if is_person and tokens[0].low not in lists.KNOWN_AS and clause.replace(" ", "").isalpha() else ""


def place(tokens: list[Token]) -> str:
    """A name, or "the countryside"."""
    clause = name(tokens)
    if not clause and len(tokens := _bare(tokens)) == 1 and tokens[0].low in _COUNTRYSIDE:
        return tokens[0].low
    return "" if clause.lower() in lists.TOOLS else clause


def employer(tokens: list[Token]) -> str:
    """A name, and not that of a place or of somebody's tool."""
    clause = name(tokens)
    return clause if clause.lower() not in lists.CITIES and clause.lower() not in lists.TOOLS else ""


def organisation(tokens: list[Token]) -> str:
    """A name, or something with an article and of few words: "a small bakery"."""
    clause = name(tokens)
    if clause:
        return "" if clause.lower() in lists.TOOLS else clause
    tokens = trimmed(tokens)
    if len(tokens) < 2 or tokens[0].low not in _ARTICLES or len(tokens) > 5:
        return ""
    return thing(tokens) if tokens[-1].low not in _NOT_A_PLACE_OF_WORK else ""


def school(tokens: list[Token]) -> str:
    clause = name(tokens)
    words = {token.low for token in tokens}
    return clause or (organisation(tokens) if words & _SCHOOLS else "")


_SCHOOLS = set_of("university college school academy conservatory")


def role(tokens: list[Token]) -> str:
    """A job: "nurse", "senior software engineer"."""
    tokens = _bare(tokens)
    is_role = 0 < len(tokens) <= 5 and tokens[-1].low not in ("well", "usual", "possible", "team", "group", "always")
    return text_of(tokens) if is_role and _is_plain(tokens) and "and" not in (t.low for t in tokens) else ""


def thing(tokens: list[Token]) -> str:
    """A few words without a verb of their own and without a pronoun: they mean the same anywhere."""
    tokens = _bare(tokens)
    if not 0 < len(tokens) <= 7 or not _is_plain(tokens) or tokens[0].low in _EMPTY or tokens[-1].low in _EMPTY:
        return ""
    if tokens[0].low in ("my", "our", "another") or tokens[-1].low in _DANGLING:
        return ""
    return text_of(tokens)


def liked(tokens: list[Token]) -> str:
    """A thing of any kind and not a certain one: "hiking", "good coffee", and not "the film" or "your hat"."""
    tokens = trimmed(tokens)
    if not tokens:
        return ""
    if tokens[0].low == "the":
        rest = tokens[1:]
        if not rest or not (rest[0].is_name or (len(rest) == 1 and rest[0].low in _NATURE)):
            return ""
    if tokens[0].low == "to":
        what = thing(tokens[1:]) if len(tokens) > 1 and tokens[1].low not in _VAGUE_TO else ""
        return f"to {what}" if what else ""
    if tokens[0].low in ("by", "for", "at", "in", "on", "with", "as", "from", "about", "of", "like"):
        return ""
    if tokens[0].low in FORMS and FORMS[tokens[0].low][1] == GOING and tokens[0].low in _VAGUE_DOING:
        return ""
    return "" if len(tokens) == 1 and tokens[0].low in _VAGUE_ALONE else thing(tokens)


_VAGUE_ALONE = set_of("playing working trying learning making going taking helping watching winning")
_VAGUE_DOING = set_of("seeing hearing being having getting knowing doing thinking talking finding feeling")
_VAGUE_TO = set_of("hear see be know have do think say get thank share give help find talk make look feel go come")


def tool(tokens: list[Token]) -> str:
    """Something from the list of tools, with its version, or written like a name of one: "PostgreSQL 16"."""
    tokens = _bare(tokens)
    if not 0 < len(tokens) <= 3 or _is_blotted(tokens):
        return ""
    first = tokens[0].low.rstrip("0123456789.")
    rest_fits = all(token.is_name or token.text[:1].isdigit() or token.low in ("code", "pro") for token in tokens[1:])
    is_name = tokens[0].is_name and first not in lists.NOT_NAMES
    is_tool = first in lists.TOOLS or tokens[0].low in lists.TOOLS or is_name
    return text_of(tokens) if is_tool and rest_fits else ""


def known_tool(tokens: list[Token]) -> str:
    """The same, but only from the list."""
    clause = tool(tokens)
    return clause if clause and clause.split()[0].lower().rstrip("0123456789.") in lists.TOOLS else ""


def known(tokens: list[Token]) -> str:
    return person(tokens) or known_tool(tokens)


def language(tokens: list[Token]) -> str:
    tokens = trimmed(tokens)
    while tokens and tokens[0].low in _SOMEWHAT:
        tokens = tokens[1:]
    return tokens[0].text if len(tokens) == 1 and tokens[0].low in lists.LANGUAGES else ""


_SOMEWHAT = set_of("a little bit of some basic fluent good native also both perfect decent conversational")


def played(tokens: list[Token]) -> str:
    tokens = _bare(tokens)
    return text_of(tokens) if 0 < len(tokens) <= 2 and tokens[-1].low in lists.PLAYED and _is_plain(tokens) else ""


def group(tokens: list[Token]) -> str:
    """Something that has members: "the choir", "Porto Chess Club"."""
    tokens = trimmed(tokens)
    if not tokens or not any(token.low in lists.GROUPS for token in tokens):
        return ""
    return name(tokens) or (thing(tokens) if tokens[0].low in _ARTICLES else "")


def team(tokens: list[Token]) -> str:
    tokens = trimmed(tokens)
    words = {token.low for token in tokens}
    return thing(tokens) if words & {"team", "group", "department", "division", "office", "branch"} else person(tokens)


def possession(tokens: list[Token]) -> str:
    """Something from the list of things that are owned for long: "a car", "a small house"."""
    tokens = trimmed(tokens)
    has_article = bool(tokens) and tokens[0].low in ("a", "an", "two", "three")
    return thing(tokens) if has_article and len(tokens) <= 5 and tokens[-1].low in lists.THINGS else ""


def _is_plain(tokens: list[Token]) -> bool:
    return not _is_blotted(tokens) and all(
        token.low not in lists.NOT_A_THING
        and not (token.mark and at + 1 < len(tokens))
        and (token.text == "&" or any(map(str.isalnum, token.text)))
        for at, token in enumerate(tokens)
    )


PET_WORDS = lists.PETS | lists.PETS_MANY
