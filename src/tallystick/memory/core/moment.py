"""Moments as people name them: an event's number or its id, a time, or words such as "yesterday"."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tallystick.memory.core.changes import seq_of_event
from tallystick.records.belief import Moment
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused
from tallystick.records.ids import EVENT_ID
from tallystick.state.history import as_written

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context


def moment_of(context: Context, said: Moment, *, is_end: bool = False) -> int | str:
    """The place in the ledger, or the time, that is meant: of a span ("yesterday") its beginning, or its end."""
    if not isinstance(said, str):
        return as_written(said)
    if said.isascii() and said.isdigit():
        return int(said)
    if EVENT_ID.fullmatch(said) and (seq := seq_of_event(context.folder, said)) is not None:
        return seq
    try:
        return as_written(said)
    except Refused as error:
        from tallystick.text.dates.find import spans_in

        now = datetime.fromisoformat(context.folder.ledger.now()).astimezone(context.zone)
        spans = spans_in(said, now)
        if not spans:
            raise error.reworded(
                f"not a moment: {said[:60]!r}; write an event's number, a time like 2026-05-03T14:00, or yesterday"
            ) from None
        return stamp(spans[0].end - timedelta(microseconds=1) if is_end else spans[0].start)
