"""Entities: who or what a belief is about, and how people speak of them."""

from __future__ import annotations

import unicodedata

PREFIXES = ("user", "project", "tool", "topic", "person", "org", "event")
THING = "thing"  # what is spoken of, and has no page

_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_LONGEST = 300  # characters of a name; nothing is called by more
_LEAST = 3  # letters of a part of a name that names someone by itself


def called(as_written: str, what: str) -> set[str]:
    """Every way in which a question may name somebody: whole, and someone who speaks also by a part of the name."""
    whole = spoken(as_written)
    if what != "agent":
        return {whole}
    return {whole, *(part for part in whole.split() if len(part) >= _LEAST)}


def spoken(about: str) -> str:
    """How a question names an entity: `person-ana-maria` is "ana maria"."""
    prefix, found, rest = about.partition("-")
    name = rest if found and prefix in PREFIXES and rest else about
    return " ".join(name.replace("-", " ").replace("_", " ").casefold().split())


def kind_of(entity: str) -> str:
    """What kind of thing an entity is, by the name of its page: `person-ana` is a person; what names none, a topic."""
    prefix, found, rest = entity.partition("-")
    return prefix if found and rest and prefix in PREFIXES else "topic"


def name_key(name: str) -> str:
    """A name as it is compared: without case, punctuation, marks that nobody sees, and ways of writing a letter."""
    if name.isascii():  # most are, and it is all that is left of the rest
        return " ".join(name.translate(_PLAIN).split())
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (each for each in plain if unicodedata.category(each) != "Cf")
    return " ".join("".join(each if each.isalnum() or unicodedata.combining(each) else " " for each in seen).split())


def thing_key(name: str) -> str:
    """By what a name is found, and what a plain thing of that name is known as; empty, if nothing can be called so."""
    return (name_key(name) or name.strip()) if len(name) <= _LONGEST else ""
