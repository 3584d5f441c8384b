"""`Gate`: one thread at a time, in the process that opened a ledger."""

from __future__ import annotations

import os
import threading
from typing import Protocol

from tallystick.records.errors import Closed


class GateOwner(Protocol):
    """A ledger as its gate sees it."""

    dead: str  # why it cannot be used any more

    @property
    def place(self) -> str:
        """Where it is, for a message."""


class Gate:
    """One thread at a time, in the process that opened the ledger, as long as it is open.

    A forked child shares files, locks and connections with its parent, and must open the ledger again. A class of its
    own because each write passes it, and a generator costs more.
    """

    def __init__(self, owner: GateOwner) -> None:
        self._owner, self.thread, self._pid = owner, threading.RLock(), os.getpid()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()

    def enter(self) -> None:
        if os.getpid() != self._pid:
            raise Closed(f"{self._owner.place} was opened before a fork; open it again in this process", "forked")
        self.thread.acquire()
        if self._owner.dead:
            self.thread.release()
            raise Closed(self._owner.dead)

    def leave(self) -> None:
        self.thread.release()

    def is_mine(self) -> bool:
        """True if this process made it, and not one that it was forked from."""
        return os.getpid() == self._pid
