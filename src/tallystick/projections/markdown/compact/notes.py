"""Statements of a page, and the notes of what was current before them.

A note is at the end of a statement and says until when something was current:

    User joined Acme Corp. (Until 2026-04-21: User works at Old Corp.)

Several notes follow each other, the latest first. All the rest of a text is about the present.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
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
