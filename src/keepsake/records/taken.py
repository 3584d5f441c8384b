"""What was taken in from another memory, folded from events.

    import.take/1  {"user", "ledger": the memory it was recorded in, "begun": when that began, "made": when it was
                    written down, "whole": whether this memory goes on from that one}
    import.done/1  {"user", "events": how many were taken in}

What stands between the two, in one group, was recorded there, and keeps the times that it had. Where this memory goes
on from that one, a time names a place among them as it did there. What is taken in beside other memories was held here
from that moment on, and not before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keepsake.records.event import Event
from keepsake.records.undo import Undoable

TAKE = "import.take/1"
DONE = "import.done/1"


class Zone(NamedTuple):
    """The events of the memory that this one goes on from: after `began`, up to and with `ended`."""

    began: int = -1
    ended: int = -1
    begun: str = ""  # when that memory began
    ledger: str = ""  # its name
    last: str = ""  # when the last of them was recorded there
    steps: tuple[int, ...] = ()  # those that are dated before the one above

    def holds(self, seq: int) -> bool:
        return self.began < seq <= self.ended


def _with(zone: Zone, event: Event) -> Zone:
    """The same, with one more event."""
    if event.op == DONE:
        return zone._replace(ended=event.seq)
    steps = (*zone.steps, event.seq) if event.ts < zone.last else zone.steps
    return zone._replace(last=event.ts, steps=steps)


class Taken(Undoable):
    """Where this memory goes on from another, which it can do once, at its beginning; and how much of which it has."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._zone: dict[str, Zone] = {"": Zone()}
        self._made: dict[tuple[str, str], str] = {}  # user, ledger → when the newest file of it was written

    @property
    def zone(self) -> Zone:
        return self._zone[""]

    def knows(self, op: str) -> bool:
        return op in (TAKE, DONE)

    def apply(self, event: Event) -> None:
        body, zone = event.body, self.zone
        if body is None:
            return
        if event.op == TAKE:
            key = (body["user"], body["ledger"])
            self._set(self._made, key, max(body["made"], self._made.get(key, "")))
        if event.op == TAKE and body["whole"] and zone.began < 0:
            self._set(self._zone, "", Zone(event.seq, event.seq, body["begun"], body["ledger"]))
        elif zone.ended == zone.began >= 0:
            self._set(self._zone, "", _with(zone, event))

    def through(self, user: str, ledger: str) -> str:
        """Up to when all that was recorded of a user in that memory has been looked at here; nothing, if never."""
        return self._made.get((user, ledger), "")

    def dump(self) -> dict[str, Any]:
        return {"zone": list(self.zone), "made": [[*key, made] for key, made in self._made.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        if "zone" in dumped:
            self._zone[""] = Zone(*dumped["zone"])
        self._made.update({(user, ledger): made for user, ledger, made in dumped.get("made", ())})
