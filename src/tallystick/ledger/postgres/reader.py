"""Reading a ledger in PostgreSQL, and keeping up with it while others write.

A look is one statement: the head and, if others have moved it, what is saved with it. What was read before is kept
until then. A block that reads is one transaction, of one snapshot. If the head is not a continuation of what this
process has seen, the database was put back: what is there is served, `trouble` says so, and nothing is written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

import orjson

from tallystick.ledger import format as fmt
from tallystick.ledger.fold import Folded, LedgerMetadata, lift
from tallystick.ledger.gate import Gate
from tallystick.ledger.lock import HeadPin, Pins, Witness, rolled_back
from tallystick.ledger.merkle import Range
from tallystick.ledger.postgres.connection import Database, LedgerCalls, Rows
from tallystick.records.errors import Busy, Damaged, Missing, NotFound, Refused, RolledBack, TallystickError
from tallystick.records.event import Event

if TYPE_CHECKING:
    from tallystick.records.status import ChainFile

_A_MOMENT = 1.0  # seconds
_FILLED = 2000  # rows that are written at once, where all are made again
_WAY_OUT = "put the newest copy of its database in place"
_CHUNKS = 64, 1000  # lines that are read at once: the first time, and then
_OWN_KEY = re.compile(r"(\d{1,15})-([0-9A-Z]{26})\Z")  # see `own_key`


class Head(NamedTuple):
    """The last event."""

    seq: int
    hash: str
    ts: str


NOTHING = Head(-1, "", "")


class StateRows(Protocol):
    """The rows of the state, which the ledger writes in the transaction of its lines."""

    shape: int
    is_bad: bool  # a row is not what the ledger says

    def attach(self, calls: Callable[..., Rows], recorded: Callable[[Iterable[int]], dict[int, Event | None]],
               noted: Callable[[Rows], None]) -> None:  # fmt: skip
        """Read rows by these calls from now on, and compare them with these events. Rows come with the lines of their
        events, which are `noted`."""

    def follow(self, tables: Collection[str]) -> None:
        """Others have written; only these tables have ever had a row. What is not written is discarded."""

    def tables_with_rows(self) -> frozenset[str]:
        """The tables that have a row, or had one, once what is not written yet is."""

    def fields(self) -> list[list[Any] | None]:
        """What is not written yet, for the database's `write`: `plain`, `rewritten`, `kept`, `kept_at` and `gone`. The
        last ones are left out, if there are none."""

    def changes(self) -> int:
        """How many changes are not written yet."""

    def written(self, position: None) -> None:
        """They are."""


class Kept(NamedTuple):
    """What is known of the committed ledger: to go back to, if a write fails."""

    head: Head
    size: int  # of all lines
    saved: bytes
    tables: frozenset[str]


class Looked(NamedTuple):
    """What a look has found, beside the head."""

    clock: str
    first: int | None  # the events of the request, if it was recorded before
    last: int | None


class PostgresReader:
    """A ledger in a database, open, and its state. `protocol.Ledger` says what its calls promise."""

    trouble: TallystickError | None
    first = 0  # every event is here
    began = -1  # the rows follow from all of them

    def __init__(
        self, database: Database, name: str, state: Folded, rows: StateRows, *, read_only: bool, pins: Pins | None,
        head: HeadPin | None,
    ) -> None:  # fmt: skip
        self.place, self.dead = f"{database.place}?ledger={name}", ""
        self.state, self._rows = state, rows
        self.standing, self.trouble = LedgerMetadata(), None
        self.is_open, self.writable, self._is_read_only = True, not read_only, read_only
        self._tree = Range()
        self._kept = Kept(NOTHING, 0, b"", frozenset())
        self._shape = -1  # of the rows in the database
        self._settings, self._looked = 0, 0.0  # the version of the settings, and when that was looked at
        self._is_alone = True  # nobody else had written, when it was last looked at
        self._is_expected = False  # the head of this write was not looked at
        self._noted = dict[int, tuple[bytes, bytes, bytes | None]]()  # lines that came with rows, until the head moves
        self._gate, self._is_writing = Gate(self), False
        self._calls, self._pin = LedgerCalls(database, self._found(database, name, head)), head
        rows.attach(self._calls.rows, self.recorded, self._note_lines)
        self._look()
        if self._is_arriving:
            raise Refused(
                f"{self.place} is not open yet: a memory is being moved there; run `tallystick move` again", "state"
            )
        if self.head.seq < 0:
            self.must_be_whole()
            self._begin()
        for witness in pins(self.standing.ledger) if pins else ():
            if witness.seq > self.head.seq and self.moved_to():  # it was written elsewhere
                continue
            if why := self._contradiction(witness.seq, witness.hash, witness.name):
                self.trouble = rolled_back(why, _WAY_OUT)

    def _found(self, database: Database, name: str, head: HeadPin | None) -> UUID:
        """The ledger of that name. RolledBack, if it is gone: this user has written to one there."""
        try:
            return database.find(name)
        except NotFound as error:
            if head is None or not head.path.exists():
                raise
            raise RolledBack(
                f"{self.place} is gone: this user has written there; if the database was restored from an old copy,"
                f" {_WAY_OUT}; `tallystick init` with its address makes a new one"
            ) from error

    def _begin(self) -> None:
        """Record the first line."""
        raise NotImplementedError

    # -- what is there -----------------------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        """The last event known here."""
        return self._kept.head

    def must_be_whole(self) -> None:
        if self.trouble is not None:
            raise type(self.trouble)(*self.trouble.args)

    def must_be_here(self) -> None:
        with self.turn():
            self._look()

    def close(self) -> None:
        """Close it, after the write that is in progress. The database stays open: others may use it."""
        with suppress(TallystickError), self.turn():
            self.dead = f"the memory at {self.place} is closed; open it again"

    def turn(self) -> Gate:
        return self._gate

    def moved_to(self) -> str:
        [(place,)] = self._calls.rows("other_place") if not (self.is_open or self._is_arriving) else [("",)]
        return str(place)

    def _look(self, *, locked: bool = False, request: str = "") -> Looked:
        """Read what others wrote; with `locked`, nobody else writes until the transaction ends."""
        known = self.head
        wait = f"{int(self._calls.database.timeout * 1000)}ms"
        asked = digest_of(request) if request else None
        pinned = self._pin.read(self._calls.ledger.hex) if self._pin and self.trouble is None else None
        found = self._calls.rows("look", known.seq, known.hash, asked, locked, wait)
        if not found:
            raise RolledBack(f"{self.place} is not there any more; restore it, or open the memory again")
        (seq, hashed, ts, size, saved, self._shape, tables, state, clock, is_same_chain, self._settings,
         first, last) = found[0]  # fmt: skip
        self._looked, self._is_expected = time.monotonic(), False
        self._is_alone = saved is None or known.seq < 0
        self._calls.database.note_time(clock)
        self.is_open, self._is_arriving = state == "open", state == "arriving"
        self.writable = self.is_open and not self._is_read_only
        if not is_same_chain and self.trouble is None:
            why = self._contradiction(known.seq, known.hash, "this process", Head(seq, hashed, ts))
            self.trouble = rolled_back(why or f"event {known.seq} is not the one that this process has seen", _WAY_OUT)
        if saved is not None:
            self._adopt(Kept(Head(seq, hashed, ts), size, saved, frozenset(tables)))
        if pinned is not None and pinned.seq > known.seq:
            self._compare(pinned)
        if saved is not None:
            self._pin_head()
        if request and first is None:
            first, last = self._own_request(request)
        return Looked(clock, first, last)

    def _own_request(self, key: str) -> tuple[int | None, int | None]:
        """The events of a write that was given no key, by its own."""
        if (found := _OWN_KEY.match(key)) and int(found[1]) <= self.head.seq:
            line = self.line(int(found[1]))
            if line.id == found[2]:
                return line.seq, line.seq + line.left
        return None, None

    def _compare(self, pinned: Witness) -> None:
        """Compare the ledger with a pin that was read before it was looked at: it is written after a commit."""
        seen = (pinned.seq, pinned.hash)
        if seen == self.head[:2] or seen in self.standing.abandoned:
            return
        if why := self._contradiction(*seen, pinned.name):
            self.trouble = rolled_back(why, _WAY_OUT)

    def _pin_head(self) -> None:
        """Keep the head, which is committed, outside the database."""
        if self._pin is not None and self.writable and self.trouble is None and self.head.seq >= 0:
            self._pin.advance(self._calls.ledger.hex, self.head.seq, self.head.hash)

    def _adopt(self, kept: Kept) -> None:
        """Go to a committed place. What is not written yet is discarded."""
        self._kept, self._noted = kept, {}
        self.standing, self._tree = LedgerMetadata(), Range()
        if kept.saved:
            raw = orjson.loads(kept.saved)
            self.standing, self._tree = LedgerMetadata.load(raw["standing"]), Range.from_json(raw["tree"])
        self._rows.follow(kept.tables)

    def _contradiction(self, seq: int, hashed: str, name: str, head: Head | None = None) -> str:
        """The difference from what a witness has seen; empty if there is none."""
        head = head or self.head
        if any(left >= seq for left, _ in self.standing.abandoned) and name == "this process":
            return ""
        if seq > head.seq:
            if self._calls.is_standby():
                raise Busy(f"{self.place} is a standby that has not received event {seq} yet; try again in a moment")
            return f"it ends at event {head.seq}, but {name} has seen event {seq}"
        if self._hash_of(seq) in (None, hashed):
            return ""
        return f"event {seq} is not the one that {name} has seen"

    # -- reading -----------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self.turn():
            if self._calls.is_open or self._is_writing:
                yield
                return
            with self._calls.transaction(snapshot=True):
                self._look()
                yield

    def refresh(self) -> None:
        """Read what others wrote. Inside a batch they cannot have written."""
        with self.turn():
            if not self._calls.is_open and not self._is_writing:
                self._look()

    def lines(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[fmt.Line]:  # fmt: skip
        """They are read in parts, so that no statement stays open."""
        is_all, (size, more) = not (having or naming), _CHUNKS
        end = self.head.seq + 1 if stop is None else min(stop, self.head.seq + 1)
        while start < end:
            found = self._calls.rows("lines_in", start, end, list(having), list(naming), size)
            for seq, head, data in found:
                if is_all and seq != start:
                    raise self._gap(start)
                start = seq + 1
                yield self._line(seq, head, data)
            if len(found) < size:
                if is_all and start < end:
                    raise self._gap(start)
                return
            size = more

    def settings_version(self) -> int:
        """The version of the settings, as it was a moment ago, or at the last look of a write that is in progress."""
        with self.turn():
            if not (self._is_writing or self._calls.is_open) and time.monotonic() > self._looked + _A_MOMENT:
                self._look()
            return self._settings

    def read_settings(self) -> str | None:
        """Their text; None, if there is none."""
        with self.turn():
            [(self._settings, text)] = self._calls.rows("read_settings")
            return text if text is None else str(text)

    def checkpoints(self) -> list[str]:
        """The signed notes that are kept beside the ledger, the one that saw most first."""
        return [note for (note,) in self._calls.rows("checkpoints_of")]

    def _gap(self, seq: int) -> Damaged:
        return Damaged(f"event {seq} is missing in {self.place}; run `tallystick check`")

    def _line(self, seq: int, head: bytes, data: bytes) -> fmt.Line:
        line = fmt.try_parse(line_of(head, data))
        if line is None or line.seq != seq:
            raise Damaged(f"event {seq} in {self.place} is not as it was written; run `tallystick check`")
        return line

    def line(self, seq: int) -> fmt.Line:
        for _, head, data, _ in self._calls.rows("lines_of", [seq]) if seq >= 0 else ():
            return self._line(seq, head, data)
        raise NotFound(f"no event {seq}")

    def slices(self, start: int, stop: int) -> Iterator[bytes]:
        return (line.slice for line in self.lines(start, stop))

    def events(
        self, start: int = 0, stop: int | None = None, *, having: Sequence[bytes] = (), naming: Sequence[bytes] = ()
    ) -> Iterator[Event]:  # fmt: skip
        if stop is None or stop > self.head.seq + 1:
            self.refresh()
        for line in self.lines(start, stop, having=having, naming=naming):
            yield self._sound(line).event()

    def _sound(self, line: fmt.Line) -> fmt.Line:
        if not line.sound and not fmt.is_hollow(line.data):
            raise Damaged(f"event {line.seq} is not as it was written; run `tallystick check`")
        return line

    def recorded(self, seqs: Iterable[int]) -> dict[int, Event | None]:
        wanted = set(seqs)
        if missing := sorted(seq for seq in wanted if seq not in self._noted and seq >= 0):
            self._note_lines(self._calls.rows("lines_of", missing))
        found = dict[int, Event | None]()
        for seq in wanted & self._noted.keys():
            head, data, follower = self._noted[seq]
            line = self._sound(self._line(seq, head, data))
            if follower is None and line.hash != self.head.hash:
                continue
            if follower is not None and not follower.endswith(b'"prev":"%b"' % line.hash.encode()):
                raise Damaged(f"the line after event {seq} does not follow it; run `tallystick check`")
            found[seq] = lift(line.event())
        return found

    def _note_lines(self, found: Rows) -> None:
        self._noted.update((seq, (head, data, follower)) for seq, head, data, follower in found)

    def hash_at(self, seq: int) -> str | None:
        return self.head.hash if seq == self.head.seq else self._hash_of(seq)

    def _hash_of(self, seq: int) -> str | None:
        found = self._calls.rows("lines_of", [seq]) if seq >= 0 else ()
        return next((sha256(head).hexdigest() for _, head, _, _ in found), None)

    def dates(self) -> Callable[[int], str]:
        return cache(lambda seq: self.line(seq).ts)

    def missing(self, start: int) -> Missing:
        return Missing(f"events from {start} on are not in {self.place}; run `tallystick check`")

    def tree(self) -> Range:
        return self._tree

    def segments(self) -> list[ChainFile]:
        """All lines, as if they were one file."""
        from tallystick.records.status import ChainFile

        return [ChainFile("events", 0, None, self._kept.size)]


def line_of(head: bytes, data: bytes, hashed: bytes = b"") -> bytes:
    """The line of a hashed slice and its data. Its hash is that of the slice, unless it is given."""
    return b'%b,"hash":"%b","data":%b}\n' % (head, hashed or sha256(head).hexdigest().encode(), data)


def own_key(seq: int, name: str) -> str:
    """The key of a write that was given none: the number and the id of its first line."""
    return f"{seq}-{name}"


def digest_of(request: str) -> bytes:
    """What is kept of a request's key, which may be anybody's words."""
    return sha256(request.encode()).digest()


def fill_rows(calls: LedgerCalls, rows: Iterable[tuple[object, ...]], mover: UUID | None = None) -> set[str]:
    """Put these in place of all rows of the state, and return their tables: by who moves lines there, or else in a
    transaction that has locked the head."""
    tables, is_first, rows = set[str](), True, iter(rows)
    while (part := list(islice(rows, _FILLED))) or is_first:
        tables.update(str(row[0]) for row in part)
        columns = [list(each) for each in zip(*part, strict=True)] or [[] for _ in range(6)]
        if calls.rows("fill_rows", mover, is_first, *columns) != [(True,)]:
            raise Busy(f"another process is moving a memory to {calls.database.place}; wait until it is done")
        is_first = False
    return tables
