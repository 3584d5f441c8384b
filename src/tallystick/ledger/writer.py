"""Writing events so that acknowledged means on disk.

A write is always: lock, catch up, decide, record, sync, release. What it decides on is never stale, because nobody
else can write between catching up and recording. The call returns after the sync, and memory advances only then.

What a crash leaves: before the sync, some or none of the bytes, which the next writer recognises as torn and sets
aside; after it, the whole group. A failed write is cut back and the writer goes on. A failed sync is never retried,
because nobody can know what the medium holds: the file is cut back, or the lock file is marked so that every process
looks first, and this writer is closed for good.

`durability="group"` lets callers in several threads share one sync. Each still waits for it, and each decision sees
the ones before it. There is no weaker mode.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk, write_all
from tallystick.ledger.layout import Folder
from tallystick.ledger.load import Folded
from tallystick.ledger.reader import LedgerReader, Pins
from tallystick.ledger.scan import Place
from tallystick.ledger.write_group import Decide, Ticket
from tallystick.records import ids
from tallystick.records.clock import Clock, read_clock, system_clock
from tallystick.records.errors import Closed, NotWritable, NotWritten, Refused, TallystickError
from tallystick.records.event import ELSEWHERE, Draft, Event, as_told
from tallystick.records.json import check

Reach = Callable[[Disk, Folder, Collection[str]], None]
Then = Callable[[list[Event]], None]
Before = Callable[[Sequence[Draft], str], Sequence[Draft]]  # the drafts, and by whom they are written

_HEADER_ROOM = 640  # more than any header needs beside its data
_ELSEWHERE_ROOM = 190  # more than it takes to say where and when an event was first recorded


class _Pending(NamedTuple):
    """A draft with everything but its place in the chain."""

    draft: Draft
    id: str
    ts: str
    by: str
    data: bytes


class _Pen:
    """Held by whoever is writing. A class of its own because each write picks it up, and a generator costs more."""

    def __init__(self, owner: LedgerWriter) -> None:
        self._owner = owner

    def __enter__(self) -> None:
        self._owner._pick_up()

    def __exit__(self, *_: object) -> None:
        self._owner._lay_down()


class LedgerWriter(LedgerReader):
    """The one long-lived handle through which a process appends to a ledger."""

    def __init__(
        self,
        folder: Path,
        state: Folded,
        *,
        by: str = "python:local",
        durability: str = "full",
        clock: Clock = system_clock,
        disk: Disk | None = None,
        read_only: bool = False,
        timeout: float = 30.0,
        pins: Pins | None = None,
        begin_with: Mapping[str, Any] | None = None,
        reach: Reach | None = None,
    ) -> None:
        """Open `folder`, made if need be. `begin_with` goes into the first line if this is the one who writes it.

        `reach` takes what is erased out of files that are not the ledger's own.
        """
        if durability not in ("full", "group"):
            raise Refused(f"durability is 'full' or 'group', not {durability!r}")
        self.by, self.durability, self._clock = fmt.check_by(by), durability, clock
        self._begin_with, self._reach = begin_with, reach
        self.then: Then | None = None  # told of what was written, when it is on disk and the lock is free
        self.before: Before | None = None  # shown what is about to be written, and says what is written instead
        self._queue: deque[Ticket] = deque()
        self._batch: list[_Pending] | None = None
        self._batch_owner = 0
        self._moment, self._ulid_time = "", ""  # of the write that is under way
        self._applied: list[Event] = []  # what it has applied so far, on scratch state
        self._pen = _Pen(self)
        super().__init__(folder, state, disk=disk or Disk(), read_only=read_only, timeout=timeout, pins=pins)

    def write(self, decide: Decide, *, by: str | None = None) -> list[Event]:
        """Record what `decide` returns, as one atomic group, and return it once it is on disk.

        `decide` is called under the lock, on caught-up state; what it raises is passed on and nothing is written.
        """
        source = fmt.check_by(by) if by else self.by
        if self.in_batch():
            return self._join_batch(decide, source)
        group = self.durability == "group"
        events = self._write_in_group(decide, source) if group else self._write_alone(decide, source)
        if self.then is not None and events:
            self.then(events)
        return events

    def _write_alone(self, decide: Decide, by: str) -> list[Event]:
        """The plain case. What cannot be applied is refused before it is written; what is not written is undone."""
        with self._pen:
            end = self._end
            self.state.begin()
            try:
                taken = self._take(decide(), by, end.seq + 1)
                events = self._commit([[pending for pending, _ in taken]])
            except BaseException:
                self._undo(end)
                raise
            self.state.commit()
            self._after_writing()
            return events

    def _write_in_group(self, decide: Decide, by: str) -> list[Event]:
        """Whoever gets a turn first writes for all who wait."""
        ticket = Ticket(decide, by)
        self._queue.append(ticket)
        try:
            with self.turn():
                if ticket.waits():
                    self._lead(ticket)
        except Closed:  # closed meanwhile: that is no matter for one who was served before
            if ticket.waits():
                raise
        return ticket.answer()

    def append(self, drafts: Sequence[Draft], *, by: str | None = None) -> list[Event]:
        """Record `drafts` as they are."""
        return self.write(lambda: drafts, by=by)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All writes of the block become one atomic group: on disk when the block ends, or not at all.

        The folder is locked meanwhile, so keep the block short. An exception in it takes everything back.
        """
        with self.turn():
            if self.in_batch():
                raise Refused("a batch is open already; end it first", "batch")
            with self._writing():
                self._batch, self._batch_owner = [], threading.get_ident()
                self.state.begin()
                try:
                    with self._undone_on_error():
                        yield
                        self._commit([self._batch])
                finally:
                    self._batch = None
                self.state.commit()
                self._after_writing()
        if self.then is not None:
            self.then([])

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        end = self._end
        try:
            yield
        except BaseException:
            self._undo(end)
            raise

    def _undo(self, end: Place) -> None:
        """What is held is as it was at `end`. If more was recorded before it went wrong, it is read anew."""
        self.state.rollback()
        if self._end is not end:
            self._inode = -1

    def refresh(self) -> None:
        """Take in what others wrote. Inside a batch nobody else can have written."""
        if not self.in_batch():
            super().refresh()

    def in_batch(self) -> bool:
        """Whether this thread has a batch open. Other threads wait their turn."""
        return self._batch is not None and self._batch_owner == threading.get_ident()

    def _join_batch(self, decide: Decide, by: str) -> list[Event]:
        assert self._batch is not None
        taken = self._take(decide(), by, self._end.seq + 1 + len(self._batch))
        self._batch += [pending for pending, _ in taken]
        return [event for _, event in taken]

    def _lead(self, mine: Ticket) -> None:
        """Decide and record for everyone who waits, with one sync. Each is told what became of his own."""
        tickets = [self._queue.popleft() for _ in range(len(self._queue))]
        try:
            with self._writing():
                self.state.begin()
                with self._undone_on_error():
                    self._decide_all(tickets)
                self.state.commit()
                self._after_writing()
        except BaseException as error:
            for ticket in tickets:
                ticket.fail(error, is_leader=ticket is mine)
            if mine.events is not None or not isinstance(error, Exception):
                raise

    def _decide_all(self, tickets: list[Ticket]) -> None:
        groups: list[tuple[Ticket, list[_Pending]]] = []
        seq = self._end.seq + 1
        for ticket in tickets:
            try:
                taken = self._take(ticket.decide(), ticket.by, seq)
            except Exception as error:  # whatever it is, it is this caller's alone
                ticket.error = error
                continue
            seq += len(taken)
            groups.append((ticket, [pending for pending, _ in taken]))
        events = iter(self._commit([group for _, group in groups]))
        for ticket, group in groups:
            ticket.events = [next(events) for _ in group]

    def _take(self, drafts: Sequence[Draft], by: str, seq: int) -> list[tuple[_Pending, Event]]:
        """Check and apply drafts, as the events they will be from `seq` on."""
        ts = self.now()
        pending = [self._prepare(draft, by, ts) for draft in (self.before(drafts, by) if self.before else drafts)]
        taken, known = [], len(self._applied)
        try:
            for number, item in enumerate(pending, seq):
                event = as_told(Event(number, ts, item.draft.op, item.id, by, "", item.draft.body))
                self._applied.append(event)
                self.state.apply(event)
                taken.append((item, event))
        except BaseException:
            self._take_back(known)
            raise
        return taken

    def _take_back(self, known: int) -> None:
        """One caller's drafts cannot be applied. Those before his stay; of his own nothing does."""
        del self._applied[known:]
        self.state.rollback()
        self.state.begin()
        for event in self._applied:
            self.state.apply(event)

    def _prepare(self, draft: Draft, by: str, ts: str) -> _Pending:
        fmt.check_op(draft.op)
        try:
            check(draft.body)
            if type(draft.body) is not dict:
                raise ValueError("the body of an event is an object")
        except ValueError as error:
            raise Refused(f"cannot be written: {error}", "json") from None
        drawn = os.urandom(26)
        data = fmt.data_of(draft.body, drawn[10:].hex())
        room = _HEADER_ROOM - _ELSEWHERE_ROOM * (ELSEWHERE in draft.body)  # what fitted there fits here
        if len(data) + room > fmt.MAX_LINE:
            limit = fmt.MAX_LINE - room
            raise Refused(f"too long: {len(data):,} bytes, and {limit:,} is the limit; say it in parts", "size")
        return _Pending(draft, (self._ulid_time or ids.ulid_time_of(ts)) + ids.ulid_random(drawn[:10]), ts, by, data)

    def now(self) -> str:
        """The clock, as the next event is dated: one moment for the whole of a write."""
        return self._moment or read_clock(self._clock)

    def _commit(self, groups: Sequence[Sequence[_Pending]]) -> list[Event]:
        """Encode, write and sync; then, and only then, advance."""
        if not self._gate.is_mine():
            raise Closed(
                f"{self.folder.root} was opened before a fork; what was begun there is written there", "forked"
            )
        seq, prev, ts = self._end.seq, self._end.hash, self._end.ts
        batch, lines, slices, events = seq + 1, [], [], []
        for group in groups:
            for left, item in zip(range(len(group) - 1, -1, -1), group, strict=True):
                seq, ts = seq + 1, item.ts
                op = item.draft.op
                line, head, prev = fmt.encode(seq, ts, op, item.id, item.by, batch, left, prev, item.data)
                lines.append(line)
                slices.append(head)
                events.append(as_told(Event(seq, ts, op, item.id, item.by, prev, item.draft.body)))
        if events:
            blob = b"".join(lines)
            self._put_on_disk(blob)
            end = Place(self._end.offset + len(blob), seq, prev, ts)
            self._tip = (end.offset - len(lines[-1]), slices[-1] + b',"hash":"%b"' % prev.encode())
            self._advance(end, slices, events, [item.ts for group in groups for item in group])
        return events

    def _put_on_disk(self, blob: bytes) -> None:
        try:
            write_all(self._disk, self._fd, blob)
        except BaseException as error:
            self._cut_back(f"the disk failed ({error})", then_sync=True)
            if isinstance(error, OSError):
                why = f"{self.folder.wal}: {error.strerror}"
                raise NotWritten(f"not written, and nothing was changed: {why}") from error
            raise
        try:
            self._sync()
        except BaseException as error:
            self._cut_back(f"the disk failed ({error})")
            if isinstance(error, OSError):
                raise NotWritten(f"not written: {self.dead}") from error
            raise

    def _cut_back(self, why: str, *, then_sync: bool = False) -> None:
        """Take back what a failed write left. If even that fails, everyone must look before the next write.

        After a failed write that is synced, so that its bytes cannot come back in the middle of the next one. After a
        failed sync nothing is.
        """
        try:
            self._disk.truncate(self._fd, self._end.offset)
            if then_sync:
                self._sync()
        except OSError:
            self.dead = self.dead or f"{why}, and it could not be taken back; open the memory again"
            with suppress(OSError):
                self._lock.mark(self._end.seq, self._end.hash, self._end.offset, "refused")

    def _advance(self, end: Place, slices: list[bytes], events: list[Event], stamps: list[str]) -> None:
        self._inode, inode = -1, self._inode  # whoever interrupts this must read it anew
        self._end = end
        self._keep_slices(slices)
        for event, ts in zip(events, stamps, strict=True):
            self.standing.apply(event, ts)
        self._lock.leave(end.seq, end.hash, end.offset)
        self._inode = inode

    def _writing(self) -> _Pen:
        """The lock is held, all is known, writing is allowed, and one moment holds for the whole block."""
        return self._pen

    def _pick_up(self) -> None:
        self._gate.enter()
        try:
            self._must_be_free()
        except BaseException:
            self._gate.leave()
            raise
        try:
            self._lock.take()
            self._catch_up()
            self._must_be_writable()
            self._moment = read_clock(self._clock)
            self._ulid_time = ids.ulid_time_of(self._moment)
            self._doubt_times()
        except OSError as error:
            self._lay_down()
            raise NotWritten(f"not written: {self.dead or error.strerror}; nothing was changed") from error
        except BaseException:
            self._lay_down()
            raise

    def _lay_down(self) -> None:
        self._moment, self._ulid_time, self._applied = "", "", []
        self._lock.release()
        self._gate.leave()

    def _must_be_free(self) -> None:
        """Before the lock is taken: this user may write, and is not deciding what to write at this moment."""
        if not self.writable:
            root = self.folder.root
            raise NotWritable(f"{root} may only be read here; ask its owner, or copy it somewhere of your own")
        if self._lock.held:
            raise Refused("a write is under way in this thread; finish it first", "batch")

    def _must_be_writable(self) -> None:
        self.must_be_whole()
        newer = f"format {self.standing.version}" if self.standing.version > fmt.FORMAT else self.standing.strange
        if newer:
            raise NotWritable(
                f"{self.folder.root} was written by a newer tallystick ({newer}): this one reads and does not write;"
                " upgrade tallystick"
            )

    def _doubt_times(self) -> None:
        """Record what the clock shows to be wrongly dated, before anything is written by it; see ledger.py."""

    def _after_writing(self) -> None:
        """Care that is due after a write. It may fail without taking the write back."""
        try:
            self._care()
        except (OSError, TallystickError):
            return

    def _care(self) -> None:
        """What a ledger does for itself; see ledger.py."""
