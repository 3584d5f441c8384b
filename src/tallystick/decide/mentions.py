"""Which known entities a statement names, and how sure that is. Derived: nothing of it is recorded.

An entity is named by its name, by another name that somebody gave it, by the first name of the only person who has it,
by a relation ("my sister"), by "I" of whoever speaks, and by "she" after a person who was named before. Names are found
in any script; pronouns and relations are English. A name that two have means each of them half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tallystick.decide.entities import entities_called, of_short_name
from tallystick.records.entity import Link, entity_key, is_person, keys_of
from tallystick.state.pages import PROFILE
from tallystick.state.state import State
from tallystick.text.aliases import MINE, NO_NAME, PLACES
from tallystick.text.entities import ALSO_WORDS, is_name_in, kind_in
from tallystick.text.recall_words import STOP

LONGEST = 2_000  # characters of a statement that are read
_MOST_WORDS = 4  # of a name
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LETTERS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2,}")  # scripts without spaces
_QUOTES = re.compile(r"[\"“”]")
_PLACE = re.compile(rf" (?:{PLACES})\b")
_LONGER = re.compile(r" [A-ZÀ-Þ]")  # a name goes on
_THE = re.compile(r"(?:the|our|my) ([a-z]+)", re.IGNORECASE)
_I = frozenset("i i'm im i've i'd i'll my me mine myself".split())  # noqa: SIM905
_PRONOUNS = frozenset("he she him her his hers himself herself he's she's hes shes he'd she'd he'll she'll".split())  # noqa: SIM905
_FULL, _OTHER, _FIRST, _BEFORE, _LAST = 1.0, 0.9, 0.8, 0.7, 0.5


def links_in(
    known: State, text: str, user: str, path: str, *, about: str = "", agent: str = "", before: Sequence[str] = ()
) -> list[Link]:  # fmt: skip
    """The links of a statement, the surest of each entity. `before` is whom the statement before it names."""
    found: dict[str, Link] = {}
    if about:
        found[about] = Link(about, "", _FULL, "about")
    for link in _named(known, text[:LONGEST], user, path, agent, [about, *before]):
        if link.entity not in found or link.sure > found[link.entity].sure:
            found[link.entity] = link
    return sorted(found.values(), key=lambda link: -link.sure)


def _named(
    known: State, text: str, user: str, path: str, agent: str, before: Sequence[str]
) -> Iterator[Link]:  # fmt: skip
    said, at, person = list(_WORD.finditer(text)), 0, ""
    last = next((each for each in before if is_person(each) and each != PROFILE), "")
    while at < len(said):
        word = said[at][0].lower().replace("’", "'")
        if word in _PRONOUNS:
            if meant := person or last:
                yield Link(meant, said[at][0], _BEFORE if person else _LAST, "pronoun")
        elif word in _I and not _is_quoted(text, said[at].start()) and (meant := _speaker(known, user, path, agent)):
            yield Link(meant, said[at][0], _OTHER, "speaker")
        links, size = _from(known, text, said[at : at + _MOST_WORDS], user, path)
        person = next((link.entity for link in links if is_person(link.entity)), person)
        yield from links
        at += size
    for letters in _LETTERS.findall(text):
        for start in range(len(letters)):
            for end in range(min(start + 2 * _MOST_WORDS, len(letters)), start + 1, -1):
                yield from _links(known, letters[start:end], user, path)


def _from(
    known: State, text: str, said: Sequence[re.Match[str]], user: str, path: str
) -> tuple[list[Link], int]:  # fmt: skip
    """The links of the longest name that begins here, and how many words it has."""
    for size in range(len(said), 0, -1):
        phrase = re.sub(r"(?:['’]s?|-(?:san|sensei))$", "", text[said[0].start() : said[size - 1].end()])
        if size == 2 and (kind := _THE.fullmatch(phrase)):
            whole = of_short_name(known, entity_key(kind[1]), user, is_last=True)
            if whole and not is_person(whole):
                return [Link(whole, phrase, _BEFORE, "short name")], size
        if (size == 1 and _is_word(phrase, text)) or not _is_one(phrase):
            continue
        if _PLACE.match(text, said[size - 1].end()):
            return [], size
        is_name = size == 1 and phrase[:1].isupper() and not _LONGER.match(text, said[0].end())
        is_name = is_name and (is_name_in(phrase, text) or kind_in(phrase, text) == "person")
        links = _links(known, re.sub("^our ", MINE, phrase, flags=re.IGNORECASE), user, path, is_name=is_name)
        if size == 1 and phrase.islower() and text[:1].isupper():  # "The heather blooms"
            links = [link for link in links if link.why != "first name"]
        if links:
            return links, size
    return [], 1


def _is_word(phrase: str, text: str) -> bool:
    """Whether it is a common word here: "grace period", but not "for Grace" or "grace's"."""
    low = phrase.lower()
    if low in NO_NAME or (low in STOP and not is_name_in(phrase, text)):
        return True
    return low in ALSO_WORDS and phrase.islower() and f"{phrase}'s" not in text


def _is_quoted(text: str, place: int) -> bool:
    return len(_QUOTES.findall(text, 0, place)) % 2 == 1


def _is_one(phrase: str) -> bool:
    """True unless a sentence ends within it."""
    return not re.search(r"[.!?:;,]\s", phrase)


def _links(known: State, name: str, user: str, path: str, *, is_name: bool = False) -> list[Link]:
    found = entities_called(known, name, user, path)
    if not found and is_name and (whole := of_short_name(known, entity_key(name), user)):
        return [Link(whole, name, _FIRST, "short name")]
    sure, why = _kind_of(entity_key(name), found)
    return [Link(each, name, round(sure / len(found), 2), why) for each in found]


def _kind_of(key: str, found: Sequence[str]) -> tuple[float, str]:
    if any(entity_key(each) == key for each in found):
        return _FULL, "named"
    is_first = any(key in keys_of(each) for each in found)
    return (_FIRST, "first name") if is_first else (_OTHER, "other name")


def _speaker(known: State, user: str, path: str, agent: str) -> str:
    if not agent:
        return PROFILE
    found = entities_called(known, agent, user, path)
    return found[0] if len(found) == 1 else ""
