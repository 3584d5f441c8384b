"""The vectors of one user's blocks by one embedder, in files beside the index.

    vectors/<embedder's key>/<user>.json         which generation counts, how far it reads, which erasures it knows of
                             <user>-<n>.rows     16 bytes for each vector: its block, and which part of it
                             <user>-<n>.f32      the vectors themselves, in the same order

Rows are only ever added at the end; a row counts when both files hold it whole. Taking rows away writes the next
generation and then the small file that names it, in one step. So a crash leaves the rows that were there, or some that
are embedded once more and passed over; it cannot leave a vector with another block's name.

Whatever cannot be read is begun anew: vectors are made from the index, and say nothing that it does not. Where nothing
can be written, they are held in memory alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

ROW = np.dtype([("block", "<u8"), ("part", "<u4"), ("spare", "<u4")])
_ID = 16  # hexadecimal digits of a block's id
_SHORT = 24


class VectorFile:
    """All vectors of one user by one embedder. `folder` is None where nothing may be written."""

    def __init__(self, folder: Path | None, key: str, dimensions: int, user: str) -> None:
        self.key, self.dimensions = key, dimensions
        self._home = None if folder is None else folder / key
        self._name = file_name(user)
        self._order: NDArray[np.int64] | None = None
        self._begin_empty()
        self.read()

    def _begin_empty(self) -> None:
        self.generation, self.reads_to, self.last_block, self.erasures = 0, 0, "", -1
        self.rows: NDArray[Any] = np.zeros(0, dtype=ROW)
        self.matrix: NDArray[np.float32] = np.zeros((0, self.dimensions), dtype=np.float32)
        self._order = None

    def __len__(self) -> int:
        return len(self.rows)

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Take in what others added. Cheap if there is nothing new."""
        if self._home is None:
            return
        head = self._head()
        if head is None:
            if self._on_disk:
                self._begin_empty()
            return
        if head["generation"] != self.generation:
            self._begin_empty()
        self.generation, self.reads_to = head["generation"], head["reads_to"]
        self.last_block, self.erasures = head["last_block"], head["erasures"]
        count = min(_size(self._path("rows")) // ROW.itemsize, _size(self._path("f32")) // (4 * self.dimensions))
        if count > len(self.rows) or (count and count != len(self.rows)):
            self._map(count)

    @property
    def _on_disk(self) -> bool:
        return isinstance(self.matrix, np.memmap)

    def _map(self, count: int) -> None:
        self.rows = np.fromfile(self._path("rows"), dtype=ROW, count=count)
        self.matrix = np.memmap(self._path("f32"), dtype="<f4", mode="r", shape=(count, self.dimensions))
        self._order = None

    def _head(self) -> dict[str, Any] | None:
        """The small file, if it says what it should."""
        try:
            head = orjson.loads(self._small.read_bytes())
            return head if head["dimensions"] == self.dimensions and head["format"] == 1 else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def _small(self) -> Path:
        assert self._home is not None
        return self._home / f"{self._name}.json"

    def _path(self, kind: str, generation: int | None = None) -> Path:
        assert self._home is not None
        return self._home / f"{self._name}-{self.generation if generation is None else generation}.{kind}"

    # -- finding -----------------------------------------------------------------------------------------------------

    def where(self, blocks: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """The rows of these blocks, part by part; a block that has none is left out."""
        if not len(self.rows):
            return {}
        if self._order is None:
            self._order = np.argsort(self.rows["block"], kind="stable")
            self._sorted = self.rows["block"][self._order]
        wanted = [block for block in blocks if is_plain(block)]
        numbers = np.array([int(block, 16) for block in wanted], dtype=np.uint64)
        first, last = np.searchsorted(self._sorted, numbers), np.searchsorted(self._sorted, numbers, side="right")
        return {
            block: self._order[start:end]
            for block, start, end in zip(wanted, first.tolist(), last.tolist(), strict=True)
            if end > start
        }

    def blocks_at(self, rows: NDArray[np.int64]) -> list[str]:
        """Which blocks some rows belong to."""
        return [f"{number:016x}" for number in self.rows["block"][rows].tolist()]

    # -- adding and taking away --------------------------------------------------------------------------------------

    def add(self, blocks: Sequence[str], parts: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Add vectors at the end. What cannot be written down is held in memory, and made again another time."""
        fresh = np.zeros(len(blocks), dtype=ROW)
        fresh["block"] = [int(block, 16) for block in blocks]
        fresh["part"] = parts
        if self._home is not None and (self._on_disk or not len(self.rows)):
            try:
                self._write(fresh, vectors)
                return
            except OSError:
                pass
        self.rows = np.concatenate([self.rows, fresh])
        self.matrix = np.concatenate([np.asarray(self.matrix), vectors])
        self._order = None

    def _write(self, fresh: NDArray[Any], vectors: NDArray[np.float32]) -> None:
        """At the end of both files; half a row that a crash left is cut off first. The caller holds the lock."""
        count = len(self.rows)
        for kind, size, data in (("f32", 4 * self.dimensions, vectors), ("rows", ROW.itemsize, fresh)):
            with open(self._path(kind), "ab", opener=_private) as file:
                file.truncate(count * size)
                file.seek(0, os.SEEK_END)
                file.write(np.ascontiguousarray(data).tobytes())
        self._map(count + len(fresh))

    def note(self, *, reads_to: int, last_block: str, erasures: int) -> None:
        """How far these vectors read: up to that row of the index, which is that block."""
        self.reads_to, self.last_block, self.erasures = reads_to, last_block, erasures
        if self._home is None or (len(self.rows) and not self._on_disk):
            return
        with suppress(OSError):
            self._write_small()

    def _write_small(self) -> None:
        head = {
            "format": 1, "dimensions": self.dimensions, "generation": self.generation, "reads_to": self.reads_to,
            "last_block": self.last_block, "erasures": self.erasures,
        }  # fmt: skip
        fresh = self._small.with_suffix(f".{os.getpid()}")
        with open(fresh, "wb", opener=_private) as file:
            file.write(orjson.dumps(head))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._small)

    def keep_only(self, blocks: Collection[str]) -> None:
        """Take away the vectors of every other block, in a new generation; the old files go. May raise OSError."""
        held = np.array(sorted(int(block, 16) for block in blocks if is_plain(block)), dtype=np.uint64)
        keep = np.isin(self.rows["block"], held)
        rows, matrix, before = self.rows[keep], np.array(self.matrix[keep]), self.generation
        self.rows, self.matrix, self._order = rows, matrix, None
        if self._home is None:
            return
        self.generation = before + 1
        self.rows, self.matrix = np.zeros(0, dtype=ROW), np.zeros((0, self.dimensions), dtype=np.float32)
        for kind in ("rows", "f32"):
            self._path(kind).unlink(missing_ok=True)  # an earlier try that a crash ended
        if len(rows):
            self._write(rows, matrix)
        self.reads_to, self.last_block = 0, ""
        self._write_small()
        self._remove_others()

    def _remove_others(self) -> None:
        assert self._home is not None
        keep = {self._path(kind).name for kind in ("rows", "f32", "near")} | {self._small.name, "lock"}
        for path in self._home.glob(f"{self._name}*"):
            if path.name not in keep:
                path.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One who adds at a time; what others added meanwhile is read first."""
        if self._home is None:
            yield
            return
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # nothing may be written here: in memory, then
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.read()
            yield
        finally:
            os.close(lock)

    def near_path(self) -> Path | None:
        """Where the nearest-neighbour file of this generation belongs."""
        return None if self._home is None else self._path("near")


def file_name(user: str) -> str:
    """What a user's files are called: names of people may hold anything, and folders do not take everything."""
    return sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]


def is_plain(block: str) -> bool:
    """Whether a block's id fits into a row. One whose address collided has a longer one, and is found by its words."""
    return len(block) == _ID


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
