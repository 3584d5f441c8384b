"""The events of a ledger as projections take them in, and as a program follows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tallystick.ledger.fold import lift
from tallystick.ledger.protocol import Ledger
from tallystick.records.event import Event
from tallystick.stores.open_folder import OpenFolder

T = TypeVar("T")


def events_from(
    ledger: Ledger, start: int, on_progress: Callable[[int], None] | None = None, *, stop: int | None = None
) -> Iterator[Event]:  # fmt: skip
    """The events from `start` on. Those that an unfinished erasure names have lost their words already."""
    going = frozenset[str]().union(*ledger.standing.erasing.values())
    for event in ledger.events(start, stop):
        if on_progress is not None:
            on_progress(1)
        yield lift(event._replace(body=None) if event.hash in going else event)


def follow_events(
    folder: OpenFolder, user: str, start: int, read: Callable[[Event], T | None], *, follow: bool
) -> Iterator[T | None]:
    """What `read` makes of a user's events; with `follow` it never ends, and gives None whenever nothing is new."""
    while True:
        for event in folder.events_of(user, start):
            start = event.seq + 1
            if (made := read(event)) is not None:
                yield made
        if not follow:
            return
        yield None


def paused(found: Iterator[T | None], pause: float) -> Iterator[T]:
    """The items of `found`, with a pause of so many seconds at each None."""
    for each in found:
        if each is None:
            time.sleep(pause)
        else:
            yield each
