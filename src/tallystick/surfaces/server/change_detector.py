"""Whether there is anything new in the ledger, whoever wrote it.

The ledger is the only place where anything changes, so a glance at its file (no lock, no reading) tells whether there
is anything to look at. Receipts and snapshots change nothing that is remembered.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.event import Event

_NO_CHANGE = ("receipt.", "snapshot/")


class ChangeDetector:
    """How far the ledger was looked at. All but `is_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self.next = self.place = 0  # the first event that was not looked at; the first after the last change
        self._wal: Path | None = None
        self._seen: tuple[int, ...] = ()

    def begin(self, memory: Memory) -> None:
        """What there is now is not new."""
        self._wal = memory.folder / "events.wal"
        self._seen = _stat(self._wal)
        self.next = self.place = memory.status().events

    def is_due(self) -> bool:
        """Whether there may be something to look at."""
        return self._wal is not None and _stat(self._wal) != self._seen

    def look(self, memory: Memory) -> list[Event]:
        """What changed since the last look. If that raises, all is still to be looked at."""
        now = _stat(self._wal) if self._wal else ()
        news = list(memory.log(self.next))
        if news:
            self.next = news[-1].seq + 1
        changed = [event for event in news if not event.op.startswith(_NO_CHANGE)]
        if changed:
            self.place = self.next
        self._seen = now
        return changed


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
