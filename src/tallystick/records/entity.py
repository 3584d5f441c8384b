"""Entities: who or what a belief is about, their names, what a program stated of them, and relations between two."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from tallystick.records.belief import Change
from tallystick.records.display import Displayable, html_of, plain
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_text

PREFIXES = ("user", "project", "tool", "topic", "person", "org", "event")
THING = "thing"  # an entity without a page

_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_TITLES = frozenset("the mr mrs ms miss dr prof professor inspector sergeant reverend".split())  # noqa: SIM905
_WRITABLE = re.compile(r"[\w '’.,:&()-]+\Z")
READABLE = 60  # characters of a page's name that come from an entity's
_LONGEST = 300  # characters of a name
_LEAST = 3  # characters of a part of a name that is enough by itself


def called(as_written: str, what: str) -> set[str]:
    """The names that a question may use: the whole one, and for an agent also its parts."""
    whole = spoken(as_written)
    if what != "agent":
        return {whole}
    return {whole, *(part for part in whole.split() if len(part) >= _LEAST)}


def spoken(about: str) -> str:
    """The name of an entity in a question: `person-ana-maria` is "ana maria"."""
    prefix, found, rest = about.partition("-")
    name = rest if found and prefix in PREFIXES and rest else about
    return " ".join(name.replace("-", " ").replace("_", " ").casefold().split())


def entity_key(name: str) -> str:
    """The name of an entity, or of its page, as it is compared: "Mrs Okonjo" and `person-okonjo` are one. Empty, if it
    has signs that a page's name has not: C, C++ and C# are three."""
    if len(name) > LONGEST or not _WRITABLE.match(name):
        return ""
    words = name_key(name).split()
    while len(words) > 1 and (words[0] in _TITLES or words[0] in PREFIXES):
        del words[0]
    if len(words) > 1 and words[-1] == "project":
        del words[-1]
    return " ".join(words)[:READABLE].strip()


@lru_cache(maxsize=1024)  # many statements are about a few
def keys_of(about: str, *, parts: bool = True) -> tuple[str, ...]:
    """The names under which an entity is found: the whole one, and with `parts` the first word, the last one, and the
    first two of a person: "jean", "moreau", "jean luc"."""
    whole = entity_key(about)
    words = whole.split() if parts else []
    first_two = [" ".join(words[:2])] if kind_of(about) == "person" else []
    return tuple(key for key in dict.fromkeys((whole, *words[:1], *words[-1:], *first_two)) if key)


def has_kind(about: str) -> bool:
    """True for the name of a page, `person-ana`; False for a name that somebody uses, "Ana"."""
    prefix, _, rest = about.partition("-")
    return prefix in PREFIXES and bool(rest)


def page_of(kind: str, name: str) -> str:
    """The page of a new entity of that name; the name itself, if it has no letters."""
    words = (entity_key(name) or name_key(name[: 4 * READABLE])).split()
    slug = "-".join(words).removeprefix(f"{kind}-")[:READABLE].strip("-")
    return f"{kind}-{slug or name[:READABLE]}"


def kind_of(entity: str) -> str:
    """The kind of an entity, by the name of its page: `person-ana` is a person; without a prefix, a topic."""
    prefix, found, rest = entity.partition("-")
    return prefix if found and rest and prefix in PREFIXES else "topic"


def is_person(entity: str) -> bool:
    return kind_of(entity) in ("person", "user")


def name_key(name: str) -> str:
    """A name as it is compared: without case, punctuation, invisible characters and compatibility variants."""
    if name.isascii():  # most are
        return " ".join(name.translate(_PLAIN).split())
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (each for each in plain if unicodedata.category(each) != "Cf")
    return " ".join("".join(each if each.isalnum() or unicodedata.combining(each) else " " for each in seen).split())


def thing_key(name: str) -> str:
    """The key of a name, also the id of a thing of that name; empty, if it cannot be a name."""
    return (name_key(name) or name.strip()) if len(name) <= _LONGEST else ""


_LONE = re.compile("[\ud800-\udfff]")
LONGEST = 1000  # characters of a name, of a kind, of a relation


@dataclass(frozen=True, slots=True)
class NamedEntity(Displayable):
    """An entity under the name that was given, verbatim."""

    name: str
    kind: str = ""
    observations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        must_be_name("an entity", self.name)
        must_be_label("the type of an entity", self.kind)
        for said in self.observations:
            must_say_something(said)


@dataclass(frozen=True, slots=True)
class Relation(Displayable):
    """A relation between two entities: `source` `kind` `target`, each verbatim."""

    source: str
    kind: str
    target: str

    def __post_init__(self) -> None:
        must_be_name("an entity", self.source)
        must_be_name("a relation", self.kind)
        must_be_name("an entity", self.target)

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.source, self.kind, self.target


def is_name(said: object) -> bool:
    """True if it can be a name."""
    return isinstance(said, str) and bool(said.strip()) and len(said) <= LONGEST and not _LONE.search(said)


def must_be_name(what: str, name: object) -> None:
    must_be_label(f"the name of {what}", name)
    if not str(name).strip():
        raise Refused(f"{what} needs a name; it must not be empty", "name")


def must_be_label(what: str, said: object) -> None:
    must_be_text(what, said)
    text = str(said)
    if _LONE.search(text):
        raise Refused(f"{what} cannot be written: it holds a lone surrogate", "text")
    if len(text) > LONGEST:
        raise Refused(f"{what} has {len(text):,} characters; {LONGEST:,} is the limit; observe the rest", "size")


def must_say_something(said: object) -> None:
    must_be_text("an observation", said)
    if not str(said).strip():
        raise Refused("an observation must not be empty; leave it out", "required")


@dataclass(frozen=True, slots=True)
class Link(Displayable):
    """An entity that a statement is about, names, or means by a word such as "she"."""

    entity: str
    said: str  # the word or words that mean it; empty: nobody says so, it is filed under it
    sure: float  # from 0 to 1
    why: str  # about, named, other name, short name, first name, speaker, pronoun

    def __str__(self) -> str:
        return f"{self.entity} ({self.said!r}, {self.why}, {self.sure:.0%} sure)" if self.said else self.entity


@dataclass(frozen=True, slots=True)
class Filing(Displayable):
    """Beliefs that are about another entity, or would be: after a merge, a split, or filing by today's rules."""

    changes: tuple[Change, ...]  # each belief as it was and as it is
    page: str = ""  # the page that becomes part of another's
    conflicts: tuple[str, ...] = ()  # what the two pages say differently; what the other one says stays
    seq: int = -1  # the first event; -1: nothing was done


class Known(NamedTuple):
    """Entities and relations, each oldest first."""

    entities: list[NamedEntity]
    relations: list[Relation]

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._asdict().items()}

    def _repr_html_(self) -> str:
        return html_of(self)
