"""Names as people read and type them: of beliefs, episodes, clients, folders, backups and pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records import ids
from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import PageInfo

DOORS = {
    "cli": "at the command line", "python": "from Python", "mcp": "by an MCP client", "page": "on the page",
    "http": "over HTTP", "rules": "by a rule",
}  # fmt: skip


def handle(key: str) -> str:
    """The name that a person types for a belief: its key, or the last six characters of a generated id."""
    return key[-6:] if ids.BELIEF_ID.match(key) else key


def short_id(name: str) -> str:
    """The last six characters of a generated id of a belief or an episode; a caller's own name as it is."""
    return name[-6:] if ids.BELIEF_ID.match(name) or ids.EVENT_ID.match(name) else name


def episode_named(memory: Memory, name: str) -> str:
    """The name, if it is an episode's; empty if it is a belief's or unknown."""
    return name if memory.get(name) is None and memory.episodes.find(name) else ""


def short_path(path: str | os.PathLike[str]) -> str:
    """A path as people write it: below the home it begins with `~`."""
    home, whole = Path(os.path.expanduser("~")), Path(path)
    if home != Path("/") and whole.is_relative_to(home):
        return shown(str("~" / whole.relative_to(home)))
    return shown(str(whole))


def copies_in(folder: Path) -> list[Path]:
    """The backups inside a memory folder, newest last, without one that is still being written."""
    return sorted(path for path in (folder / "backup").glob("*") if path.is_dir() and path.suffix != ".new")


# -- pages: named as listed, as the file, or as what they are about ----------------------------------------------------


def called(info: PageInfo) -> str:
    """The name that a person types for a page."""
    return info.path.rpartition("/")[2].removesuffix(".md")


def has_pages(folder: Path) -> bool:
    """Whether a folder has pages, with a ledger or without."""
    return any(any((folder / "memory").glob(pattern)) for pattern in ("*.md", "@*/*.md"))


def resolved(memory: Memory, name: str) -> str:
    """The page of that name, or about that; else the name as it is."""
    plain = name.removeprefix("memory/").removesuffix(".md")
    every = memory.pages.list(include_dormant=True, include_archived=True)
    names = {info.about: called(info) for info in every} | {called(info): called(info) for info in every}
    return names.get(plain, name)


def page_name(memory: Memory, name: str) -> str:
    """The page of that name, or about that; NotFound, with a suggestion, if there is none."""
    found = resolved(memory, name)
    try:
        memory.pages.read(found, tail_n=0)
    except NotFound as error:
        raise NotFound(_with_hint(memory, name, str(error))) from None
    except Refused as error:
        raise Refused(_with_hint(memory, name, str(error)), error.code) from None
    return found


def _with_hint(memory: Memory, name: str, message: str) -> str:
    what = message.partition("; ")[0]
    plain = name.removeprefix("memory/").removesuffix(".md")
    if "/" not in plain and isfile(memory.pages.folder / f"{plain}.md"):  # a name may be too long for any file
        return f"{plain}.md was not imported yet; run `tallystick sync`"
    names = [called(info) for info in memory.pages.list(include_dormant=True, include_archived=True)]
    near = _near(plain.casefold()[:200], names)
    return f"{what}; did you mean {near}?" if near else message


def _near(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    without = {each.partition("-")[2]: each for each in reversed(names)}  # for people who forget the prefix
    if begun := [each for each in names if name and each.startswith(name)]:
        return begun[0]
    near = get_close_matches(name, names, n=1) or get_close_matches(name, list(without), n=1)
    return without.get(near[0], near[0]) if near else ""
