"""The tables of a state as rows of SQLite, read by key when a decision asks for them.

What is not written yet is kept in memory, over the rows: the changes of the write that is in progress, and whatever
could not be written so far. `save` writes all of it in one transaction, together with the position in the ledger to
which it belongs; a crash leaves the rows of an earlier position. Rows that were read are kept, up to a limit, as long
as nobody else changes them.

A row of a table that declares how is compared with the ledger whenever it is read from the database: it has the numbers
of the events that it follows from, and must say what these say. So a row that somebody has edited is never used.

A row of a table that keeps its past has in `since` the event that gave it its value. When another value takes its
place, a trigger moves the old one to `state_past`, where it held from event `since` up to the one before `until`.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import orjson

from tallystick.projections.database import transaction
from tallystick.projections.table_set import POSITIONS
from tallystick.projections.tables.sealed import SealedRows
from tallystick.records.errors import Busy, Damaged
from tallystick.records.event import Event, Position
from tallystick.state.tables import PLAIN, SEPARATOR, Agrees, Codec, Key, Undo, WithoutPast, decoded, encoded

V = TypeVar("V")

SHAPE = 5  # of the rows; raise it when the same events give others
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

_GET = "SELECT key, value, seqs, since FROM state_row WHERE tab = ? AND key = ?"
_GET_MANY = "SELECT key, value, seqs, since FROM state_row WHERE tab = ? AND key IN (SELECT value FROM json_each(?))"
_LAST = "SELECT max(key) FROM state_row WHERE tab = ?"
_RANGE = "SELECT key, value, seqs, since FROM state_row WHERE tab = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
_RANGE_BACK = _RANGE.replace("ORDER BY key", "ORDER BY key DESC")
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM state_row WHERE tab = ? AND key >= ? AND key < ? LIMIT ?)"
_SET = """INSERT INTO state_row VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET value = excluded.value, seqs = excluded.seqs, since = excluded.since"""
_ADD = "INSERT OR IGNORE INTO state_row VALUES (?, ?, ?, ?, ?)"
_KEEP = f"{_SET} WHERE since <= excluded.since AND (value IS NOT excluded.value OR seqs IS NOT excluded.seqs)"
_DROP = "DELETE FROM state_row WHERE tab = ? AND key = ?"
_DROP_PAST = "DELETE FROM state_past WHERE tab = ? AND key = ?"
_STEPS = """SELECT key, value, seqs, since, until FROM state_past WHERE tab = ?1 AND key = ?2
    UNION ALL SELECT key, value, seqs, since, NULL FROM state_row WHERE tab = ?1 AND key = ?2 ORDER BY since"""
_EVER = """SELECT key FROM state_past WHERE tab = ?1 AND key >= ?2 AND key < ?3
    UNION SELECT key FROM state_row WHERE tab = ?1 AND key >= ?2 AND key < ?3"""
_POSITION = "SELECT seq, hash, saved FROM positions WHERE name = 'state' AND shape = ?"
_NO_POSITION = "DELETE FROM positions WHERE name = 'state'"
_SET_POSITION = "INSERT OR REPLACE INTO positions VALUES ('state', ?, ?, ?, ?)"

_NEXT = chr(ord(SEPARATOR) + 1)
_BEYOND = "\U0010ffff\U0010ffff"
_CHUNKS = 50, 1000  # rows that are read at once: the first time, and then
_MANY = 1 << 60
_CACHED = 20_000  # rows

_MOVED_AWAY = "-1"

UNKNOWN, GONE = object(), object()
_Row = tuple[str, bytes, str | None, int | None]  # the key, the value, its events, and since which of them it is there
Recorded = Callable[[Iterable[int]], Mapping[int, Event | None]]  # the events of these numbers; see `LedgerReader`


class Step(NamedTuple):
    """The value that a row has from an event on, and the events that it follows from."""

    since: int
    value: Any
    seqs: str = ""


_REWRITE = Step(-2, GONE)  # before the steps of a row whose history is written again: whatever there is of it goes


class RowTable(WithoutPast[V]):
    """One table. `changed` are the rows that are not written yet, `known` those that were read."""

    GET, GET_MANY, COUNT, RANGE, RANGE_BACK = _GET, _GET_MANY, _COUNT, _RANGE, _RANGE_BACK

    number: int  # in the database that is attached
    changed: Any  # dict[str, V]

    def __init__(self, owner: TablesInRows, name: str, codec: Codec, agrees: Agrees | None) -> None:
        self._owner, self.name, self.codec, self.agrees = owner, name, codec, agrees
        if agrees is None:  # its rows are used as they are
            self.RANGE, self.RANGE_BACK = (each.replace(", seqs, since", "") for each in (self.RANGE, self.RANGE_BACK))
        self.changed = {}
        self.seqs: dict[str, str] = {}  # the events that changed rows follow from, where the table is compared
        self.known: dict[str, Any] = {}
        self.order: list[str] | None = None  # the keys of `changed` in order, once a range of them was asked for
        self.empty: set[tuple[str, str]] = set()  # ranges that have no rows in the database
        self.end: str | None = None  # see `_is_beyond`; None: that was not asked yet

    def get(self, key: Key) -> V | None:
        name = encoded(key)
        found = self.changed.get(name, UNKNOWN)
        if found is UNKNOWN:
            found = self.known.get(name, UNKNOWN)
            if found is UNKNOWN:
                found = self._read(name)
        return None if found is GONE else found

    def _read(self, name: str) -> Any:
        if self._is_beyond(name):  # so it is with many a new key, and a table may have no rows at all
            return GONE
        try:
            rows = self._owner.rows(self.GET, self.number, name)
        except UnicodeEncodeError:  # half a character: nothing is recorded under such a name
            rows = []
        found = next((value for _, value in self._loaded(rows)), GONE) if rows else GONE
        self._owner.cache(self, name, found)
        return found

    def _loaded(self, rows: list[_Row]) -> list[tuple[str, Any]]:
        """The rows as they are in the database. Busy, if one does not say what the ledger says."""
        if self.agrees is None:
            try:
                return [(row[0], self.codec.load(row[1])) for row in rows]
            except (ValueError, TypeError, LookupError, AttributeError):
                self._owner.distrust(self.name)
        values = self._values(rows, self.changed)
        return [(row[0], value) for row, value in zip(rows, values, strict=True) if value is not GONE]

    def _values(self, rows: list[_Row], unused: Container[str] = (), *, is_past: bool = False) -> list[Any]:
        """Their values; `GONE`, if one is erased at this moment. Rows of the `unused` names are not compared."""
        values, agrees, recorded = list[Any](), self.agrees, self._owner.recorded
        try:
            values = [self.codec.load(value) for _, value, *_ in rows]
            if agrees is not None and recorded is not None and rows:
                named = [[int(seq) for seq in seqs.split()] if seqs else [] for _, _, seqs, _ in rows]
                known = _readable(recorded, [seq for seqs in named for seq in seqs])
                for place, ((name, _, _, since), seqs) in enumerate(zip(rows, named, strict=True)):
                    events = [known[seq] for seq in seqs or (-1,) if seq in known]
                    if name in unused:
                        continue
                    whole = [event for event in events if event is not None]
                    if len(whole) < len(events):  # some are from a part of the ledger that was moved away
                        sealed = self._owner.sealed() if self._owner.sealed and not is_past else None
                        if sealed and not sealed.agrees(self.name, name, rows[place][1], seqs, whole):
                            self._owner.distrust(self.name)
                        continue
                    is_whole = 0 < len(seqs) == len(whole) and since in (None, seqs[-1])
                    if any(event.body is None for event in whole):
                        values[place] = GONE
                        continue
                    agreed = is_whole and agrees(decoded(name), values[place], whole)
                    if agreed is None:
                        values[place] = GONE
                    elif not agreed:
                        self._owner.distrust(self.name)
        except (ValueError, TypeError, LookupError, AttributeError):
            self._owner.distrust(self.name)
        return values

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def __bool__(self) -> bool:
        return bool(self.changed or self.known or not self._is_beyond("")) and next(self.under(), None) is not None

    def _is_beyond(self, name: str) -> bool:
        """Whether it is above the key of every row in the database, but for those in `known`."""
        if self.end is None:
            [(last,)] = self._owner.rows(_LAST, self.number)
            self.end = "" if last is None else f"{last}\0"
        return name >= self.end

    def set(self, key: Key, value: V) -> None:
        name = encoded(key)
        self._change(name, value, self._because(key, name, value) if self.agrees else "")

    def drop(self, key: Key) -> None:
        if self.get(key) is not None:
            self._change(encoded(key), GONE)

    def move(self, key: Key, to: Key) -> None:
        if (value := self.get(key)) is not None:
            name = encoded(to)
            seqs = f"{self._seqs_of(encoded(key))} {self._because(to, name, value)}"
            self.drop(key)
            self._change(name, value, seqs)

    def _because(self, key: Key, name: str, value: V) -> str:
        """The events that a new value follows from: the one that is applied now, with those before if need be.

        A value that comes with a state file follows from events that were moved away, whichever they were.
        """
        if (event := self._owner.event) is None:
            return _MOVED_AWAY
        is_new = self.known[name] is GONE if name in self.known else self._is_beyond(name)
        is_all = (is_new and name not in self.changed) or (self.agrees is not None and self.agrees(key, value, [event]))
        return str(event.seq) if is_all else f"{self._seqs_of(name)} {event.seq}"

    def _seqs_of(self, name: str) -> str:
        if name in self.changed:
            return self.seqs.get(name, "")
        return next((seqs or "" for _, _, seqs, _ in self._owner.rows(self.GET, self.number, name)), "")

    def _change(self, name: str, value: Any, seqs: str = "") -> None:
        if self._owner.undo is not None:
            self._owner.undo.append((self, name, (self.changed.get(name, UNKNOWN), self.seqs.get(name, ""))))
        self._put(name, value, seqs)

    def _put(self, name: str, value: Any, seqs: str) -> None:
        if self.order is not None and name not in self.changed:
            insort(self.order, name)
        self.changed[name] = value
        if self.agrees:
            self.seqs[name] = seqs

    def put_back(self, name: str, before: Any) -> None:
        value, seqs = before
        if value is UNKNOWN:
            self.changed.pop(name, None)
            self.seqs.pop(name, None)
            self.order = None
        else:
            self._put(name, value, seqs)

    def under(self, *prefix: str, after: str = "", reverse: bool = False) -> Iterator[tuple[Key, V]]:
        return ((decoded(name), value) for name, value in self._range(*_bounds(prefix, after), reverse))

    def values(self, *prefix: str, after: str = "") -> Iterator[V]:
        return (value for _, value in self._range(*_bounds(prefix, after), False))

    def _range(self, low: str, high: str, reverse: bool) -> Iterator[tuple[str, V]]:
        fresh = {name: self.changed[name] for name in self._changed_in(low, high)}
        rows = self._rows(low, high, reverse)
        return _merged(rows, fresh, reverse) if fresh else rows

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
        statement = self.RANGE_BACK if reverse else self.RANGE
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
        return int(self._owner.rows(self.COUNT, self.number, low, high, _MANY if most is None else most)[0][0])

    def prefetch(self, keys: Iterable[Key]) -> None:
        names = [name for name in map(encoded, keys) if name not in self.changed and name not in self.known]
        for start in range(0, len(names), _CHUNKS[1]) if len(names) > 1 else ():
            part = names[start : start + _CHUNKS[1]]
            found = dict(self._loaded(self._owner.rows(self.GET_MANY, self.number, orjson.dumps(part).decode())))
            for name in part:
                self._owner.cache(self, name, found.get(name, GONE))

    def changes(self) -> int:
        return len(self.changed)

    def write(self, db: sqlite3.Connection) -> None:
        """Write those that have a value, in the transaction of the caller, who removes the others."""
        number, dump, seqs = self.number, self.codec.dump, self.seqs.get
        rows = self.changed.items()
        fresh = [(number, name, dump(each), seqs(name), None) for name, each in rows if each is not GONE]
        _write(db, sorted(fresh, key=itemgetter(1)), _SET)

    def discard(self) -> None:
        """Forget what is not written, or is written now."""
        self.changed.clear()
        self.seqs.clear()
        self.empty.clear()
        self.order = None


class KeptTable(RowTable[V]):
    """A table whose rows are kept as they were after each event.

    `steps` has of each row in `changed` the values that are not written yet. When they are written one by one, a
    trigger moves each value that is replaced to `state_past`; the same value again is no change.
    """

    def __init__(self, owner: TablesInRows, name: str, codec: Codec, agrees: Agrees | None) -> None:
        super().__init__(owner, name, codec, agrees)
        self.steps: dict[str, tuple[Step, ...]] = {}

    def _change(self, name: str, value: Any, seqs: str = "") -> None:
        event, undo, steps = self._owner.event, self._owner.undo, self.steps.get(name, ())
        step = Step(event.seq if event else -1, value, seqs)
        if undo is not None:
            undo.append((self, name, steps))
        self.steps[name] = (*(steps[:-1] if steps and steps[-1].since == step.since else steps), step)
        self._put(name, value, seqs)

    def put_back(self, name: str, before: Any) -> None:
        super().put_back(name, before[-1][1:] if before else (UNKNOWN, ""))
        self.steps[name] = before
        if not before:
            del self.steps[name]

    def steps_of(self, key: Key) -> tuple[Step, ...]:
        """Every value that a row has had, oldest first, each since which event; `GONE` where it was not there."""
        name = encoded(key)
        fresh = self.steps.get(name, ())
        if fresh[:1] == (_REWRITE,):
            return fresh[1:]
        found, end, rows = list[Step](), _REWRITE.since, self._owner.rows(_STEPS, self.number, name)
        values = self._values([row[:4] for row in rows], is_past=True)
        for (*_, seqs, since, until), value in zip(rows, values, strict=True):
            if found and since > end:
                found.append(Step(end, GONE))
            found.append(Step(since, value, seqs or ""))
            end = since if until is None else until
        if found and end > found[-1].since:
            found.append(Step(end, GONE))
        return (*found, *(step for step in fresh if step.since > end))

    def history(self, key: Key) -> list[V]:
        return [step.value for step in self.steps_of(key) if step.value is not GONE]

    def ever(self, *prefix: str) -> list[Key]:
        low, high = _bounds(prefix, "")
        names = dict.fromkeys(name for (name,) in self._owner.rows(_EVER, self.number, low, high))
        names.update(dict.fromkeys(name for name in self.steps if low <= name < high))
        return [decoded(name) for name in names]

    def erase(self, key: Key, gone: Callable[[V], bool] | None = None) -> None:
        name, steps = encoded(key), self.steps_of(key)
        rest = [Step(one.since, GONE) if one.value is GONE or not gone or gone(one.value) else one for one in steps]
        if rest != list(steps):
            if self._owner.undo is not None:
                self._owner.undo.append((self, name, self.steps.get(name, ())))
            self.put_back(name, (_REWRITE, *rest))

    def changes(self) -> int:
        return sum(map(len, self.steps.values()))

    def write(self, db: sqlite3.Connection) -> None:
        number, dump = self.number, self.codec.dump
        if rewritten := [(number, name) for name, steps in self.steps.items() if steps[0] is _REWRITE]:
            db.executemany(_DROP, rewritten)
            db.executemany(_DROP_PAST, rewritten)
        rows = [
            (number, name, None if value is GONE else dump(value), seqs or None, since)
            for name, steps in self.steps.items() for since, value, seqs in steps if since > _REWRITE.since
        ]  # fmt: skip
        _write(db, rows, _KEEP)

    def discard(self) -> None:
        super().discard()
        self.steps.clear()


class TablesInRows(Undo):
    """The tables of one state, as rows of the database that is attached once they are declared."""

    db: sqlite3.Connection

    def __init__(self) -> None:
        self.tables: dict[str, RowTable[Any]] = {}
        self.position: Position | None = None  # of the rows in the database, as last seen
        self.is_bad = False  # the database cannot be read, or was edited
        self.recorded: Recorded | None = None  # None: the rows are not compared with any ledger
        self.sealed: Callable[[], SealedRows | None] | None = None  # the state in place of what was moved away
        self._cached = 0

    def table(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> RowTable[Any]:
        return self._declared(RowTable(self, name, codec, agrees))

    def kept(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> RowTable[Any]:
        return self._declared(KeptTable(self, name, codec, agrees))

    def _declared(self, table: RowTable[Any]) -> RowTable[Any]:
        assert table.name not in self.tables, table.name
        self.tables[table.name] = table
        return table

    def rows(self, statement: str, *values: object) -> list[Any]:
        """The rows of a query. Busy, if the database cannot be read: it is made again by the next call."""
        try:
            return self.db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.is_bad = True
            raise Busy(f"the state of this memory could not be read ({error}) and is made again; try again") from error

    def distrust(self, table: str) -> None:
        """A row is not what the ledger says. Busy: nothing of it is used, and all rows are made again.

        The error names the table alone: the key may be somebody's words.
        """
        self.is_bad = True
        raise Busy(
            f"a row of {table!r} in the state of this memory was changed by something else: it is not what the ledger"
            " says; nothing of it was used, and the state is made again; try again"
        )

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

    def cache(self, table: RowTable[Any], name: str, value: Any) -> None:
        self.make_room()
        table.known[name] = value

    def make_room(self) -> None:
        """One more is kept of what was read."""
        if self._cached >= _CACHED:
            self.forget()
        self._cached += 1

    def forget(self) -> None:
        """Read the rows again: somebody else may have changed them, or too many are kept."""
        for table in self.tables.values():
            table.known.clear()
            table.empty.clear()
            table.end = None
        self._cached = 0

    def discard(self) -> None:
        for table in self.tables.values():
            table.discard()
        self.forget()

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

    def changes(self) -> int:
        """The number of changes that are not written yet."""
        return sum(table.changes() for table in self.tables.values())

    def save(self, position: Position | None, first: Callable[[], object] = list) -> None:
        """Write what is not written, and the position that it belongs to; None: there is none.

        In the same transaction `first` is called.
        """
        changed = [table for table in self.tables.values() if table.changed]
        with self.writing():
            first()
            for table in changed:
                table.write(self.db)
                self.db.executemany(_DROP, [(table.number, key) for key, each in table.changed.items() if each is GONE])
            self.db.execute(_SET_POSITION, (SHAPE, *position)) if position else self.db.execute(_NO_POSITION)
        for table in changed:
            self._cached += len(table.changed)
            table.known.update(table.changed)
            table.discard()
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


def _write(db: sqlite3.Connection, rows: Sequence[tuple[object, ...]], replace: str) -> None:
    """Write rows. Most are new; only if some are not, all go the longer way of those that may replace others."""
    if db.executemany(_ADD, rows).rowcount < len(rows):
        db.executemany(replace, rows)


def _readable(recorded: Recorded, seqs: list[int]) -> Mapping[int, Event | None]:
    """The events of these numbers. One whose line is damaged has no body: what it said is not served, the rest is."""
    try:
        return recorded(seqs)
    except Damaged:
        found: dict[int, Event | None] = {}
        for seq in seqs:
            try:
                found.update(recorded([seq]))
            except Damaged:
                found[seq] = Event(seq, "", "", "", "", "", None)
        return found


def _bounds(prefix: tuple[str, ...], after: str) -> tuple[str, str]:
    """The range of the keys under a prefix whose next field is greater than `after`."""
    start = encoded(prefix).encode("utf-8", "replace").decode() if prefix else ""
    low = start + SEPARATOR if prefix else ""
    high = start + _NEXT if prefix else _BEYOND
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
