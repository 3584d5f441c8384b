"""What was taken in from another memory, folded from events.

    import.take/1  {"user", "ledger": the memory it was recorded in, "begun": when that began, "made": when it was
                    written down, "events": how many follow in the same group, "whole": whether nothing was here before}

The events that follow keep the times they had. Where nothing was here before, a time names a place among them as it did
there; what is taken in beside other memories was held here from that moment on, and not before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keepsake.records.event import Event
from keepsake.records.undo import Undoable

TAKE = "import.take/1"


class Zone(NamedTuple):
    """The events of the memory that this one goes on from: after `began`, up to and with `ended`."""

    began: int = -1
    ended: int = -1
    begun: str = ""  # when that memory began

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and self.began < seq <= self.ended


class Taken(Undoable):
    """Where this memory goes on from another. It can do so once, at its beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._zone: dict[str, Zone] = {"": Zone()}

    @property
    def zone(self) -> Zone:
        return self._zone[""]

    def knows(self, op: str) -> bool:
        return op == TAKE

    def apply(self, event: Event) -> None:
        body = event.body
        if event.op == TAKE and body is not None and body["whole"] and self.zone.began < 0:
            self._set(self._zone, "", Zone(event.seq, event.seq + body["events"], body["begun"]))

    def dump(self) -> dict[str, Any]:
        return {"zone": list(self.zone)}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        if "zone" in dumped:
            self._zone[""] = Zone(*dumped["zone"])
