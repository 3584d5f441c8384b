"""A graph in memory: every record as its line on disk, with indexes by kind, source and target.

Lines are small, cannot be changed from outside, and go to disk or into an envelope unchanged. A lookup by kind, source
or target costs no more than what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from tallystick.records.graph.nodes import RecordFields

PARTS = ("profiles", "nodes", "edges", "paths", "activation_plans")

Lines = dict[str, dict[str, bytes]]  # records as they write themselves, by part and id


class Row(NamedTuple):
    """A line, and its index keys. A node that was merged into another is not found by its kind."""

    line: bytes
    kind: str = ""
    source: str = ""
    target: str = ""


def row_of(part: str, line: bytes, fields: RecordFields) -> Row:
    """The row of a judged record."""
    if part == "edges":
        return Row(line, fields["kind"], fields["source"], fields["target"])
    if part == "nodes" and "merged" not in fields:
        return Row(line, fields["kind"])
    return Row(line)


def row_in(part: str, line: bytes) -> Row:
    """The row of a line."""
    return row_of(part, line, orjson.loads(line) if part in ("nodes", "edges") else {})


def copied(fields: RecordFields) -> RecordFields:
    """A copy that shares nothing."""
    copy: RecordFields = orjson.loads(orjson.dumps(fields))
    return copy


@dataclass(slots=True)
class Changes:
    """Changes to save, all of them or none."""

    lines: Lines = field(default_factory=lambda: {part: {} for part in PARTS})
    events: dict[str, bytes] = field(default_factory=dict)
    metadata: RecordFields = field(default_factory=dict)
    extra: RecordFields = field(default_factory=dict)
    head: str = ""  # the profile that an envelope names first
    gone: dict[str, set[str]] = field(default_factory=dict)  # records of a part that are to be dropped
    rewrite: bool = False  # files that cannot be read are overwritten: all their records are known


class Groups:
    """Names by key, each group sorted when it is read.

    A single name is stored as itself: most nodes have an edge or two, and a dictionary for each would be most of the
    memory of a graph.
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
        """The names in order. They are sorted once, and again after one was added."""
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
    """Everything in a graph store except its events."""

    __slots__ = ("extra", "head", "into", "kinds", "metadata", "out", "tables")

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, bytes]] = {part: {} for part in PARTS}
        self.kinds = {"nodes": Groups(), "edges": Groups()}
        self.out, self.into = Groups(), Groups()
        self.metadata: RecordFields = {}
        self.extra: RecordFields = {}
        self.head = ""

    def put(self, part: str, name: str, row: Row) -> None:
        """Put a record, in place of one of the same name."""
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

    def drop(self, part: str, name: str) -> None:
        """Remove a record, as when it is no longer on disk."""
        line = self.tables[part].pop(name)
        if part not in self.kinds:
            return
        row = row_in(part, line)
        self.kinds[part].remove(row.kind, name)
        if part == "edges":
            self.out.remove(row.source, name)
            self.into.remove(row.target, name)

    def apply(self, changes: Changes) -> None:
        """Apply saved changes."""
        for part, names in changes.gone.items():
            for name in names & self.tables[part].keys():
                self.drop(part, name)
        for part, lines in changes.lines.items():
            for name, line in lines.items():
                self.put(part, name, row_in(part, line))
        self.metadata = {**self.metadata, **changes.metadata}
        self.extra = {**self.extra, **changes.extra}
        self.head = changes.head or self.head

    def lines(self, part: str) -> Iterator[bytes]:
        """All of a part, by name."""
        table = self.tables[part]
        return map(table.__getitem__, sorted(table))

    def edges(self, source: str | None, target: str | None) -> Iterable[str]:
        """The names of the edges to look at, in order: all that have these ends, and perhaps others."""
        if source is None and target is None:
            return sorted(self.tables["edges"])
        if target is None or (source is not None and self.out.size(source) <= self.into.size(target)):
            return self.out.names(source or "")
        return self.into.names(target)
