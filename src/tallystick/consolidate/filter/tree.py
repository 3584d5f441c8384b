"""What a filter is once it is read: a closed tree of columns, values and comparisons. Nothing else can stand in it.

A NOT is pushed down to the comparisons while reading, so a tree only says ALL of these, ANY of these, and under them
comparisons that hold or do not. With that, "unknown" and "no" need not be told apart: neither makes a row fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from tallystick.consolidate.filter.like import Pattern

Value: TypeAlias = str | int | float | datetime
Step: TypeAlias = str | int

TEXTS = ("id", "scope_key", "content", "user", "session", "agent")
DOCUMENTED = (*TEXTS, "timestamp", "metadata")
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or with `steps` the place inside metadata that they lead to: keys, and numbers in a list from 0."""

    name: str
    steps: tuple[Step, ...] = ()

    @property
    def is_text(self) -> bool:
        """Always text, never NULL."""
        return self.name in TEXTS

    @property
    def is_moment(self) -> bool:
        return self.name == "timestamp"

    def __str__(self) -> str:
        return "".join([self.name, *(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)])


@dataclass(frozen=True, slots=True)
class Compare:
    """A column and a value. `sign` is one of = != < <= > >=."""

    column: Column
    sign: str
    value: Value


@dataclass(frozen=True, slots=True)
class Pair:
    """Two columns of the same row."""

    left: Column
    sign: str
    right: Column


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column's value is among `values`; if negated, it has one and it is not."""

    column: Column
    values: tuple[Value, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    """The column's value is text of this pattern; if negated, it has one and it is not."""

    column: Column
    pattern: Pattern
    negated: bool


@dataclass(frozen=True, slots=True)
class Absent:
    """The column is NULL; if negated, it is not."""

    column: Column
    negated: bool


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold. Of no parts: everything fits."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds. Of no parts: nothing fits."""

    parts: tuple[Node, ...] = ()


Leaf: TypeAlias = Compare | Pair | OneOf | Like | Absent
Node: TypeAlias = Leaf | Every | Some

EVERYTHING = Every()
NOTHING = Some()


def every(parts: list[Node]) -> Node:
    """All of `parts`, as flat as it can be said."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Every) else (part,))]
    if NOTHING in flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else Every(tuple(flat))


def some(parts: list[Node]) -> Node:
    """Any of `parts`, as flat as it can be said."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Some) else (part,))]
    if EVERYTHING in flat:
        return EVERYTHING
    return flat[0] if len(flat) == 1 else Some(tuple(flat))
