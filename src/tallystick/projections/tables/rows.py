"""The tables of a state as rows of SQLite, read by key when a decision asks for them.

What is not written yet is kept in memory, over the rows: the changes of the write that is in progress, and whatever
could not be written so far. `save` writes all of it in one transaction, together with the position in the ledger to
which it belongs; a crash leaves the rows of an earlier position. Rows that were read are kept, up to a limit, as long
as nobody else changes them.

Of the tables that are declared so, each row says since which event it has its value, and `state_past` has the values
before it: see `past.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import orjson

from tallystick.projections.database import transaction
from tallystick.records.errors import Busy
from tallystick.records.event import Position
from tallystick.state.tables import PLAIN, SEPARATOR, Codec, Key, Undo, WithoutPast, decoded, encoded

V = TypeVar("V")

SHAPE = 2  # of the rows; raise it when the same events give others
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS state_table (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS state_row (tab INTEGER NOT NULL, key TEXT NOT NULL, value BLOB, since INTEGER,"
    " PRIMARY KEY (tab, key)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS state_past (tab INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL,"
    " since INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (tab, key, until)) WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS state_row_past BEFORE UPDATE ON state_row"
    " WHEN OLD.since < NEW.since AND OLD.value IS NOT NULL BEGIN"
    " INSERT OR REPLACE INTO state_past VALUES (OLD.tab, OLD.key, NEW.since, OLD.since, OLD.value); END",
    "CREATE TABLE IF NOT EXISTS state_position (only INTEGER PRIMARY KEY CHECK (only = 1), shape INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, hash TEXT NOT NULL, saved BLOB NOT NULL)",
)

_GET = "SELECT value FROM state_row WHERE tab = ? AND key = ?"
_GET_MANY = "SELECT key, value FROM state_row WHERE tab = ? AND key IN (SELECT value FROM json_each(?))"
_ANY = "SELECT 1 FROM state_row WHERE tab = ? LIMIT 1"
_RANGE = "SELECT key, value FROM state_row WHERE tab = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
_RANGE_BACK = "SELECT key, value FROM state_row WHERE tab = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM state_row WHERE tab = ? AND key >= ? AND key < ? LIMIT ?)"
_SET = "INSERT INTO state_row VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE SET value = excluded.value"
_DROP = "DELETE FROM state_row WHERE tab = ? AND key = ?"
_STEPS = """SELECT since, until, value FROM state_past WHERE tab = ?1 AND key = ?2
    UNION ALL SELECT since, NULL, value FROM state_row WHERE tab = ?1 AND key = ?2 ORDER BY since"""
_EVER = """SELECT key FROM state_past WHERE tab = ?1 AND key >= ?2 AND key < ?3
    UNION SELECT key FROM state_row WHERE tab = ?1 AND key >= ?2 AND key < ?3"""
_KEEP = """INSERT INTO state_row VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET value = excluded.value, since = excluded.since WHERE since <= excluded.since AND value IS NOT excluded.value"""
_DROP_PAST = "DELETE FROM state_past WHERE tab = ? AND key = ?"
_POSITION = "SELECT seq, hash, saved FROM state_position WHERE shape = ?"
_NO_POSITION = "DELETE FROM state_position"
_SET_POSITION = "INSERT OR REPLACE INTO state_position VALUES (1, ?, ?, ?, ?)"

_NEXT = chr(ord(SEPARATOR) + 1)
_LAST = "\U0010ffff\U0010ffff"
_CHUNKS = 50, 1000  # rows that are read at once: the first time, and then
_MANY = 1 << 60
_CACHED = 20_000  # rows

UNKNOWN, GONE = object(), object()

Step = tuple[int, Any]  # an event, and the value that a row has from then on
_ANEW: Step = (-2, GONE)  # before the steps of a row whose history is written again: whatever there is of it goes


class RowTable(WithoutPast[V]):
    """One table. `changed` are the rows that are not written yet, `known` those that were read."""

    GET, GET_MANY, ANY, COUNT, RANGE, RANGE_BACK = _GET, _GET_MANY, _ANY, _COUNT, _RANGE, _RANGE_BACK

    number: int  # in the database that is attached
    changed: Any  # dict[str, V]

    def __init__(self, owner: TablesInRows, codec: Codec) -> None:
        self._owner, self.codec = owner, codec
        self.changed = {}
        self.known: dict[str, Any] = {}
        self.is_filled: bool | None = None  # whether it has rows in the database; None: that was not asked yet

    def get(self, key: Key) -> V | None:
        name = encoded(key)
        found = self.changed.get(name, UNKNOWN)
        if found is UNKNOWN:
            found = self.known.get(name, UNKNOWN)
            if found is UNKNOWN:
                found = self._read(name)
        return None if found is GONE else found

    def _read(self, name: str) -> Any:
        try:
            rows = self._owner.rows(self.GET, self.number, name)
        except UnicodeEncodeError:  # half a character: nothing is recorded under such a name
            rows = []
        found = self.codec.load(rows[0][0]) if rows else GONE
        self._owner.cache(self, name, found)
        return found

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def __bool__(self) -> bool:
        if self.changed:
            return next(self.under(), None) is not None
        if self.is_filled is None:
            self.is_filled = bool(self._owner.rows(self.ANY, self.number))
        return self.is_filled

    def set(self, key: Key, value: V) -> None:
        self._change(encoded(key), value)

    def drop(self, key: Key) -> None:
        if self.get(key) is not None:
            self._change(encoded(key), GONE)

    def _change(self, name: str, value: Any) -> None:
        if self._owner.undo is not None:
            self._owner.undo.append((self, name, self.changed.get(name, UNKNOWN)))
        self.changed[name] = value

    def put_back(self, name: str, before: Any) -> None:
        if before is UNKNOWN:
            self.changed.pop(name, None)
        else:
            self.changed[name] = before

    def under(self, *prefix: str, after: str = "", reverse: bool = False) -> Iterator[tuple[Key, V]]:
        low, high = _bounds(prefix, after)
        fresh = {name: value for name, value in self.changed.items() if low <= name < high}
        rows = self._rows(low, high, reverse)
        for name, value in _merged(rows, fresh, reverse) if fresh else rows:
            yield decoded(name), value

    def _rows(self, low: str, high: str, reverse: bool) -> Iterator[tuple[str, V]]:
        """The rows in the database, in order. They are read in parts, so that no statement stays open."""
        size, more = _CHUNKS
        statement = self.RANGE_BACK if reverse else self.RANGE
        while rows := self._owner.rows(statement, self.number, low, high, size):
            for name, value in rows:
                yield name, self.codec.load(value)
            if len(rows) < size:
                return
            low, high = (low, rows[-1][0]) if reverse else (rows[-1][0] + "\0", high)
            size = more

    def count(self, *prefix: str, after: str = "", most: int | None = None) -> int:
        low, high = _bounds(prefix, after)
        if any(low <= name < high for name in self.changed):
            count = sum(1 for _ in self.under(*prefix, after=after))
            return count if most is None else min(count, most)
        limit = _MANY if most is None else most
        return int(self._owner.rows(self.COUNT, self.number, low, high, limit)[0][0])

    def prefetch(self, keys: Iterable[Key]) -> None:
        names = [name for name in map(encoded, keys) if name not in self.changed and name not in self.known]
        for start in range(0, len(names), _CHUNKS[1]) if len(names) > 1 else ():
            part = names[start : start + _CHUNKS[1]]
            found = dict(self._owner.rows(self.GET_MANY, self.number, orjson.dumps(part).decode()))
            for name in part:
                self._owner.cache(self, name, self.codec.load(found[name]) if name in found else GONE)

    def changes(self) -> int:
        """The number of changes that are not written yet."""
        return len(self.changed)

    def write(self, db: sqlite3.Connection) -> None:
        """Write them, in the transaction of the caller."""
        number, dump = self.number, self.codec.dump
        fresh = [(number, name, dump(value)) for name, value in self.changed.items() if value is not GONE]
        db.executemany(_SET, fresh)
        self.write_gone(db)

    def write_gone(self, db: sqlite3.Connection) -> None:
        if gone := [(self.number, name) for name, value in self.changed.items() if value is GONE]:
            db.executemany(_DROP, gone)

    def discard(self) -> None:
        """Forget what is not written, or is written now."""
        self.changed.clear()


class KeptTable(RowTable[V]):
    """A table whose rows are kept as they were after each event.

    `steps` has of each row in `changed` the values that are not written yet, each with its event. When they are written
    one by one, a trigger moves each value that is replaced to `state_past`; the same value again is no change.
    """

    def __init__(self, owner: TablesInRows, codec: Codec) -> None:
        super().__init__(owner, codec)
        self.steps: dict[str, tuple[Step, ...]] = {}

    def _change(self, name: str, value: Any) -> None:
        seq, steps = self._owner.seq, self.steps.get(name, ())
        self._replace(name, value, (*(steps[:-1] if steps and steps[-1][0] == seq else steps), (seq, value)))

    def _replace(self, name: str, value: Any, steps: tuple[Step, ...]) -> None:
        if self._owner.undo is not None:
            self._owner.undo.append((self, name, (self.changed.get(name, UNKNOWN), self.steps.get(name, ()))))
        self.changed[name], self.steps[name] = value, steps

    def put_back(self, name: str, before: Any) -> None:
        value, steps = before
        super().put_back(name, value)
        self.steps[name] = steps
        if not steps:
            del self.steps[name]

    def steps_of(self, key: Key) -> tuple[Step, ...]:
        """Every value that a row has had, oldest first, each since which event; `GONE` where it was not there."""
        name = encoded(key)
        fresh = self.steps.get(name, ())
        if fresh[:1] == (_ANEW,):
            return fresh[1:]
        found, end = list[Step](), _ANEW[0]
        for since, until, value in self._owner.rows(_STEPS, self.number, name):
            if found and since > end:
                found.append((end, GONE))
            found.append((since, self.codec.load(value)))
            end = since if until is None else until
        if found and end > found[-1][0]:
            found.append((end, GONE))
        return (*found, *(step for step in fresh if step[0] > end))

    def history(self, key: Key) -> list[V]:
        return [value for _, value in self.steps_of(key) if value is not GONE]

    def ever(self, *prefix: str) -> list[Key]:
        low, high = _bounds(prefix, "")
        names = dict.fromkeys(name for (name,) in self._owner.rows(_EVER, self.number, low, high))
        names.update(dict.fromkeys(name for name in self.steps if low <= name < high))
        return [decoded(name) for name in names]

    def erase(self, key: Key, gone: Callable[[V], bool] | None = None) -> None:
        steps, name = self.steps_of(key), encoded(key)
        rest = [(since, GONE if value is GONE or gone is None or gone(value) else value) for since, value in steps]
        if any(one[1] is not other[1] for one, other in zip(steps, rest, strict=True)):
            self._replace(name, rest[-1][1], (_ANEW, *rest))

    def changes(self) -> int:
        return sum(map(len, self.steps.values()))

    def write(self, db: sqlite3.Connection) -> None:
        number, dump = self.number, self.codec.dump
        if anew := [(number, name) for name, steps in self.steps.items() if steps[0] is _ANEW]:
            db.executemany(_DROP, anew)
            db.executemany(_DROP_PAST, anew)
        db.executemany(_KEEP, [
            (number, name, None if value is GONE else dump(value), since)
            for name, steps in self.steps.items() for since, value in steps if since > _ANEW[0]
        ])  # fmt: skip
        self.write_gone(db)

    def discard(self) -> None:
        super().discard()
        self.steps.clear()


class TablesInRows(Undo):
    """The tables of one state, as rows of the database that is attached once they are declared."""

    db: sqlite3.Connection

    def __init__(self) -> None:
        self.tables: dict[str, RowTable[Any]] = {}
        self.position: Position | None = None  # of the rows in the database, as last seen
        self.is_bad = False  # the database cannot be read
        self._cached = 0

    def table(self, name: str, codec: Codec = PLAIN) -> RowTable[Any]:
        assert name not in self.tables, name
        made = self.tables[name] = RowTable(self, codec)
        return made

    def kept(self, name: str, codec: Codec = PLAIN) -> RowTable[Any]:
        assert name not in self.tables, name
        made = self.tables[name] = KeptTable(self, codec)
        return made

    def rows(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query. Busy, if the database cannot be read: it is made again by the next call."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.is_bad = True
            raise Busy(f"the state of this memory could not be read ({error}) and is made again; try again") from error

    def attach(self, db: sqlite3.Connection) -> None:
        """Read and write the rows of this database from now on."""
        numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
        if fresh := [(name,) for name in self.tables if name not in numbers]:
            db.executemany("INSERT OR IGNORE INTO state_table (name) VALUES (?)", fresh)
            numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
        self.db = db
        for name, table in self.tables.items():
            table.number = numbers[name]
        self.discard()
        self.position, self.is_bad = None, False

    def cache(self, table: RowTable[Any], name: str, value: Any) -> None:
        if self._cached >= _CACHED:
            self.forget()
        table.known[name] = value
        self._cached += 1

    def forget(self) -> None:
        """Somebody else may have changed the rows: read them again."""
        for table in self.tables.values():
            table.known.clear()
            table.is_filled = None
        self._cached = 0

    def discard(self) -> None:
        """Forget what is not written."""
        for table in self.tables.values():
            table.discard()
        self.forget()

    def clear(self) -> None:
        """Empty all tables, in the database too."""
        with self.writing():
            self.db.execute("DELETE FROM state_row")
            self.db.execute("DELETE FROM state_past")
            self.db.execute("DELETE FROM state_position")
        self.discard()
        self.position, self.seq = None, -1

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
        """The number of changes that are not written yet."""
        return sum(table.changes() for table in self.tables.values())

    def save(self, position: Position | None) -> None:
        """Write what is not written, and the position that it belongs to; None: there is none."""
        changed = [table for table in self.tables.values() if table.changed]
        with self.writing():
            for table in changed:
                table.write(self.db)
            self.db.execute(_SET_POSITION, (SHAPE, *position)) if position else self.db.execute(_NO_POSITION)
        for table in changed:
            self._cached += len(table.changed)
            table.known.update(table.changed)
            table.discard()
            table.is_filled = None
        if self._cached > _CACHED:
            self.forget()
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
        if fresh[name] is not GONE:
            yield name, fresh[name]
    while row is not None:
        yield row
        row = next(rows, None)
