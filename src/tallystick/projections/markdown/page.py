"""A parsed page: its parts, and the place of each.

All places are places in `text`, which is the page to the last character. Whatever was not understood is in there too,
and listed in `problems`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple

from tallystick.records.errors import Refused

STATUSES = ("active", "dormant", "archived")


class Span(NamedTuple):
    """From the first character to the one after the last."""

    start: int
    end: int


NOWHERE = Span(0, 0)


class Problem(NamedTuple):
    """Something that was not understood. It stays on the page as it is."""

    line: int
    reason: str


class Field(NamedTuple):
    """A field of the front matter and its place."""

    name: str
    value: str | tuple[str, ...] | None  # None: neither a text nor a list of texts
    line: int
    value_span: Span
    end: int  # where its last line ends, before the line break
    is_block: bool = False  # a list with one item a line


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter. What it does not say is empty or None; the status of a page is `active` unless it says so."""

    span: Span | None = None  # with both lines of dashes; None: the page has none
    inside: Span = NOWHERE  # between the lines of dashes
    fields: dict[str, Field] = field(default_factory=dict)
    fault: str = ""  # why it could not be read. Then it is not written either
    description: str = ""
    tags: tuple[str, ...] = ()
    status: str = "active"
    created: datetime | None = None
    updated: datetime | None = None
    entry_count: int | None = None
    needs_compact: bool = False
    zone: tzinfo | None = None
    entity: str = ""


class Entry(NamedTuple):
    """One dated statement. What its heading does not say is empty or None."""

    id: str
    time: str  # as it is written
    at: datetime | None
    tags: tuple[str, ...]
    body: str  # as it was said: without strike, escapes and marks
    superseded_by: str
    supersedes: tuple[str, ...]
    is_retracted: bool
    is_struck: bool
    line: int
    span: Span  # from its heading to the next
    heading: Span  # without white space at its end
    body_span: Span  # the words as they are written, with the strike and without the marks that follow

    @property
    def is_current(self) -> bool:
        """Neither superseded nor retracted."""
        return not (self.superseded_by or self.is_retracted or self.is_struck)


@dataclass(frozen=True, slots=True)
class Page:
    """A page, by spans of its text."""

    text: str
    front: Front
    title: str
    preamble: str  # the text before the first entry, without the title
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    newline: str
    zone: tzinfo  # in which times without an offset are read and written

    @property
    def data(self) -> bytes:
        """The bytes of the file, also those that are not UTF-8."""
        return to_bytes(self.text)


def to_text(data: bytes | str) -> str:
    """The text of a file. A byte that is not UTF-8 is kept as a lone surrogate."""
    return data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The bytes from which `to_text` made this text."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        place = error.start
        raise Refused(
            f"a lone surrogate at character {place} cannot be written to a file; decode the text again", "text"
        ) from None
