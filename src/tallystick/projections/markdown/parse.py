"""Parsing a page. Any text is one: nothing raises, nothing is lost, and the time it takes grows with the length alone.

What is accepted beyond what we write: the marks `#superseded-by:…` and `#retracted` at the end of a body, times without
seconds or with an offset, ids of four hex digits, entries without id, time or tags, `<!-- supersedes: … -->` at
either end of a body or in the heading, any strike that covers all of a body, CRLF, a byte order mark, no title, no
front matter, bytes that are not UTF-8.

A heading in a code block begins no entry. If the last block of a page is not closed, somebody forgot a fence, and which
belong together is not known: then one that has a complete heading, with time and id, is not taken for a block.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator
from datetime import UTC, tzinfo
from typing import NamedTuple

from tallystick.projections.markdown.escape import unescaped, unstruck
from tallystick.projections.markdown.front import read_front
from tallystick.projections.markdown.heading import (
    ID,
    LONGEST,
    Heading,
    is_like_an_entry,
    is_whole,
    read_heading,
    superseded_ids,
)
from tallystick.projections.markdown.page import Entry, Front, Page, Problem, Span, to_text

_FIRST = re.compile(r" {0,3}#{1,6}[ \t][^\n]*")
_HEADING = re.compile(r"\n( {0,3}#{1,6}[ \t][^\n]*)")
_TITLE = re.compile(r"^ {0,3}#[ \t]([^\n]*)", re.MULTILINE)
_NOT_UTF8 = re.compile("[\ud800-\udfff]")


def parse(text: str | bytes, zone: tzinfo = UTC) -> Page:
    """Parse a page. `zone` is that of a page that names none."""
    text = to_text(text)
    front, problems = read_front(text, zone)
    if not text.isascii() and (broken := _NOT_UTF8.search(text)):
        problems.append(Problem(text.count("\n", 0, broken.start()) + 1, "not UTF-8; these bytes are left as they are"))
    return _Reader(text, front, front.zone or zone, problems).page()


class _Reader:
    """Goes through a page once."""

    def __init__(self, text: str, front: Front, zone: tzinfo, problems: list[Problem]) -> None:
        self._text, self._front, self._zone, self._problems = text, front, zone, problems
        self._start = front.span.end if front.span else int(text.startswith("\ufeff"))
        self._places: dict[str, int] = {}  # the line of each id
        self._fences = Fences(text, self._start)
        if self._fences.is_open:
            self._fences.keep(lambda block: not any(is_whole(line[1]) for line in _HEADING.finditer(text, *block)))

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
            self._note(heading, words, line)
        return found

    def _lines_with_hashes(self) -> Iterator[tuple[str, Span]]:
        if first := _FIRST.match(self._text, self._start):
            yield first[0], Span(*first.span())
        for match in _HEADING.finditer(self._text, first.end() if first else self._start):
            if not self._fences.around(match.start(1)):
                yield match[1], Span(*match.span(1))

    def _note(self, heading: Heading | None, words: str, line: int) -> None:
        if heading is None:
            why = "is too long" if len(words) > LONGEST else "does not begin with ## and a space"
            self._problems.append(Problem(line, f"this looks like an entry, but {why}; it is read as text"))
            return
        if heading.problems:
            self._problems += [Problem(line, reason) for reason in heading.problems]
        if heading.id and (first := self._places.setdefault(heading.id, line)) != line:
            self._problems.append(Problem(line, f"the id {heading.id} is on line {first} too; choose another"))

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


# -- the body of an entry: its words, their strike, and the marks at their ends ---------------------------------------

BLANK = " \t\r\n"

_ODD = re.compile(r"[~\\\r]|&#|-->|(?i:#superseded-by:|#retracted)")
_RARE = re.compile(r"[~\\\r&>#]")  # without one of these nothing is odd
_BLANK_LINES = re.compile(r"(?>(?:[ \t]*+\r?\n)*)")
_MARK = re.compile(
    rf"(?:(?<=~~)|(?<![^ \t\r\n]))#(?:superseded-by:(?:({ID})|\{{({ID})\}})|retracted)\Z", re.ASCII | re.IGNORECASE
)
_LONGEST_MARK = 50
_LONGEST_COMMENT = 4_000


class Body(NamedTuple):
    """The words of an entry, their place, and the marks at their ends."""

    said: str
    span: Span
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
    is_retracted: bool = False
    is_struck: bool = False


def read_body(text: str, start: int, end: int) -> Body:
    """The body between two places of a page, without the empty lines at its ends."""
    if text[start : start + 1] in BLANK:
        start = _filled(text, start, end)
    raw = text[start:end].rstrip(BLANK)
    raw = raw[: _end_of_words(raw)]
    if not _RARE.search(raw) or not _ODD.search(raw):
        return Body(raw, Span(start, start + len(raw)))
    first, supersedes = _marks_before(raw)
    last, superseded_by, is_retracted, others = _marks_behind(raw, first)
    words = raw[first:last].replace("\r\n", "\n")
    plain = unstruck(words)
    said = unescaped(words if plain is None else plain)
    span = Span(start + first, start + last)
    return Body(said, span, superseded_by, supersedes + others, is_retracted, plain is not None)


def _end_of_words(raw: str) -> int:
    """Where the words end: before comments in paragraphs of their own, but for those that name superseded entries."""
    words = end = len(raw)
    while raw.endswith("-->", 0, end):
        start = raw.rfind("<!--", 0, end)
        comment = raw[start + 4 : end - 3]
        if start <= 0 or "-->" in comment or superseded_ids(comment):
            break
        end = start
        while end and raw[end - 1] in BLANK:
            end -= 1
        lines = raw.count("\n", end, start)
        if not end or not lines:
            break
        words = end if lines > 1 else words
    return words


def _marks_before(raw: str) -> tuple[int, tuple[str, ...]]:
    """The start of the words, and the ids of comments on lines of their own before them."""
    first = 0
    found: list[str] = []
    while raw.startswith("<!--", first):
        end = raw.find("-->", first, first + _LONGEST_COMMENT) + 3
        found_end = raw.find("\n", first)
        line_end = len(raw) if found_end < 0 else found_end
        ids = superseded_ids(raw[first + 4 : end - 3]) if end > 2 and not raw[end:line_end].strip(BLANK) else ()
        if not ids:
            break
        found += ids
        first = _filled(raw, min(line_end + 1, len(raw)), len(raw))
    return first, tuple(found)


def _filled(text: str, start: int, end: int) -> int:
    """The beginning of the first line that is not empty."""
    blank = _BLANK_LINES.match(text, start, end)
    return blank.end() if blank else start


def _marks_behind(raw: str, first: int) -> tuple[int, str, bool, tuple[str, ...]]:
    """The end of the words, and what the marks and comments after them say."""
    last, superseded_by, is_retracted = len(raw), "", False
    found: list[tuple[str, ...]] = []
    while first < last:
        if mark := _MARK.search(raw, max(first, last - _LONGEST_MARK), last):
            by = mark[1] or mark[2]
            superseded_by, is_retracted = superseded_by or by or "", is_retracted or not by
            last = mark.start()
        elif comment := _comment_behind(raw, first, last):
            last, ids = comment
            found.append(ids)
        else:
            break
        while last > first and raw[last - 1] in BLANK:
            last -= 1
    return last, superseded_by, is_retracted, tuple(each for ids in reversed(found) for each in ids)


def _comment_behind(raw: str, first: int, last: int) -> tuple[int, tuple[str, ...]] | None:
    """The start of the comment at the end, and its ids."""
    if not raw.endswith("-->", first, last):
        return None
    start = raw.rfind("<!--", max(first, last - _LONGEST_COMMENT), last)
    if start < 0 or (start > first and raw[start - 1] not in BLANK):
        return None
    comment = raw[start + 4 : last - 3]
    ids = () if "-->" in comment else superseded_ids(comment)
    return (start, ids) if ids else None


# -- code blocks, and conflict marks -----------------------------------------------------------------------------------

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \t][^\n]*)?\r?$", re.MULTILINE)


class Fences:
    """The code blocks of a text from `start` on. One that is not closed does not count."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self.blocks: list[Span] = []
        self.is_open = False  # the last one is not closed
        if "```" in text or "~~~" in text:
            self._read(text, start, len(text) if end is None else end)
        self._starts = [block.start for block in self.blocks]

    def keep(self, is_one: Callable[[Span], bool]) -> None:
        """Keep only those that are code blocks."""
        self.blocks = [block for block in self.blocks if is_one(block)]
        self._starts = [block.start for block in self.blocks]

    def _read(self, text: str, start: int, end: int) -> None:
        opened, marks = -1, ""
        for found in _FENCE.finditer(text, start, end):
            fence, rest = found[1], found[2].strip()
            if opened < 0 and not (fence[0] == "`" and "`" in rest):
                opened, marks = found.start(), fence
            elif opened >= 0 and fence.startswith(marks) and not rest:
                self.blocks.append(Span(opened, found.end()))
                opened = -1
        self.is_open = opened >= 0

    def around(self, place: int) -> Span | None:
        """The block around a place."""
        number = bisect(self._starts, place) - 1
        return self.blocks[number] if number >= 0 and place < self.blocks[number].end else None


def conflicts(text: str) -> list[int]:
    """The places of the conflict marks of a merge. A line of `=======` alone is none."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text and "|||||||" not in text:
        return []
    fences = Fences(text)
    found = [line for line in _CONFLICT.finditer(text) if not fences.around(line.start())]
    return [line.start() for line in found] if any(line[0][0] != "=" for line in found) else []


# -- the lines and paragraphs of a page, and which of them are the words of an entry -----------------------------------


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
