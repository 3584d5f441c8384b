"""Lines in, lines out, each in a thread of its own, so that neither a silent nor a slow peer stops the event loop.

The threads end with the process, whatever they wait for: a server that is told to end ends at once. While a pipe is
open, file descriptor 1 leads to standard error: whatever prints by accident cannot spoil the protocol.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Semaphore, Thread

LONGEST = 64 << 20  # bytes of a line; what is longer is dropped as it comes
TOO_LONG = b"\0"  # stands for such a line
_CHUNK, _AHEAD = 1 << 16, 256  # bytes read at once; lines that may wait
_PATIENCE = 5.0  # seconds for a slow peer to take the last lines


@contextmanager
def own_output() -> Iterator[int]:
    """Standard output for the protocol alone."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


class Lines:
    """What comes in, line by line. No more than a few hundred wait to be taken."""

    def __init__(self, source: int) -> None:
        self._source, self._loop = source, asyncio.get_running_loop()
        self._come: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = Semaphore(_AHEAD)
        Thread(target=self._read, daemon=True, name="tallystick-reads").start()

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        line = await self._come.get()
        self._room.release()
        return line

    def _read(self) -> None:
        for line in split(lambda: os.read(self._source, _CHUNK)):
            self._give(line)
        self._give(None)

    def _give(self, line: bytes | None) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._come.put_nowait, line)
        except RuntimeError:  # the loop has ended, and nobody waits for it
            return


def split(read: Callable[[], bytes]) -> Iterator[bytes]:
    """The lines of what `read` gives, without their ends. The last one may lack its end."""
    parts: list[bytes] = []
    size = 0
    while chunk := _or_nothing(read):
        first, *rest = chunk.split(b"\n")
        for piece in rest:
            yield b"".join([*parts, first]) if size + len(first) <= LONGEST else TOO_LONG
            parts, size, first = [], 0, piece
        size += len(first)
        parts = [*parts, first] if size <= LONGEST else []
    if size:
        yield b"".join(parts) if size <= LONGEST else TOO_LONG


def _or_nothing(read: Callable[[], bytes]) -> bytes:
    """A pipe that breaks is a pipe that ends."""
    try:
        return read()
    except OSError:
        return b""


class Output:
    """What goes out. `gone` is called, once, if there is nobody to take it any more."""

    def __init__(self, sink: int, gone: Callable[[], None]) -> None:
        self._sink, self._gone, self._loop = sink, gone, asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._write, daemon=True, name="tallystick-writes")
        self._thread.start()

    def put(self, line: bytes) -> None:
        self._lines.put(line)

    def end(self) -> None:
        """Give what was put a moment to get through."""
        self._lines.put(None)
        self._thread.join(_PATIENCE)

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
        except OSError:
            try:
                self._loop.call_soon_threadsafe(self._gone)
            except RuntimeError:  # as above
                return
