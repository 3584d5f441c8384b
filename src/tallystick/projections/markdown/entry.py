"""What stands below the heading of an entry: the words, their strike, and the marks at their ends."""

from __future__ import annotations

import re
from typing import NamedTuple

from tallystick.projections.markdown.escape import unescaped, unstruck
from tallystick.projections.markdown.heading import ID, superseded_ids
from tallystick.projections.markdown.page import Span

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
    """The words as they were said, where they are written, and what the marks say."""

    said: str
    span: Span
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
    is_retracted: bool = False
    is_struck: bool = False


def read_body(text: str, start: int, end: int) -> Body:
    """What stands between two places of a page, without the empty lines at its ends."""
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
    """Where the words begin, and the ids of comments on lines of their own before them."""
    first = 0
    found: list[str] = []
    while raw.startswith("<!--", first):
        end = raw.find("-->", first, first + _LONGEST_COMMENT) + 3
        line_end = _line_end(raw, first)
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


def _line_end(raw: str, start: int) -> int:
    found = raw.find("\n", start)
    return len(raw) if found < 0 else found


def _marks_behind(raw: str, first: int) -> tuple[int, str, bool, tuple[str, ...]]:
    """Where the words end, and what the marks and comments behind them say."""
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
    """Where the comment begins with which this ends, and its ids."""
    if not raw.endswith("-->", first, last):
        return None
    start = raw.rfind("<!--", max(first, last - _LONGEST_COMMENT), last)
    if start < 0 or (start > first and raw[start - 1] not in BLANK):
        return None
    comment = raw[start + 4 : last - 3]
    ids = () if "-->" in comment else superseded_ids(comment)
    return (start, ids) if ids else None
