"""Statements on a page without a heading.

A paragraph is one, and so is each bullet of a list that begins after an empty line; lines below a bullet that are
indented belong to it, and bullets right below a line of text belong to that. Headings, comments and rules are none,
and nothing is below a heading that was meant to begin an entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.projections.markdown.heading import is_like_an_entry
from tallystick.projections.markdown.page import Entry, Page, Span
from tallystick.projections.markdown.parse import Fences

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)$")
_BULLET = re.compile(r"( {0,3})(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_DEEPER = ("  ", "\t")


class _Line(NamedTuple):
    text: str
    span: Span
    is_code: bool

    @property
    def is_blank(self) -> bool:
        return not self.is_code and not self.text.strip()


def loose_in(page: Page, start: int, end: int) -> Iterator[Entry]:
    """The statements between two places of a page, each as an entry without a heading."""
    for lines in _statements(page.text, start, end):
        body = _said(lines)
        if body:
            place = lines[0].span.start
            yield Entry(
                "", "", None, (), body, "", (), False, False, page.text.count("\n", 0, place) + 1,
                Span(place, lines[-1].span.end), Span(place, place), Span(place, lines[-1].span.end),
            )  # fmt: skip


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """The paragraphs between empty lines, except for those in code blocks."""
    first = None
    for line in _lines(text, start, end):
        if line.is_blank:
            if first is not None:
                yield Span(first, line.span.start)
            first = None
        elif first is None:
            first = line.span.start
    if first is not None:
        yield Span(first, end)


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    fences = Fences(text, start, end)
    while start < end:
        found = text.find("\n", start, end)
        stop = end if found < 0 else found + 1
        yield _Line(text[start:stop].rstrip("\r\n"), Span(start, stop), fences.around(start) is not None)
        start = stop


def _statements(text: str, start: int, end: int) -> Iterator[list[_Line]]:
    """The lines of each statement, with the empty lines after it."""
    found, is_list, is_comment = list[_Line](), False, False
    for line in _lines(text, start, end):
        bullet = None if line.is_code else _BULLET.match(line.text)
        is_apart = bool(found) and found[-1].is_blank
        if line.is_blank:
            if found:
                found.append(line)
            continue
        if is_comment or (not line.is_code and line.text.lstrip().startswith("<!--") and (is_apart or not found)):
            is_comment = "-->" not in line.text
        elif not line.is_code and is_like_an_entry(line.text):
            break
        elif not line.is_code and (_HEADING.match(line.text) or _RULE.match(line.text)):
            is_list = False
        else:
            is_below = line.text.startswith(_DEEPER) and is_list
            is_next = bullet is not None and is_list and not is_below
            if found and (is_next or (is_apart and not is_below)):
                yield found
                found = []
            is_list = bullet is not None if not found else is_list
            found.append(line)
            continue
        if found:  # something else ended it
            yield found
        found = []
    if found:
        yield found


def _said(lines: list[_Line]) -> str:
    """The words of a statement, without its bullet and the indent of that."""
    words = [line.text for line in lines]
    if bullet := _BULLET.match(words[0]):
        deep = bullet.end()
        words = [words[0][deep:], *(line[min(deep, len(line) - len(line.lstrip())) :] for line in words[1:])]
    return "\n".join(line.rstrip() for line in words).strip()
