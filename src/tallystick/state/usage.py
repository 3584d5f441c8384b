"""What became of memories after they were said, folded from events: what was served, and what has faded.

What is kept is what a decision or a question needs: which episodes are out of recall, and in which events the receipts
are. A receipt's own words stay in the ledger; here an event of thirty receipts is two names, since ids are drawn in the
order of time. An event that holds a question is kept with what it served, because an erasure of that takes it along.
"""

from __future__ import annotations

from sys import intern
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.records.operations import EPISODE_FADE, ERASE, OUTCOME_PUT, RECEIPT_PUT
from tallystick.records.receipt import has_words
from tallystick.state.transaction import Transactional


class _Group(NamedTuple):
    """The receipts of one event."""

    user: str
    first: str  # the least of their ids
    last: str  # and the greatest
    served: tuple[str, ...] = ()  # what they served, if a question is kept with them


class Uses(Transactional):
    """Which episodes have faded, and where receipts are."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._faded: dict[str, None] = {}  # sources
        self._groups: dict[int, _Group] = {}  # by the event's seq

    def knows(self, op: str) -> bool:
        return op in (RECEIPT_PUT, OUTCOME_PUT, EPISODE_FADE)

    def apply(self, event: Event) -> None:
        body = event.body
        if body is None:
            return
        if event.op == RECEIPT_PUT and body["receipts"]:
            self._set(self._groups, event.seq, _group(body["receipts"]))
        elif event.op == EPISODE_FADE:
            for source in body["ids"]:
                self._set(self._faded, source, None)
        elif event.op == ERASE:
            self._erase(set(body.get("ids", ())))

    def _erase(self, gone: set[str]) -> None:
        """As if the ledger were read anew: what names something erased, and held words of somebody's own, is empty."""
        for source in gone:
            self._drop(self._faded, source)
        for seq, group in list(self._groups.items()):
            if not gone.isdisjoint(group.served) or any(group.first <= name <= group.last for name in gone):
                self._drop(self._groups, seq)

    # -- asking ------------------------------------------------------------------------------------------------------

    def is_faded(self, source: str) -> bool:
        return source in self._faded

    def where(self, receipt: str) -> list[int]:
        """The events that may hold the receipt of that id, the newest first; nearly always one, or none."""
        return [seq for seq in self._newest_first() if self._groups[seq].first <= receipt <= self._groups[seq].last]

    def receipts_of(self, user: str) -> list[int]:
        """The events that hold receipts of that user, the newest first."""
        return [seq for seq in self._newest_first() if self._groups[seq].user == user]

    def _newest_first(self) -> list[int]:
        return sorted(self._groups, reverse=True)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {"faded": list(self._faded), "receipts": [[seq, *group] for seq, group in self._groups.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._faded.update(dict.fromkeys(dumped.get("faded", ())))
        for seq, user, first, last, served in dumped.get("receipts", ()):
            self._groups[seq] = _Group(intern(user), first, last, tuple(served))


def _group(receipts: list[dict[str, Any]]) -> _Group:
    names = [receipt["id"] for receipt in receipts]
    served = {name: None for receipt in receipts if has_words(receipt) for name, *_ in receipt["hits"]}
    return _Group(intern(receipts[0].get("user", OWNER)), min(names), max(names), tuple(served))
