"""Scanning one file, by one process or by several in parallel.

A part begins after a line that ends a group, and gets that line's seq and hash. The part before it must end with that
line, or the file is scanned again by one process: only that one decides what is wrong.

The parts are small and wait in a queue, so that a helper that starts late or is slow does less. Helpers only save time:
parts that they do not return are scanned here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.merkle import Range
from tallystick.ledger.scan import Place, Scan, Walk
from tallystick.records.progress import Progress

if TYPE_CHECKING:  # subprocess and pickle are imported where a helper is started
    from subprocess import Popen

SMALLEST = 8 << 20  # a file below this is not worth a second process
_PART = 4 << 20
_MOST_PARTS = 1000  # their numbers fit into a pipe
_NUMBER = 4
_MOST = 1 << 63

_GROUP_END = re.compile(
    rb'\n\{"seq":(\d{1,16}),"ts":"([^"]{27})","op":"[^"]+","id":"[^"]+","by":"[^"]+","batch":(\d{1,16}),"left":0,"digest":"[^"]+"'
    rb',"prev":"[^"]+","hash":"([^"]{64})","data":[^\n]*\n'
)

_FRESH = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from tallystick.ledger.parallel_scan import help_out
help_out()
"""


class Roots:
    """The Merkle tree as far as needed, and its roots at the sizes in `wanted`.

    `base` is the tree of the events before, if they were not read, and `snapshot` the digest of the snapshot it is
    from.
    """

    def __init__(
        self, begin: int, wanted: Iterable[int], *, all: bool = False, base: Range | None = None, snapshot: str = ""
    ) -> None:
        self.range, self.all, self.snapshot = base.copy() if base else Range(begin), all, snapshot
        self.wanted = sorted(size for size in set(wanted) if size > self.range.end)
        self.until = _MOST if all else max(self.wanted, default=0)
        self.marks: dict[int, Range] = {}

    @property
    def any(self) -> bool:
        return self.all or bool(self.wanted)

    @property
    def end(self) -> int:
        return self.range.end

    def behind(self, begin: int) -> Roots:
        """The same for events from `begin` on, to be merged into this one later."""
        return Roots(max(begin, self.range.end), self.wanted, all=self.all)

    def extend(self, leaves: Sequence[bytes]) -> None:
        at = 0
        for size in self.wanted:
            if self.range.end < size <= self.range.end + len(leaves) - at:
                stop = at + size - self.range.end
                self.range.extend(leaves[at:stop])
                self.marks[size] = self.range.copy()
                at = stop
        self.range.extend(leaves[at:])

    def merge(self, other: Roots) -> None:
        """Add the result of the next part."""
        for size, part in other.marks.items():
            whole = self.range.copy()
            whole.merge(part)
            self.marks[size] = whole
        if other.range.begin == self.range.end:
            self.range.merge(other.range)

    def at(self, size: int) -> bytes | None:
        """The root of the first `size` events, if that was wanted and is known."""
        mark = self.marks.get(size)
        return mark.root() if mark and mark.begin == 0 else None

    def at_end(self, size: int) -> bytes | None:
        """The root of the first `size` events, if the tree ends there."""
        return self.range.root() if self.any and self.range.begin == 0 and self.range.end == size else None


def scan_file(
    path: Path, start: Place, size: int, roots: Roots, processes: int = 1, on_progress: Progress | None = None
) -> Scan:
    """Scan a file up to `size`; its leaves go to `roots`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        is_worth_it = processes > 1 and size >= SMALLEST
        found = _in_parallel(fd, start, size, roots, processes, on_progress) if is_worth_it else None
        return found or Walk(start, roots if roots.any else None).through(fd, size, on_progress)
    finally:
        os.close(fd)


class _Part(NamedTuple):
    """The lines between two places of an open file. The batch is that of the line before."""

    fd: int
    start: Place
    batch: bytes
    end: int

    def scan(self, roots: Roots) -> tuple[Scan, Roots]:
        own = roots.behind(self.start.seq + 1)
        walk = Walk(self.start, own if own.any else None)
        walk.batch = self.batch
        return walk.through(self.fd, self.end), own


_Done = dict[int, tuple[Scan, Roots]]


def _in_parallel(
    fd: int, start: Place, size: int, roots: Roots, processes: int, on_progress: Progress | None
) -> Scan | None:
    """Scan a file in parts; None if one is bad or they do not fit together, so that one process has to scan it."""
    parts = [*_parts(fd, start, size)]
    with _queue(len(parts)) as queue, _helpers(processes - 1, parts, queue, roots) as helpers:
        done = _work(parts, queue, roots, on_progress)
        for helper in helpers:
            done |= helper.handed_in()
    whole, every = Scan(start), list[Roots]()
    for number, part in enumerate(parts):
        found, leaves = done.get(number) or part.scan(roots)
        if found.bad or whole.end != part.start:
            return None
        _add(whole, found)
        every.append(leaves)
    for leaves in every:
        roots.merge(leaves)
    return whole


def _parts(fd: int, start: Place, size: int) -> Iterator[_Part]:
    batch, length = b"", max(_PART, size // _MOST_PARTS)
    for near in range(start.offset + length, size, length):
        if near > start.offset and (cut := _cut(fd, near, size)):
            yield _Part(fd, start, batch, cut[0].offset)
            start, batch = cut
    yield _Part(fd, start, batch, size)


def _cut(fd: int, near: int, size: int) -> tuple[Place, bytes] | None:
    """A place after a line that ends a group, beyond `near`, and that line's batch."""
    reach = 1 << 15
    while reach <= 4 * fmt.MAX_LINE:
        block = os.pread(fd, min(reach, size - near), near)
        if (found := _GROUP_END.search(block)) and near + found.end() < size:
            seq, ts, batch, hashed = found.groups()
            text = [each.decode(errors="replace") for each in (hashed, ts)]
            return Place(near + found.end(), int(seq), *text), batch
        reach *= 4
    return None


def _add(whole: Scan, part: Scan) -> None:
    whole.end, whole.open_group = part.end, part.open_group
    whole.lines += part.lines
    whole.hollow |= part.hollow
    whole.garbled |= part.garbled
    whole.named |= part.named
    whole.notes += part.notes
    whole.snapshot = part.snapshot or whole.snapshot


def _work(parts: Sequence[_Part], queue: int, roots: Roots, on_progress: Progress | None = None) -> _Done:
    """Scan the next part until none is left. Those in between were taken by others, which are as fast."""
    done, reported = _Done(), 0
    while number := os.read(queue, _NUMBER):
        at = int.from_bytes(number)
        done[at] = parts[at].scan(roots)
        if on_progress:
            on_progress(sum(part.end - part.start.offset for part in parts[reported : at + 1]))
            reported = at + 1
    return done


@contextmanager
def _queue(count: int) -> Iterator[int]:
    """A pipe that holds the numbers of all parts. Each number is read by one process only."""
    reader, writer = os.pipe()
    os.write(writer, b"".join(number.to_bytes(_NUMBER) for number in range(count)))
    os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)


class _Helper:
    """A process that scans parts, and the pipe for its results."""

    def __init__(self, pipe: int, pid: int, process: Popen[bytes] | None = None) -> None:
        self._pipe, self._pid, self._process = pipe, pid, process

    def handed_in(self) -> _Done:
        import pickle

        try:
            with open(self._pipe, "rb", closefd=False) as file:
                done: _Done = pickle.load(file)
        except (EOFError, pickle.UnpicklingError, OSError):
            return {}
        return done

    def end(self) -> None:
        os.close(self._pipe)
        os.kill(self._pid, 9)  # at least a zombie until we wait for it: its id cannot belong to another process
        if self._process:
            self._process.wait()
        else:
            os.waitpid(self._pid, 0)


@contextmanager
def _helpers(count: int, parts: Sequence[_Part], queue: int, roots: Roots) -> Iterator[list[_Helper]]:
    """Helpers that work on the queue, at most until the block ends."""
    helpers, begin = list[_Helper](), _fork if _may_fork() else _begin_afresh
    try:
        for _ in range(count):
            with suppress(OSError):
                helpers.append(begin(parts, queue, roots))
        yield helpers
    finally:
        for helper in helpers:
            helper.end()


def _may_fork() -> bool:
    """True if a fork, at a tenth of the cost of a new process, is safe: no other thread can hold a lock."""
    return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1


def _fork(parts: Sequence[_Part], queue: int, roots: Roots) -> _Helper:
    import pickle

    reader, writer = os.pipe()
    if pid := os.fork():
        os.close(writer)
        return _Helper(reader, pid)
    try:
        with open(writer, "wb") as file:
            pickle.dump(_work(parts, queue, roots), file)
    finally:
        os._exit(0)


def _begin_afresh(parts: Sequence[_Part], queue: int, roots: Roots) -> _Helper:
    import pickle
    import subprocess

    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _FRESH],
            stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.DEVNULL, pass_fds={queue, parts[0].fd},
        )  # fmt: skip
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    with suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
        stdin.write(pickle.dumps(sys.path) + pickle.dumps((parts, queue, roots)))
    return _Helper(reader, process.pid, process)


def help_out() -> None:
    """The main function of a helper that is a new process."""
    import pickle

    parts, queue, roots = pickle.load(sys.stdin.buffer)
    pickle.dump(_work(parts, queue, roots), sys.stdout.buffer)
