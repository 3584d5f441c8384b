"""The difference between two texts, word by word: as pieces to be coloured, or as text that reads without colours.

Long texts cost no more than their length: the equal words at both ends are skipped, and only a short part between is
compared word by word.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from tallystick.records.display import common_ends

MOST = 200  # words and punctuation between the ends, beyond which the part is shown as a whole
AROUND = 12  # equal words on each side of a difference

SAME, GONE, COME = "same", "gone", "come"
Piece = tuple[str, str]  # one of these, and its words

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def word_diff(old: str, new: str) -> str:
    """One text with the difference marked in it: [-gone-] {+new+}. Empty if the two have nothing in common."""
    before, between, after = _compared(old, new)
    parts = list(_marked(between))
    if not any(word.strip() for word in (*before, *after)) and len(parts) < 2:
        return ""
    return _head(before) + "".join(parts) + _tail(after)


def pieces(old: str, new: str) -> list[Piece]:
    """Both texts as one: equal, removed and added parts in order. Of a long equal part, only the words near it."""
    before, between, after = _compared(old, new)
    return [piece for piece in [(SAME, _head(before)), *between, (SAME, _tail(after))] if piece[1]]


def _compared(old: str, new: str) -> tuple[list[str], list[Piece], list[str]]:
    """The equal words at the beginning, the part between, and the equal words at the end."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    start, end = common_ends(before, after)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    return before[:start], list(_between(gone, come)), before[len(before) - end :]


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
    """The pieces as marked text. A removed piece and the one that replaces it are one part."""
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
