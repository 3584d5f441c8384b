"""A sentence as words with their places, its short forms taken apart: "don't" is "do" and "n't"."""

from __future__ import annotations

import re
from typing import NamedTuple

BLOT = "\ufffc"  # in the place of each letter that must not be read

_PIECE = re.compile(r"[^\s—–]+|[—–]")
_FRONT = "([{*_~\"'“‘"
_BACK = ".,;:!?)]}*_~\"'”’…"
_SHORT = ("n't", "'m", "'re", "'ve", "'ll", "'d", "'s")
_SLOPPY = {"im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("does", "n't"),
           "cannot": ("can", "n't"), "isnt": ("is", "n't")}  # fmt: skip
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't
_BREAKS = {",": ",", ";": ";", ":": ":", "-": "-", "—": "-", "–": "-", "--": "-"}


class Token(NamedTuple):
    """One word. `mark` is what parts it from the next: nothing, or "," ";" ":" "-"."""

    text: str
    low: str
    start: int  # in the content
    end: int
    mark: str = ""

    @property
    def is_name(self) -> bool:
        """Written like a name: with a capital letter, or a number and letters."""
        return self.text[:1].isupper() or (self.text[:1].isdigit() and not self.text.isdigit() and len(self.text) < 5)


def tokens_of(text: str, start: int) -> list[Token]:
    """The words of a sentence that begins at `start` in the content."""
    tokens: list[Token] = []
    for piece in _PIECE.finditer(text):
        raw = piece[0]
        if raw in _BREAKS or _is_picture(raw):
            _mark(tokens, _BREAKS.get(raw, ","))
            continue
        bare = raw.lstrip(_FRONT)
        first = piece.start() + len(raw) - len(bare)
        word = bare.rstrip(_BACK)
        tail = bare[len(word) :]
        if word:
            _add(tokens, word, start + first)
        if tail or not word:
            _mark(tokens, next((_BREAKS[sign] for sign in tail or raw if sign in _BREAKS), ""))
    return tokens


def _is_picture(raw: str) -> bool:
    """Whether no letter is in it, as in 😀: a pause, if anything. What was blotted out is a word nobody can read."""
    return ord(raw[0]) > 0x2000 and BLOT not in raw and not any(letter.isalnum() for letter in raw)


def _mark(tokens: list[Token], mark: str) -> None:
    if tokens and mark:
        tokens[-1] = tokens[-1]._replace(mark=mark)


def _add(tokens: list[Token], word: str, at: int) -> None:
    low = word.lower().replace("’", "'")
    if len(low) != len(word):
        low = word  # a letter that grows when made small: such a word is in no list
    if low in _SLOPPY:
        first, second = _SLOPPY[low]
        cut = len(first)
        tokens += (Token(word[:cut], first, at, at + cut), Token(word[cut:], second, at + cut, at + len(word)))
        return
    for short in _SHORT:
        if low.endswith(short) and len(low) > len(short):
            cut = len(low) - len(short)
            front = low[:cut]
            front = _WHOLE.get(front, front) if short == "n't" else front
            tokens += (Token(word[:cut], front, at, at + cut), Token(word[cut:], short, at + cut, at + len(word)))
            return
    tokens.append(Token(word, low, at, at + len(word)))


class Phrases:
    """Several words in a row, each row known by heart; found at the beginning or at the end of other words."""

    def __init__(self, *phrases: str) -> None:
        rows = [tuple(token.low for token in tokens_of(phrase, 0)) for phrase in phrases]
        rows.sort(key=len, reverse=True)
        self._by_first = {row[0]: [each for each in rows if each[0] == row[0]] for row in rows}
        self._by_last = {row[-1]: [each for each in rows if each[-1] == row[-1]] for row in rows}

    def begin(self, tokens: list[Token]) -> int:
        """How many words the longest of the phrases takes that the words begin with; 0 for none."""
        for row in self._by_first.get(tokens[0].low, ()) if tokens else ():
            if tuple(token.low for token in tokens[: len(row)]) == row:
                return len(row)
        return 0

    def end(self, tokens: list[Token]) -> int:
        """The same for their end."""
        for row in self._by_last.get(tokens[-1].low, ()) if tokens else ():
            if tuple(token.low for token in tokens[-len(row) :]) == row:
                return len(row)
        return 0
