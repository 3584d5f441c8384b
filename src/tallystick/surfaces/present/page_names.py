"""Names of pages on the command line: as listed, as the file, or as what the page is about.

For an unknown name, the message suggests the one that was probably meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from os.path import isfile
from typing import TYPE_CHECKING

from tallystick.records.errors import NotFound, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.memory.memory import Memory
    from tallystick.records.page import PageInfo


def called(info: PageInfo) -> str:
    """The name that a person types for a page."""
    return info.path.rpartition("/")[2].removesuffix(".md")


def has_pages(folder: Path) -> bool:
    """Whether a folder has pages, with a ledger or without."""
    return any(any((folder / "memory").glob(pattern)) for pattern in ("*.md", "@*/*.md"))


def meant(memory: Memory, name: str) -> str:
    """The page of that name, or about that; else the name as it is."""
    plain = name.removeprefix("memory/").removesuffix(".md")
    every = memory.pages.list(include_dormant=True, include_archived=True)
    names = {info.about: called(info) for info in every} | {called(info): called(info) for info in every}
    return names.get(plain, name)


def page_name(memory: Memory, name: str) -> str:
    """The page of that name, or about that; NotFound, with a suggestion, if there is none."""
    found = meant(memory, name)
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
    without = {each.partition("-")[2]: each for each in reversed(names)}  # for people who forget the prefix
    if begun := [each for each in names if name and each.startswith(name)]:
        return begun[0]
    near = get_close_matches(name, names, n=1) or get_close_matches(name, list(without), n=1)
    return without.get(near[0], near[0]) if near else ""
