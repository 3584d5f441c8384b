"""What differs between two texts, word by word, so that it can be read without colours: [-gone-] {+new+}.

Long texts cost no more than their length: what is alike at both ends is passed over, and only a short stretch between
is compared word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MOST = 200  # words and signs between the ends, beyond which the stretch is told as a whole
AROUND = 12  # of what is alike, beside what differs

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def word_diff(old: str, new: str) -> str:
    """One text with what goes and what comes marked in it; nothing, if the two have nothing to compare."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    parts = list(_parts(gone, come))
    if not any(word.strip() for word in (*before[:start], *before[len(before) - end :])) and len(parts) < 2:
        return ""
    return _head(before[:start]) + "".join(parts) + _tail(before[len(before) - end :])


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many are the same from the beginning."""
    number = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        number += 1
    return number


def _parts(gone: list[str], come: list[str]) -> Iterator[str]:
    if max(len(gone), len(come)) > MOST:
        yield _changed(gone, come)
        return
    for tag, a, b, c, d in SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        yield "".join(gone[a:b]) if tag == "equal" else _changed(gone[a:b], come[c:d])


def _changed(gone: Sequence[str], come: Sequence[str]) -> str:
    marked = f"[-{''.join(gone)}-]" if gone else "", f"{{+{''.join(come)}+}}" if come else ""
    return " ".join(filter(None, marked))


def _head(words: list[str]) -> str:
    return "".join(words) if len(words) <= 2 * AROUND else "… " + "".join(words[-AROUND:]).lstrip()


def _tail(words: list[str]) -> str:
    return "".join(words) if len(words) <= 2 * AROUND else "".join(words[:AROUND]).rstrip() + " …"
