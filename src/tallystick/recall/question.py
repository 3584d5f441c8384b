"""Parsing a question: the words that count, whom it names, which time it mentions, who "I" is.

The names of people in a memory are taken out before anything is compared: nearly every turn of a conversation has those
who speak, so they say nothing about which one answers. Whom they name is a signal of its own.

The rest of a question is what it asks, without whom or what it is asked about. A belief must answer that: "Ana's blood
type?" names Ana and asks for a blood type, and a belief that names Ana covers the one and says nothing of the other. A
name is what is written like one: with a capital, where other words have none, or with a possessive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.search import MOST_WORDS, Scope
from tallystick.recall.topic import topic_of
from tallystick.records.entity import is_person
from tallystick.text.dates.find import Span, spans_in, wants_a_time
from tallystick.text.recall_words import STOP, WORD, telling, without_names, without_possessive, words

_LONGEST_NAME = 4  # words
_MOST_READ = 10_000  # characters: a question that is longer is read up to here
_I = re.compile(r"\b(?:I|my|me|mine|myself|I'm|I've|I'd)\b")
_YOU = re.compile(r"\byour?s?\b", re.IGNORECASE)
_ASKS_A_NAME = re.compile(r"(?:who|where|which)\b|.*\b(?:name|called|title)\b", re.IGNORECASE)
_OF_TIME = re.compile(r"(?:3[01]|[12]?\d)(?:st|nd|rd|th)?|(?:19|20)\d\d")  # days and years
_MYSELF = ("user", "human", "me")  # what programs call the person they talk with
_TIMES = frozenset(  # they have capitals, and name nobody
    """
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)
_OF_SEVERAL = ("are", "were", "have", "do")  # "Backups are kept" begins with a capital, and names nobody
_READ = 2_000  # characters of a statement that are searched for names


@dataclass(frozen=True, slots=True)
class Question:
    asked: str
    bare: str  # without the names of those who speak
    words: tuple[str, ...]  # that say something, each once; if none does, all of them
    tells: bool  # one of them does
    speakers: frozenset[str]  # the one person it names, by every agent of that name
    about: frozenset[str]  # the entities it names
    names: tuple[str, ...]  # that were taken out
    called: tuple[int, ...]  # places of the words that are written as names
    spans: tuple[Span, ...]  # of time
    is_when: bool
    is_naming: bool  # it asks for a name
    topic: tuple[str, ...] = ()  # the words of what it asks about as a whole


def take_apart(index: IndexFile, asked: str, scope: Scope, now: datetime) -> Question:
    asked = asked[:_MOST_READ]
    named, about, speakers = _whom(index, asked, scope)
    bare = without_names(asked, named) or asked
    spans = tuple(spans_in(asked, now))
    told = list(dict.fromkeys(telling(bare)))
    if spans:  # a time is no word
        told = [word for word in told if not _OF_TIME.fullmatch(word)] or told
    spoken = told or list(dict.fromkeys(words(bare)))
    is_when = wants_a_time(asked)
    return Question(
        asked, bare, tuple(spoken[:MOST_WORDS]), bool(told), frozenset(speakers), frozenset(about), tuple(named),
        called_in(bare, spoken[:MOST_WORDS]), spans, is_when, _ASKS_A_NAME.match(asked) is not None,
        () if spans or is_when else topic_of(asked),
    )  # fmt: skip


def _whom(index: IndexFile, asked: str, scope: Scope) -> tuple[list[str], set[str], set[str]]:
    """The names in a question, the entities they name, and who speaks, if it is one person."""
    if scope.is_nobodys():
        return [], set(), set()
    said = _phrases(asked)
    wanted = [*said, *_MYSELF, scope.user.casefold()]
    values = scope.values()
    asked_for = scope.user, orjson.dumps(wanted).decode(), values["paths"], values["at"]
    rows = index.db.execute(sql.NAMES, asked_for).fetchall()
    named = sorted({name for name, what, each in rows if name in said and (what == "agent" or is_person(each))})
    about = {as_written for name, what, as_written in rows if what == "about" and name in said}
    agents: dict[str, set[str]] = {}
    for name, what, as_written in rows:
        if what == "agent":
            agents.setdefault(name, set()).add(as_written)
    spoken_of = {frozenset(agents[name]) for name in named if name in agents}
    people = frozenset[str]().union(*spoken_of)
    if len(people) == 1 or len(spoken_of) == 1:
        return named, about, set(people)
    if not people and _I.search(asked) and not _YOU.search(asked):
        return named, about, {each for name in (*_MYSELF, scope.user.casefold()) for each in agents.get(name, ())}
    return named, about, set()


def _phrases(asked: str) -> set[str]:
    """Every run of a few words, in lowercase. A word that says nothing counts only if it is written as a name."""
    written = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", asked)[: 4 * MOST_WORDS]
    said = [word[:-2] if word.endswith(("'s", "’s")) else word for word in written]
    found = set()
    for start in range(len(said)):
        for end in range(start + 1, min(start + _LONGEST_NAME, len(said)) + 1):
            if end == start + 1 and said[start].casefold() in STOP and (start == 0 or not said[start][0].isupper()):
                continue
            found.add(" ".join(said[start:end]).casefold())
    return found


def called_in(asked: str, words: Sequence[str]) -> tuple[int, ...]:
    """The places of those words of a question that are written as names; none, if there are no others."""
    written = _written(asked)
    capitals_tell = any(word[:1].islower() and word not in STOP for word in written)
    names = {
        without_possessive(word.lower()) for at, word in enumerate(written)
        if not _says_nothing(word) and (word.endswith("'s") or (capitals_tell and at > 0 and word[0].isupper()))
    }  # fmt: skip
    places = tuple(at for at, word in enumerate(words) if word in names)
    return places if len(places) < len(words) else ()


def _written(asked: str) -> list[str]:
    return WORD.findall(asked.replace("’", "'"))


def _says_nothing(word: str) -> bool:
    return word.lower() in STOP or word.lower() in _TIMES


def names_someone(text: str) -> bool:
    """True if a statement may name somebody: it has capitals, or begins with one and not with several things."""
    written = _written(text[:_READ])
    several = len(written) > 1 and written[0].endswith("s") and written[1] in _OF_SEVERAL
    return any(word[0].isupper() and not _says_nothing(word) for word in written[several:])
