"""What differs between two texts, word by word: as pieces to be coloured, or as text that can be read without colours.

Long texts cost no more than their length: what is alike at both ends is passed over, and only a short stretch between
is compared word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MOST = 200  # words and signs between the ends, beyond which the stretch is told as a whole
AROUND = 12  # of what is alike, beside what differs

SAME, GONE, COME = "same", "gone", "come"
Piece = tuple[str, str]  # one of these, and its words

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def word_diff(old: str, new: str) -> str:
    """One text with what goes and what comes marked in it: [-gone-] {+new+}. Nothing, if the two have nothing in common
    to compare."""
    before, between, after = _compared(old, new)
    parts = list(_marked(between))
    if not any(word.strip() for word in (*before, *after)) and len(parts) < 2:
        return ""
    return _head(before) + "".join(parts) + _tail(after)


def pieces(old: str, new: str) -> list[Piece]:
    """Both texts as one: what is the same, what goes and what comes, in order. Of what is the same and far from any
    difference, only the part beside it."""
    before, between, after = _compared(old, new)
    told = [(SAME, _head(before)), *between, (SAME, _tail(after))]
    return [piece for piece in told if piece[1]]


def _compared(old: str, new: str) -> tuple[list[str], list[Piece], list[str]]:
    """The words alike at the beginning, what lies between, and the words alike at the end."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    return before[:start], list(_between(gone, come)), before[len(before) - end :]


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many are the same from the beginning."""
    number = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        number += 1
    return number


def _between(gone: list[str], come: list[str]) -> Iterator[Piece]:
    if max(len(gone), len(come)) > MOST:
        yield from ((GONE, "".join(gone)), (COME, "".join(come)))
        return
    for tag, a, b, c, d in SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        if tag == "equal":
            yield SAME, "".join(gone[a:b])
        else:
            yield from ((GONE, "".join(gone[a:b])), (COME, "".join(come[c:d])))


def _marked(between: list[Piece]) -> Iterator[str]:
    """The pieces in words. What goes and what comes in its stead are one part."""
    gone = ""
    for kind, words in between:
        if kind == GONE:
            gone = f"[-{words}-]" if words else ""
        elif kind == COME:
            yield " ".join(filter(None, (gone, f"{{+{words}+}}" if words else "")))
        else:
            yield words


def _head(words: list[str]) -> str:
    return "".join(words) if len(words) <= 2 * AROUND else "… " + "".join(words[-AROUND:]).lstrip()


def _tail(words: list[str]) -> str:
    return "".join(words) if len(words) <= 2 * AROUND else "".join(words[:AROUND]).rstrip() + " …"
