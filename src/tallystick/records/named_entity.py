"""Named entities: the name that a program gave, its observations, and relations between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from tallystick.records.display import Displayable, html_of, plain
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_text

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


class ProposedMerge(NamedTuple):
    """A pending proposal that two nodes are the same thing."""

    node: str
    into: str
    score: float
    reasons: tuple[str, ...]
    by: str
    at: str

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "reasons": list(self.reasons)}

    def text(self) -> str:
        """The column value, which `read` reads."""
        return orjson.dumps(tuple(self)).decode()

    @classmethod
    def read(cls, text: str) -> ProposedMerge:
        node, into, score, reasons, by, at = orjson.loads(text)
        return cls(node, into, score, tuple(reasons), by, at)

    def _repr_html_(self) -> str:
        return html_of(self)


class Known(NamedTuple):
    """Entities and relations, each oldest first."""

    entities: list[NamedEntity]
    relations: list[Relation]

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._asdict().items()}

    def _repr_html_(self) -> str:
        return html_of(self)
