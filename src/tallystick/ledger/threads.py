"""Who may come in: one thread at a time, in the process that opened the ledger, as long as it is open.

A forked child shares files and locks with its parent, and must open the ledger anew. Closing waits for whoever is in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tallystick.ledger.layout import Folder
from tallystick.records.errors import Closed


class _Owner(Protocol):
    folder: Folder
    dead: str


class Gate:
    """What every call passes through. A class of its own because each write does, and a generator costs more."""

    def __init__(self, owner: _Owner) -> None:
        self._owner, self._thread, self._pid = owner, threading.RLock(), os.getpid()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()

    def enter(self) -> None:
        if os.getpid() != self._pid:
            raise Closed(f"{self._owner.folder.root} was opened before a fork; open it again in this process", "forked")
        self._thread.acquire()
        if self._owner.dead:
            self._thread.release()
            raise Closed(self._owner.dead)

    def leave(self) -> None:
        self._thread.release()

    def is_mine(self) -> bool:
        """Whether this process made it, and not one that it was forked from."""
        return os.getpid() == self._pid

    @contextmanager
    def last(self) -> Iterator[None]:
        """For closing: wait for whoever is in. A forked child has nobody to wait for."""
        if not self.is_mine():
            yield
            return
        with self._thread:
            yield
