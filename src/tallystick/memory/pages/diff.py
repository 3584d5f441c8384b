"""The difference between two states of a page, in the unified format.

The pages are compared entry by entry, so that the work grows with their length and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tallystick.projections.markdown import Page

_AROUND = 3  # lines that are shown before and after a change

_Line = tuple[str, str]  # its mark and its words


def unified(path: str, old: Page, new: Page) -> str:
    """What changes from `old` to `new`; nothing, if they are the same."""
    lines = list(_lines(_chunks(old), _chunks(new)))
    changed = [at for at, (mark, _) in enumerate(lines) if mark != " "]
    if not changed:
        return ""
    return "\n".join([f"--- {path}", f"+++ {path}", *_hunks(lines, changed)]) + "\n"


def _chunks(page: Page) -> list[tuple[str, str]]:
    """What stands before the entries, and each entry, by its id."""
    starts = [0, *(entry.span.start for entry in page.entries), len(page.text)]
    names = ["", *(entry.id for entry in page.entries)]
    return [(name, page.text[start:end]) for name, (start, end) in zip(names, pairwise(starts), strict=True)]


def _lines(old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> Iterator[_Line]:
    """All lines of both; those that are the same stand there once."""
    places = {name: at for at, (name, _) in enumerate(old)}
    at, fresh = 0, list[str]()
    for name, text in new:
        place = places.get(name, -1)
        if place < at:
            fresh.append(text)
            continue
        yield from _change("".join(text for _, text in old[at:place]), "".join(fresh))
        yield from _change(old[place][1], text)
        at, fresh = place + 1, []
    yield from _change("".join(text for _, text in old[at:]), "".join(fresh))


def _change(old: str, new: str) -> Iterator[_Line]:
    """One text in the place of another; what they begin and end with alike is left alone."""
    gone, come = _split(old), _split(new)
    first, limit = 0, min(len(gone), len(come))
    while first < limit and gone[first] == come[first]:
        first += 1
    last = 0
    while last < limit - first and gone[-1 - last] == come[-1 - last]:
        last += 1
    yield from ((" ", line) for line in gone[:first])
    yield from (("-", line) for line in gone[first : len(gone) - last])
    yield from (("+", line) for line in come[first : len(come) - last])
    yield from ((" ", line) for line in gone[len(gone) - last :])


def _split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _hunks(lines: Sequence[_Line], changed: Sequence[int]) -> Iterator[str]:
    old_line, new_line, at = 1, 1, 0
    for first, last in _spans(changed, len(lines)):
        for mark, _ in lines[at:first]:
            old_line, new_line = old_line + (mark != "+"), new_line + (mark != "-")
        shown = lines[first:last]
        old_count, new_count = (sum(mark != other for mark, _ in shown) for other in "+-")
        yield f"@@ -{old_line},{old_count} +{new_line},{new_count} @@"
        yield from (mark + words for mark, words in shown)
        old_line, new_line, at = old_line + old_count, new_line + new_count, last


def _spans(changed: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """What is shown: the changes with a few lines around them, those that touch as one."""
    start, end = max(0, changed[0] - _AROUND), changed[0] + 1 + _AROUND
    for at in changed[1:]:
        if at - _AROUND > end:
            yield start, end
            start = at - _AROUND
        end = at + 1 + _AROUND
    yield start, min(end, count)
