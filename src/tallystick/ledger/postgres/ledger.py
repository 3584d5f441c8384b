"""The ledger of one memory in PostgreSQL: the calls of `protocol.Ledger` over the functions of `schema.sql`.

A write is two statements, and no lock is held while it is decided: `look` gives the head and the time, `write` moves
the head from there, with the lines and the rows of the state, or does nothing because somebody else was first. Then it
is decided again, on what is there now; after a few losses under the lock of the head. So `decide` may be called several
times, and only what the last call returned is recorded. Where nobody else wrote of late the first `look` is left out:
the head is expected where it was, and the server's clock to have gone on. What a decision read from the database may be
newer than the head; an answer that came of such a mixture, or of a head that was only expected, is never given: the
head is asked once more before an error, or nothing to write, is believed.

**Acknowledged means committed.** If the connection is lost on the way, the same statement is sent again on another one:
it finds that the request was recorded, or records it now, since the head tells the two apart. Only if nobody answers
is the outcome unknown, and the error has the key with which to ask again.

There are no segments, nothing is torn, and a state is never read again from its first line: it is in the same
transaction as the head. An erasure hides at once; the words are gone from the files of the database only after a sweep
(`sweep.py`), and then `finish_erasing` records that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.drafts import (
    Before,
    Drafts,
    Lines,
    Pending,
    SharedWrite,
    Then,
    Ticket,
    decide_all,
    encode,
    hand_out,
    new_first_line,
)
from tallystick.ledger.fold import Folded, LedgerMetadata, Scratch, fold_line, moved_away
from tallystick.ledger.lock import HeadPin, Pins
from tallystick.ledger.merkle import Range, leaf_hash
from tallystick.ledger.postgres.connection import Database, Lost, Unanswered
from tallystick.ledger.postgres.reader import (
    Head,
    Kept,
    Looked,
    PostgresReader,
    StateRows,
    digest_of,
    fill_rows,
    line_of,
    own_key,
)
from tallystick.ledger.protocol import Decide
from tallystick.records.clock import Clock, read_clock
from tallystick.records.errors import Busy, Damaged, NotWritable, OutcomeUnknown, Refused
from tallystick.records.event import Draft, Event

if TYPE_CHECKING:
    from tallystick.records.status import Destruction

_ATTEMPTS = 4  # the last of them under the lock
_SPILL = 5_000  # lines, after which the rows of a fold are written if they are many


Requests = list[tuple[str, int, int]]  # the key of each, and its first and last event


class _Again(Exception):
    """The head is not where it was: look, and decide again."""


class PostgresLedger(PostgresReader):
    """The one long-lived handle of a process on a ledger. `protocol.Ledger` says what its calls promise."""

    def __init__(
        self, database: Database, name: str, state: Folded, rows: StateRows, scratch: Scratch, *,
        by: str = "python:local", durability: str = "full", clock: Clock | None = None, read_only: bool = False,
        pins: Pins | None = None, head: HeadPin | None = None, begin_with: Mapping[str, Any] | None = None,
        before: Before | None = None, then: Then | None = None,
    ) -> None:  # fmt: skip
        """Open the ledger of that name, which its owner has made; `begin_with` goes into its first line. Without a
        `clock`, the time is the database's. In a `scratch` all rows are made again, if that is needed."""
        if durability not in ("full", "group"):
            raise Refused(f"durability is 'full' or 'group', not {durability!r}")
        self.by, self.durability, self._clock = fmt.check_by(by), durability, clock
        self._begin_with, self._then, self._scratch = begin_with, then, scratch
        self._drafts, self._shared = Drafts(state, self._time, before), SharedWrite(self, self._write_all)
        self._batch: list[Pending] | None = None
        self._batch_owner, self._asked = 0, Requests()  # the requests in the batch
        self._sent = b"", ""  # the first line that was sent last, and the key of its request if it has one
        super().__init__(database, name, state, rows, read_only=read_only, pins=pins, head=head)

    def _begin(self) -> None:
        """Record the first line, if nobody else does."""
        self._must_be_writable()
        now = self._time()
        if self.head.seq >= 0:
            return
        with suppress(_Again), self._writing():
            line = fmt.parse(new_first_line(now, self.by, self._begin_with, self._calls.ledger.hex))
            self.state.begin()
            standing = LedgerMetadata()
            event = fold_line(line, self.state, standing)
            made = Lines([event], [line_of(line.slice, line.data)], [line.slice], [line.data], [line.ts], 0, line.hash,
                         line.ts)  # fmt: skip
            self._record(made)
        self._look()

    # -- writing -----------------------------------------------------------------------------------------------------

    def now(self) -> str:
        return self._drafts.now()

    def _time(self) -> str:
        """The time of the given clock; else of the database's."""
        if self._clock:
            return read_clock(self._clock)
        if (clock := self._calls.database.time()) is not None:
            return clock
        with self.turn():
            return self._look().clock

    def write(self, decide: Decide, *, by: str | None = None, request: str = "") -> list[Event]:
        """As the protocol says. `decide` may be called several times.

        A `request` that was recorded before is not recorded again: what it recorded then is returned. It is known for
        a week at least. OutcomeUnknown has the one to ask again with, also if none was given: see `own_key`.
        """
        source = fmt.check_by(by) if by else self.by
        if self.in_batch():
            return self._write_in_batch(decide, source, request)
        if self.durability == "group" and not request:
            events = self._shared.write(decide, source)
        else:
            events = self._write(lambda: [self._drafts.take(decide(), source, self.head.seq + 1)], request)
        if self._then is not None and events:
            self._then(events)
        return events

    def append(self, drafts: Sequence[Draft], *, by: str | None = None) -> list[Event]:
        return self.write(lambda: drafts, by=by)

    def _write_in_batch(self, decide: Decide, source: str, request: str) -> list[Event]:
        assert self._batch is not None
        if request:
            for key, first, last in self._asked:
                if key == request:
                    return [event for event in self._drafts.applied if first <= event.seq <= last]
            if (known := self._look(request=request)).first is not None:
                return self._events_of(known)
        first = self.head.seq + 1 + len(self._batch)
        taken = self._drafts.take(decide(), source, first)
        self._batch += taken
        if request and taken:
            self._asked.append((request, first, first + len(taken) - 1))
        return self._drafts.applied[len(self._drafts.applied) - len(taken) :]

    def outcome(self, request: str) -> list[Event] | None:
        """What a request has recorded; None if nothing. A write that is in progress is waited for."""
        with self.turn(), ExitStack() as stack:
            if self.writable:
                stack.enter_context(self._writing())
                stack.enter_context(self._locked())
            else:
                stack.enter_context(self.reading())
            looked = self._look(request=request)
            self.must_be_whole()
            return None if looked.first is None else self._events_of(looked)

    def _events_of(self, looked: Looked) -> list[Event]:
        assert looked.first is not None
        assert looked.last is not None
        return list(self.events(looked.first, looked.last + 1))

    def _write_all(self, tickets: list[Ticket]) -> None:
        groups: list[tuple[Ticket, list[Pending]]] = []
        keys = list[str]()

        def decide() -> list[list[Pending]]:
            for ticket in tickets:
                ticket.error = None
            calls = self._calls.count
            groups[:] = decide_all(tickets, self._drafts, self.head.seq + 1)
            if any(ticket.error for ticket in tickets) and self._may_have_moved(calls):
                self._must_not_have_moved()
            keys.clear()
            seq = self.head.seq + 1
            for _, group in groups:
                keys.append(own_key(seq, group[0][1]) if group else "")
                seq += len(group)
            return [group for _, group in groups]

        try:
            hand_out(groups, self._write(decide) if tickets else [])
        except OutcomeUnknown as error:
            for (ticket, _), key in zip(groups, keys, strict=True):
                ticket.error = OutcomeUnknown(str(error), key)

    @contextmanager
    def batch(self) -> Iterator[None]:
        with self.turn():
            if self.in_batch():
                raise Refused("a batch is open already; end it first", "batch")
            with self._writing_locked():
                self.state.begin()
                self._batch, self._batch_owner, self._asked = [], threading.get_ident(), []
                try:
                    yield
                    made = encode([self._batch], *self.head)
                    self._record(made, self._asked)
                except BaseException:
                    self.state.rollback()
                    raise
                finally:
                    self._batch = None
        if self._then is not None and made.events:
            self._then(made.events)

    def in_batch(self) -> bool:
        return self._batch is not None and self._batch_owner == threading.get_ident()

    def _write(self, decide: Callable[[], Sequence[Sequence[Pending]]], request: str = "") -> list[Event]:
        """Decide and record, and again if somebody else was first."""
        with self._gate:
            self._start_writing()
            try:
                for attempt in range(_ATTEMPTS - 1):
                    expected = self._expected() if attempt == 0 and not request else None
                    try:
                        return self._decided(expected or self._look(request=request), decide, request)
                    except _Again:
                        continue
                with suppress(_Again), self._locked(request) as looked:
                    return self._decided(looked, decide, request)
            finally:
                self._end_writing()
        raise Busy(f"others write to {self.place} all the time; try again")

    def _decided(
        self, looked: Looked, decide: Callable[[], Sequence[Sequence[Pending]]], request: str
    ) -> list[Event]:  # fmt: skip
        """Decide and record on what was looked at; _Again, if that has moved."""
        if looked.first is not None:
            return self._events_of(looked)
        self._begin_moment(looked)
        calls, is_locked = self._calls.count, self._calls.is_open
        self.state.begin()
        try:
            made = encode(decide(), *self.head)
            if not made.events and not is_locked and self._may_have_moved(calls):
                self._must_not_have_moved()
        except BaseException as error:
            self.state.rollback()
            is_answer = isinstance(error, Exception) and not isinstance(error, _Again | Unanswered)
            if (is_answer or self._rows.is_bad) and not is_locked:  # rows of a later head contradict this one
                self._must_not_have_moved()
            raise
        self._record(made, [(request, self.head.seq + 1, made.seq)] if request and made.events else [])
        return made.events

    def _expected(self) -> Looked | None:
        """What a look would find if nobody else has written since the last one; None, if that is not likely."""
        head, clock = self._kept.head, "" if self._clock else self._calls.database.time()
        if not self._is_alone or head.seq < 0 or clock is None or (clock and clock < head.ts):
            return None
        pinned = self._pin.read(self._calls.ledger.hex) if self._pin else None
        if pinned is not None and pinned.seq > head.seq:
            return None
        self._is_expected = True
        return Looked(clock, None, None)

    def _may_have_moved(self, calls: int) -> bool:
        """Whether what was decided may be of another head: it was not looked at, or rows were read since."""
        return self._is_expected or self._calls.count > calls

    def _must_not_have_moved(self) -> None:
        """_Again, if the head is not where it was, or its settings are not those that were known."""
        was = self.head, self._settings, self._shape
        self._look()
        if (self.head, self._settings, self._shape) != was:
            raise _Again

    def _record(
        self, made: Lines, requests: Requests | None = None, erased: Sequence[int] | None = None
    ) -> None:  # fmt: skip
        """Write the lines and the rows that were changed since the state began; _Again, if the head has moved.

        The state and the metadata advance; if it fails, they are put back.
        """
        if not made.events and erased is None and not self._rows.changes():
            self.state.commit()
            return
        kept = self._kept
        try:
            for event, ts in zip(made.events, made.stamps, strict=True):
                self.standing.apply(event, ts)
            for piece in made.slices:
                self._tree.append(leaf_hash(piece))
            size, tables = sum(map(len, made.lines)), kept.tables | self._rows.tables_with_rows()
            after = Kept(Head(made.seq, made.hash, made.ts), kept.size + size, self._saved(), tables)
            self._send(kept, after, made, requests or [], erased)
        except BaseException:
            self.state.rollback()
            self._adopt(kept)
            raise
        self.state.commit()
        self._rows.written(None)
        self._kept, self._noted, self._shape, self._looked = after, {}, self._rows.shape, time.monotonic()
        if not self._calls.is_open:
            self._pin_head()

    def _send(self, kept: Kept, after: Kept, made: Lines, requests: Requests, erased: Sequence[int] | None) -> None:
        is_whole = [key for key, *span in requests if span == [kept.head.seq + 1, made.seq]]
        self._sent = made.lines[0] if made.lines else b"", is_whole[0] if is_whole else ""
        first = (made.slices[0], made.datas[0]) if made.slices else (None, None)
        plain, *rest = self._rows.fields()
        more = [
            plain, sorted(after.tables) if after.tables != kept.tables else None,
            self._rows.shape if self._rows.shape != self._shape else None, *rest,
            made.slices[1:] or None, made.datas[1:] or None, [digest_of(key) for key, *_ in requests] or None,
            [seq for _, *span in requests for seq in span] or None, erased,
        ]  # fmt: skip
        while more and more[-1] is None:
            more.pop()
        try:
            [(outcome,)] = self._calls.rows(
                "write", kept.head.seq, kept.head.hash, self._shape, self._settings, made.seq, made.hash, made.ts,
                after.size - kept.size, after.saved, *first, *more,
            )  # fmt: skip
        except Unanswered as error:
            raise (self._unknown() if error.is_lost else error) from error
        if outcome == "arriving":
            raise NotWritable(f"{self.place} is not open: a memory is being moved there again")
        if outcome != "written":
            raise _Again

    def _saved(self) -> bytes:
        return orjson.dumps({"tree": self._tree.to_json(), "standing": self.standing.dump()})

    def _unknown(self) -> OutcomeUnknown:
        line, key = self._sent
        if line and not key:
            first = fmt.parse(line)
            key = own_key(first.seq, first.id)
        return OutcomeUnknown(
            f"the connection to {self.place} was lost while it was written: it may be recorded or not;"
            f" ask again with the same request key, {key}", key,
        )  # fmt: skip

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The context of a write: one thread, and none is in progress in it."""
        with self.turn():
            self._start_writing()
            try:
                yield
            finally:
                self._end_writing()

    def _start_writing(self) -> None:
        if self._is_writing or (self._calls.is_open and not self._calls.is_snapshot):
            raise Refused("a write is in progress in this thread; finish it first", "batch")
        self._must_be_writable()
        self._calls.end_snapshot()
        self._is_writing = True

    def _end_writing(self) -> None:
        self._is_writing = False
        self._drafts.end()

    def _must_be_writable(self) -> None:
        if not self.writable:
            if to := self.moved_to():
                raise NotWritable(moved_away(self.place, to))
            raise NotWritable(f"{self.place} is read-only here; ask its owner, or make a copy of your own")

    def _begin_moment(self, looked: Looked) -> None:
        """Begin a write at one moment, on rows that can be used, after what the clock shows about earlier times."""
        self.must_be_whole()
        self._must_be_writable()
        self.standing.must_be_known(self.place)
        if self._shape > self._rows.shape:
            raise NotWritable(f"{self.place} was written by a newer tallystick and is read-only; upgrade tallystick")
        if self._rows.is_bad or self._shape < self._rows.shape:
            self._rebuild()
        self._drafts.begin(read_clock(self._clock) if self._clock else looked.clock)
        times, now = self.standing.times, self._drafts.now()
        if not times.is_plain(now) and (body := times.jump(now, self.first, self.head.seq, self.dates())):
            self._own(fmt.TIME, body)

    def _own(self, op: str, *bodies: dict[str, Any], erased: Sequence[int] | None = None) -> None:
        """Record something about the ledger itself, as one group. _Again, if the head has moved.

        `erased` are the lines that lose their data; None, if it is not about erasing.
        """
        pending = [self._drafts.prepare(Draft(op, body), self.by, self._drafts.now()) for body in bodies]
        made = encode([pending], *self.head)
        self.state.begin()
        for event in made.events:
            self.state.apply(event)
        self._record(made, erased=erased)

    @contextmanager
    def _locked(self, request: str = "") -> Iterator[Looked]:
        """A transaction in which nobody else writes. If it fails, all is as it was."""
        self._calls.end_snapshot()
        kept = None
        try:
            with self._calls.transaction():
                looked = self._look(locked=True, request=request)
                kept = self._kept
                yield looked
        except Lost as lost:  # of the commit
            after, self._kept = self._kept, kept or self._kept
            self._resolve(after, lost)
            self._pin_head()
        except BaseException:
            if kept is not None:  # what was read or folded in it is gone, even if no head was written
                self._adopt(kept)
            raise
        else:
            self._pin_head()

    def _resolve(self, after: Kept, lost: Lost) -> None:
        """Ask whether a transaction whose connection was lost has been committed: whoever it was has ended by then."""
        if after is self._kept:
            return
        is_recorded = after.head != self.head
        try:
            with self._calls.transaction():
                self._look(locked=True)
                is_recorded = is_recorded and self._hash_of(after.head.seq) == after.head.hash
        except (Busy, Lost) as error:
            self._adopt(self._kept)
            raise self._unknown() from error
        if not is_recorded:
            self._adopt(self._kept)
            raise Busy(f"the connection to {self.place} was lost; nothing was changed; try again") from lost

    @contextmanager
    def _writing_locked(self) -> Iterator[None]:
        """A write under the lock from its beginning: it cannot be decided again. What the clock shows comes first."""
        with self._writing():
            for _ in range(_ATTEMPTS):
                with suppress(_Again):
                    self._begin_moment(self._look())
                    break
            with self._locked() as looked:
                self._begin_moment(looked)
                yield

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self.turn():
            if not self.writable:
                with self.reading():
                    yield
                return
            with self._locked():
                yield

    # -- maintenance -------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Make all rows of the state again, from the first line on."""
        with self._writing(), self._locked():
            self._rebuild()

    def _rebuild(self) -> None:
        if not self._calls.is_open:
            with self._locked():
                self._rebuild()
            return
        head, standing, tree = self.head, LedgerMetadata(), Range()
        with self._scratch(None) as (state, rows):
            assert rows is not None
            for line in self.lines():
                fold_line(self._sound(line), state, standing)
                tree.append(leaf_hash(line.slice))
                if line.seq % _SPILL == 0:
                    rows.spill()
            if (tree.root(), standing.ledger) != (self._tree.root(), self.standing.ledger):
                raise Damaged(f"the lines of {self.place} are not those of its head; run `tallystick check`")
            self._rows.follow(fill_rows(self._calls, rows.everything()))
        self.standing, self._tree = standing, tree
        self.state.begin()
        self._record(Lines([], [], [], [], [], *head), erased=[])

    def erase(self, choose: Callable[[], tuple[Iterable[str], Callable[[Event], bool]]]) -> int:
        self._refuse_in_batch("erase")
        with self._writing_locked():
            gone, is_about = choose()
            about = [line for line in self.lines() if line.sound and is_about(line.event())]
            lines, names = [line.hash for line in about], list(gone)
            parts = range(0, max(len(lines), 1), fmt.PER_ERASURE)
            bodies = ({"lines": lines[start : start + fmt.PER_ERASURE], "ids": names} for start in parts)
            self._own(fmt.ERASE, *bodies, erased=[line.seq for line in about])
        return len(about)

    def finish_erasing(self) -> list[Destruction]:
        """Record the erasures whose words a sweep has destroyed in the files of the database."""
        from tallystick.records.status import Destruction

        done = list[Destruction]()
        for seq, destroyed in self._calls.rows("destroyed_erasures"):
            with self._writing_locked():
                if seq in self.standing.erasing:  # else somebody has just recorded it
                    made = Destruction(self.place, seq, self.line(seq).ts, destroyed)
                    self._own(fmt.ERASED, made.body(), erased=[])
                    done.append(made)
            self._calls.rows("forget_erasure", seq)  # one that was erased elsewhere has no such event
        return done

    def compact(self) -> int:
        """There is nothing to compact: opening reads no lines."""
        self._refuse_in_batch("compact")
        return 0

    def prune(self, to: Path) -> list[Path]:  # noqa: ARG002
        """There are no closed segments to move away."""
        self._refuse_in_batch("prune")
        return []

    def back_up(self, to: Path | None = None) -> Path:  # noqa: ARG002
        raise Refused(
            f"{self.place} is backed up by its database (pg_basebackup and its archive);"
            " for a copy that stands alone, export it", "unsupported",
        )  # fmt: skip

    def write_settings(self, text: str) -> None:
        """Replace the text of the settings."""
        with self.turn():
            self._must_be_writable()
            while not (done := self._calls.rows("write_settings", self._settings, text)):
                self._look()
            [(self._settings,)] = done

    def keep_checkpoint(self, note: str) -> None:
        if self.writable:
            self._calls.rows("keep_checkpoint", int(note.split("\n", 2)[1]), note)

    def move_away(self, to: str) -> None:
        self._refuse_in_batch("move")
        with self.turn():
            self._look()
            if self.moved_to() == to:
                return
        with self._writing_locked():
            if self.place not in self.standing.copies:
                self._own(fmt.COPY, {"place": self.place})
            self._calls.rows("move_away", self.head.seq, self.head.hash, to)
        self.refresh()

    def _refuse_in_batch(self, what: str) -> None:
        if self.in_batch():
            raise Refused(f"cannot {what} inside a batch; end the batch first", "batch")
