"""SQL's LIKE, exactly as SQLite has it."""

from __future__ import annotations

import re
from collections.abc import Callable

_NO_CHARACTERS = re.compile("[\ufffe\uffff]")


def pattern(text: str, escape: str = "") -> Callable[[str], bool] | None:
    """The function that tells whether a text is LIKE `text`; None if that ends in the middle of an escape.

    Each part between two `%` is taken where it first occurs. That leaves most room for the next, so nothing is tried
    twice: the time is at most the length of the pattern times that of the text.
    """
    parts, plain = [""], [""]  # as regular expressions, and as text
    characters = iter(text)
    for character in characters:
        if character == "%" != escape:
            parts.append("")
            plain.append("")
            continue
        is_any = character == "_" != escape
        if character == escape and not (character := next(characters, "")):
            return None
        parts[-1] += "." if is_any else re.escape(_folded(character))
        plain[-1] += "" if is_any else _folded(character)
    first, *between = parts
    if len(between) == 2 and not first + between[1] and between[0] == re.escape(needle := plain[1]):
        return lambda text: needle in _folded(text)  # '%word%', as most are
    last = f".*{between.pop()}" if between else ""
    fits = re.compile(first + "".join(f"(?>.*?{each})" for each in between if each) + last, re.DOTALL).fullmatch
    return lambda text: fits(_folded(text)) is not None


def _folded(text: str) -> str:
    """`text` as SQLite's LIKE sees it: up to its first NUL, A-Z as a-z, the two characters that are none as U+FFFD."""
    if "\0" in text:
        text = text[: text.index("\0")]
    if text.isascii():
        return text.lower()
    lower = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    return _NO_CHARACTERS.sub("\ufffd", lower)
