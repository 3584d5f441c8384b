"""The nearest vectors to a question: exactly, as long as that is fast enough, and else through a graph (HNSW).

Below `LIMIT` rows every vector is compared. Above, usearch keeps a graph of the rows that were added to it. Each search
adds a few more; rows that it does not have are compared one by one, so nothing waits to be found. How near a row is
comes from its vector, never from the graph, and does not depend on its place: rows that are equally near come in the
order of their blocks, in whatever order they were added.

The graph is saved next to the rows when it is complete, and again whenever it has grown by a tenth. Its file begins
with a check; one that is damaged, or has more rows than there are, or other ones, is rebuilt. Without the package, or
before the graph is begun, the search is exact at any size.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallystick.projections.vectors.file import VectorFile
from tallystick.projections.vectors.rows import product

LIMIT = 100_000
STEP = 256  # rows that are added to the graph at a time
_BY_THE_WAY = 64  # rows that a search adds by itself
_ROWS = 16_384  # compared at a time: what a block of rows leaves in the cache
_BREADTH = 16  # neighbours of a node
_EFFORT = 128  # how far a search looks around
_GROWN = 1.1
_KIND = "bf16"  # precise enough for the graph: half the memory, a third of the time
_MAGIC = b"tallystick near 1\n"
_CLOSE = 1e-5  # more than single precision can be wrong by

Ranked = tuple[NDArray[np.int64], NDArray[np.float32]]


class Nearest:
    """Searching one file of vectors."""

    def __init__(self, file: VectorFile) -> None:
        self._file, self._made_for, self._saved = file, -1, 0
        self._graph: Any = None

    def search(self, question: NDArray[np.float32], limit: int) -> Ranked:
        """The rows nearest to a question and how near they are (cosine), nearest first."""
        matrix, blocks = self._file.matrix, self._file.rows.every["block"]
        if not self._open() or self._graph is None:
            return best_of(matrix, question, limit, blocks)
        self._add(_BY_THE_WAY)
        known = len(self._graph)
        rows = self._graph.search(question, limit).keys.astype(np.int64)
        if known < len(matrix):
            later, _ = best_of(matrix[known:], question, limit, blocks[known:])
            rows = np.concatenate([rows, later + known])
        return _ranked(matrix, question, limit, blocks, rows)

    def _open(self) -> bool:
        """Load the graph of these rows from its file, if there is one that fits. False, if none is needed."""
        if len(self._file) < LIMIT or find_spec("usearch") is None:
            return False
        if self._made_for != self._file.begun:
            self._graph, self._made_for, self._saved = None, self._file.begun, 0
            path = self._file.near_path()
            if said := None if path is None else _read(path):
                graph = _empty(self._file.dimensions)
                with suppress(RuntimeError, ValueError, OSError):
                    graph.load(said)
                    if graph.ndim == self._file.dimensions and 0 < len(graph) <= len(self._file):
                        self._graph, self._saved = graph, len(graph)
        return True

    def build(self) -> int:
        """Go on building the graph, if there are rows enough; the number of rows added. 0: it is complete."""
        if not self._open():
            return 0
        if self._graph is None:
            self._graph = _empty(self._file.dimensions)
        added = self._add(STEP)
        if added == 0 and len(self._graph) > self._saved:
            self._save()
        return added

    def _add(self, limit: int) -> int:
        start = len(self._graph)
        end = min(start + limit, len(self._file))
        if end > start:
            self._graph.add(np.arange(start, end), np.ascontiguousarray(self._file.matrix[start:end]))
            if self._saved and end >= self._saved * _GROWN:
                self._save()
        return end - start

    def _save(self) -> None:
        """Save it next to its rows, unless these were removed meanwhile. What cannot be saved is made another time."""
        self._saved = len(self._graph)
        path = self._file.near_path()
        with self._file.unchanged() as is_unchanged:
            if not is_unchanged or path is None:
                return
            fresh = path.with_suffix(".new")
            said = self._graph.save()
            try:
                with open(fresh, "wb", opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, 0o600)) as file:
                    file.write(_MAGIC + zlib.crc32(said).to_bytes(4, "little"))
                    file.write(said)
                fresh.replace(path)
            except OSError:
                return


def _read(path: Path) -> bytes | None:
    """The contents of a graph's file, if it is as it was written."""
    try:
        said = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 4
    whole = said[start:]
    is_good = said[:start] == _MAGIC + zlib.crc32(whole).to_bytes(4, "little")
    return whole if is_good else None


def _empty(dimensions: int) -> Any:
    import ctypes

    # usearch has a C++ library of its own inside. If the system's comes later, with onnxruntime, the process crashes.
    with suppress(OSError):
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    from usearch.index import Index

    return Index(
        ndim=dimensions, metric="ip", dtype=_KIND, connectivity=_BREADTH, expansion_search=_EFFORT, multi=False
    )  # fmt: skip


def best_of(
    matrix: NDArray[np.float32], question: NDArray[np.float32], limit: int, blocks: NDArray[np.uint64]
) -> Ranked:
    """The `limit` rows with the greatest product, greatest first; equal ones in the order of their blocks."""
    near = np.empty(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), _ROWS):
        product(matrix[start : start + _ROWS], question, out=near[start : start + _ROWS])
    if len(near) > limit:
        least = np.partition(near, len(near) - limit)[len(near) - limit]
        rows = np.flatnonzero(near >= least - _CLOSE)
    else:
        rows = np.arange(len(near))
    return _ranked(matrix, question, limit, blocks, rows)


def _ranked(
    matrix: NDArray[np.float32], question: NDArray[np.float32], limit: int, blocks: NDArray[np.uint64],
    rows: NDArray[np.int64],
) -> Ranked:  # fmt: skip
    """Sort some rows. Each product is summed in one way: a matrix product's last bit depends on the place."""
    products = matrix[rows].astype(np.float64) * question.astype(np.float64)
    near = products.sum(axis=1).astype(np.float32)
    order = np.lexsort((rows, blocks[rows], -near))[:limit]
    return rows[order], near[order]
