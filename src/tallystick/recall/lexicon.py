"""A cache of words with their vectors, and of texts as rows of words.

Reading a text takes longer than scoring it, and the same few hundred texts come up again and again. What is kept
depends on the text alone and never on who asks; it is dropped when it grows large, and read again. The numbers of
words are valid until the next `read`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.vectors.rows import steady
from tallystick.records.embedder import Embedder, TokenVectors
from tallystick.text.recall_words import STOP, is_short, parts_of, share_asked, spelled, stem, without_possessive

MOST_WORDS = 60_000  # each may have a vector: of 256 numbers, 60 MB
MOST_READ = 16_000_000  # characters of texts; what is kept of them takes about four bytes for each
_LEAST = 200  # characters that any text counts for

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this (?:week|month|year|morning|weekend)|recently|lately|"
    r"weekend|week|month|year|since|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|"
    r"april|may|june|july|august|september|october|november|december|\d{4})\b"
)
_ROOT = 1.5  # a power that is a product and a root, which is quicker
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}|[\"“]")
_UNREAD = frozenset({""})  # no name is empty


class Part:
    """A text, or a part of a long one. What only some questions need is read when one does."""

    __slots__ = ("_names", "_text", "_times", "asked", "words")

    def __init__(self, words: NDArray[np.int64], text: str) -> None:
        self.words = words  # numbers of its telling words, in their order
        self.asked = share_asked(text)  # how much of it is questions
        self._text, self._times, self._names = text, -1.0, _UNREAD

    @property
    def times(self) -> float:
        """The share of time expressions: 0, a half or 1."""
        if self._times < 0:
            self._times = min(len(_TIME.findall(self._text.lower())), 2) / 2
        return self._times

    @property
    def names(self) -> frozenset[str]:
        """Words with a capital inside a sentence, in lowercase; a quotation is "."""
        if self._names is _UNREAD:
            self._names = frozenset(name.lower() for name in _PROPER.findall(self._text))
        return self._names


class Reading(NamedTuple):
    """A text that was read."""

    parts: tuple[Part, ...]
    is_short: bool  # one part, short enough to lend words to its neighbours
    asks: bool


class _Known(dict[str, int]):
    """Numbers by spelling; an unknown one is asked for, once."""

    def __init__(self, number: Callable[[str], int]) -> None:
        self._ask = number

    def __missing__(self, spelling: str) -> int:
        number = self[spelling] = self._ask(spelling)
        return number


class Lexicon:
    """Words and texts, by number. `static` gives the vectors of words; None: words are alike only by their stem."""

    def __init__(self, static: Embedder | None) -> None:
        self._static, self.has_vectors = static, static is not None
        self._begin()

    def _begin(self) -> None:
        self._words: dict[str, int] = {}
        self._known = _Known(self._number)  # every spelling that was met
        self._stems: dict[str, int] = {}
        self._stem_of: list[int] = []
        self._stems_of: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the same, as far as it was asked for
        self._readings: dict[str, Reading] = {}
        self._vectors: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self._has_vector = self._letters = 0

    def read(self, texts: Iterable[tuple[str, str]]) -> dict[str, Reading]:
        """Each text by its name, read once. A name always stands for the same text."""
        if len(self._known) > MOST_WORDS or self._letters > MOST_READ:
            self._begin()
        found = {}
        for name, text in texts:
            reading = self._readings.get(name)
            if reading is None:
                parts, known = parts_of(text), self._known
                numbers = ([number for word in spelled(part) if (number := known[word]) >= 0] for part in parts)
                words = (np.array(each, dtype=np.int64) for each in numbers)
                read = tuple([Part(each, part) for each, part in zip(words, parts, strict=True)])
                reading = Reading(read, len(parts) == 1 and is_short(text), "?" in text)
                self._readings[name] = reading
                self._letters += _LEAST + len(text)
            found[name] = reading
        return found

    def _number(self, spelling: str) -> int:
        """The number of a word as a text spells it; -1 if it says nothing."""
        self._letters += len(spelling)
        word = without_possessive(spelling)
        return -1 if word in STOP else self._learn(word)

    def _learn(self, word: str) -> int:
        number = self._words.get(word)
        if number is None:
            number = self._words[word] = len(self._words)
            self._letters += len(word)
            self._stem_of.append(self._stems.setdefault(stem(word), len(self._stems)))
        return number

    def alike(self, asked: Sequence[str], words: NDArray[np.int64], power: float) -> NDArray[np.float32]:
        """Similarity of each word of a question to each of `words`, from 0 to 1: 1 for the same stem."""
        numbers = [self._learn(word) for word in asked]
        if len(self._stems_of) < len(self._stem_of):
            fresh = np.array(self._stem_of[len(self._stems_of) :], dtype=np.int64)
            self._stems_of = np.concatenate([self._stems_of, fresh])
        stem_of = self._stems_of
        same: NDArray[np.float32] = (stem_of[numbers][:, None] == stem_of[words][None, :]).astype(np.float32)
        if self._static is None or not len(words):
            return same
        vectors = self._known_vectors()
        near = np.clip(steady(vectors[numbers], vectors.take(words, axis=0).T), 0, 1)
        np.maximum(same, near**power if power != _ROOT else near * np.sqrt(near), out=same)
        return same

    def _known_vectors(self) -> NDArray[np.float32]:
        """A vector for every word there is."""
        assert self._static is not None
        if self._has_vector < len(self._words):
            fresh = self._static.embed(list(islice(self._words, self._has_vector, None)))
            if (count := self._has_vector + len(fresh)) > len(self._vectors):
                wider = np.zeros((max(4096, count + count // 4), fresh.shape[1]), dtype=np.float32)
                if self._has_vector:
                    wider[: self._has_vector] = self._vectors[: self._has_vector]
                self._vectors = wider
            self._vectors[self._has_vector : self._has_vector + len(fresh)] = fresh
            self._has_vector += len(fresh)
        return self._vectors


def weighted(embedder: Embedder, words: Sequence[str], weights: Sequence[float]) -> NDArray[np.float32] | None:
    """The vector of a question whose rare words weigh more; None where an embedder has no word vectors."""
    if not isinstance(embedder, TokenVectors):
        return None
    total = np.zeros(embedder.identity.dimensions, dtype=np.float32)
    for word, weight in zip(words, weights, strict=True):
        _, rows = embedder.token_vectors(word)
        total += np.float32(weight) * rows.sum(axis=0)
    size = float(np.linalg.norm(total))
    return total / size if size > 0 else None
