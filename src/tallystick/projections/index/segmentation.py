"""Scripts that put no space between words: Chinese, Japanese, Thai and their like, character by character.

A tokenizer that splits at spaces takes a whole sentence of these for one word. So such characters are indexed one by
one, and a word of the question is looked for as a run of them: two at a time, since most words have two.
"""

from __future__ import annotations

import re
from itertools import pairwise

LETTERS = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Chinese characters
)
_LETTER = re.compile(f"[{LETTERS}]")
_RUN = re.compile(f"[{LETTERS}]+")


def has_no_spaces(text: str) -> bool:
    """True if a text has characters of such a script."""
    return not text.isascii() and _LETTER.search(text) is not None


def spread(text: str) -> str:
    """The characters of such scripts with spaces between them; whatever else is in the text separates runs."""
    return " \u00b7 ".join(" ".join(run) for run in _RUN.findall(text))


def runs(text: str, limit: int) -> list[str]:
    """The runs to look for, with spaces between characters: pairs of neighbours, or a single one."""
    found: dict[str, None] = {}
    for run in _RUN.findall(text):
        pairs = [f"{one} {other}" for one, other in pairwise(run)] or [run]
        found.update(dict.fromkeys(pairs))
    return list(found)[:limit]
