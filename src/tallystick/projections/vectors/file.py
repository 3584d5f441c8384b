"""The vectors of one user's blocks by one embedder, in files next to the index.

    vectors/<embedder's key>/<user>.json             which generation counts
                             <user>-<generation>.rows  16 bytes for each vector (see rows.py)
                             <user>-<generation>.f32   the vectors themselves, in the same order
                             <user>-<generation>.mark  how far they are checked, and compared with which index
                             <user>-<generation>.near  a graph over them, when they are many (see `Nearest`)
                             lock                      held by whoever adds or removes

Rows are only ever added at the end; a row counts when both files have all of it, its check is right, and the block that
it is a part of is complete. Removing rows writes files of another generation, then the small file that names it, then
removes the old ones; the name of a generation is random, and never comes again. So a crash, or a mix of files of two
times, leaves the rows that were there or some fewer, which are made again; never a vector with another block's name.
Nothing that a reader may have open is ever truncated or overwritten.

A few rows are all checked on opening. Of many, those that `.mark` counts were checked by whoever wrote it, and
are checked again when a search finds them: if one is false, all are.

Whatever cannot be read is started over: vectors are made from the index, and say nothing that it does not. Where
nothing can be written (no space, no permission, a lock that stays taken), they are kept in memory alone.

After each erasure the vectors of what was erased are removed, of every user and every embedder, and `vectors/swept`
says how many erasures there were. Where it says another number, somebody was stopped before it was done (or a copy was
restored): the next recall does it first. The vectors of an embedder that is not used any more stay, for the day it is
used again; the folder may be removed by hand at any time.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from tallystick.projections.database import wait_for_lock
from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors.names import FORMAT, file_name, read_head
from tallystick.projections.vectors.rows import (
    AT_ONCE,
    ROW,
    Rows,
    how_many_good,
    is_plain,
    numbers_of,
    product,
    rows_for,
)
from tallystick.records.errors import NotWritten

TIMEOUT = 10.0  # seconds to wait for the lock
_KINDS = ("f32", "rows")  # in the order in which they are written


class Watermark(NamedTuple):
    """The first `rows` rows are good, and are those of all blocks of an index up to its row `reads_to`."""

    rows: int
    number: int  # of that index
    reads_to: int


class VectorFile:
    """All vectors of one user by one embedder. `folder` is None where nothing may be written.

    `begun` counts how often the rows were started over: a place of a row is valid until it moves.
    """

    def __init__(self, folder: Path | None, key: str, dimensions: int, user: str) -> None:
        self.key, self.dimensions, self.begun = key, dimensions, 0
        self._home = None if folder is None else folder / key
        self._name = file_name(user)
        self._locked = False
        self._begin("")
        self.read()

    def _begin(self, generation: str) -> None:
        self.generation, self.begun, self._is_false = generation, self.begun + 1, False
        self.rows = Rows()
        self._matrix: NDArray[np.float32] = np.zeros((0, self.dimensions), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._matrix[: len(self.rows)]

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read what others added. Cheap if there is nothing new."""
        if self._home is None:
            return
        generation = self._said()
        if generation != self.generation:
            self._begin(generation)
        if generation and not self._is_false:
            self._read_on()

    def _read_on(self) -> None:
        """Read the rows after those that are known, as far as their checks are right."""
        whole = min(_size(self._path(kind)) // size for kind, size in self._sizes())
        if whole < len(self.rows):  # somebody truncated what we have: nothing of it may be touched any more
            self._begin(self.generation)
        if whole == len(self.rows):
            return
        try:
            rows, matrix = self._mapped(whole)
        except (OSError, ValueError):  # it was removed at this moment: the next read sees what is there instead
            return
        mark = self.watermark()
        start = max(len(self.rows), mark.rows if mark and mark.rows <= whole else 0)
        good, self._is_false = how_many_good(rows[start:], matrix[start:])
        self.rows.grow(rows[: start + good])
        self._matrix = matrix

    def _mapped(self, count: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        matrix = np.memmap(self._path("f32"), dtype="<f4", mode="r", shape=(count, self.dimensions))
        return np.asarray(np.memmap(self._path("rows"), dtype=ROW, mode="r", shape=count)), np.asarray(matrix)

    def watermark(self) -> Watermark | None:
        """What was noted of these rows, if anything was."""
        try:
            found = Watermark(*orjson.loads(self._path("mark").read_bytes()))
        except (OSError, ValueError, TypeError, AssertionError):  # nothing is kept where nothing may be written
            return None
        return found if all(type(number) is int and number >= 0 for number in found) else None

    def save_watermark(self, index: int, reads_to: int) -> None:
        """Note that all rows are good, and compared with that index. A few are looked at each time."""
        if len(self.rows) <= AT_ONCE:
            return
        with suppress(OSError), self.unchanged() as is_unchanged:
            if is_unchanged:
                _replace(self._path("mark"), orjson.dumps([len(self.rows), index, reads_to]))

    def are_good(self, rows: NDArray[np.int64]) -> bool:
        """True if the checks of these rows are right. Else nothing is noted of them any more, and all are checked."""
        if not how_many_good(self.rows.every[rows], self.matrix[rows])[1]:
            return True
        if self._home is not None:
            with suppress(OSError):
                self._path("mark").unlink(missing_ok=True)
            self._begin(self.generation)
            self.read()
        return False

    def _sizes(self) -> tuple[tuple[str, int], ...]:
        return ("f32", 4 * self.dimensions), ("rows", ROW.itemsize)

    def _said(self) -> str:
        """The generation that the small file names, if it says what it should."""
        head = read_head(self._small)
        return str(head["generation"]) if head and head["dimensions"] == self.dimensions else ""

    @property
    def _small(self) -> Path:
        assert self._home is not None
        return self._home / f"{self._name}.json"

    def _path(self, kind: str, generation: str = "") -> Path:
        assert self._home is not None
        return self._home / f"{self._name}-{generation or self.generation}.{kind}"

    def near_path(self) -> Path | None:
        return self._path("near") if self._home is not None and self.generation else None

    def blocks_at(self, rows: NDArray[np.int64]) -> list[str]:
        return [f"{number:016x}" for number in self.rows.every["block"][rows].tolist()]

    # -- adding and removing -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Hold the lock to add or remove; what others did meanwhile is read first. False: in memory alone."""
        with locked(self._home) as is_mine:
            self._locked = is_mine
            try:
                self.read()
                yield is_mine
            finally:
                self._locked = False

    @contextmanager
    def unchanged(self) -> Iterator[bool]:
        """Hold the lock; True if these are still the rows that count. Nothing is read: no row changes its place."""
        with locked(self._home) as is_mine:
            yield is_mine and bool(self.generation) and self._said() == self.generation

    def add(self, blocks: Sequence[str], parts: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Add blocks with all their parts at the end. What cannot be written is kept in memory alone."""
        if vectors.shape != (len(blocks), self.dimensions) or vectors.dtype != np.float32:
            raise TypeError(f"expected {len(blocks)} rows of {self.dimensions}, not {vectors.dtype}{vectors.shape}")
        fresh = rows_for(blocks, parts, vectors)
        if self._locked and self._home is not None:
            try:
                self._write(fresh, vectors)
                return
            except OSError:
                with suppress(OSError):  # what cannot be truncated is ignored by readers
                    self._cut_back()
        self.stay_in_memory()
        self.rows.grow(np.concatenate([self.rows.every, fresh]))
        self._matrix = np.concatenate([self._matrix, vectors])

    def stay_in_memory(self) -> None:
        """From now on write nothing, and read nothing that others write."""
        if self._home is not None:
            self._matrix, self._home = np.array(self.matrix), None
            self.rows.grow(np.array(self.rows.every))

    @property
    def is_in_memory(self) -> bool:
        return self._home is None

    def _write(self, fresh: NDArray[Any], vectors: NDArray[np.float32]) -> None:
        """Append to both files; a partial block that a crash left is truncated first. The lock is held."""
        if self._is_false or not len(self.rows):
            self._renew(np.arange(len(self.rows)))
        for (kind, size), data in zip(self._sizes(), (vectors, fresh), strict=True):
            with open(self._path(kind), "ab", opener=_private) as file:
                file.truncate(len(self.rows) * size)
                file.write(np.ascontiguousarray(data).tobytes())
        rows, self._matrix = self._mapped(len(self.rows) + len(fresh))
        self.rows.grow(rows)

    def _cut_back(self) -> None:
        """Truncate the files after the rows that count. Nobody reads there."""
        for kind, size in self._sizes():
            path = self._path(kind)
            if self.generation and _size(path) > len(self.rows) * size:
                os.truncate(path, len(self.rows) * size)

    def keep_only(self, blocks: NDArray[np.uint64]) -> None:
        """Remove every vector of other blocks, and all other files of this user.

        If there is no space for those to keep, they go too, and are made again. May raise OSError: then something is
        left that should be gone. Without the lock it is done in memory alone.
        """
        keep = np.flatnonzero(np.isin(self.rows.every["block"], blocks))
        if self._home is None or not self._locked:
            self.stay_in_memory()
            rows, matrix = self.rows.every[keep], self._matrix[keep]
            self._begin("")
            self.rows.grow(rows)
            self._matrix = matrix
            return
        try:
            if len(keep) < len(self.rows) or self._is_false:
                self._renew(keep)
            self._cut_back()
            self._remove_others()
        except OSError:
            self._begin("")
            self._remove_others()
        sync_folder(self._home)

    def _renew(self, keep: NDArray[np.int64]) -> None:
        """Write the next generation, with these of the rows; then the small file that names it."""
        rows, matrix, token = self.rows.every[keep], self._matrix, os.urandom(8).hex()
        for kind in _KINDS:
            with open(self._path(kind, token), "xb", opener=_private) as file:
                for start in range(0, len(keep), AT_ONCE):
                    some = slice(start, start + AT_ONCE)
                    file.write((rows[some] if kind == "rows" else matrix[keep[some]]).tobytes())
        head = {"format": FORMAT, "dimensions": self.dimensions, "generation": token}
        _replace(self._small, orjson.dumps(head), is_synced=True)
        self._begin(token)
        if len(rows):
            rows, self._matrix = self._mapped(len(rows))
            self.rows.grow(rows)
        self._remove_others()

    def _remove_others(self) -> None:
        """Remove whatever is not of this generation. A folder is not ours, and stays."""
        assert self._home is not None
        kinds = (*_KINDS, "near", "mark")
        keep = {self._small.name, *(self._path(kind).name for kind in kinds)} if self.generation else set()
        remove_files(self._home, self._name, keep)


def remove_files(home: Path, name: str, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Remove all files of one user. The lock is held. May raise OSError."""
    for path in home.glob(f"{name}*"):
        if path.name not in keep and (path.is_symlink() or not path.is_dir()):
            path.unlink(missing_ok=True)


@contextmanager
def locked(home: Path | None) -> Iterator[bool]:
    """Hold the lock of an embedder's folder, which is made. False if there is none, or it is not available."""
    if home is None:
        yield False
        return
    lock = -1
    try:
        for folder in (home.parent, home):
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        held = wait_for_lock(lock, TIMEOUT)
    except OSError:
        held = False
    try:
        yield held
    finally:
        if lock >= 0:
            os.close(lock)


def sync_folder(path: Path) -> None:
    """Sync a folder, so that what was removed is gone from the disk too."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _replace(path: Path, *parts: bytes, is_synced: bool = False) -> None:
    """Write a file, and put it in the place of the one before."""
    fresh = path.with_name(f"{path.name}.new")
    with open(fresh, "wb", opener=_private) as file:
        file.writelines(parts)
        if is_synced:
            file.flush()
            os.fsync(file.fileno())
    os.replace(fresh, path)


# -- removing the vectors of what was erased ---------------------------------------------------------------------------

_MARK = "swept"
_NAME = re.compile(r"[0-9a-f]{24}")  # how files of ours begin; others are left alone


def is_swept(folder: Path, erasures: int) -> bool:
    """True if nothing of what was erased so far can be left."""
    if not folder.is_dir():
        return True
    try:
        return (folder / _MARK).read_bytes() == b"%d\n" % erasures
    except FileNotFoundError:
        return erasures == 0
    except OSError:
        return False


def sweep(folder: Path, index: IndexFile, erasures: int) -> None:
    """Keep only the vectors of blocks that the index has. Files of users who have none left are removed."""
    if not folder.is_dir():
        return
    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    try:
        for home in sorted(path for path in folder.iterdir() if path.is_dir()):
            for name in sorted({found[0] for path in home.iterdir() if (found := _NAME.match(path.name))}):
                _sweep_one(home, name, index, users.get(name))
    except OSError as error:
        raise NotWritten(f"cannot remove the vectors of what was erased: {error}") from error
    with suppress(OSError):  # if it cannot be recorded that it is done, it is done again
        _replace(folder / _MARK, b"%d\n" % erasures)


def blocks_of(index: IndexFile, user: str) -> NDArray[np.uint64]:
    """The blocks of a user in the index, as numbers, in order."""
    blocks = (row[0] for row in index.db.execute(sql.BLOCKS_OF, (user,)))
    return np.sort(numbers_of([block for block in blocks if is_plain(block)]))


def _sweep_one(home: Path, name: str, index: IndexFile, user: str | None) -> None:
    head = read_head(home / f"{name}.json")
    if user is None or head is None:
        with locked(home) as is_mine:
            _must_be(is_mine, home)
            remove_files(home, name)
            sync_folder(home)
        return
    file = VectorFile(home.parent, home.name, head["dimensions"], user)
    with file.writing() as is_mine:
        _must_be(is_mine, home)
        file.keep_only(blocks_of(index, user))


def _must_be(is_mine: bool, home: Path) -> None:
    if not is_mine:
        raise OSError(f"{home} is locked by another process, or not writable")


# -- the nearest vectors to a question ---------------------------------------------------------------------------------
# Exactly, as long as that is fast enough, and else through a graph (HNSW). Below `LIMIT` rows every vector is compared.
# Above, usearch keeps a graph of the rows that were added to it. Each search adds some; rows that it does not have
# are compared one by one, so nothing waits to be found. How near a row is comes from its vector, never from the graph,
# and does not depend on its place: rows that are equally near come in the order of their blocks.
# The graph is saved next to the rows when it is complete, and again whenever it has grown by a tenth. Its file begins
# with a check; one that is damaged, or has more rows than there are, or other ones, is rebuilt. Without the package, or
# before the graph is begun, the search is exact at any size.

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
            said = self._graph.save()
            with suppress(OSError):
                _replace(path, _MAGIC + zlib.crc32(said).to_bytes(4, "little"), said)


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
