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
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tallystick.records.errors import Refused
from tallystick.records.graph.events import (
    ABANDON,
    APPLIED,
    BRANCH,
    COMPACT,
    EDGE_PUT,
    MERGE,
    NODE_PUT,
    PROFILE_PUT,
    MemoryEvent,
)
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.path_states import PathBook

Paths = Mapping[str, MemoryPath] | Iterable[MemoryPath]

LONGEST_REASON = 1000
_PUTS = (NODE_PUT, EDGE_PUT, PROFILE_PUT, APPLIED)


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
    """Merge `path_id` into `into`. The path ends. `conflicts` are recorded, see `conflicts_of`."""
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


def conflicts_of(events: Iterable[MemoryEvent], path_id: str, into: str) -> tuple[str, ...]:
    """The ids that were changed on both paths after the one branched off: the later change would win."""
    since, here, there = False, set[str](), set[str]()
    for event in events:
        since = since or (event.kind == BRANCH and event.path_id == path_id)
        if since and event.kind in _PUTS and event.path_id in (path_id, into):
            (here if event.path_id == path_id else there).update(event.subject_ids)
    return tuple(sorted(here & there))


def _decided(
    paths: Paths,
    kind: str,
    path_id: str,
    about: tuple[str, ...],
    payload: dict[str, Any],
    at: datetime | str,
    name: str,
) -> PathChange:
    state = PathBook(paths)
    fields: dict[str, Any] = {"path_id": path_id, "subject_ids": tuple(filter(None, about)), "payload": payload}
    event = MemoryEvent(id=name, kind=kind, at=at, **fields) if name else MemoryEvent.new(kind, at, **fields)  # type: ignore[arg-type]
    state.must_allow(event)
    return PathChange(event, tuple(state.get(changed) for changed in state.take(event)))
