"""Which resources stand otherwise than at the last look, whoever changed them.

A glance at the ledger tells whether there is anything to look at. A page's file follows its ledger a moment later,
perhaps written by another process: after every look in which something had changed comes one more.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

from tallystick.records.errors import Refused
from tallystick.surfaces.mcp.resources import PAGES, frame_names, name_in, page_names
from tallystick.surfaces.server.changes import ChangeDetector

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

LIST = "memory://"  # stands for the list of all resources


class Changes:
    """How each address stood when it was last looked at. All but `are_due` belongs to the memory's thread."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._glance = ChangeDetector()
        self._once_more = False

    def are_due(self) -> bool:
        """Whether there may be something to look at."""
        return self._once_more or self._glance.is_due()

    def begin(self, memory: Memory, addresses: Iterable[str], *, again: bool) -> None:
        """Look at these for the first time; `anew`, if nobody has listened to anything until now."""
        if again:
            self._marks = {}
            self._glance.begin(memory)
        self._marks |= {address: self._mark(memory, address) for address in addresses}

    def since(self, memory: Memory, wanted: Iterable[str]) -> list[str]:
        """Which of these stand otherwise now."""
        is_changed = bool(self._glance.look(memory))
        marks = dict(self._marks)
        if is_changed or self._once_more:
            marks = {address: self._mark(memory, address) for address in wanted}
        found = [address for address, mark in marks.items() if mark != self._marks.get(address, mark)]
        self._marks, self._once_more = marks, is_changed
        return found

    def _mark(self, memory: Memory, address: str) -> str:
        """A text that is another one whenever what stands there may be."""
        if address == LIST:
            return _digest("\n".join([*page_names(memory), "", *frame_names(memory)]))
        if name := name_in(address, PAGES):
            return _page_mark(memory, name)
        return str(self._glance.place)  # a frame and the status follow from all that is remembered


def _page_mark(memory: Memory, name: str) -> str:
    try:
        page = memory.pages.read(name, include_superseded=True)
    except Refused:
        return "none"
    entries = "\n".join(f"{entry.id} {entry.superseded_by} {entry.is_retracted}" for entry in page.entries)
    return _digest(f"{entries}\n\n{page.text}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
