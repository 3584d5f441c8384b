"""The file of an index: one connection, its bookmark, and catching up from there.

The bookmark (the last event applied, its hash, the clock) is saved in the same transaction as the rows, and read again
inside it: an index may be behind the ledger, it cannot have what its bookmark does not say (see `follower`).

The connection stays open as long as the file. Every statement is prepared once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby, islice, starmap, zip_longest
from operator import ne
from pathlib import Path

from tallystick.projections.database import Database, Difference, in_step
from tallystick.projections.follower import Bookmark
from tallystick.projections.index import fold, statements as sql
from tallystick.projections.index.batch import Name, WriteBatch
from tallystick.projections.index.schema import CONFIG, FRAMES, ROWS, SCHEMA, TABLES
from tallystick.projections.recorded import LedgerView
from tallystick.records.event import Event
from tallystick.records.operations import TRUST_SET as TRUST
from tallystick.records.times import Times
from tallystick.state.sessions import ActiveHours

SHAPE = 6  # of what the fold writes; raise it when the same events give other rows
CHUNK = 2000

PRAGMAS = (
    "PRAGMA journal_mode=WAL", "PRAGMA foreign_keys=ON", "PRAGMA synchronous=NORMAL", "PRAGMA cache_size=-32000",
    "PRAGMA temp_store=MEMORY",
)  # fmt: skip
UNSAFE = ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-256000", "PRAGMA temp_store=MEMORY")


NOTHING = Bookmark(shape=SHAPE)


class IndexFile(Database):
    """An index, open for reading and following. `making` is for a file that is removed if anything goes wrong.

    One that is only to be compared (`rows_only`) has neither full text nor the indexes that only questions need.
    """

    full_texts = "texts", "asides"

    def __init__(self, path: Path | str, *, making: bool = False, rows_only: bool = False) -> None:
        self._names: set[Name] = set()  # in the file for certain, so that they need not be written again
        self.times = Times()  # the times in it that are doubted, as the caller knows them
        self.ledger: LedgerView | None = None  # what it serves is compared with this; None: with nothing
        self._rows_only = rows_only
        schema = ROWS if rows_only else SCHEMA
        super().__init__(path, UNSAFE if making else PRAGMAS, schema, alone=making)

    def number(self) -> int:
        """The number of this index; one that is rebuilt has another. 0: nothing was written yet."""
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    def bookmark(self) -> Bookmark:
        row = self.db.execute(sql.BOOKMARK).fetchone()
        if row is None:
            return NOTHING
        _, shape, seq, hashed, hours, session, by, last, since = row
        return Bookmark(seq, hashed, shape, ActiveHours(hours, session, by, last), since)

    def catch_up(self, events: Iterable[Event], *, expected: Bookmark | None = None) -> Bookmark:
        """Apply the events after the bookmark, all or none, and return the new bookmark.

        Events that were applied before are ignored, so two readers of the same ledger do no harm. If the bookmark is
        not the expected one, or the events do not follow it, nothing is done.
        """
        with self.writing():
            before = self.bookmark()
            if expected is not None and (before.seq, before.hash) != (expected.seq, expected.hash):
                return before
            fresh: set[Name] = set()
            mark = self._read_on(before, iter(events), fresh)
        self._names |= fresh
        return mark

    def _read_on(self, mark: Bookmark, events: Iterator[Event], fresh: set[Name]) -> Bookmark:
        for chunk in _portions(event for event in events if event.seq > mark.seq):
            if chunk[0].seq != mark.seq + 1:
                break
            if mark is NOTHING:
                self._begin(chunk[0].ts)
            batch = WriteBatch(self.db, mark.clock, self._names)
            if len(chunk) > 1:
                batch.fetch(fold.names_in(chunk), fold.addresses_in(batch, chunk))
            clock = self._apply(batch, chunk)
            fresh.update(batch.names)
            mark = Bookmark(chunk[-1].seq, chunk[-1].hash, SHAPE, clock, mark.since)
            self._save(mark)
        return mark

    def _apply(self, batch: WriteBatch, events: Iterable[Event]) -> ActiveHours:
        for event in events:
            fold.apply(batch, event)
        batch.flush(rows_only=self._rows_only)
        return batch.clock

    def plant(self, events: Iterable[Event], mark: Bookmark, at: str) -> Bookmark:
        """Begin in the middle: `events` are the state at `mark`, in a ledger that began `at`."""
        with self.writing():
            self._begin(at)
            clock = mark.clock
            for chunk in _portions(iter(events)):
                clock = self._apply(WriteBatch(self.db, clock), chunk)
            self._save(mark)
        return mark

    def _begin(self, at: str) -> None:
        """Write the frames and settings that every index begins with."""
        self.db.executemany(sql.SET_FRAME, [fold.frame_row(frame, at) for frame in FRAMES])
        self.db.executemany(sql.SET_CONFIG, list(CONFIG.items()))

    def _save(self, mark: Bookmark) -> None:
        if not self.number():
            self.db.execute(f"PRAGMA user_version = {1 + int.from_bytes(os.urandom(3))}")
        self.db.execute(sql.SET_BOOKMARK, (1, SHAPE, mark.seq, mark.hash, *mark.clock, mark.since))
        if mark.clock.hours:
            self.db.execute(sql.SET_CONFIG, ("total_active_hours", repr(mark.clock.hours)))


def _portions(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Events in chunks. One that is about all that somebody said is alone: what came before is written first."""
    for is_alone, group in groupby(events, lambda event: event.op == TRUST):
        while chunk := list(islice(group, 1 if is_alone else CHUNK)):
            yield chunk


def differences(index: IndexFile, other: IndexFile) -> Iterator[Difference]:
    """The rows in which two indexes differ. Raises sqlite3.Error if the first lacks a column of the second."""
    for table in TABLES:
        names = [f"{table}.{column[0]}" for column in other.db.execute(f"SELECT * FROM {table} LIMIT 0").description]
        every = f"SELECT {', '.join(names)} FROM {table}"
        if any(starmap(ne, zip_longest(index.db.execute(every), other.db.execute(every)))):  # as they were written
            in_order = f"{every} ORDER BY {', '.join(names)}"
            yield from in_step(table, index.db.execute(in_order), other.db.execute(in_order))
