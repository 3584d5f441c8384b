"""An event: one thing that was decided, as one line of the ledger.

A draft is an event before it is recorded: what happened, without a place. An event
whose `body` is None was erased: it happened, its place and proof stand, its words are gone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keepsake.records.notebook import html_of


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
