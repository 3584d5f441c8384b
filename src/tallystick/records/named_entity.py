"""Somebody or something by the name that a program gave it, what was noted of it, and how two of them are related."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from tallystick.records.display import Displayable, html_of, plain
from tallystick.records.errors import Refused

_LONE = re.compile("[\ud800-\udfff]")
LONGEST = 1000  # characters of a name, of a kind, of a relation


@dataclass(frozen=True, slots=True)
class NamedEntity(Displayable):
    """Who or what is known, under a name that is kept as it was given."""

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
    """That one entity has something to do with another: `source` `kind` `target`, each as it was given."""

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
    """Whether something can go by that."""
    return isinstance(said, str) and bool(said.strip()) and len(said) <= LONGEST and not _LONE.search(said)


def must_be_name(what: str, name: object) -> None:
    must_be_label(f"the name of {what}", name)
    if not str(name).strip():
        raise Refused(f"{what} needs a name; an empty one names nothing", "name")


def must_be_label(what: str, said: object) -> None:
    if not isinstance(said, str):
        raise Refused(f"{what} is text, not {type(said).__name__}")
    if _LONE.search(said):
        raise Refused(f"{what} cannot be written: it holds a lone surrogate", "text")
    if len(said) > LONGEST:
        raise Refused(f"{what} has {len(said):,} characters, and {LONGEST:,} is the limit; observe the rest", "size")


def must_say_something(said: object) -> None:
    if not isinstance(said, str):
        raise Refused(f"an observation is text, not {type(said).__name__}")
    if not said.strip():
        raise Refused("an observation says something; leave the empty one out", "required")


class ProposedMerge(NamedTuple):
    """Somebody thinks that two nodes are the same thing, and a person has not said yet whether they are."""

    node: str
    into: str
    score: float
    reasons: tuple[str, ...]
    by: str
    at: str

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "reasons": list(self.reasons)}

    def text(self) -> str:
        """As a table holds it; `read` gives it back."""
        return orjson.dumps(tuple(self)).decode()

    @classmethod
    def read(cls, text: str) -> ProposedMerge:
        node, into, score, reasons, by, at = orjson.loads(text)
        return cls(node, into, score, tuple(reasons), by, at)

    def _repr_html_(self) -> str:
        return html_of(self)


class Known(NamedTuple):
    """Entities and relations, each in the order in which they became known."""

    entities: list[NamedEntity]
    relations: list[Relation]

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._asdict().items()}

    def _repr_html_(self) -> str:
        return html_of(self)
