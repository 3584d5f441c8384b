"""Which resources stand otherwise than at the last look, whoever changed them.

The ledger is the only place where anything changes, so a glance at its file (no lock, no reading) tells whether there
is anything to look at. A page's file follows its ledger a moment later, perhaps written by another process: after every
look in which something had changed comes one more. Receipts and snapshots change nothing that is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from keepsake.records.errors import Refused
from keepsake.surfaces.mcp.resources import PAGES, frame_names, name_in, page_names

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory

LIST = "memory://"  # stands for the list of all resources

_NO_CHANGE = ("receipt.", "snapshot/")


class Changes:
    """How each address stood when it was last looked at. All but `are_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._next = self._place = 0  # the first event that was not looked at; the first after the last change
        self._wal: Path | None = None
        self._seen: tuple[int, ...] = ()
        self._once_more = False

    def are_due(self) -> bool:
        """Whether there may be something to look at."""
        return self._once_more or (self._wal is not None and _stat(self._wal) != self._seen)

    def begin(self, memory: Memory, addresses: Iterable[str], *, anew: bool) -> None:
        """Look at these for the first time; `anew`, if nobody has listened to anything until now."""
        if anew:
            self._wal, self._marks = memory.folder / "events.wal", {}
            self._seen = _stat(self._wal)
            self._next = self._place = memory.status().events
        self._marks |= {address: self._mark(memory, address) for address in addresses}

    def since(self, memory: Memory, wanted: Iterable[str]) -> list[str]:
        """Which of these stand otherwise now."""
        now = _stat(self._wal) if self._wal else ()
        news = list(memory.log(self._next))
        is_changed = any(not event.op.startswith(_NO_CHANGE) for event in news)
        if news:
            self._next = news[-1].seq + 1
        if is_changed:
            self._place = self._next
        marks = dict(self._marks)
        if is_changed or self._once_more:
            marks = {address: self._mark(memory, address) for address in wanted}
        found = [address for address, mark in marks.items() if mark != self._marks.get(address, mark)]
        self._marks, self._seen, self._once_more = marks, now, is_changed
        return found

    def _mark(self, memory: Memory, address: str) -> str:
        """A text that is another one whenever what stands there may be."""
        if address == LIST:
            return _digest("\n".join([*page_names(memory), "", *frame_names(memory)]))
        if name := name_in(address, PAGES):
            return _page_mark(memory, name)
        return str(self._place)  # a frame and the status follow from all that is remembered


def _page_mark(memory: Memory, name: str) -> str:
    try:
        page = memory.pages.read(name, include_superseded=True)
    except Refused:
        return "none"
    entries = "\n".join(f"{entry.id} {entry.superseded_by} {entry.is_retracted}" for entry in page.entries)
    return _digest(f"{entries}\n\n{page.text}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
