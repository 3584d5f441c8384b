"""Statements of a page, and the notes of what was current before them.

A note is at the end of a statement and says until when something was current:

    User joined Acme Corp. (Until 2026-04-21: User works at Old Corp.)

Several notes follow each other, the latest first. All the rest of a text is about the present.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import NamedTuple

from tallystick.text.words import DATE, words_of


@dataclass(frozen=True, slots=True)
class Statement:
    """One entry of a page, as plain values."""

    id: str
    at: str  # as the heading writes it: 2026-04-21T09:15:00
    text: str
    tags: tuple[str, ...] = ()
    superseded_by: str = ""  # the id of what replaced it
    retracted: bool = False
    supersedes: tuple[str, ...] = ()  # the ids that it replaces
    has_key: bool = False  # a caller gave it a key and may ask for it

    @property
    def is_current(self) -> bool:
        return not (self.superseded_by or self.retracted)

    @property
    def day(self) -> str:
        """The day of its heading as 2026-04-21, or empty where the heading has none."""
        return self.at[:10] if is_day(self.at[:10]) else ""


class Note(NamedTuple):
    until: str  # a day as 2026-04-21
    text: str

    def __str__(self) -> str:
        return f"(Until {self.until}: {self.text})"


def is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def parted(text: str) -> tuple[str, list[Note]]:
    """The text about the present, and the notes after it. A text that is all notes has none: it is taken as it is."""
    opens = list(_OPENS.finditer(text)) if "(Until " in text else []
    notes: list[Note] = []
    end = _before_spaces(text, len(text))
    for found in reversed(opens):
        read = words_of(found[1])  # "2026-04-21" and "21 April 2026" are days, "then" is none
        until, kind = read[0] if len(read) == 1 else ("", "")
        if kind != DATE or not is_day(until) or found.end() >= end or text[end - 1] != ")":
            break
        notes.append(Note(until, text[found.end() : end - 1].strip()))
        end = _before_spaces(text, found.start())
    if not end:
        return text, []
    return text[:end], notes[::-1]


def _before_spaces(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def joined(current: str, notes: Iterable[Note]) -> str:
    """A text that `parted` takes apart again."""
    return " ".join([current, *map(str, notes)])


def words_in(statements: Sequence[Statement]) -> int:
    """The number of words of a page of these, with headings and marks."""
    count = 0
    for each in statements:
        count += 4 + len(each.tags) + bool(each.superseded_by) + each.retracted + len(each.text.split())
        count += 3 + len(each.supersedes) if each.supersedes else 0
    return count


_OPENS = re.compile(r"(?<=\s)\(Until ([^:()\n]{4,40}): ")


# -- two pages, entry by entry -----------------------------------------------------------------------------------------
# An entry of a rewritten page has as sources the one with its own id, and those it names in `supersedes` that are no
# longer there. Ids may repeat on a page that was edited by hand: the second of a kind belongs to the second.

_Name = tuple[str, int]  # an id, and how many of the same come before it


class Pairs:
    """Two pages side by side. Places are positions in `before` and in `after`."""

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self.before, self.after = before, after
        names, self._own = list(_named(before)), {name: at for at, name in enumerate(_named(after))}
        self.by_name = {name: at for at, (name, count) in enumerate(names) if count == 0}
        heirs: dict[str, int] = {}
        for place, statement in enumerate(after):
            for name in statement.supersedes:
                heirs.setdefault(name, place)
        self._heirs = heirs
        self._names: dict[int, frozenset[str]] = {}
        self.is_own = [name in self._own for name in names]
        self.holders = [
            self._own[name] if name in self._own else heirs.get(name[0]) if name[1] == 0 and name[0] else None
            for name in names
        ]
        self.sources: list[list[int]] = [[] for _ in after]
        for at, holder in enumerate(self.holders):
            if holder is not None:
                self.sources[holder].append(at)

    def is_there(self, name: str) -> bool:
        return (name, 0) in self._own

    def name_now(self, name: str) -> str:
        """The id of the entry that this one is in now."""
        place = self._heirs.get(name)
        return name if self.is_there(name) or place is None else self.after[place].id

    def is_named(self, name: str, place: int) -> bool:
        """True if an id is still there, or named by the entry at that place."""
        if self.is_there(name):
            return True
        if place not in self._names:
            self._names[place] = frozenset((self.after[place].id, *self.after[place].supersedes))
        return name in self._names[place]

    @cached_property
    def ends(self) -> list[int | None]:
        """For each entry before, the place of what is current in its stead; None where the chain leads nowhere."""
        return ends(self.before)


def ends(page: Sequence[Statement]) -> list[int | None]:
    """For each statement the place of the one that is current in its stead: its own where it was not superseded.

    None where the chain leaves the page, runs in a circle, or ends at what was retracted.
    """
    by_name: dict[str, int] = {}
    for place, statement in enumerate(page):
        by_name.setdefault(statement.id, place)
    found: dict[int, int | None] = {}
    for start in range(len(page)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and at not in found:
            found[at] = None  # for good, if the chain leads back here
            trail.append(at)
            if not page[at].superseded_by:
                found[at] = None if page[at].retracted else at
                break
            at = by_name.get(page[at].superseded_by)
        end = None if at is None else found[at]
        found.update(dict.fromkeys(trail, end))
    return [found[at] for at in range(len(page))]


def _named(page: Sequence[Statement]) -> Iterator[_Name]:
    seen: dict[str, int] = {}
    for statement in page:
        count = seen.get(statement.id, 0)
        seen[statement.id] = count + 1
        yield statement.id, count
