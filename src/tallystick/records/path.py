"""A path: one branch of a conversation, as a record. It names events; it holds nobody's words.

A path is open, merged, abandoned or closed (compacted), and says which; it cannot say two of them at once. An event
stands on it once. Records are frozen: what is done to a path gives a new record, see `stores/phase/paths`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.fields import moment, names
from tallystick.records.json import check

ROOT = ""
MAIN = "main"  # what the root is called where people read it

SCHEMA_VERSION = 1
COMPACTION = ("none", "compacted")

OPEN = "open"
MERGED = "merged"
ABANDONED = "abandoned"
CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPath(Displayable):
    """One path. `parent_id` is empty for one that begins a conversation."""

    path_id: str
    parent_id: str = ""
    event_ids: tuple[str, ...] = ()  # in the order in which they came to it, those of merged paths included
    is_active: bool = True  # whether anything may still be said on it
    merged_into: str = ""
    merged_from: tuple[str, ...] = ()  # sorted: in which order they came does not matter
    abandoned_reason: str = ""
    compaction_status: str = "none"
    created_at: str
    updated_at: str = ""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION or type(self.schema_version) is not int:
            raise UnknownVersion(
                f"schema version {self.schema_version!r} is not known; this program writes {SCHEMA_VERSION}: upgrade it"
            )
        names((self.path_id,), "a path's path_id")
        for name in ("parent_id", "merged_into", "abandoned_reason"):
            if type(getattr(self, name)) is not str:
                raise Refused(f"a path's {name} is text, not {type(getattr(self, name)).__name__}")
        object.__setattr__(self, "event_ids", tuple(dict.fromkeys(names(self.event_ids, "a path's event_ids"))))
        object.__setattr__(self, "merged_from", tuple(sorted(set(names(self.merged_from, "a path's merged_from")))))
        object.__setattr__(self, "created_at", moment(self.created_at))
        object.__setattr__(self, "updated_at", moment(self.updated_at or self.created_at))
        self._must_make_sense()
        try:
            check(self.to_dict())
        except ValueError as error:
            raise Refused(f"cannot be written: {error}", "json") from None

    def _must_make_sense(self) -> None:
        if self.path_id in (self.parent_id, self.merged_into, *self.merged_from):
            raise Refused(f"path {self.path_id!r} cannot be its own parent, nor be merged into itself", "self")
        if self.compaction_status not in COMPACTION:
            raise Refused(f"compaction_status is one of {', '.join(COMPACTION)}, not {self.compaction_status!r}")
        if type(self.is_active) is not bool:
            raise Refused(f"is_active is true or false, not {self.is_active!r}")
        if self.merged_into and self.abandoned_reason:
            raise Refused(f"path {self.path_id!r} is merged or abandoned, not both", "conflict")
        if self.is_active != (self.state == OPEN):
            raise Refused(f"path {self.path_id!r} is {self.state}, so is_active is {self.state == OPEN}", "state")

    @property
    def state(self) -> str:
        """open, merged, abandoned or closed."""
        if self.merged_into:
            return MERGED
        if self.abandoned_reason:
            return ABANDONED
        return CLOSED if self.compaction_status == "compacted" else OPEN

    def with_events(self, event_ids: Iterable[str], at: str) -> MemoryPath:
        """The path with more events on it. One that stands there already is not put twice."""
        return replace(self, event_ids=(*self.event_ids, *event_ids), updated_at=max(moment(at), self.updated_at))

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MemoryPath:
        """The path that `to_dict` gave. Refused, with the reason."""
        if "path_id" not in told or "created_at" not in told:
            raise Refused("no path: it is an object with at least path_id and created_at")
        odd = sorted(ascii(name)[:40] for name in told.keys() - _FIELDS)
        if odd:
            raise Refused(f"no path: {', '.join(odd[:3])} is no field of one", "field")
        for name in ("event_ids", "merged_from"):
            if not isinstance(told.get(name, []), list):
                raise Refused(f"no path: {name} is a list of names")
        return cls(**told)

    def __repr__(self) -> str:
        return f"<MemoryPath {self.path_id} {self.state}, {len(self.event_ids)} events>"


_FIELDS = frozenset(f.name for f in fields(MemoryPath))


def shown(path: str) -> str:
    """A path's name as people read it."""
    return path or MAIN


@dataclass(frozen=True, slots=True)
class Tree(Displayable):
    """A path and those that branched from it, oldest first. The root has no record: everything begins there."""

    name: str
    path: MemoryPath | None
    beliefs: int  # held on this very path
    episodes: int
    branches: tuple[Tree, ...] = ()

    def __repr__(self) -> str:
        return f"<Tree {self.name}: {len(self.branches)} branches>"
