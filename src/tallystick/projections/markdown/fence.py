"""Code blocks between fences, and the lines that git leaves where two versions of a file do not fit together."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable

from tallystick.projections.markdown.page import Span

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \t][^\n]*)?\r?$", re.MULTILINE)


class Fences:
    """The code blocks of a text from `start` on. One that is not closed is none."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self.blocks: list[Span] = []
        self.is_open = False  # whether the last one is not closed
        if "```" in text or "~~~" in text:
            self._read(text, start, len(text) if end is None else end)
        self._starts = [block.start for block in self.blocks]

    def leave_out(self, is_none: Callable[[Span], bool]) -> None:
        """Some of them are no code blocks."""
        self.blocks = [block for block in self.blocks if not is_none(block)]
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
        """The block in which a place is."""
        number = bisect(self._starts, place) - 1
        return self.blocks[number] if number >= 0 and place < self.blocks[number].end else None


def conflicts(text: str) -> list[int]:
    """Where the lines begin that a merge left for a person to resolve. A line of `=======` alone is none."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text and "|||||||" not in text:
        return []
    fences = Fences(text)
    found = [line for line in _CONFLICT.finditer(text) if not fences.around(line.start())]
    return [line.start() for line in found] if any(line[0][0] != "=" for line in found) else []
