"""Drafts on their way to becoming lines: what every engine does with them before they are recorded.

A draft is checked, gets its id and salt, and is applied to the state, which is not committed yet: so the next decision
of the same write sees it. If one of several fails, none of them is applied. Then a whole write is encoded at once. The
same drafts, clock and random bytes give the same lines, wherever those are kept.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from tallystick.ledger import format as fmt
from tallystick.ledger.fold import Folded
from tallystick.ledger.protocol import Decide
from tallystick.records import ids
from tallystick.records.errors import Closed, NotWritten, Refused
from tallystick.records.event import ELSEWHERE, Draft, Event, at_origin
from tallystick.records.json import check

Before = Callable[[Sequence[Draft], str], Sequence[Draft]]  # the drafts, and by whom they are written
Then = Callable[[list[Event]], None]

# A draft with everything but its place in the chain: its event's id, time, source and data.
Pending = tuple[Draft, str, str, str, bytes]

_HEADER_ROOM = 640  # more than any header needs in addition to its data
_ELSEWHERE_ROOM = 190  # more than it takes to say where and when an event was first recorded


class Lines(NamedTuple):
    """The groups of one write, encoded: each event with its line, hashed slice, data and time; and the new head."""

    events: list[Event]
    lines: list[bytes]
    slices: list[bytes]
    datas: list[bytes]
    stamps: list[str]
    seq: int
    hash: str
    ts: str


def encode(groups: Sequence[Sequence[Pending]], seq: int, prev: str, ts: str) -> Lines:
    """Encode groups that follow event `seq`, which has the hash `prev` and the time `ts`."""
    made: tuple[list[Event], list[bytes], list[bytes], list[bytes], list[str]] = [], [], [], [], []
    (events, lines, slices, datas, stamps), batch = made, seq + 1
    for group in groups:
        left = len(group)
        for (op, body), event_id, ts, by, data in group:
            seq, left = seq + 1, left - 1
            line, head, prev = fmt.encode(seq, ts, op, event_id, by, batch, left, prev, data)
            lines.append(line)
            slices.append(head)
            datas.append(data)
            stamps.append(ts)
            events.append(at_origin(Event(seq, ts, op, event_id, by, prev, body)))
    return Lines(*made, seq, prev, ts)


def new_first_line(ts: str, by: str, extra: Mapping[str, Any] | None = None, ledger: str = "") -> bytes:
    """Encode the line that names a new ledger, whose id is random unless it is given."""
    body = {"ledger": ledger or os.urandom(16).hex(), "format": fmt.FORMAT, "begun": ts, **(extra or {})}
    encoder = fmt.LineEncoder(-1, fmt.ZERO)
    encoder.add(fmt.BEGIN, [body], ts, by)
    return encoder.take()


class Drafts:
    """The drafts of the write that is in progress. One moment holds for the whole of it."""

    def __init__(self, state: Folded, clock: Callable[[], str], before: Before | None) -> None:
        """`before` is called with the drafts before a write, and returns those to write instead."""
        self.applied: list[Event] = []  # so far, to uncommitted state
        self._state, self._clock, self._before = state, clock, before
        self._moment, self._ulid_time = "", ""

    def begin(self, moment: str) -> None:
        self._moment, self._ulid_time, self.applied = moment, ids.ulid_time_of(moment), []

    def end(self) -> None:
        self._moment, self._ulid_time, self.applied = "", "", []

    def now(self) -> str:
        return self._moment or self._clock()

    def take(self, drafts: Sequence[Draft], by: str, seq: int) -> list[Pending]:
        """Check and apply drafts, as the events they will be from `seq` on. If one fails, none of them is applied."""
        ts = self.now()
        pending = [self.prepare(draft, by, ts) for draft in (self._before(drafts, by) if self._before else drafts)]
        known = len(self.applied)
        try:
            for number, ((op, body), event_id, _, _, _) in enumerate(pending, seq):
                event = at_origin(Event(number, ts, op, event_id, by, "", body))
                self.applied.append(event)
                self._state.apply(event)
        except BaseException:
            del self.applied[known:]
            self._state.rollback()
            self._state.begin()
            for event in self.applied:  # those of the callers before this one
                self._state.apply(event)
            raise
        return pending

    def prepare(self, draft: Draft, by: str, ts: str) -> Pending:
        """Check a draft, and draw its id and salt."""
        fmt.check_op(draft.op)
        try:
            check(draft.body)
            if type(draft.body) is not dict:
                raise ValueError("the body of an event is an object")
        except ValueError as error:
            raise Refused(f"cannot be written: {error}", "json") from None
        drawn = os.urandom(32)
        data = fmt.data_of(draft.body, drawn[16:].hex())
        room = _HEADER_ROOM - _ELSEWHERE_ROOM * (ELSEWHERE in draft.body)  # what fitted there fits here
        if len(data) + room > fmt.MAX_LINE:
            limit = fmt.MAX_LINE - room
            raise Refused(f"too long: {len(data):,} bytes (limit {limit:,}); write it in parts", "size")
        return draft, (self._ulid_time or ids.ulid_time_of(ts)) + ids.ulid_random(drawn[:16]), ts, by, data


# -- one write for several callers -------------------------------------------------------------------------------------


class Ticket:
    """The write of one of several callers that share a sync. The leader of the group fills in every ticket."""

    def __init__(self, decide: Decide, by: str) -> None:
        self.decide, self.by = decide, by
        self.events: list[Event] | None = None
        self.error: BaseException | None = None

    def waits(self) -> bool:
        return self.events is None and self.error is None

    def fail(self, error: BaseException, *, is_leader: bool) -> None:
        """The whole group failed. A Ctrl-C was meant for the thread that leads, and not for the others."""
        if self.waits():
            is_own = is_leader or isinstance(error, Exception)
            self.error = error if is_own else NotWritten("another caller was interrupted; try again")

    def result(self) -> list[Event]:
        if self.error is not None:
            raise self.error
        if self.events is None:
            raise Closed("the memory was closed before this could be written; open it again")
        return self.events


class Turn(Protocol):
    """One thread at a time."""

    def turn(self) -> AbstractContextManager[None]: ...


class SharedWrite:
    """Callers in several threads that share one sync: whoever gets its turn first writes for all that wait."""

    def __init__(self, owner: Turn, write_all: Callable[[list[Ticket]], None]) -> None:
        """`write_all` decides and records for every ticket, with one sync, and fills it in."""
        self._owner, self._write_all = owner, write_all
        self._queue: deque[Ticket] = deque()

    def write(self, decide: Decide, by: str) -> list[Event]:
        """Write for all callers that wait, or let another thread do it."""
        ticket = Ticket(decide, by)
        self._queue.append(ticket)
        try:
            with self._owner.turn():
                if ticket.waits():
                    self._lead(ticket)
        except Closed:  # closed meanwhile, possibly after this ticket was served
            if ticket.waits():
                raise
        return ticket.result()

    def _lead(self, mine: Ticket) -> None:
        tickets = [self._queue.popleft() for _ in range(len(self._queue))]
        try:
            self._write_all(tickets)
        except BaseException as error:
            for ticket in tickets:
                ticket.fail(error, is_leader=ticket is mine)
            if mine.events is not None or not isinstance(error, Exception):
                raise


def decide_all(tickets: Sequence[Ticket], drafts: Drafts, seq: int) -> list[tuple[Ticket, list[Pending]]]:
    """The group of each caller that decided something, from event `seq` on. An error is that caller's alone."""
    groups = list[tuple[Ticket, list[Pending]]]()
    for ticket in tickets:
        try:
            taken = drafts.take(ticket.decide(), ticket.by, seq)
        except Exception as error:
            ticket.error = error
            continue
        seq += len(taken)
        groups.append((ticket, taken))
    return groups


def hand_out(groups: Sequence[tuple[Ticket, list[Pending]]], events: Sequence[Event]) -> None:
    """Give each caller the events of its group."""
    following = iter(events)
    for ticket, group in groups:
        ticket.events = [next(following) for _ in group]
