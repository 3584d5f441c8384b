"""The tables of a state as rows of SQLite, read by key when a decision asks for them.

What is not written yet is kept in memory, over the rows: the changes of the write that is in progress, and whatever
could not be written so far. `save` writes all of it in one transaction, together with the position in the ledger to
which it belongs; a crash leaves the rows of an earlier position. Rows that were read are kept, up to a limit, as long
as nobody else changes them.

A row of a table that declares how is compared with the ledger whenever it is read from the database: it has the numbers
of the events that it follows from, and must say what these say. So a row that somebody has edited is never used.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import orjson

from tallystick.projections.database import transaction
from tallystick.records.errors import Busy
from tallystick.records.event import Event, Position
from tallystick.state.tables import PLAIN, SEPARATOR, Agrees, Codec, Key, Undo, decoded, encoded

V = TypeVar("V")

SHAPE = 2  # of the rows; raise it when the same events give others
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS state_table (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS state_row (tab INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
    " seqs TEXT,"
    " PRIMARY KEY (tab, key)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS state_position (only INTEGER PRIMARY KEY CHECK (only = 1), shape INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, hash TEXT NOT NULL, saved BLOB NOT NULL)",
)

_GET = "SELECT key, value, seqs FROM state_row WHERE tab = ? AND key = ?"
_GET_MANY = "SELECT key, value, seqs FROM state_row WHERE tab = ? AND key IN (SELECT value FROM json_each(?))"
_ANY = "SELECT 1 FROM state_row WHERE tab = ? LIMIT 1"
_RANGE = "SELECT key, value, seqs FROM state_row WHERE tab = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
_RANGE_BACK = "SELECT key, value, seqs FROM state_row WHERE tab = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?"
_ALL = "SELECT key, value FROM state_row WHERE tab = ? ORDER BY key"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM state_row WHERE tab = ? AND key >= ? AND key < ? LIMIT ?)"
_SET = (
    "INSERT INTO state_row VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET value = excluded.value, seqs = excluded.seqs"
)
_DROP = "DELETE FROM state_row WHERE tab = ? AND key = ?"
_POSITION = "SELECT seq, hash, saved FROM state_position WHERE shape = ?"
_NO_POSITION = "DELETE FROM state_position"
_SET_POSITION = "INSERT OR REPLACE INTO state_position VALUES (1, ?, ?, ?, ?)"

_NEXT = chr(ord(SEPARATOR) + 1)
_LAST = "\U0010ffff\U0010ffff"
_CHUNKS = 50, 1000  # rows that are read at once: the first time, and then
_MANY = 1 << 60
_CACHED = 20_000  # rows

_UNKNOWN, _GONE = object(), object()
Recorded = Callable[[Iterable[int]], Mapping[int, Event | None]]  # the events of these numbers; see `LedgerReader`


class RowTable(Generic[V]):
    """One table. `changed` are the rows that are not written yet, `known` those that were read."""

    number: int  # in the database that is attached

    def __init__(self, owner: TablesInRows, name: str, codec: Codec, agrees: Agrees | None) -> None:
        self._owner, self._name, self.codec, self._agrees = owner, name, codec, agrees
        self.changed: dict[str, Any] = {}
        self.seqs: dict[str, str] = {}  # the events that changed rows follow from, where the table is compared
        self.known: dict[str, Any] = {}
        self.order: list[str] | None = None  # the keys of `changed` in order, once a range of them was asked for
        self.empty: set[tuple[str, str]] = set()  # ranges that have no rows in the database
        self.is_filled: bool | None = None  # whether it has rows in the database; None: that was not asked yet

    def get(self, key: Key) -> V | None:
        name = encoded(key)
        found = self.changed.get(name, _UNKNOWN)
        if found is _UNKNOWN:
            found = self.known.get(name, _UNKNOWN)
            if found is _UNKNOWN:
                found = self._read(name)
        return None if found is _GONE else found

    def _read(self, name: str) -> Any:
        if self.is_filled is False:
            return _GONE
        try:
            rows = self._owner.rows(_GET, self.number, name)
        except UnicodeEncodeError:  # half a character: nothing is recorded under such a name
            rows = []
        found = next((value for _, value in self._loaded(rows)), _GONE)
        self._owner.cache(self, name, found)
        return found

    def _loaded(self, rows: list[tuple[str, bytes, str | None]]) -> list[tuple[str, Any]]:
        """The rows as they are in the database. Busy, if one does not say what the ledger says."""
        loaded, agrees, recorded = list[tuple[str, Any]](), self._agrees, self._owner.recorded
        try:
            loaded = [(name, self.codec.load(value)) for name, value, _ in rows]
            if agrees is not None and recorded is not None and rows:
                named = [[int(seq) for seq in seqs.split()] if seqs else [] for *_, seqs in rows]
                known = recorded([seq for seqs in named for seq in seqs])
                erased = set[str]()
                for (name, value), seqs in zip(loaded, named, strict=True):
                    if name in self.changed:  # and so it is not used
                        continue
                    events = [known[seq] for seq in seqs or (-1,) if seq in known]
                    if None in events:
                        continue  # it is from a part of the ledger that was moved away
                    whole = [event for event in events if event is not None]
                    if any(event.body is None for event in whole):  # somebody erases it at this moment
                        erased.add(name)
                    elif not seqs or len(whole) < len(seqs) or not agrees(decoded(name), value, whole):
                        self._owner.distrust(f"{self._name} {name.replace(SEPARATOR, ' ')}")
                loaded = [row for row in loaded if row[0] not in erased]
        except (ValueError, TypeError, LookupError, AttributeError):
            self._owner.distrust(self._name)
        return loaded

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def __bool__(self) -> bool:
        if self.changed:
            return next(self.under(), None) is not None
        if self.is_filled is None:
            self.is_filled = bool(self._owner.rows(_ANY, self.number))
        return self.is_filled

    def set(self, key: Key, value: V) -> None:
        self._change(encoded(key), value, self._because(key, value) if self._agrees else "")

    def drop(self, key: Key) -> None:
        if self.get(key) is not None:
            self._change(encoded(key), _GONE)

    def move(self, key: Key, to: Key) -> None:
        if (value := self.get(key)) is not None:
            seqs = f"{self._seqs_of(encoded(key))} {self._because(to, value)}"
            self.drop(key)
            self._change(encoded(to), value, seqs)

    def _because(self, key: Key, value: V) -> str:
        """The events that a new value follows from: the one that is applied now, with those before if need be."""
        event = self._owner.event
        if event is None:
            return ""
        is_all = self._agrees is not None and self._agrees(key, value, [event])
        return str(event.seq) if is_all else f"{self._seqs_of(encoded(key))} {event.seq}"

    def _seqs_of(self, name: str) -> str:
        if name in self.changed:
            return self.seqs.get(name, "")
        return next((seqs or "" for *_, seqs in self._owner.rows(_GET, self.number, name)), "")

    def _change(self, name: str, value: Any, seqs: str = "") -> None:
        if self._owner.undo is not None:
            self._owner.undo.append((self, name, (self.changed.get(name, _UNKNOWN), self.seqs.get(name, ""))))
        if self.order is not None and name not in self.changed:
            insort(self.order, name)
        self.put_back(name, (value, seqs))

    def put_back(self, name: str, before: Any) -> None:
        value, seqs = before
        if value is _UNKNOWN:
            self.changed.pop(name, None)
            self.seqs.pop(name, None)
            self.order = None
        else:
            self.changed[name] = value
            if self._agrees:
                self.seqs[name] = seqs

    def under(self, *prefix: str, after: str = "", reverse: bool = False) -> Iterator[tuple[Key, V]]:
        low, high = _bounds(prefix, after)
        fresh = {name: self.changed[name] for name in self._changed_in(low, high)}
        rows = self._rows(low, high, reverse)
        for name, value in _merged(rows, fresh, reverse) if fresh else rows:
            yield decoded(name), value

    def _changed_in(self, low: str, high: str) -> list[str]:
        """The keys of a range that are not written yet, in order."""
        if not self.changed:
            return []
        if self.order is None:
            self.order = sorted(self.changed)
        return self.order[bisect_left(self.order, low) : bisect_left(self.order, high)]

    def _rows(self, low: str, high: str, reverse: bool) -> Iterator[tuple[str, V]]:
        """The rows in the database, in order. They are read in parts, so that no statement stays open."""
        if (low, high) in self.empty:
            return
        size, more = _CHUNKS
        statement = _RANGE_BACK if reverse else _RANGE
        while rows := self._owner.rows(statement, self.number, low, high, size):
            yield from self._loaded(rows)
            if len(rows) < size:
                return
            low, high = (low, rows[-1][0]) if reverse else (rows[-1][0] + "\0", high)
            size = more
        if size == _CHUNKS[0]:
            self._owner.make_room()
            self.empty.add((low, high))

    def count(self, *prefix: str, after: str = "", most: int | None = None) -> int:
        low, high = _bounds(prefix, after)
        if self._changed_in(low, high):
            count = sum(1 for _ in self.under(*prefix, after=after))
            return count if most is None else min(count, most)
        limit = _MANY if most is None else most
        return int(self._owner.rows(_COUNT, self.number, low, high, limit)[0][0])

    def prefetch(self, keys: Iterable[Key]) -> None:
        names = [name for name in map(encoded, keys) if name not in self.changed and name not in self.known]
        for start in range(0, len(names), _CHUNKS[1]) if len(names) > 1 else ():
            part = names[start : start + _CHUNKS[1]]
            found = dict(self._loaded(self._owner.rows(_GET_MANY, self.number, orjson.dumps(part).decode())))
            for name in part:
                self._owner.cache(self, name, found.get(name, _GONE))


    def dumped(self) -> Iterator[tuple[str, bytes]]:
        if self.changed:
            return ((encoded(key), self.codec.dump(value)) for key, value in self.under())
        return iter(self._owner.db.execute(_ALL, (self.number,)))


class TablesInRows(Undo):
    """The tables of one state, as rows of the database that is attached once they are declared."""

    db: sqlite3.Connection

    def __init__(self) -> None:
        self.tables: dict[str, RowTable[Any]] = {}
        self.position: Position | None = None  # of the rows in the database, as last seen
        self.is_bad = False  # the database cannot be read, or was edited
        self.recorded: Recorded | None = None  # None: the rows are not compared with any ledger
        self._cached = 0

    def table(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> RowTable[Any]:
        assert name not in self.tables, name
        made = self.tables[name] = RowTable(self, name, codec, agrees)
        return made

    def rows(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query. Busy, if the database cannot be read: it is made again by the next call."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.is_bad = True
            raise Busy(f"the state of this memory could not be read ({error}) and is made again; try again") from error

    def distrust(self, row: str) -> None:
        """A row is not what the ledger says. Busy: nothing of it is used, and all rows are made again."""
        self.is_bad = True
        raise Busy(
            f"the row of {row!r} in the state of this memory was changed by something else: it is not what the ledger"
            " says; nothing of it was used, and the state is made again; try again"
        )

    def attach(self, db: sqlite3.Connection, *, is_new: bool = False) -> None:
        """Read and write the rows of this database from now on. A new one has none of these tables."""
        numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
        if fresh := [(name,) for name in self.tables if name not in numbers]:
            db.executemany("INSERT OR IGNORE INTO state_table (name) VALUES (?)", fresh)
            numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
        self.db = db
        for name, table in self.tables.items():
            table.number = numbers[name]
        self.discard()
        for table in self.tables.values() if is_new else ():
            table.is_filled = False
        self.position, self.is_bad = None, False

    def cache(self, table: RowTable[Any], name: str, value: Any) -> None:
        self.make_room()
        table.known[name] = value

    def make_room(self) -> None:
        """One more is kept of what was read."""
        if self._cached >= _CACHED:
            self._drop_known()
        self._cached += 1

    def forget(self) -> None:
        """Somebody else may have changed the rows: read them again."""
        self._drop_known()
        for table in self.tables.values():
            table.is_filled = None

    def _drop_known(self) -> None:
        for table in self.tables.values():
            table.known.clear()
            table.empty.clear()
        self._cached = 0

    def discard(self) -> None:
        """Forget what is not written."""
        for table in self.tables.values():
            table.changed.clear()
            table.seqs.clear()
            table.order = None
        self.forget()

    def clear(self) -> None:
        """Empty all tables, in the database too."""
        with self.writing():
            self.db.execute("DELETE FROM state_row")
            self.db.execute("DELETE FROM state_position")
        self.discard()
        self.position = None

    # -- the database ------------------------------------------------------------------------------------------------

    def look(self) -> Position | None:
        """The position of the rows in the database; None if there is none of this shape."""
        row = self.db.execute(_POSITION, (SHAPE,)).fetchone()
        position = Position(*row) if row else None
        if position != self.position:
            self.forget()
            self.position = position
        return position

    def changes(self) -> int:
        """The number of rows that are not written yet."""
        return sum(len(table.changed) for table in self.tables.values())

    def save(self, position: Position | None) -> None:
        """Write what is not written, and the position that it belongs to; None: there is none."""
        fresh, gone = list[tuple[int, str, bytes, str | None]](), list[tuple[int, str]]()
        changed = [table for table in self.tables.values() if table.changed]
        for table in changed:
            number, dump, seqs = table.number, table.codec.dump, table.seqs.get
            for name, value in table.changed.items():
                gone.append((number, name)) if value is _GONE else fresh.append((number, name, dump(value), seqs(name)))
        with self.writing():
            self.db.executemany(_SET, sorted(fresh))
            if gone:
                self.db.executemany(_DROP, gone)
            self.db.execute(_SET_POSITION, (SHAPE, *position)) if position else self.db.execute(_NO_POSITION)
        for table in changed:
            self._cached += len(table.changed)
            table.known.update(table.changed)
            table.changed.clear()
            table.seqs.clear()
            table.empty.clear()
            table.order = None
            table.is_filled = None
        if self._cached > _CACHED:
            self._drop_known()
        self.position = position

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction. One of a reader ends here."""
        if self.db.in_transaction:
            self.db.execute("COMMIT")
        with transaction(self.db):
            yield


def _bounds(prefix: tuple[str, ...], after: str) -> tuple[str, str]:
    """The range of the keys under a prefix whose next field is greater than `after`."""
    start = encoded(prefix).encode("utf-8", "replace").decode() if prefix else ""
    low = start + SEPARATOR if prefix else ""
    high = start + _NEXT if prefix else _LAST
    return (low + encoded(after) + _NEXT if after else low), high


def _merged(rows: Iterator[tuple[str, V]], fresh: dict[str, Any], reverse: bool) -> Iterator[tuple[str, V]]:
    """Rows of the database and changed ones, in order. A changed one hides that of the database."""
    row = next(rows, None)
    for name in sorted(fresh, reverse=reverse):
        while row is not None and (row[0] > name if reverse else row[0] < name):
            yield row
            row = next(rows, None)
        if row is not None and row[0] == name:
            row = next(rows, None)
        if fresh[name] is not _GONE:
            yield name, fresh[name]
    while row is not None:
        yield row
        row = next(rows, None)
