"""A page as its readers get it: its subject, its entries, the result of a sync, and a compaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable, short
from tallystick.records.errors import Refused

NOTES = "topic-notes"  # the page of beliefs that are about nothing in particular
STATUSES = ("active", "dormant", "archived")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry(Displayable):
    """One dated statement on a page. `id` is a version of the belief that it shows."""

    id: str
    path: str
    at: str
    tags: tuple[str, ...]
    text: str
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
    is_retracted: bool = False
    chain: tuple[str, ...] = ()  # in a search with history: from this entry to the current one

    @property
    def is_current(self) -> bool:
        return not (self.superseded_by or self.is_retracted)

    def __repr__(self) -> str:
        mark = "" if self.is_current else " struck"
        return f"<PageEntry {self.id} {short(self.text)!r}{mark}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInfo(Displayable):
    """A page at a glance."""

    path: str
    about: str
    title: str
    description: str
    tags: tuple[str, ...]
    status: str
    created: str
    updated: str
    entry_count: int
    needs_compact: bool
    tokens: int  # of its text, estimated

    def __repr__(self) -> str:
        return f"<PageInfo {self.path} {self.entry_count} entries {self.status}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText(Displayable):
    """A page with the requested entries, oldest first."""

    info: PageInfo
    entries: tuple[PageEntry, ...]
    text: str  # of the file, or as it would be written

    def to_dict(self) -> dict[str, Any]:
        return {**self.info.to_dict(), "entries": [entry.to_dict() for entry in self.entries], "text": self.text}


@dataclass(frozen=True, slots=True)
class SyncNote:
    """An edit that a sync imported, or something that it did not understand, with its place."""

    path: str
    line: int  # 0: of the file as a whole
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced(Displayable):
    """The result of a sync."""

    seen: int = 0  # files
    adopted: tuple[SyncNote, ...] = ()  # edits that became events
    written: tuple[str, ...] = ()  # files that were updated
    problems: tuple[SyncNote, ...] = ()  # what was not understood; it stays as it is
    reviews: tuple[str, ...] = ()  # pending reviews: two changed the same thing

    @property
    def is_clean(self) -> bool:
        return not (self.problems or self.reviews)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Displayable):
    """A page with superseded entries summed up in a note and repeats joined."""

    path: str
    why: str
    entries_before: int
    entries_after: int
    tokens_before: int  # about so many
    tokens_after: int
    text: str  # the whole page, as it would be
    diff: str  # unified; empty, if nothing changes
    losses: tuple[str, ...] = ()  # what would be lost, a line each; empty: it is acceptable
    changes: tuple[tuple[str, str], ...] = ()  # (removed entry, the entry that has its content)
    user: str = OWNER

    def __post_init__(self) -> None:
        if not self.path or not self.path.endswith(".md"):
            raise Refused(f"a compaction needs a page like person-ana.md, not {self.path!r}", "name")
        if min(self.entries_before, self.entries_after, self.tokens_before, self.tokens_after) < 0:
            raise Refused(f"{self.path}: counts must not be negative")

    @property
    def is_any(self) -> bool:
        return bool(self.diff)

    @property
    def is_acceptable(self) -> bool:
        return not self.losses

    def __repr__(self) -> str:
        return f"<Compaction {self.path} {self.entries_before} entries into {self.entries_after}, {self.why}>"
