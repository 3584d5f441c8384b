"""The events of a ledger as projections take them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tallystick.ledger.ledger import Ledger
from tallystick.ledger.load import lift
from tallystick.records.event import Event


def events_from(ledger: Ledger, start: int, on_progress: Callable[[int], None] | None = None) -> Iterator[Event]:
    """The events from `start` on. What an erasure names that is recorded and not finished has no words any more."""
    going = frozenset[str]().union(*ledger.standing.erasing.values())
    for event in ledger.events(start):
        if on_progress is not None:
            on_progress(1)
        yield lift(event._replace(body=None) if event.hash in going else event)
