"""The nearest vectors to a question: exactly, as long as that is fast enough, and else through a graph (HNSW).

Below `LIMIT` rows every vector is compared. Above, usearch keeps a graph of the rows it has taken in, saved beside
them; rows that came since are compared one by one, so nothing waits to be found. A graph that disagrees with the rows
(more of them, other dimensions, a file that cannot be read) is made anew.

Without the package, or before the graph is made, the search is exact at any size.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepsake.projections.vectors.file import VectorFile

LIMIT = 100_000
_AT_ONCE = 2_000  # rows that a search may add by itself; more is for a command that shows how far it is
_ROWS = 16_384  # compared at a time: what a block of rows leaves in the cache
_BREADTH = 16  # neighbours of a node
_EFFORT = 128  # how far a search looks around


class Nearest:
    """Searching one file of vectors."""

    def __init__(self, file: VectorFile) -> None:
        self._file, self._made_for = file, -1
        self._graph: Any = None

    def search(self, question: NDArray[np.float32], most: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows nearest to a question and how near they are (cosine), the nearest first."""
        known = self._ready()
        if known == 0:
            return best_of(self._file.matrix, question, most)
        found = self._graph.search(question, most)
        rows = found.keys.astype(np.int64)
        near = self._file.matrix[rows] @ question if len(rows) else np.zeros(0, dtype=np.float32)
        if known < len(self._file):
            later, how_near = best_of(self._file.matrix[known:], question, most)
            rows, near = np.concatenate([rows, later + known]), np.concatenate([near, how_near])
        order = np.lexsort((rows, -near))[:most]
        return rows[order], near[order]

    def _ready(self) -> int:
        """How many rows the graph knows; 0 to search without one."""
        if len(self._file) < LIMIT or find_spec("usearch") is None:
            return 0
        self._open()
        if self._graph is None:
            return 0
        if len(self._file) - len(self._graph) <= _AT_ONCE:
            self._add(len(self._graph), len(self._file))
        return len(self._graph)

    def _open(self) -> None:
        """The graph of this generation, from its file, if there is one that fits."""
        if self._graph is not None and self._made_for == self._file.generation:
            return
        self._graph, self._made_for = None, self._file.generation
        path = self._file.near_path()
        if path is None or not path.is_file():
            return
        graph = _empty(self._file.dimensions)
        try:
            graph.load(str(path))
        except (RuntimeError, ValueError, OSError):
            return
        if graph.ndim == self._file.dimensions and 0 < len(graph) <= len(self._file):
            self._graph = graph

    def build(self, tick: Callable[[int], None] | None = None) -> bool:
        """Make the graph whole and save it, if the rows are many enough. False if there is none to make."""
        if len(self._file) < LIMIT or find_spec("usearch") is None:
            return False
        self._open()
        if self._graph is None:
            self._graph = _empty(self._file.dimensions)
        for start in range(len(self._graph), len(self._file), _AT_ONCE):
            end = min(start + _AT_ONCE, len(self._file))
            self._add(start, end)
            if tick is not None:
                tick(end - start)
        self._save()
        return True

    def _add(self, start: int, end: int) -> None:
        if end > start:
            self._graph.add(np.arange(start, end), np.asarray(self._file.matrix[start:end]))

    def _save(self) -> None:
        path = self._file.near_path()
        if path is not None and self._graph is not None:
            fresh = Path(f"{path}.new")
            self._graph.save(str(fresh))
            fresh.replace(path)


def _empty(dimensions: int) -> Any:
    from usearch.index import Index

    return Index(
        ndim=dimensions, metric="ip", dtype="f32", connectivity=_BREADTH, expansion_search=_EFFORT, multi=False
    )  # fmt: skip


def best_of(
    matrix: NDArray[np.float32], question: NDArray[np.float32], most: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The `most` rows with the greatest product, the greatest first; equal ones in the order of rows."""
    near = np.empty(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), _ROWS):
        np.dot(matrix[start : start + _ROWS], question, out=near[start : start + _ROWS])
    if len(near) > most:
        least = np.partition(near, len(near) - most)[len(near) - most]
        rows = np.flatnonzero(near >= least)
    else:
        rows = np.arange(len(near))
    order = np.lexsort((rows, -near[rows]))[:most]
    return rows[order], near[rows[order]]
