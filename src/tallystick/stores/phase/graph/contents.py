"""A graph in memory: every record as the line that it is on disk, and who is whose neighbour.

Lines are small, cannot be changed from outside, and go to disk or into an envelope as they are. What is asked for by
kind, source or target is looked up, not searched for: the cost is that of what is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from tallystick.records.graph.fields import RecordFields

PARTS = ("profiles", "nodes", "edges", "paths", "activation_plans")

Lines = dict[str, dict[str, bytes]]  # records as they write themselves, by part and id


class Row(NamedTuple):
    """A line, and by what it is found. A node that was merged into another is not found by its kind."""

    line: bytes
    kind: str = ""
    source: str = ""
    target: str = ""


def row_of(part: str, line: bytes, told: RecordFields) -> Row:
    """The row of a record that was judged."""
    if part == "edges":
        return Row(line, told["kind"], told["source"], told["target"])
    if part == "nodes" and "merged" not in told:
        return Row(line, told["kind"])
    return Row(line)


def row_in(part: str, line: bytes) -> Row:
    """The same, from its line alone."""
    return row_of(part, line, orjson.loads(line) if part in ("nodes", "edges") else {})


def copied(told: RecordFields) -> RecordFields:
    """The same, sharing nothing with it."""
    copy: RecordFields = orjson.loads(orjson.dumps(told))
    return copy


@dataclass(slots=True)
class Changes:
    """What is to be saved, all of it or nothing."""

    lines: Lines = field(default_factory=lambda: {part: {} for part in PARTS})
    events: dict[str, bytes] = field(default_factory=dict)
    metadata: RecordFields = field(default_factory=dict)
    extra: RecordFields = field(default_factory=dict)
    head: str = ""  # the profile that an envelope names first
    gone: dict[str, set[str]] = field(default_factory=dict)  # records of a part that are to be dropped
    rewrite: bool = False  # files that cannot be read give way: all that is to be in them is known


class Groups:
    """Names by what they have in common, each group in order when it is asked for.

    A name alone stands for itself: most nodes have an edge or two, and a dictionary for each would be most of what a
    graph takes in memory.
    """

    __slots__ = ("_groups", "_ordered")

    def __init__(self) -> None:
        self._groups: dict[str, str | dict[str, None]] = {}
        self._ordered: set[str] = set()

    def add(self, key: str, name: str) -> None:
        group = self._groups.setdefault(key, name)
        if isinstance(group, str):
            if group != name:
                self._groups[key] = {group: None, name: None}
                self._ordered.discard(key)
        elif name not in group:
            group[name] = None
            self._ordered.discard(key)

    def remove(self, key: str, name: str) -> None:
        group = self._groups.get(key)
        if group == name or group == {name: None}:
            del self._groups[key]
        elif isinstance(group, dict):
            group.pop(name, None)

    def names(self, key: str) -> Iterable[str]:
        """The names in order. Putting them in order is done once, and again after one was added."""
        group = self._groups.get(key, ())
        if isinstance(group, str):
            return (group,)
        if group and key not in self._ordered:
            group = self._groups[key] = dict.fromkeys(sorted(group))
            self._ordered.add(key)
        return group

    def size(self, key: str) -> int:
        group = self._groups.get(key, ())
        return 1 if isinstance(group, str) else len(group)


class Contents:
    """Everything that a graph store holds but its events."""

    __slots__ = ("extra", "head", "into", "kinds", "metadata", "out", "tables")

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, bytes]] = {part: {} for part in PARTS}
        self.kinds = {"nodes": Groups(), "edges": Groups()}
        self.out, self.into = Groups(), Groups()
        self.metadata: RecordFields = {}
        self.extra: RecordFields = {}
        self.head = ""

    def put(self, part: str, name: str, row: Row) -> None:
        """Hold a record. One of the same name gives way."""
        table = self.tables[part]
        if name in table:
            if table[name] == row.line:
                return
            self.drop(part, name)
        table[name] = row.line
        if row.kind:
            self.kinds[part].add(row.kind, name)
        if row.source:
            self.out.add(row.source, name)
            self.into.add(row.target, name)

    def put_new(self, part: str, rows: Iterable[tuple[str, Row]]) -> None:
        """Hold records whose names are not taken."""
        table, kinds, out, into = self.tables[part], self.kinds.get(part), self.out, self.into
        for name, (line, kind, source, target) in rows:
            table[name] = line
            if kind and kinds is not None:
                kinds.add(kind, name)
            if source:
                out.add(source, name)
                into.add(target, name)

    def drop(self, part: str, name: str) -> None:
        """Hold it no longer, as when it is no longer on disk."""
        line = self.tables[part].pop(name)
        if part not in self.kinds:
            return
        row = row_in(part, line)
        self.kinds[part].remove(row.kind, name)
        if part == "edges":
            self.out.remove(row.source, name)
            self.into.remove(row.target, name)

    def apply(self, changes: Changes) -> None:
        """Take over what was decided to be saved."""
        for part, names in changes.gone.items():
            for name in names & self.tables[part].keys():
                self.drop(part, name)
        for part, lines in changes.lines.items():
            rows = ((name, row_in(part, line)) for name, line in lines.items())
            if self.tables[part].keys().isdisjoint(lines):
                self.put_new(part, rows)
                continue
            for name, row in rows:
                self.put(part, name, row)
        self.metadata = {**self.metadata, **changes.metadata}
        self.extra = {**self.extra, **changes.extra}
        self.head = changes.head or self.head

    def lines(self, part: str) -> Iterator[bytes]:
        """All of a part, by name."""
        table = self.tables[part]
        return map(table.__getitem__, sorted(table))

    def names_of_edges(self, source: str | None, target: str | None) -> tuple[Iterable[str], bool]:
        """The edges to look at, and whether all of them have both of these ends."""
        if source is not None and target is not None:
            few = self.out.size(source) <= self.into.size(target)
            return (self.out.names(source) if few else self.into.names(target)), False
        if source is not None:
            return self.out.names(source), True
        return self.into.names(target or ""), True
