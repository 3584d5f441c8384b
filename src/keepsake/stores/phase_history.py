"""Which events may be brought to a workspace from outside, and what a log makes of its graph.

Whoever brings events may say what is so, and branch, merge or abandon paths. What stands behind the gate is not theirs
to say: that an action was applied or denied, that a path is compacted, that a memory is archived, settled, superseded,
merged or ended. Such events come from the gate alone, see `phase_gate`; in a history that is imported as a whole, each
must carry an approval that counts. All is judged before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from keepsake.records.errors import NeedsApproval, NotFound, Refused
from keepsake.records.graph_fields import Told, line_of
from keepsake.records.lifecycle import PhasePolicy
from keepsake.records.memory_event import APPLIED, COMPACT, DENIED, PATH_KINDS, MemoryEvent, shown
from keepsake.records.memory_path import MemoryPath
from keepsake.stores.event_log.path_book import PathBook
from keepsake.stores.event_log.replay import GraphSnapshot, path_event_in, puts_of, why_unusable
from keepsake.stores.graph.protocols import MemoryGraphStore
from keepsake.stores.phase_gate import Gate

PARTS = ("profiles", "nodes", "edges", "paths")

_BY_THE_GATE = (APPLIED, DENIED, COMPACT)


# -- what may be brought ---------------------------------------------------------------------------------------------


def must_make_sense(store: MemoryGraphStore, events: Iterable[MemoryEvent], policy: PhasePolicy) -> None:
    """Refused, if one of the events cannot follow what is there and the events before it."""
    book, judge = PathBook(store.list_paths()), gate_of(store, policy)
    for event in events:
        try:
            _must_follow(event, book, judge)
        except Refused as error:
            raise type(error)(f"event {shown(event.id)}: {error}; nothing was recorded") from None


def _must_follow(event: MemoryEvent, book: PathBook, judge: Gate) -> None:
    if event.kind in _BY_THE_GATE:
        raise NeedsApproval(f"a {event.kind} is recorded by the action itself, under the gate")
    if event.kind in PATH_KINDS:
        book.must_allow(event)
        book.take(event)
        return
    if event.path_id:
        book.must_be_open(event.path_id)
    why = why_unusable(event)
    if why:
        raise Refused(why)
    must_pass(judge, event)


def must_pass(judge: Gate, event: MemoryEvent) -> None:
    """NeedsApproval, if the gate does not let an event pass."""
    why = judge.why_not(event)
    if why:
        raise NeedsApproval(why)


def gate_of(store: MemoryGraphStore, policy: PhasePolicy) -> Gate:
    """The gate before a store: events are judged on the records that it has."""
    load: dict[str, Callable[[str], Any]] = {
        "profile": store.load_profile, "node": store.load_node, "edge": store.load_edge,
    }  # fmt: skip

    def held(what: str, name: str) -> Told | None:
        try:
            found: Told = load[what](name).to_dict()
        except NotFound:
            return None
        return found

    return Gate(policy, held)


# -- what a log makes of its graph -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Following:
    """The records as they are after some events."""

    profiles: list[Told] = field(default_factory=list)
    nodes: list[Told] = field(default_factory=list)
    edges: list[Told] = field(default_factory=list)
    paths: tuple[MemoryPath, ...] = ()


def after(store: MemoryGraphStore, events: Iterable[MemoryEvent]) -> Following:
    """What the events make of the store's records. An event that was carried out before changes nothing."""
    told = list(events)
    put: dict[str, dict[str, Told]] = {"profile": {}, "node": {}, "edge": {}}
    for event in told:
        for what, name, record in puts_of(event):
            put[what][name] = record
    records = {f"{what}s": list(found.values()) for what, found in put.items()}
    return Following(**records, paths=_paths_after(store, told))


def _paths_after(store: MemoryGraphStore, events: list[MemoryEvent]) -> tuple[MemoryPath, ...]:
    if not any(event.path_id or event.kind == APPLIED for event in events):
        return ()
    before = {path.path_id: path for path in store.list_paths()}
    book, changed = PathBook(before), set[str]()
    for event in events:
        changed |= {event.path_id, *_moved_by(event, book)}
        book.stand(event)
    found = [book.get(name) for name in sorted(changed) if name in book]
    return tuple(path for path in found if path != before.get(path.path_id))


def _moved_by(event: MemoryEvent, book: PathBook) -> tuple[str, ...]:
    """The paths that an event changes, if it does. One that makes no sense does not, as in a replay."""
    try:
        moved = path_event_in(event)
        if moved is None or (moved.path_id in book and moved.id in book.get(moved.path_id).event_ids):
            return ()
        book.must_allow(moved)
    except Refused:
        return ()
    return book.take(moved)


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that is not as the log says: it is missing, other, or untold (no event says anything of it)."""

    part: str
    id: str
    how: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A stored graph beside the one that its log makes."""

    snapshot: GraphSnapshot
    alike: dict[str, int]
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """Whether every record that the log tells of is in the graph as the log says."""
        return not self.wrong

    @property
    def wrong(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how != "untold")

    @property
    def untold(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how == "untold")


def compared(store: MemoryGraphStore, snapshot: GraphSnapshot) -> Comparison:
    """How a store's records and those of a snapshot differ."""
    envelope, told = store.export_envelope(), snapshot.to_dict()
    alike, found = dict[str, int](), list[Difference]()
    for part in PARTS:
        here = {name: line for name, line, _ in envelope.settled(part)}
        if part == "profiles" and envelope.profile is not None:
            here[envelope.profile.id] = envelope.profile.to_line()
        there = {name: line_of(record) for name, record in told[part].items()}
        alike[part] = sum(here.get(name) == record for name, record in there.items())
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                how = "untold" if name not in there else "missing" if name not in here else "other"
                found.append(Difference(part, name, how))
    return Comparison(snapshot, alike, tuple(found))

