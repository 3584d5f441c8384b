"""A page as its readers get it: what it is about, its entries, what a search found, what a sync took in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.records.display import Displayable

NOTES = "topic-notes"  # where a belief stands that is about nothing in particular
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
    chain: tuple[str, ...] = ()  # of a search that shows history: from this entry to what holds now

    @property
    def is_current(self) -> bool:
        """Neither replaced nor taken back."""
        return not (self.superseded_by or self.is_retracted)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        mark = "" if self.is_current else " struck"
        return f"<PageEntry {self.id} {text!r}{mark}>"


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
    tokens: int  # about so many, of what stands on it

    def __repr__(self) -> str:
        return f"<PageInfo {self.path} {self.entry_count} entries {self.status}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText(Displayable):
    """A page that was read: what is known of it, and the entries that were asked for, oldest first."""

    info: PageInfo
    entries: tuple[PageEntry, ...]
    text: str  # the file as it stands, or as it would

    def to_dict(self) -> dict[str, Any]:
        return {**self.info.to_dict(), "entries": [entry.to_dict() for entry in self.entries], "text": self.text}


@dataclass(frozen=True, slots=True)
class SyncNote:
    """Something that a sync did or did not understand, and where it stands."""

    path: str
    line: int  # 0: of the file as a whole
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced(Displayable):
    """What a sync did."""

    seen: int = 0  # files
    adopted: tuple[SyncNote, ...] = ()  # edits that became events
    written: tuple[str, ...] = ()  # files that were brought up to date
    problems: tuple[SyncNote, ...] = ()  # what was not understood; it is kept as it is
    reviews: tuple[str, ...] = ()  # questions that wait: two changed the same thing

    @property
    def is_clean(self) -> bool:
        return not (self.problems or self.reviews)
