"""A LIKE pattern, matched as SQLite matches it: `%` is any text, `_` any one character, A-Z are as a-z.

Letters outside ASCII keep their case. Text is read up to its first NUL, and the two characters that are none (U+FFFE
and U+FFFF) as U+FFFD, because that is what SQLite's LIKE sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

LONGEST = 1_000  # characters: matching takes at most this, times the length of the text

Run: TypeAlias = tuple[str | None, ...]  # None is any one character
Finder: TypeAlias = Callable[[str, int], int]  # where the first occurrence from here ends, or -1

_NO_CHARACTERS = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """The stretches between the `%`, in order. A pattern without `%` is one stretch."""

    runs: tuple[Run, ...]

    @property
    def written(self) -> str:
        """The pattern for `LIKE ? ESCAPE '\\'`."""
        return "%".join("".join(map(_written, run)) for run in self.runs)

    def matcher(self) -> Callable[[str], bool]:
        """Tells of a text whether it is like this. Made once, for all rows."""
        first, *between = self.runs
        if not between:
            return _whole(first)
        last = between.pop()
        if not first and not last and len(between) == 1 and None not in between[0]:
            return _holding(_plain(between[0]))
        return _in_order(first, [run for run in between if run], last)


def pattern(text: str, escape: str = "") -> Pattern | None:
    """The pattern that `text` spells, or None if it ends in the middle of an escape, which nothing is like."""
    runs: list[list[str | None]] = [[]]
    letters = iter(text)
    for letter in letters:
        if letter == escape:
            following = next(letters, None)
            if following is None:
                return None
            runs[-1].append(following)
        elif letter == "%":
            runs.append([])
        else:
            runs[-1].append(None if letter == "_" else letter)
    return Pattern(tuple(map(tuple, runs)))


def _written(letter: str | None) -> str:
    if letter is None:
        return "_"
    return "\\" + letter if letter in "%_\\" else letter


def _whole(run: Run) -> Callable[[str], bool]:
    fits = re.compile(_source(run), re.DOTALL).fullmatch
    return lambda text: fits(_seen(text)) is not None


def _holding(needle: str) -> Callable[[str], bool]:
    return lambda text: needle in _seen(text)


def _in_order(first: Run, between: list[Run], last: Run) -> Callable[[str], bool]:
    """Taking each stretch where it first occurs leaves most room for the next, so nothing is ever tried twice."""
    begins = re.compile(_source(first), re.DOTALL).match
    ends = re.compile(_source(last), re.DOTALL).match
    finders = [_finder(run) for run in between]

    def matches(text: str) -> bool:
        text = _seen(text)
        begun = begins(text)
        if begun is None:
            return False
        at = begun.end()
        for find in finders:
            at = find(text, at)
            if at < 0:
                return False
        rest = len(text) - len(last)
        return rest >= at and ends(text, rest) is not None

    return matches


def _finder(run: Run) -> Finder:
    if None in run:
        search = re.compile(_source(run), re.DOTALL).search
        return lambda text, at: found.end() if (found := search(text, at)) else -1
    needle = _plain(run)
    return lambda text, at: found + len(needle) if (found := text.find(needle, at)) >= 0 else -1


def _source(run: Run) -> str:
    return "".join("." if letter is None else re.escape(_seen(letter)) for letter in run)


def _plain(run: Run) -> str:
    return _seen("".join(letter for letter in run if letter is not None))


def _seen(text: str) -> str:
    """`text` as SQLite's LIKE sees it, in small ASCII letters."""
    if "\0" in text:
        text = text[: text.index("\0")]
    if text.isascii():
        return text.lower()
    small = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    return _NO_CHARACTERS.sub("\ufffd", small)
