"""The use of memories, folded from events: where the receipts are, and which episodes were archived.

A receipt's own content stays in the ledger; here an event of thirty receipts is two ids, since ids are made in the
order of time. An event that holds a question is kept with what it served, because an erasure of that erases it too.
"""

from __future__ import annotations

from sys import intern
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.records.operations import EPISODE_FADE, ERASE, OUTCOME_PUT, RECEIPT_PUT
from tallystick.records.receipt import has_words
from tallystick.state.part import Part, follows


class _Group(NamedTuple):
    """The receipts of one event."""

    user: str
    first: str  # the least of their ids
    last: str  # and the greatest
    served: tuple[str, ...] = ()  # the ids that they served, if a question is kept with them


class Uses(Part):
    """The archived episodes, and the events with receipts."""

    def clear(self) -> None:
        self._faded: dict[str, None] = {}  # sources
        self._groups: dict[int, _Group] = {}  # by the event's seq

    @follows(RECEIPT_PUT)
    def _receive(self, event: Event, body: dict[str, Any]) -> None:
        receipts: list[dict[str, Any]] = body["receipts"]
        if receipts:
            names = [receipt["id"] for receipt in receipts]
            served = {name: None for receipt in receipts if has_words(receipt) for name, *_ in receipt["hits"]}
            user = intern(receipts[0].get("user", OWNER))
            self._set(self._groups, event.seq, _Group(user, min(names), max(names), tuple(served)))

    @follows(OUTCOME_PUT)
    def _outcome(self, event: Event, body: dict[str, Any]) -> None:
        """Counted by the index alone."""

    @follows(EPISODE_FADE)
    def _fade(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"]:
            self._set(self._faded, source, None)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        """As if the ledger were read again: receipts with text about something erased are empty."""
        gone = set(body.get("ids", ()))
        for source in gone:
            self._drop(self._faded, source)
        for seq, group in list(self._groups.items()):
            if not gone.isdisjoint(group.served) or any(group.first <= name <= group.last for name in gone):
                self._drop(self._groups, seq)

    def is_faded(self, source: str) -> bool:
        return source in self._faded

    def where(self, receipt: str) -> list[int]:
        """The events that may hold the receipt of that id, the newest first; nearly always one, or none."""
        found = (seq for seq, group in self._groups.items() if group.first <= receipt <= group.last)
        return sorted(found, reverse=True)

    def receipts_of(self, user: str) -> list[int]:
        """The events that hold receipts of that user, the newest first."""
        return sorted((seq for seq, group in self._groups.items() if group.user == user), reverse=True)

    def dump(self) -> dict[str, Any]:
        return {"faded": list(self._faded), "receipts": [[seq, *group] for seq, group in self._groups.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._faded.update(dict.fromkeys(dumped.get("faded", ())))
        for seq, user, first, last, served in dumped.get("receipts", ()):
            self._groups[seq] = _Group(intern(user), first, last, tuple(served))
