"""Pages as a person reads them: all of them, one, and the entries that were found.

A page's own text is shown line by line as it is written. On a terminal its frame steps back and its headings come
forward; in a pipe it is Markdown, and nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tallystick.surfaces.present.page_names import called
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import cells, lines, short, shown
from tallystick.surfaces.present.time import ago, count, when

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.records.page import PageEntry, PageInfo

DONE = {"archive": "Archived", "activate": "Took up", "flag": "Flagged"}

_NAME_ROOM = 40
_FLAGGED = "to be folded"
_ENTRY = re.compile(r"(## \[[^\]]*\])( \{id: [^}]*\})?(.*)", re.DOTALL)


# -- all ---------------------------------------------------------------------------------------------------------------


def table(infos: Sequence[PageInfo], *, hidden: int = 0) -> Iterator[str]:
    """A line each: its name, how much is on it, when it was touched, how it stands if not as usual, what it is."""
    if not infos and not hidden:
        yield dim("there are no pages yet; `tallystick remember TEXT --about person-ana` begins one")
        return
    limit = min(_NAME_ROOM, width() // 3)
    columns = [(short(called(info), limit), _entries(info), _age(info)) for info in infos]
    rooms = [max((cells(each[at]) for each in columns), default=0) for at in range(3)]
    for info, (name, number, age) in zip(infos, columns, strict=True):
        left = bold(_padded(name, rooms[0])) + f"  {number:>{rooms[1]}}  " + dim(age.ljust(rooms[2])) + "  "
        state = f"{each}; " if (each := _state(info)) else ""
        room = max(width() - sum(rooms) - 6 - len(state), 4)
        yield (left + (warn(state) if state else "") + short(info.description, room)).rstrip()
    if hidden:
        yield dim(f"and {count(hidden, 'page')} that {'is' if hidden == 1 else 'are'} dormant or archived: --all")


def _entries(info: PageInfo) -> str:
    return f"{info.entry_count:,} {'entry  ' if info.entry_count == 1 else 'entries'}"


def _age(info: PageInfo) -> str:
    return ago(info.updated).removeprefix("on ")


def _state(info: PageInfo) -> str:
    parts = ("" if info.status == "active" else info.status, _FLAGGED if info.needs_compact else "")
    return ", ".join(filter(None, parts))


def _padded(text: str, room: int) -> str:
    return text + " " * max(room - cells(text), 0)


# -- one ---------------------------------------------------------------------------------------------------------------


def plain(text: str) -> Iterator[str]:
    """A page as it is written."""
    written = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return _painted(written) if sys.stdout.isatty() else map(_tabbed, written)


def _tabbed(line: str) -> str:
    return "\t".join(map(shown, line.split("\t")))


def _painted(written: Iterable[str]) -> Iterator[str]:
    in_front, struck = False, False
    for number, line in enumerate(written):
        text = _tabbed(line)
        is_fence = line.rstrip() == "---" and (in_front or number == 0)
        in_front = in_front != is_fence
        if in_front or is_fence:
            yield dim(text)
        elif line.startswith("# "):
            yield bold(text)
        elif heading := _ENTRY.match(text):
            struck = "#superseded-by:" in text or "#retracted" in text
            yield bold(heading[1]) + dim((heading[2] or "") + heading[3])
        else:
            yield dim(text) if struck else text


def front(info: PageInfo) -> Iterator[str]:
    """What a page is, above the entries that were asked for."""
    state = _state(info)
    yield bold(short(info.title, width())) + (warn(f"  {state}") if state else "")
    if info.description:
        yield dim(short(info.description, width()))
    yield ""


def entry_lines(entries: Sequence[PageEntry], *, is_found: bool = False) -> Iterator[str]:
    """Entries with their words, and below each where and when it was said, and whether it still holds."""
    if not entries:
        yield dim("nothing is found" if is_found else "no entry fits")
    for entry in entries:
        text = lines(entry.text)
        yield from ((bold if is_found else str)(line) if entry.is_current else dim(line) for line in text)
        page = f"{entry.path.rpartition('/')[2].removesuffix('.md')}  " if is_found else ""
        tags = "".join(f" #{tag}" for tag in entry.tags)
        yield dim(f"  {shown(page)}{when(entry.at)}  {shown(entry.id)} {shown(tags)}".rstrip()) + _standing(entry)


def _standing(entry: PageEntry) -> str:
    if entry.is_retracted and not entry.superseded_by:
        return warn("  taken back")
    if entry.superseded_by:
        now = entry.chain[-1] if len(entry.chain) > 1 else entry.superseded_by
        return warn(f"  replaced, now {shown(now)}")
    return ""


def found_lines(entries: Sequence[PageEntry]) -> Iterator[str]:
    return entry_lines(entries, is_found=True)


def said_of(act: str, info: PageInfo) -> Iterator[str]:
    """What became of a page."""
    yield f"{dim(DONE[act])} {bold(shown(called(info)))}{dim(':')} {short(info.title, width() - 50)}"


def file_line(place: Path) -> str:
    """Where a file is: for a person to read, or for a program to open."""
    return shown(str(place)) if sys.stdout.isatty() else str(place)
