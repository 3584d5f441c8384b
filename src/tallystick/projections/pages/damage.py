"""Damaged files, from which nothing is imported: half merged, not text, or truncated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tallystick.projections.markdown import Page
from tallystick.projections.markdown.page import to_text
from tallystick.projections.markdown.parse import conflicts
from tallystick.projections.pages.base import Base
from tallystick.projections.pages.rows import Entry

_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 and UTF-32 begin
_SHARE = 10  # one byte in so many that is not UTF-8, and it is another encoding


def same_words(one: str, other: str) -> bool:
    """True if two texts differ in white space at most; in a code block that counts."""
    return one == other or ("```" not in one and "~~~" not in one and one.split() == other.split())


def conflict_line(page: Page, rows: Mapping[str, Entry]) -> int:
    """The first line with a conflict mark of a merge; 0, if there is none. The words of an entry have none."""
    for place in conflicts(page.text):
        inside = next((entry for entry in page.entries if entry.span.start <= place < entry.span.end), None)
        row = rows.get(inside.id) if inside else None
        if inside is None or row is None or not same_words(inside.body, row.content):
            return page.text.count("\n", 0, place) + 1
    return 0


def unreadable(data: bytes) -> str:
    """The reason why a file is not readable text; empty, if it is. A few bytes that are not UTF-8 do no harm."""
    if data.startswith(_WIDE) or b"\0" in data:
        return "it is not UTF-8 but UTF-16 or binary"
    if not data.isascii():
        text = to_text(data)
        if sum("\ud800" <= char <= "\udfff" for char in text) * _SHARE > len(text):
            return "it is not UTF-8"
    return ""


def is_truncated(page: Page, rows: Sequence[Entry], base: Base | None, ends: Callable[[], set[str]]) -> bool:
    """True if a file ends in the middle of what was written: without the end of its last line, and without the page's
    last entry (one of `ends`), or with only the beginning of its last entry."""
    text = page.text
    if text.endswith(("\n", "\r")):
        return False
    if page.front.span is None and page.front.fault:
        return not page.entries
    end = page.entries[-1] if page.entries else None
    row = next((row for row in rows if end and row.id == end.id and not row.folded_into), None)
    body = end.body.removeprefix("~~") if end else ""
    if row is not None and body != row.content and row.content.startswith(body):
        return True
    if base is None:
        return False
    shown = [row for row in rows if row.shown and not row.folded_into and row.seq <= base.seq]
    last = (ends() & {row.id for row in shown}) or {row.id for row in shown[-1:]}
    return bool(last - {entry.id for entry in page.entries})


def loses_most(removed: Sequence[Entry], rows: Sequence[Entry], base: Base | None) -> bool:
    """True if more than one entry is missing, and more than half of what the page showed."""
    shown = [row for row in rows if row.shown and row.is_current and base and row.seq <= base.seq]
    return len(removed) > 1 and 2 * len(removed) > len(shown)
