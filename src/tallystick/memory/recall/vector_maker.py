"""Vectors made in the background, so that no question waits for them.

One thread in one process makes the vectors of a folder, some at a time, and ends when nothing is missing; a lock on
`vectors/making` keeps others out. Between two batches it lets everybody read and write. Whatever stops it (the memory
is closed, the process is killed, the embedder fails), what it made is kept, and the next question starts it again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tallystick.projections.database import wait_for_lock
from tallystick.records.errors import TallystickError

_TIMEOUT = 10.0  # seconds in which a batch should end


class VectorMaker:
    """Makes the vectors of some users of one folder. `make` makes some, and returns 0 when none are missing."""

    def __init__(self, folder: Path | None, make: Callable[[str], int]) -> None:
        self._folder, self._make = folder, make
        self._lock, self._is_stopped = threading.Lock(), threading.Event()
        self._users: dict[str, None] = {}
        self._thread: threading.Thread | None = None

    def start(self, user: str) -> None:
        """Make the vectors of that user, too."""
        with self._lock:
            self._users[user] = None
            if self._thread is None or not self._thread.is_alive():
                self._is_stopped.clear()
                self._thread = threading.Thread(target=self._run, name="tallystick-vectors", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop after the batch that is being made."""
        self._is_stopped.set()
        with self._lock:
            self._users.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_TIMEOUT)

    def _run(self) -> None:
        with making(self._folder) as is_mine:
            while user := self._next(is_mine):
                try:
                    is_more = self._make(user) > 0
                except (TallystickError, OSError, sqlite3.Error):
                    is_more = False
                if not is_more:
                    self._users.pop(user, None)

    def _next(self, is_mine: bool) -> str:
        """The user whose turn it is; empty, when this thread ends."""
        with self._lock:
            if self._users and is_mine and not self._is_stopped.is_set():
                return next(iter(self._users))
            self._users.clear()
            self._thread = None
            return ""


@contextmanager
def making(folder: Path | None, timeout: float = 0.0) -> Iterator[bool]:
    """True, if nobody else makes vectors in this folder, or nothing can be written there: then they are in memory."""
    lock = -1
    try:
        if folder is not None:
            folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(folder / "making", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        is_mine = lock < 0 or wait_for_lock(lock, timeout)
    except OSError:
        is_mine = True
    try:
        yield is_mine
    finally:
        if lock >= 0:
            os.close(lock)
