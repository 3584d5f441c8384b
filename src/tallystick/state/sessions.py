"""Use of a memory: working sessions and the clock of active hours; frames and settings; receipts and archived episodes.

Memory ages by use, not by the calendar: the clock counts the hours in which someone worked. Only events move it, so it
is the same after a crash and after a rebuild, and it never goes back. While a working session is open, each event of
its source adds the time since the one before, but no more than `IDLE`: a session that nobody ended keeps its hours, and
an event that comes a week later does not add a week. Its own end adds the time since its last event, up to `LONGEST`:
whoever ends a session knows that it went on, and a clock that is years ahead does not. A clock that was set back adds
nothing until it has caught up; where the ledger records that it was wrong, time counts from there on.

One session is open at a time. Starting another ends the one before at its last event.

A receipt's own content stays in the ledger. An event that holds a question is kept with what it served, because an
erasure of that erases it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.episode import ARCHIVED
from tallystick.records.event import TIME, Event
from tallystick.records.recall import has_words
from tallystick.state.tables import PLAIN, Part, Table, Tables, codec_of, follows, ordinal

IDLE = 1.0  # hours of silence that still count as work
LONGEST = 24.0  # hours that the end of a session can add


class ActiveHours(NamedTuple):
    """The clock, and the working session that is open, if one is."""

    hours: float = 0.0
    session: str = ""
    by: str = ""  # who works
    last: str = ""  # the time of its last event

    def after(self, event: Event) -> ActiveHours:
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


def frame_in(event: Event) -> dict[str, Any]:
    return {**(event.body or {})["frame"], "created_at": event.ts}


def _is_frame(name: str, frame: dict[str, Any], events: Sequence[Event]) -> bool:
    event = events[-1]
    return event.op == ops.FRAME_PUT and frame == frame_in(event) and frame["name"] == name


def _is_setting(key: str, value: str, events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    return event.op == ops.CONFIG_SET and (body["key"], body["value"]) == (key, value)


class Work(Part):
    """The clock, and the recorded frames and settings."""

    def declare(self, tables: Tables) -> None:
        self._clock: Table[ActiveHours] = tables.table("work.clock", codec_of(ActiveHours))  # one row, by "now"
        self._frames: Table[dict[str, Any]] = tables.table("work.frame", PLAIN, _is_frame)  # by name
        self._config: Table[str] = tables.table("work.config", PLAIN, _is_setting)

    @property
    def clock(self) -> ActiveHours:
        return self._clock.get("now") or ActiveHours()

    @property
    def frames(self) -> dict[str, dict[str, Any]]:
        return dict(self._frames.under())

    @property
    def config(self) -> dict[str, str]:
        return dict(self._config.under())

    @follows(ops.SESSION_START, ops.SESSION_END)
    def _work(self, event: Event, body: dict[str, Any]) -> None:
        """Every event moves the clock: see `watch`."""

    def watch(self, event: Event) -> None:
        clock = self._clock.get("now")
        if event.op == ops.SESSION_START or (clock and clock.session):
            self._clock.set("now", (clock or ActiveHours()).after(event))

    @follows(ops.FRAME_PUT)
    def _put_frame(self, event: Event, body: dict[str, Any]) -> None:
        self._frames.set(body["frame"]["name"], frame_in(event))

    @follows(ops.FRAME_DROP)
    def _drop_frame(self, _: Event, body: dict[str, Any]) -> None:
        self._frames.drop(body["name"])

    @follows(ops.CONFIG_SET)
    def _configure(self, _: Event, body: dict[str, Any]) -> None:
        if body["value"] is None:
            self._config.drop(body["key"])
        else:
            self._config.set(body["key"], body["value"])


class Uses(Part):
    """The archived episodes, and the events with receipts."""

    def declare(self, tables: Tables) -> None:
        self._faded: Table[str] = tables.table("use.faded")  # by source
        self._receipts: Table[str] = tables.table("use.receipt")  # a receipt's id → the event that holds it
        self._groups: Table[str] = tables.table("use.group")  # (user, event)
        self._in_event: Table[str] = tables.table("use.held")  # (event, a receipt's id, or what it served)
        self._served: Table[str] = tables.table("use.served")  # (what one with a question served, event) → user

    @follows(ops.RECEIPT_PUT)
    def _receive(self, event: Event, body: dict[str, Any]) -> None:
        receipts: list[dict[str, Any]] = body["receipts"]
        user, seq = receipts[0].get("user", OWNER) if receipts else OWNER, ordinal(event.seq)
        for receipt in receipts:
            self._groups.set((user, seq), "")
            self._receipts.set(receipt["id"], seq)
            self._in_event.set((seq, receipt["id"]), user)
            for name, *_ in receipt["hits"] if has_words(receipt) else ():
                self._served.set((name, seq), user)
                self._in_event.set((seq, name), user)

    @follows(ops.OUTCOME_PUT)
    def _outcome(self, event: Event, body: dict[str, Any]) -> None:
        """Counted by the index alone."""

    @follows(ops.EPISODE_FADE)
    def _fade(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"]:
            self._faded.set(source, "")

    @follows(ops.EPISODE_RESTORE)
    def _restore(self, _: Event, body: dict[str, Any]) -> None:
        for source in body["ids"] if body["was"] == ARCHIVED else ():
            self._faded.drop(source)

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        """As if the ledger were read again: receipts with text about something erased are empty."""
        for name in body.get("ids", ()):
            self._faded.drop(name)
            events = [seq for (_, seq), _ in self._served.under(name)]
            for seq in (*events, *filter(None, (self._receipts.get(name),))):
                self._remove(seq)

    def _remove(self, seq: str) -> None:
        for (_, name), user in list(self._in_event.under(seq)):
            self._groups.drop((user, seq))
            self._receipts.drop(name)
            self._served.drop((name, seq))
            self._in_event.drop((seq, name))

    def is_faded(self, source: str) -> bool:
        return source in self._faded

    def where(self, receipt: str) -> int | None:
        """The event that holds the receipt of that id; None if there is none."""
        seq = self._receipts.get(receipt)
        return int(seq) if seq else None

    def receipts_of(self, user: str) -> Iterator[int]:
        """The events that hold receipts of that user, the newest first."""
        return (int(seq) for (_, seq), _ in self._groups.under(user, reverse=True))
