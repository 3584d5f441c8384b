"""What path events make of paths: the one place where it is said. Replaying a log and deciding on a path ask here.

A path event stands on the path it is about: the branching is its first, the merge, abandoning or compaction its last.
Merging copies nothing: the path that takes another in names it, so the order in which branches come home leaves no
trace. `must_allow` says whether an event makes sense after those before it; `take` carries out one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.events import ABANDON, BRANCH, COMPACT, MERGE, MemoryEvent, shown
from tallystick.records.path import ABANDONED, CLOSED, MERGED, OPEN, MemoryPath

DEEPEST = 1000  # branches of branches


class PathBook:
    """Paths, and what events do to them."""

    def __init__(self, paths: Mapping[str, MemoryPath] | Iterable[MemoryPath] = ()) -> None:
        known = paths.values() if isinstance(paths, Mapping) else paths
        self._paths: dict[str, MemoryPath] = {}
        self._more: dict[str, dict[str, str]] = {}  # events that a record has yet to take in, and their times
        self._below: dict[str, set[str]] = {}  # the open branches of each path
        for path in known:
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
        """Take a record as it is, in the place of the one of that name."""
        self._more.pop(path.path_id, None)
        self._paths[path.path_id] = path
        below = self._below.setdefault(path.parent_id, set())
        if path.is_active:
            below.add(path.path_id)
        else:
            below.discard(path.path_id)

    def line_of(self, path_id: str) -> list[str]:
        """The path and those above it, nearest first. A parent that is missing, or a ring, ends it."""
        line: dict[str, None] = {}
        while path_id in self._paths and path_id not in line:
            line[path_id] = None
            path_id = self._paths[path_id].parent_id
        return list(line)

    def with_merged(self, path_id: str) -> list[str]:
        """The path, and all that was merged into it, directly or by way of another."""
        found, waiting = dict[str, None](), [path_id]
        while waiting:
            name = waiting.pop()
            if name in self._paths and name not in found:
                found[name] = None
                waiting += self._paths[name].merged_from
        return list(found)

    def current(self) -> set[str]:
        """The paths that are seen by whoever names none: all that begin a conversation, with what was merged into them.

        One that was itself merged is seen where it was merged into.
        """
        begin = [name for name, path in self._paths.items() if not path.parent_id and path.state in (OPEN, CLOSED)]
        return {merged for name in begin for merged in self.with_merged(name)}

    def is_abandoned(self, path_id: str) -> bool:
        return path_id in self._paths and self._paths[path_id].state == ABANDONED

    def _named(self, path_id: str) -> MemoryPath:
        path = self._paths.get(path_id)
        if path is None:
            raise NotFound(f"there is no path {path_id!r}; branch it first")
        return path

    # -- may it happen? ------------------------------------------------------------------------------------------------

    def must_allow(self, event: MemoryEvent) -> None:
        """Refused, if the event makes no sense for the paths as they are."""
        _ALLOWS[event.kind](self, event)

    def must_be_open(self, path_id: str) -> None:
        """Refused, if nothing may be said on a path any more."""
        path = self._named(path_id)
        if path.state != OPEN:
            raise Refused(f"path {path_id!r} is {_told(path)}; branch another one", "state")

    def _may_branch(self, event: MemoryEvent) -> None:
        new, parent = event.path_id, said(event, "parent_id")
        if not new:
            raise Refused("a path needs a name: an empty one names nothing", "name")
        if new in self._paths:
            raise Refused(f"there is a path {new!r} already; choose another name", "exists")
        if parent == new:
            raise Refused(f"path {new!r} cannot be its own parent", "self")
        if not parent:
            return
        if self._named(parent).state in (MERGED, ABANDONED):
            raise Refused(f"path {parent!r} is {_told(self._named(parent))}; branch from another one", "state")
        if len(self.line_of(parent)) >= DEEPEST:
            raise Refused(f"path {parent!r} is {DEEPEST} branches deep already; branch from one further up", "size")

    def _may_merge(self, event: MemoryEvent) -> None:
        source, into = self._named(event.path_id), said(event, "into")
        if into == source.path_id:
            raise Refused(f"path {into!r} cannot be merged into itself", "self")
        if source.state in (MERGED, ABANDONED):
            raise Refused(f"path {source.path_id!r} is {_told(source)}; it cannot be merged any more", "state")
        self.must_be_open(into)
        if source.path_id in self.line_of(into):
            raise Refused(f"path {source.path_id!r} stands above {into!r}; merge {into!r} into it instead", "self")

    def _may_abandon(self, event: MemoryEvent) -> None:
        path = self._named(event.path_id)
        if path.state in (MERGED, ABANDONED):
            raise Refused(f"path {path.path_id!r} is {_told(path)}; it cannot be abandoned any more", "state")
        if not said(event, "reason").strip():
            raise Refused(f"say why path {path.path_id!r} is abandoned: give a reason", "required")
        below = sorted(self._below.get(path.path_id, ()))
        if below:
            raise Refused(
                f"path {path.path_id!r} has open branches ({', '.join(map(shown, below[:3]))}); end those first",
                "state",
            )

    def _may_compact(self, event: MemoryEvent) -> None:
        path = self._named(event.path_id)
        if path.state != OPEN:
            raise Refused(f"path {path.path_id!r} is {_told(path)}; it cannot be compacted", "state")

    # -- it happens ----------------------------------------------------------------------------------------------------

    def take(self, event: MemoryEvent) -> tuple[str, ...]:
        """Carry out an event that is allowed. The names of the paths that are other than before."""
        changed = _TAKES[event.kind](self, event)
        self.stand(event)
        return changed

    def stand(self, event: MemoryEvent) -> None:
        """Let an event stand on its path, if there is such a path."""
        if event.path_id in self._paths:
            self._more.setdefault(event.path_id, {}).setdefault(event.id, event.at)

    def _branch(self, event: MemoryEvent) -> tuple[str, ...]:
        self.put(MemoryPath(path_id=event.path_id, parent_id=said(event, "parent_id"), created_at=event.at))
        return (event.path_id,)

    def _merge(self, event: MemoryEvent) -> tuple[str, ...]:
        into = self.get(said(event, "into"))
        at = max(event.at, into.updated_at)
        self.put(replace(into, merged_from=(*into.merged_from, event.path_id), updated_at=at))
        self._end(event, merged_into=into.path_id)
        return event.path_id, into.path_id

    def _abandon(self, event: MemoryEvent) -> tuple[str, ...]:
        return self._end(event, abandoned_reason=said(event, "reason"))

    def _compact(self, event: MemoryEvent) -> tuple[str, ...]:
        return self._end(event, compaction_status="compacted")

    def _end(self, event: MemoryEvent, **how: str) -> tuple[str, ...]:
        self.put(replace(self.get(event.path_id), is_active=False, **how))  # type: ignore[arg-type]
        return (event.path_id,)


def said(event: MemoryEvent, name: str) -> str:
    """A text of the payload; nothing, if it is not there. Refused, if it is something else than text."""
    value = event.payload.get(name, "")
    if not isinstance(value, str):
        raise Refused(f"{name} of a {event.kind} is text, not {type(value).__name__}")
    return value


def _told(path: MemoryPath) -> str:
    if path.state == MERGED:
        return f"merged into {path.merged_into!r}"
    return "closed by compaction" if path.state == CLOSED else path.state


_ALLOWS: dict[str, Callable[[PathBook, MemoryEvent], None]] = {
    BRANCH: PathBook._may_branch, MERGE: PathBook._may_merge, ABANDON: PathBook._may_abandon,
    COMPACT: PathBook._may_compact,
}  # fmt: skip
_TAKES: dict[str, Callable[[PathBook, MemoryEvent], tuple[str, ...]]] = {
    BRANCH: PathBook._branch, MERGE: PathBook._merge, ABANDON: PathBook._abandon, COMPACT: PathBook._compact,
}  # fmt: skip
