"""Entities: who or what a belief is about, and how people speak of them."""

from __future__ import annotations

PREFIXES = ("user", "project", "tool", "topic", "person", "org", "event")


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
