"""Some events in a row, newest first, wherever in the ledger, without reading what comes before.

Read backwards in pieces that grow, so that the newest cost little and a long way back costs no more than its length.
What is looked for is first looked for in the bytes of a line: what does not hold it is passed over unread. A look goes
back so far and no further, and says where to go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import orjson

from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.status import LogPage
from tallystick.stores.open_ledger import OpenLedger

T = TypeVar("T")

_FIRST, _MOST = 64, 8192  # events that are read at once
_SCOPED = ("belief", "episode", "rule")  # where in an event's body a scope may stand
Read = Callable[[int, int], Iterator[Event]]  # the events from one number to below another


@dataclass(frozen=True, slots=True)
class Sought:
    """The events wanted. An empty field matches all."""

    op: str = ""  # how their kind begins
    by: str = ""  # a client or a source
    session: str = ""
    agent: str = ""

    def needles(self) -> list[bytes]:
        """Bytes that every such line holds."""
        begun = [b'"op":"' + _bytes(self.op)] if self.op else []
        source = [b'"by":"' + _bytes(self.by)] if self.by else []
        return begun + source + [_pair(name, said) for name, said in self._scope() if said]

    def fits(self, event: Event) -> bool:
        if not event.op.startswith(self.op) or (self.by and self.by not in (event.by, event.by.partition(":")[0])):
            return False
        return all(not said or said in _said(event, name) for name, said in self._scope())

    def _scope(self) -> tuple[tuple[str, str], ...]:
        return ("session", self.session), ("agent", self.agent)


def log_page(
    folder: OpenLedger, user: str, sought: Sought, *, before: int | None, after: int | None, limit: int, reach: int
) -> LogPage:  # fmt: skip
    """One page of a user's events. After a number there may be fewer than a page: then it is the newest page."""
    if min(limit, reach) < 1 or min(before or 0, after or 0) < 0:
        raise Refused("limit must be 1 or more, and event numbers begin at 0")
    with folder.ledger.reading():
        first, end = folder.ledger.first, folder.ledger.head.seq + 1
    having = sought.needles()

    def read(start: int, stop: int) -> Iterator[Event]:
        for event in folder.ledger.events(start, stop, having=having):
            if sought.fits(event) and folder.owner(event) in (None, user):
                yield event

    if after is not None and before is None:
        page = _ahead(read, max(after + 1, first), end, limit, reach)
        if page is not None:
            return page
    return _back(read, first, end if before is None else min(before, end), end, limit, reach)


def _back(read: Read, first: int, before: int, end: int, limit: int, reach: int) -> LogPage:
    floor = max(first, before - reach)
    found = list(islice(_backwards(read, floor, before), limit))
    if len(found) == limit:
        older = found[-1].seq if found[-1].seq > first else None
    else:
        older = floor if floor > first else None
    newer = found[0].seq if found else before - 1
    is_cut = len(found) < limit and older is not None
    return LogPage(tuple(found), older, newer if first < before < end else None, is_cut)


def _ahead(read: Read, start: int, end: int, limit: int, reach: int) -> LogPage | None:
    """The oldest from `start` on; None, if the newest page is reached with them."""
    roof = min(end, start + reach)
    found = list(islice(read(start, roof), limit))
    if roof == end and (len(found) < limit or found[-1].seq == end - 1):
        return None
    newer = found[-1].seq if len(found) == limit else roof - 1
    return LogPage(tuple(reversed(found)), found[0].seq if found else start, newer, len(found) < limit)


def _backwards(read: Read, floor: int, before: int) -> Iterator[Event]:
    much = _FIRST
    while before > floor:
        start = max(floor, before - much)
        yield from reversed(list(read(start, before)))
        before, much = start, min(2 * much, _MOST)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")  # what is not Unicode is in no ledger


def _pair(name: str, said: str) -> bytes:
    """A field as the ledger writes it."""
    try:
        return orjson.dumps({name: said})[1:-1]
    except orjson.JSONEncodeError:
        raise Refused(f"{name} {said[:40]!r} is not valid Unicode") from None


def _said(event: Event, name: str) -> set[str]:
    """The sessions or agents that an event names."""
    body = event.body or {}
    action: dict[str, Any] = body.get("action") or {}
    receipts = [receipt for receipt in body.get("receipts") or () if isinstance(receipt, dict)]
    places = [body, action.get("changes"), *(body.get(part) for part in _SCOPED), *receipts]
    return {str(place[name]) for place in places if isinstance(place, dict) and place.get(name)}


def follow_events(
    folder: OpenLedger, user: str, start: int, read: Callable[[Event], T | None], *, follow: bool
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
