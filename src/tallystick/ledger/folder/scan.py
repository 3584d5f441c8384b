"""Scanning the files of a chain, see `ledger/scan`; a large one in several processes.

A part of a file begins after a line that ends a group, and gets that line's seq and hash. The part before it must end
with that line, or the file is scanned again by one process: only that one decides what is wrong. The parts are small
and wait in a queue, so that a helper that starts late or is slow does less. Helpers only save time: parts that they do
not return are scanned here. They are new processes and not forks, which are unsafe in a program with threads.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.scan import Place, Roots, Scan, Walk
from tallystick.records.progress import Progress

if TYPE_CHECKING:  # subprocess and pickle are imported where a helper is started
    from subprocess import Popen

BLOCK = 1 << 16  # bytes checked at once: small enough to stay in the processor's cache


def blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes between two offsets, in blocks."""
    while start < end and (block := os.pread(fd, min(BLOCK, end - start), start)):
        start += len(block)
        yield block


def scan(fd: int, start: Place, end: int, *, on_progress: Progress | None = None) -> Scan:
    """Check the lines from `start` up to the offset `end`.

    `start.seq` and `start.hash` are those of the line before. A group that `end` cuts is not an error here.
    """
    return Walk(start).through(blocks(fd, start.offset, end), on_progress)


def scan_path(path: Path, start: Place | None = None) -> Scan:
    """Scan a whole file. Without `start`, its first line is trusted to say what it follows. Raises BadLine."""
    with open(path, "rb") as file:
        start = start or Place.before(fmt.parse(file.readline(fmt.MAX_LINE + 1)))
        return scan(file.fileno(), start, os.fstat(file.fileno()).st_size)


# -- several processes -------------------------------------------------------------------------------------------------

SMALLEST = 8 << 20  # a file below this is not worth a second process
_PART = 4 << 20
_MOST_PARTS = 1000  # their numbers fit into a pipe
_NUMBER_BYTES = 4

_GROUP_END = re.compile(
    rb'\n\{"seq":(\d{1,16}),"ts":"([^"]{27})","op":"[^"]+","id":"[^"]+","by":"[^"]+","batch":(\d{1,16}),"left":0,"digest":"[^"]+"'
    rb',"prev":"[^"]+","hash":"([^"]{64})","data":[^\n]*\n'
)

_HELPER = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from tallystick.ledger.folder.scan import help_out
help_out()
"""


def scan_file(
    path: Path, start: Place, size: int, roots: Roots, processes: int = 1, on_progress: Progress | None = None
) -> Scan:
    """Scan a file up to `size`; its leaves go to `roots`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        is_worth_it = processes > 1 and size >= SMALLEST
        found = _in_parallel(fd, start, size, roots, processes, on_progress) if is_worth_it else None
        return found or Walk(start, roots if roots.any else None).through(
                blocks(fd, start.offset, size), on_progress
            )
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
        return walk.through(blocks(self.fd, self.start.offset, self.end)), own


_Done = dict[int, tuple[Scan, Roots]]


def _in_parallel(
    fd: int, start: Place, size: int, roots: Roots, processes: int, on_progress: Progress | None
) -> Scan | None:
    """Scan a file in parts; None if one is bad or they do not fit together, so that one process has to scan it."""
    parts = [*_parts(fd, start, size)]
    with _queue(len(parts)) as queue, _helpers(processes - 1, parts, queue, roots) as helpers:
        done = _work(parts, queue, roots, on_progress)
        for helper in helpers:
            done |= _handed_in(helper)
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


def _work(parts: Sequence[_Part], queue: int, roots: Roots, on_progress: Progress | None = None) -> _Done:
    """Scan the next part until none is left. Those in between were taken by others, which are as fast."""
    done, reported = _Done(), 0
    while number := os.read(queue, _NUMBER_BYTES):
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
    os.write(writer, b"".join(number.to_bytes(_NUMBER_BYTES) for number in range(count)))
    os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)


@contextmanager
def _helpers(count: int, parts: Sequence[_Part], queue: int, roots: Roots) -> Iterator[list[Popen[bytes]]]:
    """New processes that work on the queue, at most until the block ends."""
    helpers: list[Popen[bytes]] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                helpers.append(_begin_helper(parts, queue, roots))
        yield helpers
    finally:
        for helper in helpers:
            with helper:
                helper.kill()


def _begin_helper(parts: Sequence[_Part], queue: int, roots: Roots) -> Popen[bytes]:
    import pickle
    from subprocess import DEVNULL, PIPE, Popen

    command = [sys.executable, "-I", "-S", "-c", _HELPER]
    helper = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, pass_fds={queue, parts[0].fd})
    with suppress(BrokenPipeError), helper.stdin as stdin:  # type: ignore[union-attr]
        stdin.write(pickle.dumps(sys.path) + pickle.dumps((parts, queue, roots)))
    return helper


def _handed_in(helper: Popen[bytes]) -> _Done:
    import pickle

    try:
        done: _Done = pickle.load(helper.stdout)  # type: ignore[arg-type]
    except (EOFError, pickle.UnpicklingError, OSError):
        return {}
    return done


def help_out() -> None:
    """The main function of a helper."""
    import pickle

    parts, queue, roots = pickle.load(sys.stdin.buffer)
    pickle.dump(_work(parts, queue, roots), sys.stdout.buffer)
