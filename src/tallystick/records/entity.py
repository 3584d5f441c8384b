"""Entities: who or what a belief is about, and their names."""

from __future__ import annotations

import unicodedata

PREFIXES = ("user", "project", "tool", "topic", "person", "org", "event")
THING = "thing"  # an entity without a page

_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
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


def kind_of(entity: str) -> str:
    """The kind of an entity, by the name of its page: `person-ana` is a person; without a prefix, a topic."""
    prefix, found, rest = entity.partition("-")
    return prefix if found and rest and prefix in PREFIXES else "topic"


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
