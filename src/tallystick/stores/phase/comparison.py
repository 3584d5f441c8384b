"""A stored graph compared with the one that its log makes, and the events that imported records become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from tallystick.records.graph.events import EDGE_PUT, NODE_PUT, PROFILE_PUT, SCHEMA_VERSION, MemoryEvent
from tallystick.records.graph.nodes import line_of
from tallystick.stores.phase.event_log.protocol import MemoryEventLog
from tallystick.stores.phase.event_log.replay import Fold, GraphSnapshot, puts_of
from tallystick.stores.phase.graph.base import KeptGraph, Lines, MemoryGraphStore
from tallystick.stores.phase.graph.layout import EVENTS

PARTS = ("profiles", "nodes", "edges", "paths")
RECORDS = {"profile": PROFILE_PUT, "node": NODE_PUT, "edge": EDGE_PUT}


def is_own(store: MemoryGraphStore, log: MemoryEventLog) -> bool:
    """True if the log is the file that the store itself reads."""
    root, path = getattr(store, "root", None), getattr(log, "path", None)
    return isinstance(root, Path) and path == root / EVENTS


def imported(records: Lines, at: str) -> Iterator[tuple[str, bytes]]:
    """The events that imported records without one become: ids and lines. They follow from the records."""
    for what, kind in RECORDS.items():
        for name, line in records[f"{what}s"].items():
            event_id = _imported_id(what, line, at)
            fields = {
                "at": at, "id": event_id, "kind": kind, "path_id": "", "payload": {what: orjson.Fragment(line)},
                "schema_version": SCHEMA_VERSION, "subject_ids": [name],
            }  # fmt: skip
            yield event_id, orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def _imported_id(what: str, line: bytes, at: str) -> str:
    return "import-" + sha256(b"%b %b %b" % (what.encode(), at.encode(), line)).hexdigest()[:24]


def without_imported(lines: Sequence[bytes], store: MemoryGraphStore) -> list[bytes]:
    """The events of a log that an export needs: not those that an import makes again from the records, in place."""
    if not any(b'"id":"import-' in line for line in lines):
        return [*lines]
    here = {what: stored(store, f"{what}s") for what in RECORDS}
    last: dict[tuple[str, str], int] = {}  # the last event of an import that says what the store says
    events = [MemoryEvent.judged(orjson.loads(line)) for line in lines]
    for number, event in enumerate(events):
        for what, name, line in _puts(event):
            if event.id == _imported_id(what, line, event.at) and here[what].get(name) == line:
                last[what, name] = number
    rest, others = Fold(), {key: list[tuple[int, str, bytes]]() for key in last}
    for number, event in enumerate(events):
        known = [(what, name, line) for what, name, line in _puts(event) if (what, name) in last]
        if not any(last[what, name] == number for what, name, _ in known):
            rest.take(event)
            for what, name, line in known:
                others[what, name].append((number, event.path_id, line))
    spare = {
        number for (what, name), number in last.items()
        if _is_made_again(rest, rest.visible(what, name), here[what][name], number, others[what, name])
    }  # fmt: skip
    return [line for number, line in enumerate(lines) if number not in spare]


def _puts(event: MemoryEvent) -> list[tuple[str, str, bytes]]:
    return [(what, name, line_of(record)) for what, name, record in puts_of(event)]


def _is_made_again(
    rest: Fold, seen: bytes | None, line: bytes, number: int, others: Sequence[tuple[int, str, bytes]]
) -> bool:
    """True if an import makes an event for a record in the same place: before what branches say, else at the end.

    It makes none for what the other events say, or what one of them says on a branch.
    """
    if seen == line or any(record == line and not rest.is_current(path) for _, path, record in others):
        return False
    numbers = [each for each, _, _ in others]
    return number < min(numbers, default=number + 1) if seen is None else number > max(numbers)


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that differs from the log: missing, other, of a branch, or untold (no event explains it)."""

    part: str
    id: str
    how: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between a stored graph and the one that its log makes."""

    snapshot: GraphSnapshot
    alike: dict[str, int]
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """True if every record that the log explains is in the graph as the log says."""
        return not self.wrong

    @property
    def wrong(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how != "untold")

    @property
    def untold(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how == "untold")


def compared(store: MemoryGraphStore, fold: Fold) -> Comparison:
    """The differences between a store's records and those that are current by its log."""
    alike, found = dict[str, int](), list[Difference]()
    for part in PARTS:
        here, there = stored(store, part), dict(current(fold, part))
        alike[part] = sum(here.get(name) == line for name, line in there.items())
        for name in sorted(here.keys() | there.keys()):
            line = here.get(name)
            if line is None:
                how = "missing"
            elif name in there:
                how = "" if line == there[name] else "other"
            else:
                how = "branch" if part != "paths" and line in fold.versions(part[:-1], name) else "untold"
            if how:
                found.append(Difference(part, name, how))
    return Comparison(fold.snapshot(), alike, tuple(found))


def current(fold: Fold, part: str, path: str | None = None) -> Iterator[tuple[str, bytes]]:
    """The visible records of a part, by id, as lines."""
    if part == "paths":
        return ((name, line_of(record.to_dict())) for name, record in fold.paths().items())
    return fold.each(part[:-1], path)


def stored(store: MemoryGraphStore, part: str) -> dict[str, bytes]:
    """The records of a part in a store, by id, as lines."""
    if isinstance(store, KeptGraph):
        return store.lines_of(part)
    envelope = store.export_envelope()
    found = {name: line for name, line, _ in envelope.settled(part)}
    if part == "profiles" and envelope.profile is not None:
        found[envelope.profile.id] = envelope.profile.to_line()
    return found


def following(store: MemoryGraphStore, fold: Fold, path: str | None = None) -> tuple[Lines, dict[str, set[str]]]:
    """The changes that bring a store to what the log says: records to put, and records of a branch alone to drop."""
    lines: Lines = {}
    gone: dict[str, set[str]] = {}
    for part in PARTS:
        here, what = stored(store, part), part[:-1]
        lines[part] = {name: line for name, line in current(fold, part, path) if here.get(name) != line}
        gone[part] = {
            name for name, line in here.items()
            if part != "paths" and line in fold.versions(what, name) and fold.visible(what, name, path) is None
        }  # fmt: skip
    return lines, gone
