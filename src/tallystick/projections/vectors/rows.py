"""Rows that name vectors: the block of each, which of its parts it is, and a check that ties it to its vector.

A row is 16 bytes. Its check is computed from all its other bytes and from its vector's, so that a row with a vector
that is not its own (half written, of another time, zeros where a disk lost a page) is recognised. It guards against
accidents, not against forgery.

The parts of a block are added together, one after the other. A file that ends in the middle of a block ends before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROW = np.dtype([("block", "<u8"), ("part", "<u2"), ("parts", "<u2"), ("check", "<u4")])
DIGITS = 16  # hexadecimal ones, of a block's id
AT_ONCE = 8_192  # rows looked at or copied at a time
_FEW = 64  # rows that are found without sorting
_ODD = 0x9E3779B1
_NOBODY = "0" * DIGITS  # in place of an id that does not fit


def is_plain(block: str) -> bool:
    """True if a block's id fits into a row. One whose address collided has a longer one, and is found by its words."""
    return len(block) == DIGITS


def numbers_of(blocks: Sequence[str]) -> NDArray[np.uint64]:
    """The ids of plain blocks as numbers."""
    return np.frombuffer(bytes.fromhex("".join(blocks)), dtype=">u8").astype(np.uint64)


def rows_for(blocks: Sequence[str], parts: Sequence[int], vectors: NDArray[np.float32]) -> NDArray[Any]:
    """A row for each vector. All parts of a block are here together, from the first on."""
    made = np.zeros(len(blocks), dtype=ROW)
    made["block"], made["part"] = numbers_of(blocks), parts
    first = np.flatnonzero(made["part"] == 0)
    counts = np.diff(np.append(first, len(made)))
    made["parts"] = np.repeat(counts, counts)
    made["check"] = checks(made, vectors)
    return made


def checks(rows: NDArray[Any], vectors: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The right check of each row with its vector."""
    odd = (np.arange(vectors.shape[1] + 4, dtype=np.uint32) * np.uint32(_ODD)) | np.uint32(1)
    total = np.einsum("ij,j->i", np.ascontiguousarray(vectors).view(np.uint32), odd[4:])
    high, low = (rows["block"] >> np.uint64(32)).astype(np.uint32), rows["block"].astype(np.uint32)
    for place, field in enumerate((high, low, rows["part"], rows["parts"])):
        total += (field.astype(np.uint32) + np.uint32(1)) * odd[place]
    checked: NDArray[np.uint32] = total
    return checked


def how_many_good(rows: NDArray[Any], vectors: NDArray[np.float32]) -> tuple[int, bool]:
    """The number of good rows from the first on, in complete blocks; and whether one after them is false."""
    good, is_false = 0, False
    while good < len(rows) and not is_false:
        some = slice(good, good + AT_ONCE)
        wrong = np.flatnonzero(checks(rows[some], vectors[some]) != rows[some]["check"])
        is_false = len(wrong) > 0
        good += int(wrong[0]) if is_false else len(rows[some])
    last = np.flatnonzero(rows[:good]["part"] + np.uint16(1) == rows[:good]["parts"])
    return (int(last[-1]) + 1 if len(last) else 0), is_false


class Rows:
    """Rows that only grow, found by their block. Most are sorted; the last few are kept apart until it pays to sort."""

    def __init__(self) -> None:
        self.every: NDArray[Any] = np.zeros(0, dtype=ROW)
        self._order: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._sorted: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._later: dict[int, list[int]] = {}  # the rows after the sorted ones
        self._listed = 0

    def __len__(self) -> int:
        return len(self.every)

    def grow(self, every: NDArray[Any]) -> None:
        """Have these rows: the same as before, and more after them."""
        self.every = every

    def _settle(self) -> None:
        """Sort, if many were added since; else list what was."""
        if len(self) - len(self._order) > max(_FEW, len(self._order) // 4):
            self._order = np.argsort(self.every["block"], kind="stable")
            self._sorted = self.every["block"][self._order]
            self._later, self._listed = {}, len(self)
        start = max(self._listed, len(self._order))
        for place, number in enumerate(self.every["block"][start:].tolist(), start):
            self._later.setdefault(number, []).append(place)
        self._listed = len(self)

    def where(self, blocks: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """The rows of these blocks, part by part; a block that has none is left out."""
        first, counts = self.first_of(blocks)
        rows = zip(blocks, first.tolist(), counts.tolist(), strict=True)
        return {block: np.arange(start, start + count) for block, start, count in rows if count}

    def first_of(self, blocks: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first row of each of these blocks, and the number of its rows, in sequence. Without any: -1, 0."""
        self._settle()
        known = [block if is_plain(block) else _NOBODY for block in blocks]
        first, counts = np.full(len(known), -1, dtype=np.int64), np.zeros(len(known), dtype=np.int64)
        numbers = numbers_of(known)
        there = np.searchsorted(self._sorted, numbers)
        has = np.flatnonzero(self._sorted.take(there, mode="clip") == numbers) if len(self._sorted) else there[:0]
        first[has] = self._order[there[has]]
        counts[has] = self.every["parts"][first[has]]
        for place in np.flatnonzero(counts == 0).tolist() if self._later else ():
            if rows := self._later.get(int(numbers[place])):
                first[place], counts[place] = rows[0], self.every["parts"][rows[0]]
        for place in [place for place, block in enumerate(known) if block is _NOBODY]:
            first[place], counts[place] = -1, 0
        return first, counts

    def blocks(self) -> NDArray[np.uint64]:
        """The numbers of all blocks that have rows, in order."""
        every: NDArray[np.uint64] = np.sort(self.every["block"])  # `np.unique` loads masked arrays, which takes longer
        return every[np.concatenate(([True], every[1:] != every[:-1]))] if len(every) else every


# -- products of arrays of finite numbers ------------------------------------------------------------------------------
# BLAS works on whole registers and also multiplies what is in them beyond the array. On some processors that sets the
# flag for an invalid operation although every number of the result is right, and NumPy turns the flag into a warning.

Floats = NDArray[np.floating[Any]]


def product(left: Floats, right: Floats, out: Floats | None = None) -> NDArray[Any]:
    """`left @ right`. Neither has a NaN or an infinity: what is stored was checked before."""
    with np.errstate(invalid="ignore"):
        return np.dot(left, right, out=out)


def steady(left: Floats, right: Floats) -> NDArray[Any]:
    """`product`, where `right` may be a vector, with each number summed in one way wherever its row or column is.

    In `product` the last bit depends on that; the same question would not give the same answer to the last digit.
    """
    made: NDArray[Any] = np.einsum("ij,...j->i...", np.ascontiguousarray(left), np.ascontiguousarray(right.T))
    return made
