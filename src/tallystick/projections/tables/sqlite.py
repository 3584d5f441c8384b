"""The tables of a state as rows of SQLite: see `rows.py`.

One connection is attached once the tables are declared. Whoever owns the file says when it may be written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import orjson

from tallystick.projections.database import transaction
from tallystick.projections.table_set import POSITIONS
from tallystick.projections.tables.rows import SHAPE, Number, PastRow, Row, RowTables, array_of
from tallystick.records.errors import Busy
from tallystick.records.event import Position

SCHEMA = (
    POSITIONS,
    "CREATE TABLE IF NOT EXISTS state_table (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS state_row (tab INTEGER NOT NULL, key TEXT NOT NULL, value BLOB, seqs TEXT,"
    " since INTEGER, PRIMARY KEY (tab, key)) WITHOUT ROWID",
    # the columns of the key come first: else the integrity check of SQLite 3.40 takes others for NULL
    "CREATE TABLE IF NOT EXISTS state_past (tab INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL,"
    " value BLOB NOT NULL, seqs TEXT, since INTEGER NOT NULL, PRIMARY KEY (tab, key, until)) WITHOUT ROWID",
    "CREATE TRIGGER IF NOT EXISTS state_row_past BEFORE UPDATE ON state_row"
    " WHEN OLD.since < NEW.since AND OLD.value IS NOT NULL BEGIN INSERT OR REPLACE INTO state_past"
    " VALUES (OLD.tab, OLD.key, NEW.since, OLD.value, OLD.seqs, OLD.since); END",
)

_COLUMNS = "key, value, seqs, since"
_ONE, _SOME, _RANGE = "key = ?2", "key IN (SELECT value FROM json_each(?2))", "key >= ?2 AND key < ?3"
_LAST = "SELECT max(key) FROM state_row WHERE tab = ?"
_ROW = "INTO state_row VALUES (?1, ?2, ?3, nullif(?4, ''), nullif(?5, ''))"
_ADD = f"INSERT OR IGNORE {_ROW}"
_SET = f"""INSERT {_ROW} ON CONFLICT DO UPDATE
    SET value = excluded.value, seqs = excluded.seqs, since = excluded.since"""
_KEEP = f"{_SET} WHERE since <= excluded.since AND (value IS NOT excluded.value OR seqs IS NOT excluded.seqs)"
_DROP = "DELETE FROM state_row WHERE tab = ? AND key = ?"
_DROP_PAST = "DELETE FROM state_past WHERE tab = ? AND key = ?"
_STEPS = """SELECT key, value, seqs, since, until FROM state_past WHERE tab = ?1 AND key = ?2
    UNION ALL SELECT key, value, seqs, since, NULL FROM state_row WHERE tab = ?1 AND key = ?2 ORDER BY since"""
_EVER = """SELECT key FROM state_past WHERE tab = ?1 AND key >= ?2 AND key < ?3
    UNION SELECT key FROM state_row WHERE tab = ?1 AND key >= ?2 AND key < ?3"""
_EVERYTHING = """SELECT name, key, value, seqs, since, NULL FROM state_row JOIN state_table ON id = tab
    UNION ALL SELECT name, key, value, seqs, since, until FROM state_past JOIN state_table ON id = tab"""
_POSITION = "SELECT seq, hash, saved FROM positions WHERE name = 'state' AND shape = ?"
_NO_POSITION = "DELETE FROM positions WHERE name = 'state'"
_SET_POSITION = "INSERT OR REPLACE INTO positions VALUES ('state', ?, ?, ?, ?)"


def _now(columns: str, which: str, _: str) -> str:
    return f"SELECT {columns} FROM state_row WHERE tab = ?1 AND {which}"


def _at(columns: str, which: str, seq: str) -> str:
    """Rows as they were after an event. Of one key at most one fits: what it had later begins later."""
    return f"""SELECT {columns} FROM state_row WHERE tab = ?1 AND {which} AND since <= {seq}
        UNION ALL SELECT {columns} FROM state_past
        WHERE tab = ?1 AND {which} AND until > {seq} AND since <= {seq}"""


class _Statements(NamedTuple):
    """The queries for the rows as they are; or as they were after an event, whose number is the last value."""

    get: str
    get_many: str
    ranges: Mapping[tuple[bool, bool], str]  # by `reverse` and `bare`
    number: str

    @classmethod
    def of(cls, rows: Callable[[str, str, str], str]) -> _Statements:
        ranges = {
            (reverse, bare): f"{rows(columns, _RANGE, '?5')} ORDER BY key {order} LIMIT ?4"
            for reverse, order in ((False, "ASC"), (True, "DESC"))
            for bare, columns in ((False, _COLUMNS), (True, "key, value"))
        }
        return cls(
            f"{rows(_COLUMNS, _ONE, '?3')} LIMIT 1", rows(_COLUMNS, _SOME, "?3"), ranges,
            f"SELECT count(*) FROM ({rows('1', _RANGE, '?5')} LIMIT ?4)",
        )  # fmt: skip


_CURRENT, _PAST = _Statements.of(_now), _Statements.of(_at)


class SqliteRows:
    """The rows of one database, or as they were after event `last`."""

    def __init__(self, owner: TablesInSqlite, last: int | None = None) -> None:
        self._owner, self._rows = owner, owner.rows
        self._sql = _CURRENT if last is None else _PAST
        self._last = () if last is None else (last,)

    def end(self, number: Number) -> str | None:
        if self._last:  # what was there then may be gone
            return None
        [(last,)] = self._rows(_LAST, number)
        return "" if last is None else f"{last}\0"

    def by_key(self, number: Number, names: Sequence[str]) -> list[Row]:
        if len(names) == 1:
            return self._rows(self._sql.get, number, names[0], *self._last)
        return self._rows(self._sql.get_many, number, orjson.dumps(names).decode(), *self._last)

    def in_range(self, number: Number, low: str, high: str, limit: int, reverse: bool, bare: bool) -> list[Row]:
        return self._rows(self._sql.ranges[reverse, bare], number, low, high, limit, *self._last)

    def count(self, number: Number, low: str, high: str, limit: int) -> int:
        return int(self._rows(self._sql.number, number, low, high, limit, *self._last)[0][0])

    def steps(self, number: Number, name: str) -> list[PastRow]:
        return self._rows(_STEPS, number, name)

    def ever(self, number: Number, low: str, high: str) -> list[str]:
        return [name for (name,) in self._rows(_EVER, number, low, high)]

    def at(self, last: int) -> SqliteRows:
        return SqliteRows(self._owner, last)


class TablesInSqlite(RowTables):
    """The tables of one state, as rows of the database that is attached once they are declared."""

    db: sqlite3.Connection

    def __init__(self) -> None:
        super().__init__()
        self.database = SqliteRows(self)

    def rows(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query. Busy, if the database cannot be read: it is made again by the next call."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.is_bad = True
            raise Busy(f"the state of this memory could not be read ({error}) and is made again; try again") from error

    def everything(self) -> Iterator[tuple[str, bytes, bytes | None, str | None, int | None, int | None]]:
        """Every row, now and past, as `PostgresRows` has them: table, key, value, events, since, until."""
        for name, key, value, seqs, since, until in self.db.execute(_EVERYTHING):
            yield name, key.encode(), value, array_of(seqs), since, until

    def attach(self, db: sqlite3.Connection, *, is_new: bool = False) -> None:
        """Read and write the rows of this database from now on. A new one has none of these tables.

        ValueError, if another lacks one: it is damaged, and a table must not be taken for empty.
        """
        if is_new:
            db.executemany("INSERT OR IGNORE INTO state_table (name) VALUES (?)", [(name,) for name in self.tables])
        numbers = dict(db.execute("SELECT name, id FROM state_table").fetchall())
        if not numbers.keys() >= self.tables.keys():
            raise ValueError("it lacks a table")
        self.db = db
        for name, table in self.tables.items():
            table.number = numbers[name]
        self.discard()
        for table in self.tables.values() if is_new else ():
            table.end = ""
        self.position, self.is_bad = None, False

    def clear(self) -> None:
        """Empty all tables, in the database too."""
        with self.writing():
            for statement in ("DELETE FROM state_row", "DELETE FROM state_past", _NO_POSITION):
                self.db.execute(statement)
        self.discard()
        self.position = self.event = None

    def look(self) -> Position | None:
        """The position of the rows in the database; None if there is none of this shape."""
        position = self.saved_position()
        if position != self.position:
            self.forget()
            self.position = position
        return position

    def saved_position(self) -> Position | None:
        row = self.db.execute(_POSITION, (SHAPE,)).fetchone()
        return Position(*row) if row else None

    def save(self, position: Position | None, first: Callable[[], object] = list) -> None:
        """Write what is not written, and the position that it belongs to; None: there is none.

        In the same transaction `first` is called.
        """
        with self.writing():
            first()
            for each in self.writes():
                for statement in (_DROP, _DROP_PAST) if each.rewritten else ():
                    self.db.executemany(statement, each.rewritten)
                for replace, changes in ((_KEEP, each.kept), (_SET, each.plain)):
                    rows = [  # in types that the driver binds by themselves: others, and NULL, take it twice as long
                        (number, name, value and bytearray(value), seqs or "", "" if since is None else since)
                        for number, name, value, seqs, since in changes
                    ]
                    if rows and self.db.executemany(_ADD, rows).rowcount < len(rows):  # most often all are new
                        self.db.executemany(replace, rows)
                self.db.executemany(_DROP, each.gone)
            self.db.execute(_SET_POSITION, (SHAPE, *position)) if position else self.db.execute(_NO_POSITION)
        self.written(position)

    def writing(self) -> AbstractContextManager[None]:
        """A write transaction. One of a reader ends here."""
        if self.db.in_transaction:
            self.db.execute("COMMIT")
        return transaction(self.db)
