"""What one of several callers that share a sync wants, and what came of it.

Whoever leads the group fills in every ticket. A caller who was served is told so, whatever befalls the others, or the
ledger, afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tallystick.records.errors import Closed, NotWritten
from tallystick.records.event import Draft, Event

Decide = Callable[[], Sequence[Draft]]


class Ticket:
    """One caller's wish."""

    def __init__(self, decide: Decide, by: str) -> None:
        self.decide, self.by = decide, by
        self.events: list[Event] | None = None
        self.error: BaseException | None = None

    def waits(self) -> bool:
        return self.events is None and self.error is None

    def fail(self, error: BaseException, *, is_leader: bool) -> None:
        """The whole group went wrong. A Ctrl-C was meant for the thread that leads, and not for the others."""
        if self.waits():
            mine = is_leader or isinstance(error, Exception)
            self.error = error if mine else NotWritten("another caller was interrupted; try again")

    def answer(self) -> list[Event]:
        if self.error is not None:
            raise self.error
        if self.events is None:
            raise Closed("the memory was closed before this could be written; open it again")
        return self.events
