"""Checking a long ledger in pieces, side by side.

A piece is a span of whole lines. Whoever checks it takes its first line on trust; the one who puts the pieces together
checks that line himself, with all that came before it at hand, and then takes the rest as found. So the outcome is the
same as that of one walk from the first line to the last, whatever is wrong and wherever the pieces meet.

Helpers are processes of their own, started afresh: that is safe whatever else runs in this one. They are only ever an
acceleration. If one cannot start, or dies, what it did not hand in is checked here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from keepsake.ledger import format as fmt
from keepsake.ledger.leaves import Leaves
from keepsake.ledger.scan import NOWHERE, Place, Progress, Walk

WORTHWHILE = 8 << 20  # bytes below which a helper would come too late
_PIECE = 2 << 20
_MOST_PIECES = 1024
_TOKEN = 4

_BOOT = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from keepsake.ledger.pieces import help_out
help_out()
"""


class Piece(NamedTuple):
    """The lines between two offsets of an open file."""

    fd: int
    start: int
    end: int


def split(sizes: Sequence[tuple[int, int]]) -> list[Piece]:
    """Pieces of about the same length that cover the files `(fd, size)`, each ending with a line."""
    length = max(_PIECE, sum(size for _, size in sizes) // _MOST_PIECES)
    return [piece for fd, size in sizes for piece in _split(fd, size, length)]


def _split(fd: int, size: int, length: int) -> Iterator[Piece]:
    start = 0
    while start < size:
        end = _line_end(fd, start + length, size)
        yield Piece(fd, start, end)
        start = end


def _line_end(fd: int, offset: int, size: int) -> int:
    """The end of the line in which `offset` lies. Where lines have no end, neither has the piece."""
    while offset < size and (block := os.pread(fd, min(fmt.MAX_LINE, size - offset), offset)):
        cut = block.find(b"\n") + 1
        if cut:
            return offset + cut
        offset += len(block)
    return size


def check(piece: Piece, leaves: Leaves | None, progress: Progress | None = None) -> Walk | None:
    """Check what follows the piece's first line; None if that line cannot even be read."""
    raw = first_line(piece)
    try:
        line = fmt.parse(raw)
    except fmt.BadLine:
        return None
    walk = Walk(Place(piece.start + len(raw), line.seq, line.hash), leaves and leaves.behind(line.seq + 1))
    walk.left, walk.batch, walk.found.end = b"%d" % line.left, b"%d" % line.batch, NOWHERE
    walk.through(piece.fd, piece.end, progress)
    return walk


def first_line(piece: Piece) -> bytes:
    block = os.pread(piece.fd, min(fmt.MAX_LINE + 1, piece.end - piece.start), piece.start)
    return block[: block.find(b"\n") + 1] or block


def put_together(walk: Walk, piece: Piece, checked: Walk | None) -> None:
    """Go on with `walk` through a piece, of which everything but the first line was checked apart."""
    raw = first_line(piece)
    if raw.endswith(b"\n"):
        walk.take(raw)
    else:
        walk.refuse(raw)
    if checked is not None and not walk.found.bad:
        walk.join(checked)


def check_all(
    pieces: Sequence[Piece], processes: int, leaves: Leaves | None, progress: Progress | None = None
) -> dict[int, Walk | None]:
    """Check pieces in this process and its helpers; by number. What a helper did not hand in is not among them."""
    with _queue(len(pieces)) as queue, _helpers(processes - 1, pieces, queue, leaves) as helpers:
        done = _work(pieces, queue, leaves, progress)
        for helper in helpers:
            done |= _handed_in(helper)
    return done


def _work(
    pieces: Sequence[Piece], queue: int, leaves: Leaves | None, progress: Progress | None = None
) -> dict[int, Walk | None]:
    """Check whatever piece is next, until none is left. Those in between were taken by others, at about the same time."""
    done, told = dict[int, Walk | None](), 0
    while token := os.read(queue, _TOKEN):
        number = int.from_bytes(token)
        done[number] = check(pieces[number], leaves)
        if progress:
            progress(sum(piece.end - piece.start for piece in pieces[told : number + 1]))
        told = number + 1
    return done


@contextmanager
def _queue(count: int) -> Iterator[int]:
    """A pipe that holds the numbers of all pieces: each number is read by one process only."""
    reader, writer = os.pipe()
    try:
        os.write(writer, b"".join(number.to_bytes(_TOKEN) for number in range(count)))
    finally:
        os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)


@contextmanager
def _helpers(count: int, pieces: Sequence[Piece], queue: int, leaves: Leaves | None) -> Iterator[list[Any]]:
    """Processes that check pieces until the queue is empty. None outlives the block."""
    import pickle
    import subprocess

    helpers = []
    command = [sys.executable, "-I", "-S", "-c", _BOOT]
    work = pickle.dumps(sys.path) + pickle.dumps((pieces, queue, leaves))
    files = {queue, *(piece.fd for piece in pieces)}
    pipe = subprocess.PIPE
    try:
        for _ in range(count):
            with suppress(OSError):
                helpers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, pass_fds=files))
                with helpers[-1].stdin as stdin:  # type: ignore[union-attr]
                    stdin.write(work)
        yield helpers
    finally:
        for helper in helpers:
            helper.kill()
            with helper:
                """Closes its pipes and waits for it."""


def _handed_in(helper: Any) -> dict[int, Walk | None]:
    import pickle

    try:
        found: dict[int, Walk | None] = pickle.load(helper.stdout)
    except (EOFError, pickle.UnpicklingError, OSError):
        return {}
    return found


def help_out() -> None:
    """What a helper does: check pieces until none is left, then hand in what was found."""
    import pickle

    pieces, queue, leaves = pickle.load(sys.stdin.buffer)
    pickle.dump(_work(pieces, queue, leaves), sys.stdout.buffer)
