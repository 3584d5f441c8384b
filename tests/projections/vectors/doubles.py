"""Embedders of a few lines: the vector of a text is the sum of its words', and a word's is drawn from the word."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.vectors.file import VectorFile
from tallystick.records.embedder import Identity

SIZE = 16


@cache
def word(said: str, size: int, name: str) -> NDArray[np.float32]:
    seed = int.from_bytes(sha256(f"{name} {said}".encode("utf-8", "replace")).digest()[:8])
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


class Slow:
    """Counts its calls; `before` is what happens first, and may wait or raise."""

    def __init__(self, name: str = "slow", size: int = SIZE, before: Callable[[], object] | None = None) -> None:
        self._name, self._size, self._before = name, size, before
        self.asked: list[list[str]] = []
        self.lock = threading.Lock()

    @property
    def identity(self) -> Identity:
        return Identity(self._name, "test", self._size, sha256(self._name.encode()).hexdigest())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self.lock:
            self.asked.append(list(texts))
        if self._before is not None:
            self._before()
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for said in text.lower().split():
                row += word(said, self._size, self._name)
            row /= np.linalg.norm(row) or 1
        return rows

    def count(self, text: str) -> int:
        return len(text.split())


class Fast(Slow):
    """One with vectors of words: recall lets it embed whatever is missing."""

    def __init__(self, name: str = "fast", size: int = SIZE) -> None:
        super().__init__(name, size)

    def token_vectors(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        words = text.lower().split()
        rows = [word(said, self._size, self._name) for said in words]
        return words, np.array(rows, dtype=np.float32).reshape(len(words), self._size)


def of(*blocks: str, size: int = SIZE) -> NDArray[np.float32]:
    """A vector for each block, by which it can be told again."""
    return np.array([word(block, size, "block") for block in blocks], dtype=np.float32).reshape(len(blocks), size)


def ids(*numbers: int) -> list[str]:
    return [f"{number + 0xABC0000000000000:016x}" for number in numbers]


def put(file: VectorFile, *numbers: int) -> None:
    """Blocks with their own vectors, added at once."""
    with file.writing():
        file.add(ids(*numbers), [0] * len(numbers), of(*ids(*numbers)))


def held(file: VectorFile) -> set[str]:
    """The blocks that a file has, each of which must stand beside its own vector."""
    found = file.blocks_at(np.arange(len(file)))
    assert np.array_equal(file.matrix, of(*found, size=file.dimensions)), "a vector has another block's name"
    return set(found)


def traces(root: Path, vectors: NDArray[np.float32]) -> list[Path]:
    """The files under a folder in which the bytes of one of these vectors stand."""
    found = []
    for path in root.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # others are at work
            said = path.read_bytes()
            found += [path] if any(row.tobytes() in said for row in vectors) else []
    return found
