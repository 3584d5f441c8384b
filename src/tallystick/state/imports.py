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
from typing import NamedTuple

from tallystick.records.event import Event
from tallystick.records.operations import IMPORT_DONE, IMPORT_TAKE
from tallystick.records.transfer import IMPORT
from tallystick.state.tables import TUPLE, Part, Table, Tables, codec_of, ordinal


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

    def declare(self, tables: Tables) -> None:
        self._zone: Table[Zone] = tables.table("import.zone", codec_of(Zone))  # one row, by ""
        self._last: Table[str] = tables.table("import.last")  # the last time in the zone, by ""
        self._steps: Table[int] = tables.table("import.step")  # the events of the zone dated before their predecessor
        self._made: Table[str] = tables.table("import.made")  # (user, ledger) → the time of the newest export
        # What was merged there: the first event, the last, and when.
        self._joined: Table[tuple[int, int, str]] = tables.table("import.joined", TUPLE)

    @property
    def zone(self) -> Zone:
        return self._zone.get("") or Zone()

    @property
    def steps(self) -> tuple[int, ...]:
        """The events of the zone that are dated before their predecessor."""
        return tuple(self._steps.values())

    def knows(self, op: str) -> bool:
        return op in (IMPORT_TAKE, IMPORT_DONE)

    def watch(self, event: Event) -> None:
        body, zone, is_known = event.body, self._zone.get(""), event.op in (IMPORT_TAKE, IMPORT_DONE)
        if body is None or (zone is None and not is_known):
            return
        zone = zone or Zone()
        if zone.ended == zone.began >= 0 and event.op != IMPORT_DONE:
            if event.ts < (self._last.get("") or ""):
                self._steps.set(ordinal(event.seq), event.seq)
            self._last.set("", event.ts)
        if not is_known:
            return
        if event.op == IMPORT_TAKE:
            key = (body["user"], body["ledger"])
            self._made.set(key, max(body["made"], self._made.get(key) or ""))
        if event.op == IMPORT_TAKE and body["whole"] and zone.began < 0:
            self._zone.set("", Zone(event.seq, event.seq, body["begun"], body["ledger"]))
        elif zone.ended == zone.began >= 0:  # the import is under way
            self._apply_inside(event, zone)

    def _apply_inside(self, event: Event, zone: Zone) -> None:
        _, (first, last, at) = next(self._joined.under(reverse=True), ("", (-1, 0, "")))
        if event.op == IMPORT_TAKE:
            self._joined.set(ordinal(event.seq), (event.seq, -1, event.ts))
        elif last < 0:
            self._joined.set(ordinal(first), (first, event.seq, at))
        else:
            self._zone.set("", zone._replace(ended=event.seq))

    def joined_at(self, seq: int) -> str:
        """The time at which the memory that this one continues imported that event; empty, if it did not."""
        if not self._joined:
            return ""
        return next((at for _, (first, last, at) in self._joined.under(reverse=True) if first <= seq <= last), "")

    def through(self, user: str, ledger: str) -> str:
        """The time up to which a user's events of that memory were imported here; empty, if never."""
        return self._made.get((user, ledger)) or ""
