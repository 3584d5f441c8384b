"""The index: blocks, where they come from, and full text, as tables that follow the ledger (see `table_set`)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path

import orjson

from tallystick.projections.database import Difference, differing
from tallystick.projections.index import fold, statements as sql
from tallystick.projections.index.batch import Name, WriteBatch
from tallystick.projections.index.schema import CONFIG, FRAMES, ROWS, SCHEMA, TABLES
from tallystick.projections.index.segmentation import has_no_spaces, spread
from tallystick.projections.recorded import LedgerView
from tallystick.projections.table_set import Bookmark, TableSet
from tallystick.records.entity import called
from tallystick.records.event import Event
from tallystick.records.operations import TRUST_SET as TRUST
from tallystick.records.times import Times
from tallystick.state.sessions import ActiveHours

SHAPE = 7  # of what the fold writes; raise it when the same events give other rows
CHUNK = 2000

NOTHING = Bookmark(shape=SHAPE)


class IndexFile(TableSet):
    """The index. One that is only to be compared (`rows_only`) has neither full text nor indexes for questions."""

    name, shape, tables, full_texts = "index", SHAPE, SCHEMA, ("index_texts", "index_asides")

    def __init__(
        self, path: Path | str | sqlite3.Connection, *, making: bool = False, rows_only: bool = False,
        writable: bool = True,
    ) -> None:  # fmt: skip
        self._names: set[Name] = set()  # in the file for certain, so that they need not be written again
        self._number = 0
        self.times = Times()  # the times in it that are doubted, as the caller knows them
        self.ledger: LedgerView | None = None  # what it serves is compared with this; None: with nothing
        self._rows_only = rows_only
        if rows_only:
            self.tables = ROWS
        super().__init__(path, making=making, writable=writable)

    def number(self) -> int:
        """The number of this index; one that is rebuilt has another. 0: nothing was written yet."""
        self.bookmark()
        return self._number

    def bookmark(self) -> Bookmark:
        row = self._position()
        is_ours = row is not None and row[0] == SHAPE and row[1] >= 0
        number, since, *clock = orjson.loads(row[3]) if row and is_ours else (0, 0)
        if number != self._number:  # somebody has rebuilt it
            self._number, self._names = number, set()
        if row is None or row[1] < 0:
            return NOTHING
        return Bookmark(row[1], row[2], row[0], ActiveHours(*clock), since)

    def catch_up(
        self, events: Iterable[Event], *, mark: Bookmark | None = None, expected: Bookmark | None = None
    ) -> Bookmark:  # fmt: skip
        try:
            return super().catch_up(events, mark=mark, expected=expected)
        except BaseException:
            self._names = set()
            raise

    def _read_on(self, before: Bookmark, events: Iterator[Event]) -> Bookmark:
        for chunk in _portions(event for event in events if event.seq > before.seq):
            if chunk[0].seq != before.seq + 1:
                break
            if before is NOTHING:
                self._begin(chunk[0].ts)
            before = self._taken(chunk, before)
        return before

    def _taken(self, chunk: list[Event], before: Bookmark) -> Bookmark:
        batch = WriteBatch(self.db, before.clock, self._names)
        if len(chunk) > 1:
            batch.fetch(fold.names_in(chunk), fold.addresses_in(batch, chunk))
        clock = self._apply(batch, chunk)
        self._names.update(batch.names)
        mark = Bookmark(chunk[-1].seq, chunk[-1].hash, SHAPE, clock, before.since)
        self._save(mark)
        return mark

    def take(self, events: Iterable[Event]) -> None:
        self._apply(WriteBatch(self.db, self.bookmark().clock), events)

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

    def forget(self, names: Collection[str], *, exactly: bool) -> bool:
        """Remove the sources of these ids and what only they said, and make the full text again.

        `exactly`: only if the index is then the one that is made of a ledger without them; else nothing is done, and
        the answer is False. Otherwise what others say as well stays as it is.
        """
        db, mark = self.db, self.bookmark()
        with self.writing():
            for statement in _CHOOSE:
                db.execute(statement, (orjson.dumps(list(names)).decode(),) if "?" in statement else ())
            if exactly and any(db.execute(f"SELECT 1 {each} LIMIT 1").fetchone() for each in _SHARED):
                return False
            shared = [name for (name,) in db.execute(_SHARED_BLOCKS).fetchall()]
            _remove(db, orphans=not exactly)
            batch = WriteBatch(db, mark.clock)
            for name in shared:
                block = batch.block(name)
                if block.settle(mark.seq, "forgotten"):
                    batch.cut_ties(name)
                batch.touch(block)
            batch.flush(rows_only=True)
            _make_texts_again(db)
            self._number = 0  # it is another one now: rows may have other numbers
            self._save(mark)
        return True

    def _begin(self, at: str) -> None:
        """Write the frames and settings that every index begins with."""
        self.db.executemany(sql.SET_FRAME, [fold.frame_row(frame, at) for frame in FRAMES])
        self.db.executemany(sql.SET_CONFIG, list(CONFIG.items()))

    def _saved_with(self, mark: Bookmark) -> bytes:
        if mark.clock.hours:
            self.db.execute(sql.SET_CONFIG, ("total_active_hours", repr(mark.clock.hours)))
        self._number = self._number or 1 + int.from_bytes(os.urandom(3))
        return orjson.dumps([self._number, mark.since, *mark.clock])


def _portions(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Events in chunks. One that is about all that somebody said is alone: what came before is written first."""
    for is_alone, group in groupby(events, lambda event: event.op == TRUST):
        while chunk := list(islice(group, 1 if is_alone else CHUNK)):
            yield chunk


def differences(index: IndexFile, other: IndexFile) -> Iterator[Difference]:
    """The rows in which two indexes differ. Raises sqlite3.Error if the first lacks a column of the second."""
    yield from differing(TABLES, index.db, other.db)
    if index.bookmark() != other.bookmark():
        yield Difference("positions", ("index",), True)


# -- removing erased sources, in a file that nobody else has open ------------------------------------------------------
# What an index says of one source follows from other events too: a block counts how often it was stated and used, and
# two blocks are tied if they were served together. Where something of an erased source is bound up with others, what is
# left is not what a ledger without it gives; `_SHARED` finds that.

_CHOOSE = (
    "DROP TABLE IF EXISTS temp.gone",
    """CREATE TEMP TABLE gone AS SELECT id, ref, block_id FROM index_sources
        WHERE id IN (SELECT value FROM json_each(?))""",
    "DROP TABLE IF EXISTS temp.gone_blocks",
    """CREATE TEMP TABLE gone_blocks AS SELECT DISTINCT block_id AS id FROM gone WHERE block_id IS NOT NULL
        AND block_id NOT IN (SELECT block_id FROM index_sources WHERE block_id IN (SELECT block_id FROM gone)
            AND id NOT IN (SELECT id FROM gone))""",
)
_SHARED_BLOCKS = "SELECT DISTINCT block_id FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)"
_BLOCKS, _REFS = "(SELECT block_id FROM gone)", "(SELECT ref FROM gone)"
_SHARED = (  # FROM … WHERE …: rows in which something of an erased source is bound up with others
    "FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)",
    "FROM index_sources WHERE id IN (SELECT id FROM gone) AND (path != '' OR own_ref IS NOT NULL OR borne_out)",
    f"FROM index_sources WHERE ref IN {_REFS} AND id NOT IN (SELECT id FROM gone)",
    f"FROM index_ties WHERE from_id IN {_BLOCKS} OR to_id IN {_BLOCKS}",
    f"FROM index_served WHERE block_id IN {_BLOCKS}",
    f"FROM index_path_use WHERE block_id IN {_BLOCKS}",
    f"FROM index_relations WHERE one IN {_REFS} OR other IN {_REFS}",
    *(
        f"FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_path_proof", "index_sights")
    ),
)
_REMOVE = (
    *(
        f"DELETE FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_ends", "index_path_proof", "index_sights")
    ),
    "DELETE FROM index_sources WHERE id IN (SELECT id FROM gone)",
    *(
        f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM gone_blocks)"
        for table, column in (
            ("index_lives", "block_id"), ("block_tags", "block_id"), ("index_served", "block_id"),
            ("index_path_use", "block_id"), ("index_ties", "from_id"), ("index_ties", "to_id"), ("edges", "from_id"),
            ("edges", "to_id"), ("contradictions", "block_a_id"), ("contradictions", "block_b_id"), ("blocks", "id"),
        )
    ),
    f"DELETE FROM index_relations WHERE one IN {_REFS} AND one NOT IN (SELECT ref FROM index_sources)"
    f" OR other IN {_REFS} AND other NOT IN (SELECT ref FROM index_sources)",
)  # fmt: skip
_ORPHANS = (  # words that no source, and nothing of now, has: they are of something that was erased too
    """DELETE FROM index_hides WHERE NOT EXISTS (SELECT 1 FROM index_sources AS s WHERE s.user = index_hides.user AND
        CASE what WHEN 'key' THEN s.path = index_hides.path AND coalesce(s.key, s.ref) = name ELSE s.ref = name END)""",
    "DELETE FROM index_path_use WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM index_path_proof WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM sessions WHERE ended_at IS NOT NULL",
    "DELETE FROM system_config WHERE value = ''",
)
_NAMES = "SELECT DISTINCT user, agent, about, path FROM index_sources WHERE id IN (SELECT id FROM gone)"
_FIRST = "SELECT min(since_seq) FROM index_sources WHERE user = ? AND {} = ? AND path = ?"
_DROP_NAME = "DELETE FROM index_names WHERE user = ? AND what = ? AND as_written = ? AND path = ?"


def _remove(db: sqlite3.Connection, *, orphans: bool) -> None:
    """Remove the chosen sources, the blocks of nobody else, and the names that nobody else has; and all `orphans`."""
    named = db.execute(_NAMES).fetchall()
    for statement in (*_REMOVE, *_ORPHANS) if orphans else _REMOVE:
        db.execute(statement)
    for user, agent, about, path in named:
        for what, name in (("agent", agent), ("about", about)):
            if name:
                db.execute(_DROP_NAME, (user, what, name, path))
                (first,) = db.execute(_FIRST.format(what), (user, name, path)).fetchone()
                if first is not None:
                    db.executemany(sql.ADD_NAME, [(user, each, what, name, path, first) for each in called(name, what)])


def _make_texts_again(db: sqlite3.Connection) -> None:
    """Make the full text of the blocks that are there; nothing of the others is left in it."""
    for table in ("index_texts", "index_asides"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    for view, table, statement in (
        ("index_texts_of", "index_letters", sql.ADD_LETTERS),
        ("index_asides_of", "index_aside_letters", sql.ADD_ASIDE_LETTERS),
    ):
        if db.execute(f"SELECT 1 FROM {table}_docsize LIMIT 1").fetchone():
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            for row, content in db.execute(f"SELECT rowid, content FROM {view}").fetchall():
                if has_no_spaces(content):
                    db.execute(statement, (row, spread(content)))
