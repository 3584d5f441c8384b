"""An event: one decision, as one line of the ledger.

A draft is an event before it is recorded. An event whose `body` is None was erased: its place and proof stay, its text
is gone.

An event that was imported from another memory keeps the id, the time and the source that it had there: they are in its
body, under `ELSEWHERE`, and readers get those. Where that memory was merged into this one, its name is there too, and
is the source here. The line itself says when it was imported, and by whom; that is all that this ledger can prove.

An event that states again what was said before, as where a change is undone, says what that was, when it was said and
by whom: its `origin`. The words are as old as they were, and their author's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tallystick.records.display import html_of

TIME = "ledger.time/1"  # which times are believed, recorded by the ledger itself
UNDOES = "undoes"  # {"id": …, "seq": …}, the first event of the change that is undone, in the body of each event
ELSEWHERE = "elsewhere"  # {"id": …, "ts": …, "by": …, "source"?: …}, in the body


class Draft(NamedTuple):
    """An event to be recorded."""

    op: str
    body: dict[str, Any]


class Event(NamedTuple):
    """A recorded event. `body` is the caller's own copy."""

    seq: int
    ts: str
    op: str
    id: str
    by: str
    hash: str
    body: dict[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        erased = ", erased" if self.body is None else ""
        return f"<Event {self.seq} {self.op} by {self.by} at {self.ts}{erased}>"


def at_origin(event: Event) -> Event:
    """The event with the id, time and source that it had where it was first recorded."""
    if event.body is None or ELSEWHERE not in event.body:
        return event
    origin = event.body[ELSEWHERE]
    body = {name: value for name, value in event.body.items() if name != ELSEWHERE}
    return event._replace(id=origin["id"], ts=origin["ts"], by=origin.get("source") or origin["by"], body=body)


class Origin(NamedTuple):
    """When something was said, by which source, and in which version, if it is stated again."""

    at: str
    by: str
    id: str = ""


def origin_of(event: Event) -> Origin:
    """When, and by whom, what an event states was said first."""
    stated = (event.body or {}).get("origin")
    return Origin(**stated) if stated else Origin(event.ts, event.by)


class Position(NamedTuple):
    """The last event that kept rows have followed, and what the ledger keeps with them."""

    seq: int
    hash: str
    saved: bytes
