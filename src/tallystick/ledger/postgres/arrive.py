"""A ledger in PostgreSQL that a memory is being moved to.

Its head says 'arriving', and only its own functions in `schema.sql` add lines and rows to it, each call in one
transaction, for whoever began last: two who move to the same place do not mix. The head is how far it is. In the last
transaction the ledger is opened, with everything that belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from uuid import uuid4

from tallystick.ledger import format as fmt
from tallystick.ledger.postgres.connection import Database, LedgerCalls
from tallystick.ledger.postgres.reader import NOTHING, Head, fill_rows, line_of
from tallystick.records.errors import Busy, Damaged, NotFound, Refused

_LINES = 1000  # that are read at once


class ArrivingLedger:
    """A ledger that gets the lines of another place. `ledger/arriving.py` says what its calls promise."""

    has_rows = True

    def __init__(self, database: Database, name: str, make: Callable[[], object]) -> None:
        """`make` makes the ledger, as its owner, if there is none of that name."""
        self.place, self._database, self._name, self._make = f"{database.place}?ledger={name}", database, name, make
        self._mover, self._tables = uuid4(), set[str]()
        self.head, self.state, self.ledger = NOTHING, "new", ""
        with suppress(NotFound):
            self._find()

    def _find(self) -> None:
        self._calls = LedgerCalls(self._database, self._database.find(self._name))
        self.ledger = self._calls.ledger.hex
        [(seq, hashed, ts, _, _, _, _, self.state, *_)] = self._calls.rows("look", -1, "", None, False, "0")
        self.head = Head(seq, hashed, ts)

    def begin(self, origin: str) -> None:
        if not self.ledger:
            try:
                self._make()
            except Refused as error:
                if error.code != "exists":
                    raise
                with suppress(NotFound):  # somebody else has just made it
                    self._find()
                if not self.ledger:
                    raise
            else:
                self._find()
        self._must(self._calls.rows("begin_arriving", self.head.seq, self.head.hash, origin, self._mover))

    def _must(self, done: list[tuple[bool]]) -> None:
        if done != [(True,)]:
            raise Busy(f"another process is moving a memory to {self.place}; wait until it is done")

    def add(self, lines: Sequence[fmt.Line]) -> None:
        if not lines:
            return
        slices, datas, last = [line.slice for line in lines], [line.data for line in lines], lines[-1]
        size = sum(len(line_of(*each)) for each in zip(slices, datas, strict=True))
        at, was = self.head.seq, self.head.hash
        self._must(self._calls.rows(
            "add_arriving", self._mover, at, was, last.hash, last.ts, size, slices, datas
        ))  # fmt: skip
        self.head = Head(last.seq, last.hash, last.ts)

    def lines(self) -> Iterator[fmt.Line]:
        start, end = 0, self.head.seq + 1
        while start < end:
            for seq, head, data in self._calls.rows("lines_in", start, end, [], [], _LINES):
                line = fmt.try_parse(line_of(head, data))
                if line is None or (line.seq, seq) != (start, start):
                    raise Damaged(f"event {start} did not arrive at {self.place} as it was sent; try again")
                yield line
                start += 1
            if start % _LINES and start < end:
                raise Damaged(f"event {start} did not arrive at {self.place}; try again")

    def add_rows(self, rows: Iterable[tuple[object, ...]]) -> None:
        self._tables |= fill_rows(self._calls, rows, self._mover)

    def open(self, erased: Sequence[fmt.Line], saved: bytes, shape: int, settings: str, notes: Sequence[str]) -> None:
        sizes = [int(note.split("\n", 2)[1]) for note in notes]
        self._must(self._calls.rows(
            "finish_arriving", self._mover, self.head.seq, self.head.hash, saved, shape, sorted(self._tables),
            [line.seq for line in erased], settings, sizes, list(notes),
        ))  # fmt: skip

    def close(self) -> None:
        """The database stays open: its owner closes it."""
