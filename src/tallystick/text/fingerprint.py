"""Fingerprints of texts: short digests of their words, without capitals, punctuation, spaces, bullets and labels.

Two texts share a mark if a reader would say that one repeats the other. A text has a mark for the whole of it and one
for each of its lines and sentences, so that a sentence out of a pasted page is recognised as well. A text too short to
be anybody's ("yes", "done") has none. The same thing in other words is not recognised.

A mark is kept only where an erasure reaches: in what is rebuilt from the ledger.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2s

MOST = 2_000  # pieces of a text that are read
KEPT = 64  # pieces of a served text by which it is recognised
WORD = re.compile(r"[^\W_]+")

_DIGITS = 8
_LETTERS = 12  # in a piece that is long enough
_WORDS = 3
_DENSE = 6  # letters, in a script that puts no space between words

_BREAK = re.compile(r"(?<=[.!?;。！？；…])[\"'”’)\]]*\s+|[\r\n\v\f\x85\u2028\u2029]+")
_LINE_END = re.compile(r"[\r\n\v\f\x85\u2028\u2029]")
_BULLET = re.compile(r"\s*(?:[-*+•·–>|#]+|\d{1,3}[.)])\s+|\s*[>|]+")
_LABEL = re.compile(r"\s*(?:\[[^\]\n]{0,200}\]|[^\W_][^:\n]{0,40}:)\s*")
_ASIDE = re.compile(r"\s*(?:; against that: [^\n]{0,200}|\([^()\n]{0,80}\)|\[[^\]\n]{0,80}\])\s*[.!]?\s*$")


def words_of(text: str) -> str:
    """The words of a text, in lowercase, one space between them; invisible characters do not count."""
    if not text.isascii():
        visible = (c for c in text if c in "\n\t\r" or unicodedata.category(c) not in ("Cf", "Cc", "Cs"))
        text = unicodedata.normalize("NFKC", "".join(visible))
    return " ".join(WORD.findall(text.casefold()))


def mark_of(text: str) -> str:
    """The mark that two texts with the same words share, however short."""
    return blake2s(words_of(text).encode("utf-8", "replace"), digest_size=_DIGITS).hexdigest()


def exactly(text: str) -> str:
    """The mark that two equal texts share; only the space around them does not count."""
    return blake2s(text.strip().encode("utf-8", "replace"), digest_size=_DIGITS).hexdigest()


def marks_of(text: str, limit: int = MOST) -> list[str]:
    """The marks of a text and of its pieces, the whole first. None for what is too short."""
    return list(dict.fromkeys(mark_of(piece) for piece in _pieces(text, limit) if _is_long(words_of(piece))))


def whole_marks(text: str) -> list[str]:
    """The marks of the whole text alone, with and without what is before and after it."""
    return list(dict.fromkeys(mark_of(each) for each in _bare(text) if _is_long(words_of(each))))


def _pieces(text: str, limit: int) -> Iterator[str]:
    """The whole, its sentences, and each line that has several of them: they may be too short one by one."""
    yield from _bare(text)
    line = start = count = 0
    for cut in _BREAK.finditer(text):
        yield from _bare(text[start : cut.start()])
        if _LINE_END.search(cut[0]):
            if line < start:
                yield from _bare(text[line : cut.start()])
            line = cut.end()
        start, count = cut.end(), count + 1
        if count >= limit:
            return
    if start:
        yield from _bare(text[start:])
    if 0 < line < start:
        yield from _bare(text[line:])


def _bare(text: str) -> Iterator[str]:
    """A piece as it is, then without a bullet, without labels before it, without an aside behind it."""
    yield text
    bare = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    for _ in range(2):
        if label := _LABEL.match(bare):
            bare = bare[label.end() :]
            yield bare
    tail = bare[-400:]
    if aside := _ASIDE.search(tail):
        yield bare[: len(bare) - len(tail) + aside.start()]


def _is_long(words: str) -> bool:
    letters = len(words) - words.count(" ")
    if letters >= _LETTERS or words.count(" ") + 1 >= _WORDS:
        return True
    return letters >= _DENSE and not words.isascii() and " " not in words
