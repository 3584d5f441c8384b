"""Imports of other memories, folded from events.

    import.take/1  {"user", "ledger": the id of that memory's ledger, "begun": when that began, "made": when it was
                    exported, "whole": whether this memory continues that one}
    import.done/1  {"user", "events": how many were imported}

The events between the two, in one group, were recorded there, and keep their times. Where this memory continues that
one, a time names a place among them as it did there. What is merged from other memories is believed here from the
import on, and not before; so is what the memory that this one continues had merged itself.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from tallystick.records.event import Event
from tallystick.records.operations import IMPORT_DONE, IMPORT_TAKE
from tallystick.records.transfer import IMPORT
from tallystick.state.part import Part


def source_of(memory: str) -> str:
    """The name of another memory as a source, by its ledger's id: the same for every file that it wrote."""
    return IMPORT + sha256(memory.encode("utf-8", "replace")).hexdigest()[:12]


class Zone(NamedTuple):
    """The events of the memory that this one continues: after `began`, up to and including `ended`."""

    began: int = -1
    ended: int = -1
    begun: str = ""  # when that memory began
    ledger: str = ""  # its id

    def holds(self, seq: int) -> bool:
        return self.began < seq <= self.ended


class Taken(Part):
    """The memory that this one continues, which it can do once, at its beginning; and the newest import of each."""

    def clear(self) -> None:
        self._zone: dict[str, Zone] = {"": Zone()}
        self._dated: dict[str, tuple[str, tuple[int, ...]]] = {"": ("", ())}  # of the zone: the last time, and `steps`
        self._made: dict[tuple[str, str], str] = {}  # user, ledger → the time of the newest export
        self._joined: dict[int, tuple[int, str]] = {}  # of the zone: the first event merged there → the last, and when

    @property
    def zone(self) -> Zone:
        return self._zone[""]

    @property
    def steps(self) -> tuple[int, ...]:
        """The events of the zone that are dated before their predecessor."""
        return self._dated[""][1]

    def knows(self, op: str) -> bool:
        return op in (IMPORT_TAKE, IMPORT_DONE)

    def apply(self, event: Event) -> None:
        body, zone = event.body, self.zone
        if body is None:
            return
        if zone.ended == zone.began >= 0 and event.op != IMPORT_DONE:
            last, steps = self._dated[""]
            self._set(self._dated, "", (event.ts, (*steps, event.seq) if event.ts < last else steps))
        if not self.knows(event.op):
            return
        if event.op == IMPORT_TAKE:
            key = (body["user"], body["ledger"])
            self._set(self._made, key, max(body["made"], self._made.get(key, "")))
        if event.op == IMPORT_TAKE and body["whole"] and zone.began < 0:
            self._set(self._zone, "", Zone(event.seq, event.seq, body["begun"], body["ledger"]))
        elif zone.ended == zone.began >= 0:  # the import is under way
            self._apply_inside(event, zone)

    def _apply_inside(self, event: Event, zone: Zone) -> None:
        first, (last, at) = next(reversed(self._joined.items()), (-1, (0, "")))
        if event.op == IMPORT_TAKE:
            self._set(self._joined, event.seq, (-1, event.ts))
        elif last < 0:
            self._set(self._joined, first, (event.seq, at))
        else:
            self._set(self._zone, "", zone._replace(ended=event.seq))

    def joined_at(self, seq: int) -> str:
        """The time at which the memory that this one continues imported that event; empty, if it did not."""
        if not self._joined:
            return ""
        first = max((each for each in self._joined if each <= seq), default=-1)
        last, at = self._joined.get(first, (-1, ""))
        return at if seq <= last else ""

    def through(self, user: str, ledger: str) -> str:
        """The time up to which a user's events of that memory were imported here; empty, if never."""
        return self._made.get((user, ledger), "")

    def dump(self) -> dict[str, Any]:
        return {
            "zone": list(self.zone), "made": [[*key, made] for key, made in self._made.items()],
            "joined": [[first, *rest] for first, rest in self._joined.items()], "dated": self._dated[""],
        }  # fmt: skip

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        if "zone" in dumped:
            self._zone[""] = Zone(*dumped["zone"])
        if "dated" in dumped:
            last, steps = dumped["dated"]
            self._dated[""] = last, tuple(steps)
        self._made.update({(user, ledger): made for user, ledger, made in dumped.get("made", ())})
        self._joined.update({first: (last, at) for first, last, at in dumped.get("joined", ())})
