"""Use of a memory: working sessions and the clock of active hours; frames and settings; receipts and archived episodes.

Memory ages by use, not by the calendar: the clock counts the hours in which someone worked. Only events move it, so it
is the same after a crash and after a rebuild, and it never goes back. While a working session is open, each event of
its source adds the time since the one before, but no more than `IDLE`: a session that nobody ended keeps its hours, and
an event that comes a week later does not add a week. Its own end adds the time since its last event, up to `LONGEST`:
whoever ends a session knows that it went on, and a clock that is years ahead does not. A clock that was set back adds
nothing until it has caught up; where the ledger records that it was wrong, time counts from there on.

One session is open at a time. Starting another ends the one before at its last event.

A receipt's own content stays in the ledger; here an event of thirty receipts is two ids, since ids are made in the
order of time. An event that holds a question is kept with what it served, because an erasure of that erases it too.
"""

from __future__ import annotations

from datetime import datetime
from sys import intern
from typing import Any, NamedTuple

from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.event import TIME, Event
from tallystick.records.receipt import has_words
from tallystick.state.part import Part, follows

IDLE = 1.0  # hours of silence that still count as work
LONGEST = 24.0  # hours that the end of a session can add


class ActiveHours(NamedTuple):
    """The clock, and the working session that is open, if one is."""

    hours: float = 0.0
    session: str = ""
    by: str = ""  # who works
    last: str = ""  # the time of its last event

    def after(self, event: Event) -> ActiveHours:
        """The clock after `event`."""
        if event.op == ops.SESSION_START:  # also an erased one
            name = str(event.body["session"]) if event.body is not None else event.id
            return ActiveHours(self.hours, name, event.by, event.ts)
        if not self.session or event.op in (ops.IMPORT_TAKE, ops.IMPORT_DONE):  # an import is not work
            return self
        if event.op == TIME:  # a clock was wrong: the time until then is unknown
            return self._replace(last=event.ts)
        if event.op == ops.SESSION_END:
            if event.body is not None and event.body["session"] != self.session:
                return self
            return ActiveHours(self.hours + min(hours_between(self.last, event.ts), LONGEST))
        if event.by != self.by:
            return self
        passed = min(hours_between(self.last, event.ts), IDLE)
        return self._replace(hours=self.hours + passed, last=max(self.last, event.ts))


def hours_between(before: str, after: str) -> float:
    """The hours between two times; 0, where the clock was set back."""
    passed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    return max(passed.total_seconds() / 3600, 0.0)


class Work(Part):
    """The clock, and the recorded frames and settings."""

    def clear(self) -> None:
        self._clock = {"now": ActiveHours()}
        self.frames: dict[str, dict[str, Any]] = {}
        self.config: dict[str, str] = {}

    @property
    def clock(self) -> ActiveHours:
        return self._clock["now"]

    @follows(ops.SESSION_START, ops.SESSION_END)
    def _work(self, event: Event, body: dict[str, Any]) -> None:
        """Every event moves the clock: see `apply`."""

    def apply(self, event: Event) -> None:
        if self.clock.session or event.op == ops.SESSION_START:
            self._set(self._clock, "now", self.clock.after(event))
        super().apply(event)

    @follows(ops.FRAME_PUT)
    def _put_frame(self, event: Event, body: dict[str, Any]) -> None:
        self._set(self.frames, body["frame"]["name"], {**body["frame"], "created_at": event.ts})

    @follows(ops.FRAME_DROP)
    def _drop_frame(self, _: Event, body: dict[str, Any]) -> None:
        self._drop(self.frames, body["name"])

    @follows(ops.CONFIG_SET)
    def _configure(self, _: Event, body: dict[str, Any]) -> None:
        if body["value"] is None:
            self._drop(self.config, body["key"])
        else:
            self._set(self.config, body["key"], body["value"])

    def dump(self) -> dict[str, Any]:
        return {"clock": list(self.clock), "frames": self.frames, "config": self.config}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        if dumped:
            self._clock["now"] = ActiveHours(*dumped["clock"])
            self.frames, self.config = dict(dumped["frames"]), dict(dumped["config"])


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

    @follows(ops.RECEIPT_PUT)
    def _receive(self, event: Event, body: dict[str, Any]) -> None:
        receipts: list[dict[str, Any]] = body["receipts"]
        if receipts:
            names = [receipt["id"] for receipt in receipts]
            served = {name: None for receipt in receipts if has_words(receipt) for name, *_ in receipt["hits"]}
            user = intern(receipts[0].get("user", OWNER))
            self._set(self._groups, event.seq, _Group(user, min(names), max(names), tuple(served)))

    @follows(ops.OUTCOME_PUT)
    def _outcome(self, event: Event, body: dict[str, Any]) -> None:
        """Counted by the index alone."""

    @follows(ops.EPISODE_FADE)
    def _fade(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"]:
            self._set(self._faded, source, None)

    @follows(ops.ERASE)
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
