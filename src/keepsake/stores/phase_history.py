"""Which events may be brought to a workspace from outside, and what a log makes of its graph.

Whoever brings events may say what is so, and branch, merge or abandon paths. What stands behind the gate is not theirs
to say: that an action was applied or denied, that a path is compacted, that a memory is archived, settled, superseded
or merged. Such events come from the gate alone; in a history that is brought over as a whole, each must carry a yes
that counts. All is judged before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from keepsake.records.errors import NeedsApproval, NotFound, Refused
from keepsake.records.graph_fields import Told, line_of
from keepsake.records.lifecycle import GATED, LifecycleAction, LifecycleApproval, PhasePolicy
from keepsake.records.memory_event import APPLIED, COMPACT, DENIED, PATH_KINDS, MemoryEvent, shown
from keepsake.records.memory_path import MemoryPath
from keepsake.stores.event_log.path_book import PathBook
from keepsake.stores.event_log.replay import GraphSnapshot, path_event_in, puts_of, why_unusable
from keepsake.stores.graph.protocols import MemoryGraphStore
from keepsake.stores.phase_actions import concerned

PARTS = ("profiles", "nodes", "edges", "paths")

_BY_THE_GATE = (APPLIED, DENIED, COMPACT)
_USUAL = {"status": "active", "phase": "fluid"}
_SETTLED = ("status", "phase", "superseded_by")  # of a record's properties
_LEADS = ("merge", "supersede")  # actions that make or lead over edges
_MERGED = ("merged", "absorbed", "led")


# -- what may be brought ---------------------------------------------------------------------------------------------


def must_make_sense(store: MemoryGraphStore, events: Iterable[MemoryEvent]) -> None:
    """Refused, if one of the events cannot follow what is there and the events before it."""
    book, put = PathBook(store.list_paths()), dict[tuple[str, str], Told]()
    for event in events:
        try:
            _must_follow(store, event, book, put)
        except Refused as error:
            raise type(error)(f"event {shown(event.id)}: {error}; nothing was recorded") from None


def _must_follow(store: MemoryGraphStore, event: MemoryEvent, book: PathBook, put: dict[tuple[str, str], Told]) -> None:
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
    for what, name, record in puts_of(event):
        must_stay_settled(put.get((what, name)) or held(store, f"{what}s", name), record, f"{what} {shown(name)}")
        put[what, name] = record


def held(store: MemoryGraphStore, part: str, name: str) -> Told:
    """A record as the store has it; nothing, if it has none."""
    load: dict[str, Callable[[str], Any]] = {
        "profiles": store.load_profile, "nodes": store.load_node, "edges": store.load_edge,
    }  # fmt: skip
    try:
        found: Told = load[part](name).to_dict()
    except NotFound:
        return {}
    return found


def must_stay_settled(before: Told, after: Told, what: str) -> None:
    """Refused, if a record would be archived, settled, superseded or merged, or no longer be so, without the gate."""
    why = _unsettled(before, after, what)
    if why:
        raise NeedsApproval(why)


def _unsettled(before: Told, after: Told, what: str) -> str:
    for name in (*_SETTLED, *_MERGED):
        if _said(before, name) != _said(after, name):
            return f"{name} of {what} is changed by an action, under the gate"
    return ""


def _said(record: Told, name: str) -> Any:
    value = record.get(name) if name in _MERGED else record.get("properties", {}).get(name)
    return value or _USUAL.get(name)


def must_be_approved(events: Iterable[MemoryEvent], policy: PhasePolicy) -> None:
    """Refused, if an action is on record as applied, and no yes that counts covers what it did."""
    for event, why in unapproved(events, policy):
        raise NeedsApproval(f"event {shown(event.id)}: {why}")


def unapproved(events: Iterable[MemoryEvent], policy: PhasePolicy) -> Iterator[tuple[MemoryEvent, str]]:
    """The applied actions that did what nobody said yes to, each with the reason."""
    put: dict[tuple[str, str], Told] = {}
    for event in events:
        why = _why_not_approved(event, policy) if event.kind == APPLIED else ""
        for what, name, record in puts_of(event):
            if event.kind == APPLIED and not why and (what, name) in put and not _is_gated(event):
                why = _unsettled(put[what, name], record, f"{what} {shown(name)}")
            put[what, name] = record
        if why:
            yield event, why


def must_leave_settled(
    here: dict[tuple[str, str], Told], paths: Container[str], events: Iterable[MemoryEvent]
) -> None:
    """Refused, if events would change how settled something `here` is, but by an action that is about it."""
    now = dict(here)
    for event in events:
        if event.kind == COMPACT and event.path_id in paths:
            raise NeedsApproval(f"event {shown(event.id)}: path {shown(event.path_id)} is compacted by an action")
        for what, name, record in puts_of(event):
            if (what, name) in now:
                if not (event.kind == APPLIED and _is_gated(event)):
                    must_stay_settled(now[what, name], record, f"{what} {shown(name)}")
                now[what, name] = record


def _path_of(moved: object) -> str:
    return str(moved.get("path_id", "")) if isinstance(moved, dict) else ""


def _is_gated(event: MemoryEvent) -> bool:
    action = event.payload.get("action")
    return isinstance(action, dict) and action.get("kind") in GATED


def _why_not_approved(event: MemoryEvent, policy: PhasePolicy) -> str:
    """Why an applied action does not count as approved; nothing, if it does."""
    told, given = event.payload.get("action"), event.payload.get("approval")
    try:
        action = LifecycleAction.from_dict(told)  # type: ignore[arg-type]
        approval = None if given is None else LifecycleApproval.from_dict(given)
    except (Refused, TypeError) as error:
        return f"an applied action says which one, and on whose yes ({str(error)[:100]})"
    if approval is not None and policy.needs_review(action) and event.id != f"applied-{approval.marker}":
        return "it does not bear the name of its yes"
    about = concerned(action)
    for what, name, _ in puts_of(event):
        if name not in about and not (what == "edge" and action.kind in _LEADS):
            return f"it changes {what} {shown(name)}, and its action is about something else"
    moved = event.payload.get("path_event")
    if moved is not None and not (action.kind == "compact" and _path_of(moved) in about):
        return f"it changes path {shown(_path_of(moved))}, and its action is about something else"
    return policy.why_not(action, approval, event.at)


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

