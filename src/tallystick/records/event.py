"""An event: one thing that was decided, as one line of the ledger.

A draft is an event before it is recorded: what happened, without a place. An event
whose `body` is None was erased: it happened, its place and proof stand, its words are gone.

What was recorded in another memory and taken in here keeps the id, the time and the source that it had there: they
stand in its body, under `ELSEWHERE`, and whoever reads the event is told those. Where that memory was joined to this
one, its name stands beside them, and is the source here. The line itself says when it was taken in, and by whom; that
is all that this ledger can prove of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tallystick.records.display import html_of

TIME = "ledger.time/1"  # which times are believed, said by the ledger itself
ELSEWHERE = "elsewhere"  # {"id": …, "ts": …, "by": …, "source"?: …}, beside what an event says


class Draft(NamedTuple):
    """What a decision wants recorded."""

    op: str
    body: dict[str, Any]


class Event(NamedTuple):
    """What was recorded, and where. `body` is the caller's own copy."""

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


def as_told(event: Event) -> Event:
    """The event with the id, time and source that it had where it was first recorded."""
    if event.body is None or ELSEWHERE not in event.body:
        return event
    told = event.body[ELSEWHERE]
    body = {name: value for name, value in event.body.items() if name != ELSEWHERE}
    return event._replace(id=told["id"], ts=told["ts"], by=told.get("source") or told["by"], body=body)
