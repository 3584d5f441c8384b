"""A file as parts: each is a statement that can be recalled by itself, and together they are the file, byte for byte.

A part begins and ends with something that is seen; the space between two parts is the *gap* before the second. Cutting
follows what writers mean: paragraphs, items of a list; a heading goes with what is below it. In a large file parts are
larger, so that no file has many more than `MOST`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST = 1000
LONGEST = 8000  # characters of a part

_BEGINS = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)]|#{1,6})[ \t]")  # an item of a list, a heading
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")


class Part(NamedTuple):
    """One statement, and the space before it."""

    gap: str
    text: str


def cut(text: str) -> tuple[list[Part], str]:
    """The parts of a file, and the space that is left at its end. `joined` gives the file again."""
    parts, gap = [], ""
    for run in _runs(text):
        said = run.strip()
        if not said:
            gap += run
            continue
        start = run.index(said[0]) if not run[:1].strip() else 0
        parts.append(Part(gap + run[:start], said))
        gap = run[start + len(said) :]
    return parts, gap


def joined(parts: list[Part], end: str) -> str:
    return "".join(each for part in parts for each in part) + end


def _runs(text: str) -> Iterator[str]:
    """The file in pieces that belong together, with all the space around them."""
    least, run, size, above, is_title = len(text) // MOST, list[str](), 0, "", True
    for line in _lines(text):
        begins = not is_title and size > least and (not above.strip() or _BEGINS.match(line))
        if size and line.strip() and (begins or size + len(line) > LONGEST):
            yield "".join(run)
            run, size, is_title = [], 0, True
        run.append(line)
        size += len(line) if size or line.strip() else 0
        is_title = is_title and (not line.strip() or bool(_HEADING.match(line)))
        above = line
    if run:
        yield "".join(run)


def _lines(text: str) -> Iterator[str]:
    """Lines with their ends; one that is very long, in pieces."""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        for start in range(0, len(line), LONGEST):
            yield line[start : start + LONGEST]
