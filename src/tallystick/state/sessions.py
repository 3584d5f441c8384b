"""Working sessions and the clock of active hours; frames and configuration, which are the memory's own.

Memory ages by use, not by the calendar: the clock counts the hours in which someone worked. Only events move it, so it
is the same after a crash and after a rebuild, and it never goes back. While a working session is open, each event of
its source adds the time since the one before, but no more than `IDLE`: a session that nobody ended keeps its hours, and
an event that comes a week later does not add a week. Its own end adds the time since its last event, up to `LONGEST`:
whoever ends a session knows that it went on, and a clock that is years ahead does not. A clock that was set back adds
nothing until it has caught up; where the ledger records that it was wrong, time counts from there on.

One session is open at a time. Starting another ends the one before where it was last heard.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from tallystick.records.event import TIME, Event
from tallystick.records.operations import (
    CONFIG_SET,
    FRAME_DROP,
    FRAME_PUT,
    IMPORT_DONE,
    IMPORT_TAKE,
    SESSION_END,
    SESSION_START,
)
from tallystick.state.transaction import Transactional

IDLE = 1.0  # hours of silence that still count as work
LONGEST = 24.0  # hours that the end of a session can add


class ActiveHours(NamedTuple):
    """The clock, and the working session that is open, if one is."""

    hours: float = 0.0
    session: str = ""
    by: str = ""  # who works
    last: str = ""  # when the session was last heard

    def after(self, event: Event) -> ActiveHours:
        """The clock after `event`."""
        if event.op == SESSION_START:  # one whose name was erased began all the same
            name = str(event.body["session"]) if event.body is not None else event.id
            return ActiveHours(self.hours, name, event.by, event.ts)
        if not self.session or event.op in (IMPORT_TAKE, IMPORT_DONE):  # moving in is no work on what is remembered
            return self
        if event.op == TIME:  # a clock was wrong: nothing can be told of the time until then
            return self._replace(last=event.ts)
        if event.op == SESSION_END:
            if event.body is not None and event.body["session"] != self.session:
                return self
            return ActiveHours(self.hours + min(hours_between(self.last, event.ts), LONGEST))
        if event.by != self.by:
            return self
        passed = min(hours_between(self.last, event.ts), IDLE)
        return self._replace(hours=self.hours + passed, last=max(self.last, event.ts))


def hours_between(before: str, after: str) -> float:
    """Never less than nothing, where the clock was set back."""
    passed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    return max(passed.total_seconds() / 3600, 0.0)


class Work(Transactional):
    """The clock, and the frames and settings that were recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._clock: dict[str, ActiveHours] = {"now": ActiveHours()}
        self.frames: dict[str, dict[str, Any]] = {}
        self.config: dict[str, str] = {}

    @property
    def clock(self) -> ActiveHours:
        return self._clock["now"]

    def knows(self, op: str) -> bool:
        return op in (SESSION_START, SESSION_END, FRAME_PUT, FRAME_DROP, CONFIG_SET)

    def apply(self, event: Event) -> None:
        before = self._clock["now"]
        if before.session or event.op == SESSION_START:
            self._set(self._clock, "now", before.after(event))
        body = event.body
        if body is None:
            return
        if event.op == FRAME_PUT:
            self._set(self.frames, body["frame"]["name"], {**body["frame"], "created_at": event.ts})
        elif event.op == FRAME_DROP:
            self._drop(self.frames, body["name"])
        elif event.op == CONFIG_SET and body["value"] is None:
            self._drop(self.config, body["key"])
        elif event.op == CONFIG_SET:
            self._set(self.config, body["key"], body["value"])

    def dump(self) -> dict[str, Any]:
        return {"clock": list(self.clock), "frames": self.frames, "config": self.config}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        if dumped:
            self._clock["now"] = ActiveHours(*dumped["clock"])
            self.frames, self.config = dict(dumped["frames"]), dict(dumped["config"])
