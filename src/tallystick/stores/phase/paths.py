"""Branch, merge, abandon and compact a path: the event to record, and the changed paths. Nothing is written here.

    change = branch(paths, "try-b", "main", at=now)
    log.append(change.event)

What makes no sense is refused: an unknown parent, a path merged into itself, into one that ended, or into one of its
own branches, a path that was merged or abandoned before, abandoning without a reason or under open branches. Events
name paths and nodes; nobody's words are in them except the reason.

Merging two independent branches in either order gives the same paths and the same graph. Abandoning a branch leaves
what its parent sees unchanged. Compaction closes a path: nothing more can be added to it, and all of it stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.events import ABANDON, BRANCH, COMPACT, MERGE, MemoryEvent, shown
from tallystick.records.path import ABANDONED, CLOSED, MERGED, OPEN, MemoryPath

Paths = Mapping[str, MemoryPath] | Iterable[MemoryPath]

LONGEST_REASON = 1000


@dataclass(frozen=True, slots=True)
class PathChange:
    """The event to record, and each path that it changes."""

    event: MemoryEvent
    paths: tuple[MemoryPath, ...]


def branch(paths: Paths, path_id: str, parent_id: str = "", *, at: datetime | str, event_id: str = "") -> PathChange:
    """A new path that sees what its parent sees. Without a parent it begins a conversation."""
    return _decided(paths, BRANCH, path_id, (path_id, parent_id), {"parent_id": parent_id}, at, event_id)


def merge(
    paths: Paths, path_id: str, into: str, *, at: datetime | str, event_id: str = "", conflicts: Iterable[str] = ()
) -> PathChange:
    """Merge `path_id` into `into`. The path ends. `conflicts`, ids that both sides changed, are recorded."""
    payload = {"into": into, "conflicts": sorted(set(conflicts))}
    return _decided(paths, MERGE, path_id, (path_id, into), payload, at, event_id)


def abandon(paths: Paths, path_id: str, reason: str, *, at: datetime | str, event_id: str = "") -> PathChange:
    """Abandon a path, with a reason. Its records stay in the log and are visible nowhere else."""
    if len(reason) > LONGEST_REASON:
        raise Refused(f"the reason has {len(reason)} characters; the limit is {LONGEST_REASON}", "size")
    return _decided(paths, ABANDON, path_id, (path_id,), {"reason": reason}, at, event_id)


def compact(
    paths: Paths, path_id: str, *, at: datetime | str, summary_ids: Iterable[str] = (), event_id: str = ""
) -> PathChange:
    """Close a path. `summary_ids` are the nodes that summarise it. Nothing is removed."""
    summary = sorted(set(summary_ids))
    return _decided(paths, COMPACT, path_id, (path_id, *summary), {"summary_ids": summary}, at, event_id)


def _decided(
    paths: Paths, kind: str, path_id: str, about: tuple[str, ...], payload: dict[str, Any], at: datetime | str,
    name: str,
) -> PathChange:  # fmt: skip
    state = PathBook(paths)
    fields: dict[str, Any] = {"path_id": path_id, "subject_ids": tuple(filter(None, about)), "payload": payload}
    event = MemoryEvent(id=name, kind=kind, at=at, **fields) if name else MemoryEvent.new(kind, at, **fields)  # type: ignore[arg-type]
    state.must_allow(event)
    return PathChange(event, tuple(state.get(changed) for changed in state.take(event)))


DEEPEST = 1000  # branches of branches

_ENDS = {MERGE: "merged", ABANDON: "abandoned", COMPACT: "compacted"}


class PathBook:
    """Paths, and how events change them. Replaying a log and deciding on a path both ask here.

    A path event belongs to the path it is about: the branching is its first, the merge, abandoning or compaction its
    last. Merging copies nothing: the path that another is merged into names it, so the order of merges leaves no trace.
    `must_allow` decides whether an event makes sense after those before it; `take` applies one that does.
    """

    def __init__(self, paths: Paths = ()) -> None:
        self._paths: dict[str, MemoryPath] = {}
        self._more: dict[str, dict[str, str]] = {}  # events that a record does not list yet, and their times
        self._below: dict[str, set[str]] = {}  # the open branches of each path
        for path in paths.values() if isinstance(paths, Mapping) else paths:
            self.put(path)

    def __contains__(self, path_id: str) -> bool:
        return path_id in self._paths

    def get(self, path_id: str) -> MemoryPath:
        """The path as it is now. NotFound, if there is none of that name."""
        path, more = self._named(path_id), self._more.pop(path_id, None)
        if more:
            path = self._paths[path_id] = path.with_events(more, max(more.values()))
        return path

    def records(self) -> dict[str, MemoryPath]:
        """All paths as they are now, in the order of their names."""
        return {name: self.get(name) for name in sorted(self._paths)}

    def put(self, path: MemoryPath) -> None:
        """Put a record, in place of the one of that name."""
        self._more.pop(path.path_id, None)
        self._paths[path.path_id] = path
        below = self._below.setdefault(path.parent_id, set())
        if path.is_active:
            below.add(path.path_id)
        else:
            below.discard(path.path_id)

    def line_of(self, path_id: str) -> list[str]:
        """The path and its ancestors, nearest first, up to a missing parent or a circle."""
        line: dict[str, None] = {}
        while path_id in self._paths and path_id not in line:
            line[path_id] = None
            path_id = self._paths[path_id].parent_id
        return list(line)

    def with_merged(self, path_id: str) -> list[str]:
        """The path, and all that was merged into it, directly or through another."""
        found, waiting = dict[str, None](), [path_id]
        while waiting:
            name = waiting.pop()
            if name in self._paths and name not in found:
                found[name] = None
                waiting += self._paths[name].merged_from
        return list(found)

    def current(self) -> set[str]:
        """The paths that are visible without naming one: all that begin a conversation, with what was merged there."""
        begin = [name for name, path in self._paths.items() if not path.parent_id and path.state in (OPEN, CLOSED)]
        return {merged for name in begin for merged in self.with_merged(name)}

    def is_abandoned(self, path_id: str) -> bool:
        return path_id in self._paths and self._paths[path_id].state == ABANDONED

    def _named(self, path_id: str) -> MemoryPath:
        path = self._paths.get(path_id)
        if path is None:
            raise NotFound(f"no path named {path_id!r}; branch it first")
        return path

    def must_allow(self, event: MemoryEvent) -> None:
        """Refused, if the event makes no sense for the paths as they are."""
        if event.kind == BRANCH:
            new, parent = event.path_id, _text(event, "parent_id")
            if not new:
                raise Refused("a path needs a name; give it one", "name")
            if new in self._paths:
                raise Refused(f"path {new!r} exists already; choose another name", "exists")
            if parent == new:
                raise Refused(f"path {new!r} cannot be its own parent", "self")
            if parent and self._named(parent).state in (MERGED, ABANDONED):
                raise Refused(f"path {parent!r} is {_state_of(self._named(parent))}; branch from another one", "state")
            if parent and len(self.line_of(parent)) >= DEEPEST:
                way = "branch from one further up"
                raise Refused(f"path {parent!r} is {DEEPEST} branches deep already; {way}", "size")
            return
        path, into = self._named(event.path_id), _text(event, "into") if event.kind == MERGE else ""
        if event.kind == MERGE and into == path.path_id:
            raise Refused(f"path {into!r} cannot be merged into itself", "self")
        if path.state in (MERGED, ABANDONED) or (event.kind == COMPACT and path.state != OPEN):
            why = f"it can no longer be {_ENDS[event.kind]}"
            raise Refused(f"path {path.path_id!r} is {_state_of(path)}; {why}", "state")
        if event.kind == MERGE:
            self.must_be_open(into)
            if path.path_id in self.line_of(into):
                way = f"merge {into!r} into it instead"
                raise Refused(f"path {path.path_id!r} is an ancestor of {into!r}; {way}", "self")
        if event.kind == ABANDON:
            if not _text(event, "reason").strip():
                raise Refused(f"abandoning path {path.path_id!r} needs a reason; give one", "required")
            below = sorted(self._below.get(path.path_id, ()))
            if below:
                names = ", ".join(map(shown, below[:3]))
                raise Refused(f"path {path.path_id!r} has open branches ({names}); end those first", "state")

    def must_be_open(self, path_id: str) -> None:
        path = self._named(path_id)
        if path.state != OPEN:
            raise Refused(f"path {path_id!r} is {_state_of(path)}; branch another one", "state")

    def take(self, event: MemoryEvent) -> tuple[str, ...]:
        """Apply an allowed event. Returns the names of the changed paths."""
        name, end = event.path_id, dict[str, str]()
        changed: tuple[str, ...] = (name,)
        if event.kind == BRANCH:
            self.put(MemoryPath(path_id=name, parent_id=_text(event, "parent_id"), created_at=event.at))
        elif event.kind == MERGE:
            into = self.get(_text(event, "into"))
            at = max(event.at, into.updated_at)
            self.put(replace(into, merged_from=(*into.merged_from, name), updated_at=at))
            changed, end = (name, into.path_id), {"merged_into": into.path_id}
        elif event.kind == ABANDON:
            end = {"abandoned_reason": _text(event, "reason")}
        else:
            end = {"compaction_status": "compacted"}
        if end:
            self.put(replace(self.get(name), is_active=False, **end))  # type: ignore[arg-type]
        self.stand(event)
        return changed

    def stand(self, event: MemoryEvent) -> None:
        """Add an event to its path, if there is such a path."""
        if event.path_id in self._paths:
            self._more.setdefault(event.path_id, {}).setdefault(event.id, event.at)


def _text(event: MemoryEvent, name: str) -> str:
    """A text of the payload; empty, if it is missing. Refused, if it is not text."""
    value = event.payload.get(name, "")
    if not isinstance(value, str):
        raise Refused(f"{name} of a {event.kind} must be text, not {type(value).__name__}")
    return value


def _state_of(path: MemoryPath) -> str:
    if path.state == MERGED:
        return f"merged into {path.merged_into!r}"
    return "closed by compaction" if path.state == CLOSED else path.state
