"""A path: one branch of a conversation, as a record. It names events and holds no text.

A path is in exactly one state: open, merged, abandoned or closed (compacted). An event is on it once. Records are
frozen: changing a path gives a new record, see `stores/phase/paths`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable, short
from tallystick.records.errors import Refused
from tallystick.records.fields import (
    moment,
    must_be_flag,
    must_be_json,
    must_be_known_version,
    must_be_name,
    must_be_one_of,
    must_be_texts,
    names,
)

ROOT = ""
MAIN = "main"  # the name of the root in print

SCHEMA_VERSION = 1
COMPACTION = ("none", "compacted")

OPEN = "open"
MERGED = "merged"
ABANDONED = "abandoned"
CLOSED = "closed"

PARENT = "parent"  # what is there stays
BRANCH = "branch"  # the branch's version replaces it
NEWEST = "newest"  # whichever was recorded later
REVIEW = "review"  # what is there stays, and a person decides
BY_MERGE = "merged from a path"  # the reason of merged beliefs, without the path's name, which can be erased
RULES = (REVIEW, PARENT, BRANCH, NEWEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPath(Displayable):
    """One path. `parent_id` is empty for the first of a conversation."""

    path_id: str
    parent_id: str = ""
    event_ids: tuple[str, ...] = ()  # in order, including those of merged paths
    is_active: bool = True  # whether it can still be written to
    merged_into: str = ""
    merged_from: tuple[str, ...] = ()  # sorted: their order does not matter
    abandoned_reason: str = ""
    compaction_status: str = "none"
    created_at: str
    updated_at: str = ""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        must_be_known_version(self.schema_version)
        must_be_name("path_id", self.path_id)
        must_be_texts(self, "parent_id", "merged_into", "abandoned_reason")
        object.__setattr__(self, "event_ids", tuple(dict.fromkeys(names(self.event_ids, "event_ids"))))
        object.__setattr__(self, "merged_from", tuple(sorted(set(names(self.merged_from, "merged_from")))))
        object.__setattr__(self, "created_at", moment(self.created_at))
        object.__setattr__(self, "updated_at", moment(self.updated_at or self.created_at))
        must_be_one_of("compaction_status", self.compaction_status, COMPACTION)
        must_be_flag("is_active", self.is_active)
        if self.path_id in (self.parent_id, self.merged_into, *self.merged_from):
            raise Refused(f"path {self.path_id!r} cannot be its own parent or be merged into itself", "self")
        if self.merged_into and self.abandoned_reason:
            raise Refused(f"path {self.path_id!r} cannot be both merged and abandoned", "conflict")
        if self.is_active != (self.state == OPEN):
            raise Refused(f"path {self.path_id!r} is {self.state}, so is_active must be {self.state == OPEN}", "state")
        must_be_json(self.to_dict())

    @property
    def state(self) -> str:
        if self.merged_into:
            return MERGED
        if self.abandoned_reason:
            return ABANDONED
        return CLOSED if self.compaction_status == "compacted" else OPEN

    def with_events(self, event_ids: Iterable[str], at: str) -> MemoryPath:
        """The path with more events on it, each once."""
        return replace(self, event_ids=(*self.event_ids, *event_ids), updated_at=max(moment(at), self.updated_at))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> MemoryPath:
        if "path_id" not in raw or "created_at" not in raw:
            raise Refused("not a path: it must be an object with at least path_id and created_at")
        odd = sorted(ascii(name)[:40] for name in raw.keys() - _FIELDS)
        if odd:
            raise Refused(f"not a path: there is no field {', '.join(odd[:3])}", "field")
        for name in ("event_ids", "merged_from"):
            if not isinstance(raw.get(name, []), list):
                raise Refused(f"not a path: {name} must be a list of names")
        return cls(**raw)

    def __repr__(self) -> str:
        return f"<MemoryPath {self.path_id} {self.state}, {len(self.event_ids)} events>"


_FIELDS = frozenset(f.name for f in fields(MemoryPath))


def shown(path: str) -> str:
    """A path's name in print."""
    return path or MAIN


@dataclass(frozen=True, slots=True)
class Tree(Displayable):
    """A path and its branches, oldest first. The root has no record."""

    name: str
    path: MemoryPath | None
    beliefs: int  # on this very path
    episodes: int
    branches: tuple[Tree, ...] = ()

    def __repr__(self) -> str:
        return f"<Tree {self.name}: {len(self.branches)} branches>"


@dataclass(frozen=True, slots=True)
class Conflict(Displayable):
    """A belief that differs on both sides. `ours` is the one on the path that is merged into."""

    key: str
    base: str  # the version that the branch's was made from; empty if it was made from none
    ours: Belief
    theirs: Belief
    why: str

    def __repr__(self) -> str:
        return f"<Conflict {self.key}: {_short(self.ours)} here, {_short(self.theirs)} on {self.theirs.path}>"


@dataclass(frozen=True, slots=True)
class Merged(Displayable):
    """The result of a merge: the merged beliefs, the conflicts, and their reviews."""

    path: str
    into: str
    brought: tuple[Belief, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    reviews: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Merged {self.path} into {shown(self.into)}: {len(self.brought)} brought, "
            f"{len(self.conflicts)} conflicts, {len(self.reviews)} to review>"
        )


def without_quote(reason: str) -> str:
    """The reason of a merged belief without the words that it quotes from the branch; any other as it is."""
    return BY_MERGE if reason.startswith(BY_MERGE) else reason


def _short(belief: Belief) -> str:
    return repr(short(belief.text, 40)) if belief.is_held else belief.status
