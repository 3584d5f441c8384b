"""The lines and paragraphs of a page, and which of them are the words of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tallystick.projections.markdown import Entry, Page
from tallystick.projections.markdown.page import Span
from tallystick.projections.markdown.parse import Fences, read_body


class Line(NamedTuple):
    text: str
    span: Span
    is_code: bool

    @property
    def is_blank(self) -> bool:
        return not self.is_code and not self.text.strip()


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """The paragraphs between empty lines, except for those in code blocks."""
    first = None
    for line in lines_of(text, start, end):
        if line.is_blank:
            if first is not None:
                yield Span(first, line.span.start)
            first = None
        elif first is None:
            first = line.span.start
    if first is not None:
        yield Span(first, end)


def lines_of(text: str, start: int, end: int) -> Iterator[Line]:
    fences = Fences(text, start, end)
    while start < end:
        found = text.find("\n", start, end)
        stop = end if found < 0 else found + 1
        yield Line(text[start:stop].rstrip("\r\n"), Span(start, stop), fences.around(start) is not None)
        start = stop


def parted(page: Page, entry: Entry, words: str) -> tuple[Entry, int]:
    """An entry with as many paragraphs as its words were written with, and where they end: what was typed below them
    is not part of it."""
    if same_words(entry.body, words):
        return entry, entry.span.end
    line, words = page.text.find("\n", entry.heading.end, entry.span.end), words.strip()
    count, start = sum(1 for _ in paragraphs(words, 0, len(words))), line + 1 if line >= 0 else entry.span.end
    own = list(paragraphs(page.text, start, entry.span.end))[:count]
    if not own:
        return entry, entry.span.end
    body = read_body(page.text, start, own[-1].end)
    if count > 1 and not same_words(body.said, words):
        return entry, entry.span.end
    changed = entry._replace(
        body=body.said, body_span=body.span, is_struck=body.is_struck,
        superseded_by=entry.superseded_by or body.superseded_by, is_retracted=entry.is_retracted or body.is_retracted,
    )  # fmt: skip
    return changed, own[-1].end


def same_words(one: str, other: str) -> bool:
    """True if two texts differ in white space at most; in a code block that counts."""
    return one == other or ("```" not in one and "~~~" not in one and one.split() == other.split())
