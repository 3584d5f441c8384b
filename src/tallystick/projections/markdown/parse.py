"""Reading a page. Any text is one: nothing raises, nothing is lost, and the time it takes grows with the length alone.

What is accepted beyond what we write: the marks `#superseded-by:…` and `#retracted` at the end of a body, times without
seconds or with an offset, ids of four hex digits, entries without id, time or tags, `<!-- supersedes: … -->` at
either end of a body or in the heading, any strike that covers all of a body, CRLF, a byte order mark, no title, no
front matter, bytes that are not UTF-8.

A heading in a code block begins no entry. If the last block of a page is not closed, somebody forgot a fence, and which
belong together cannot be told: then one that holds a whole heading, with time and id, is not taken for a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, tzinfo

from tallystick.projections.markdown.entry import BLANK, read_body
from tallystick.projections.markdown.escape import unescaped
from tallystick.projections.markdown.fence import Fences
from tallystick.projections.markdown.front import read_front
from tallystick.projections.markdown.heading import LONGEST, Heading, is_like_an_entry, is_whole, read_heading
from tallystick.projections.markdown.page import Entry, Front, Page, Problem, Span, to_text

_FIRST = re.compile(r" {0,3}#{1,6}[ \t][^\n]*")
_HEADING = re.compile(r"\n( {0,3}#{1,6}[ \t][^\n]*)")
_TITLE = re.compile(r"^ {0,3}#[ \t]([^\n]*)", re.MULTILINE)
_NOT_UTF8 = re.compile("[\ud800-\udfff]")


def parse(text: str | bytes, zone: tzinfo = UTC) -> Page:
    """The page that is written there. `zone` is that of a page that names none."""
    text = to_text(text)
    front, problems = read_front(text, zone)
    if not text.isascii() and (broken := _NOT_UTF8.search(text)):
        problems.append(Problem(text.count("\n", 0, broken.start()) + 1, "not UTF-8; such bytes are left as they are"))
    return _Reader(text, front, front.zone or zone, problems).page()


class _Reader:
    """Goes through a page once."""

    def __init__(self, text: str, front: Front, zone: tzinfo, problems: list[Problem]) -> None:
        self._text, self._front, self._zone, self._problems = text, front, zone, problems
        self._start = front.span.end if front.span else int(text.startswith("\ufeff"))
        self._places: dict[str, int] = {}  # the line on which each id stands
        self._fences = Fences(text, self._start)
        if self._fences.is_open:
            self._fences.leave_out(self._has_entries)

    def _has_entries(self, block: Span) -> bool:
        return any(is_whole(heading[1]) for heading in _HEADING.finditer(self._text, *block))

    def page(self) -> Page:
        text = self._text
        headings = self._headings()
        starts = [span.start for _, span, _ in headings] + [len(text)]
        entries = tuple(self._entry(*each, end) for each, end in zip(headings, starts[1:], strict=True))
        head = text[self._start : starts[0]]
        title = _TITLE.search(head)
        preamble = head[: title.start()] + head[title.end() :].lstrip(BLANK) if title else head
        newline = "\r\n" if text.endswith("\r\n", 0, text.find("\n") + 1) else "\n"  # as the first line has it
        return Page(
            text, self._front, unescaped(title[1].strip(BLANK)) if title else "", preamble.strip(BLANK), entries,
            tuple(sorted(self._problems)), newline, self._zone,
        )  # fmt: skip

    def _headings(self) -> list[tuple[Heading, Span, int]]:
        """The headings of entries, with their places and lines."""
        found: list[tuple[Heading, Span, int]] = []
        line, counted, is_titled = 1, 0, False
        for words, place in self._lines_with_hashes():
            heading = read_heading(words, self._zone)
            if heading is None:
                is_title = not (is_titled or found) and _TITLE.match(words) is not None
                is_titled = is_titled or is_title
                if is_title or not is_like_an_entry(words):
                    continue
            line, counted = line + self._text.count("\n", counted, place.start), place.start
            if heading is not None:
                found.append((heading, place, line))
            self._tell(heading, words, line)
        return found

    def _lines_with_hashes(self) -> Iterator[tuple[str, Span]]:
        if first := _FIRST.match(self._text, self._start):
            yield first[0], Span(*first.span())
        for match in _HEADING.finditer(self._text, first.end() if first else self._start):
            if not self._fences.around(match.start(1)):
                yield match[1], Span(*match.span(1))

    def _tell(self, heading: Heading | None, words: str, line: int) -> None:
        if heading is None:
            why = "is too long" if len(words) > LONGEST else "does not begin with ## and a space"
            self._problems.append(Problem(line, f"this looks like an entry, but {why}; it is taken for text"))
            return
        if heading.problems:
            self._problems += [Problem(line, reason) for reason in heading.problems]
        if heading.id and (first := self._places.setdefault(heading.id, line)) != line:
            self._problems.append(Problem(line, f"the id {heading.id} stands on line {first} too; draw another"))

    def _entry(self, heading: Heading, place: Span, line: int, end: int) -> Entry:
        text = self._text
        body = read_body(text, min(place.end + 1, end), end)
        last = place.end
        while text[last - 1] in BLANK:
            last -= 1
        return Entry(
            heading.id, heading.time, heading.at, heading.tags, body.said, heading.superseded_by or body.superseded_by,
            tuple(dict.fromkeys(heading.supersedes + body.supersedes)), heading.is_retracted or body.is_retracted,
            body.is_struck, line, Span(place.start, end), Span(place.start, last), body.span,
        )  # fmt: skip
