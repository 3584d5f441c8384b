"""What the pages about pages show: all of them by kind, what a search found, one with its entries.

An entry that was replaced is told by the one that took its place: what it said before, and what changed. A page may
hold thousands; so many at a time are shown, the newest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records.entity import PREFIXES, kind_of
from tallystick.records.errors import Damaged, TallystickError
from tallystick.surfaces.present.diff import Piece
from tallystick.surfaces.present.page_names import called, page_name
from tallystick.surfaces.web.markdown import all_html
from tallystick.surfaces.web.plain_text import differing, visible

if TYPE_CHECKING:
    from markupsafe import Markup

    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.page import PageEntry, PageInfo, PageText

AT_ONCE = 50  # entries of a page
VERSIONS = 20  # of an entry that are told on its page
IN_A_GROUP = 300
FOUND = 50

KINDS = {
    "user": "You", "person": "People", "project": "Projects", "org": "Organisations", "tool": "Tools",
    "event": "Events", "topic": "Topics",
}  # fmt: skip


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page in the list, and by which name it is opened."""

    name: str
    info: PageInfo


@dataclass(frozen=True, slots=True)
class Group:
    """The pages of one kind, the last touched first."""

    title: str
    pages: tuple[PageRow, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that holds the words that were looked for."""

    name: str
    entry: PageEntry


@dataclass(frozen=True, slots=True)
class PageList:
    """What the list shows: pages by kind, those put away apart, and entries if words were looked for."""

    words: str
    groups: tuple[Group, ...]
    away: tuple[PageRow, ...]
    matches: tuple[Match, ...]
    is_bare: bool  # no page has an entry
    seq: int  # the last event of which it tells
    kinds: tuple[tuple[str, str], ...] = tuple(KINDS.items())


def listed(memory: Memory, words: str = "") -> PageList:
    """All pages, or those whose names hold `words`, and the entries that do."""
    seq = memory.ledger.size - 1  # before the list is read: what comes meanwhile is looked at once more
    infos = memory.pages.list(include_dormant=True, include_archived=True)
    wanted = [PageRow(called(info), info) for info in infos if _is_named(info, words)]
    groups = [_group(kind, [each for each in wanted if each.info.status == "active"]) for kind in KINDS]
    away = [each for each in wanted if each.info.status != "active"]
    entries = memory.pages.search(words, top_k=FOUND, include_superseded=True) if words else []
    return PageList(
        words, tuple(group for group in groups if group.count), tuple(away[:IN_A_GROUP]),
        tuple(Match(_name(entry.path), entry) for entry in entries), not any(info.entry_count for info in infos),
        seq,
    )  # fmt: skip


def _is_named(info: PageInfo, words: str) -> bool:
    named = f"{called(info)} {info.title} {info.description} {' '.join(info.tags)}".casefold()
    return all(word in named for word in words.casefold().split())


def _group(kind: str, pages: Sequence[PageRow]) -> Group:
    mine = [each for each in pages if kind_of(each.info.about) == kind]
    return Group(KINDS[kind], tuple(mine[:IN_A_GROUP]), len(mine))


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


# -- one ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an entry said before, and what its successor changed in it."""

    id: str
    at: str
    changes: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """An entry as it is shown."""

    entry: PageEntry
    html: Markup
    belief: Belief | None  # None if its words were erased
    earlier: tuple[Earlier, ...]


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A page that is looked at. `problems` are lines of its file that were not understood."""

    name: str
    info: PageInfo
    text: str
    place: Path
    cards: tuple[Card, ...]
    struck: int  # entries that were replaced or taken back
    shows_struck: bool
    before: str  # where the rest begins, if there is more
    problems: tuple[str, ...] = ()


def opened(memory: Memory, name: str, *, earlier: bool = False, before: str = "") -> OpenPage:
    """A page with its newest entries; those that were replaced too, if `earlier`; from the one before `before` on."""
    problems = taken_in(memory, name)
    page = memory.pages.read(page_name(memory, name), include_superseded=True)
    wanted = [entry for entry in reversed(page.entries) if earlier or entry.is_current]
    ids = [entry.id for entry in wanted]
    start = ids.index(before) + 1 if before in ids else 0
    shown_here = wanted[start : start + AT_ONCE]
    rest = shown_here[-1].id if start + AT_ONCE < len(wanted) else ""
    struck = sum(not entry.is_current for entry in page.entries)
    return OpenPage(
        called(page.info), page.info, visible(page.text), memory.pages.folder / page.info.path,
        _cards(memory, page, shown_here), struck, earlier, rest, problems,
    )  # fmt: skip


def taken_in(memory: Memory, name: str) -> tuple[str, ...]:
    """Take in what was edited in the page's file. What cannot be, and why, is told; the page is shown all the same."""
    try:
        done = memory.pages.sync([name]) if is_name(name) else None
    except TallystickError as error:
        return (str(error),)
    return tuple(map(str, done.problems)) if done else ()


def page_of(memory: Memory, about: str) -> str:
    """The name of the page that tells about it; empty, if there is none. Of a damaged memory, no page can be opened."""
    try:
        return _name(memory.pages.name_of(about)) if about in memory.pages else ""
    except Damaged:
        return ""


def is_name(name: str) -> bool:
    """Whether a page may be called so."""
    return name.partition("-")[0] in PREFIXES


def _cards(memory: Memory, page: PageText, entries: Sequence[PageEntry]) -> tuple[Card, ...]:
    before = {entry.superseded_by: entry for entry in page.entries if entry.superseded_by}
    made = all_html(entry.text for entry in entries)
    return tuple(
        Card(entry, html, memory.get(entry.id), _earlier(entry, before))
        for entry, html in zip(entries, made, strict=True)
    )  # fmt: skip


def _earlier(entry: PageEntry, before: dict[str, PageEntry]) -> tuple[Earlier, ...]:
    """What it said before, the latest first."""
    told, seen = list[Earlier](), {entry.id}
    while (old := before.get(entry.id)) and old.id not in seen and len(told) < VERSIONS:
        told.append(Earlier(old.id, old.at, differing(old.text, entry.text)))
        seen.add(old.id)
        entry = old
    return tuple(told)
