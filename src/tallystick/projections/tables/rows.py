"""The tables of a state as rows of a database, read by key when a decision asks for them.

What is not written yet is kept in memory, over the rows: the changes of the write that is in progress, and whatever
could not be written so far. All of it is written in one transaction, together with the position in the ledger to which
it belongs; a crash leaves the rows of an earlier position. Rows that were read are kept, up to a limit, as long as
nobody else changes them. `sqlite.py` and `postgres.py` say where the rows are, and how they are read and written.

A row of a table that declares how is compared with the ledger whenever it is read from the database: it has the numbers
of the events that it follows from, and must say what these say. So a row that somebody has edited is never used.

A row of a table that keeps its past has in `since` the event that gave it its value. When another value takes its
place, the database moves the old one to `state_past`, where it held from event `since` up to the one before `until`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from tallystick.projections.tables.sealed import SealedRows
from tallystick.records.errors import Busy, Damaged
from tallystick.records.event import Event, Position
from tallystick.state.tables import PLAIN, SEPARATOR, Agrees, Codec, Key, Table, Undo, WithoutPast, decoded, encoded

V = TypeVar("V")

SHAPE = 7  # of the rows; raise it when the same events give others

_NEXT = chr(ord(SEPARATOR) + 1)
_BEYOND = "\U0010ffff\U0010ffff"
_CHUNKS = 50, 1000  # rows that are read at once: the first time, and then
_MANY = 1 << 60
_CACHED = 20_000  # rows

_MOVED_AWAY = "-1"

UNKNOWN, GONE = object(), object()
Row = tuple[str, bytes, str | None, int | None]  # the key, the value, its events, and since which of them it is there
PastRow = tuple[str, bytes, str | None, int, int | None]  # the same, and until which event; None: it is there now
Number = Any  # of a table in the database, or its name there
Change = tuple[Number, str, bytes | None, str | None, int | None]  # of a table: its number, and a row as above
Recorded = Callable[[Iterable[int]], Mapping[int, Event | None]]  # the events of these numbers; see `LedgerReader`


class Step(NamedTuple):
    """The value that a row has from an event on, and the events that it follows from."""

    since: int
    value: Any
    seqs: str = ""


_REWRITE = Step(-2, GONE)  # before the steps of a row whose history is written again: whatever there is of it goes


class Database(Protocol):
    """Where the rows are. Keys are named as by `encoded`; a range goes from `low` up to, not including, `high`."""

    def end(self, number: Number) -> str | None:
        """Every key of a table is below this; "" if it has no rows. None: finding out would take too long."""

    def by_key(self, number: Number, names: Sequence[str]) -> list[Row]: ...
    def in_range(self, number: Number, low: str, high: str, limit: int, reverse: bool, bare: bool) -> list[Row]:
        """Those rows, in order; `bare`, if of each the key and the value are enough."""

    def count(self, number: Number, low: str, high: str, limit: int) -> int: ...
    def steps(self, number: Number, name: str) -> list[PastRow]:
        """Every value that a row has had, oldest first."""

    def ever(self, number: Number, low: str, high: str) -> list[str]:
        """The keys that are or were in a range."""

    def at(self, last: int) -> Database:
        """The same rows as they were after event `last`."""


class Writes(NamedTuple):
    """What is not written yet of a table: it is written in this order."""

    rewritten: Sequence[tuple[Number, str]]  # rows of which nothing stays, nor of their past
    kept: Sequence[Change]  # values with `since`, each row's in order: one that is replaced goes to `state_past`
    plain: Sequence[Change]
    gone: Sequence[tuple[Number, str]]


class RowTable(WithoutPast[V]):
    """One table. `changed` are the rows that are not written yet, `known` those that were read."""

    number: Number  # in the database that is attached
    changed: Any  # dict[str, V]

    def __init__(self, owner: RowTables, name: str, codec: Codec, agrees: Agrees | None) -> None:
        self._owner, self.name, self.codec, self.agrees = owner, name, codec, agrees
        self.changed = {}
        self.seqs: dict[str, str] = {}  # the events that changed rows follow from, where the table is compared
        self.known: dict[str, Any] = {}
        self.order: list[str] | None = None  # the keys of `changed` in order, once a range of them was asked for
        self.empty: set[tuple[str, str]] = set()  # ranges that have no rows in the database
        self.some: Key | None = None  # a key that had a row when it was asked whether there is any
        self.end: str | None = None  # see `_is_beyond`; None: not asked yet, or not known

    def get(self, key: Key) -> V | None:
        name = encoded(key)
        found = self.changed.get(name, UNKNOWN)
        if found is UNKNOWN:
            found = self.known.get(name, UNKNOWN)
            if found is UNKNOWN:
                if self.end is not None and name >= self.end:  # as `_is_beyond`, without a call
                    return None
                found = self._read(name)
        return None if found is GONE else found

    def _read(self, name: str) -> Any:
        if self._is_beyond(name):  # so it is with many a new key, and a table may have no rows at all
            return GONE
        try:
            rows = self._owner.database.by_key(self.number, [name])
        except UnicodeEncodeError:  # half a character: nothing is recorded under such a name
            rows = []
        return self.learn(name, rows)

    def is_unknown(self, name: str) -> bool:
        """True if the database must be asked for it."""
        return name not in self.changed and name not in self.known and not self._is_beyond(name)

    def learn(self, name: str, rows: list[Row]) -> Any:
        """Keep what the database has under a key: one row, or none."""
        found = next((value for _, value in self._loaded(rows)), GONE) if rows else GONE
        self._owner.cache(self, name, found)
        return found

    def _loaded(self, rows: list[Row]) -> list[tuple[str, Any]]:
        """The rows as they are in the database. Busy, if one does not say what the ledger says."""
        if self.agrees is None:
            try:
                return [(row[0], self.codec.load(row[1])) for row in rows]
            except (ValueError, TypeError, LookupError, AttributeError):
                self._owner.distrust(self.name)
        values = self._values(rows, self.changed)
        return [(row[0], value) for row, value in zip(rows, values, strict=True) if value is not GONE]

    def _values(self, rows: list[Row], unused: Container[str] = (), *, is_past: bool = False) -> list[Any]:
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
        if not self.changed and self._has_none_from(""):
            return False
        if self.some is None or self.get(self.some) is None:  # most often it is still there
            self.some = next((key for key, _ in self.under()), None)
        return self.some is not None

    def _is_beyond(self, name: str) -> bool:
        """Whether it is above the key of every row in the database, but for those in `known`."""
        if self.end is None:
            self.end = self._owner.database.end(self.number)
        return self.end is not None and name >= self.end

    def _has_none_from(self, low: str) -> bool:
        """Whether it is known that no row in the database has this key or one above it."""
        return not self.known and self._is_beyond(low)

    def set(self, key: Key, value: V) -> None:
        name = encoded(key)
        self._change(name, value, self._because(key, name, value) if self.agrees else "")

    def drop(self, key: Key) -> None:
        """It is not read to find out whether it is there."""
        name = encoded(key)
        if self.is_unknown(name) or self.changed.get(name, self.known.get(name, GONE)) is not GONE:
            self._change(name, GONE)

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
        return next((seqs or "" for _, _, seqs, _ in self._owner.database.by_key(self.number, [name])), "")

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
        if (low, high) in self.empty or self._has_none_from(low):
            return
        size, more = _CHUNKS
        while rows := self._owner.database.in_range(self.number, low, high, size, reverse, self.agrees is None):
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
        return 0 if self._has_none_from(low) else self._owner.database.count(self.number, low, high, limit)

    def prefetch(self, keys: Iterable[Key]) -> None:
        names = list(filter(self.is_unknown, map(encoded, keys)))
        for start in range(0, len(names), _CHUNKS[1]) if len(names) > 1 else ():
            part = names[start : start + _CHUNKS[1]]
            found = dict(self._loaded(self._owner.database.by_key(self.number, part)))
            for name in part:
                self._owner.cache(self, name, found.get(name, GONE))

    def changes(self) -> int:
        return len(self.changed)

    def writes(self) -> Writes:
        number, dump, seqs = self.number, self.codec.dump, self.seqs.get
        rows = sorted(self.changed.items(), key=itemgetter(0))
        plain = [(number, name, dump(each), seqs(name), None) for name, each in rows if each is not GONE]
        return Writes([], [], plain, [(number, name) for name, each in rows if each is GONE])

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

    def __init__(self, owner: RowTables, name: str, codec: Codec, agrees: Agrees | None) -> None:
        super().__init__(owner, name, codec, agrees)
        self.steps: dict[str, tuple[Step, ...]] = {}

    def _change(self, name: str, value: Any, seqs: str = "") -> None:
        event, undo, steps = self._owner.event, self._owner.undo, self.steps.get(name, ())
        step = Step(event.seq if event else -1, value, seqs)
        if undo is not None:
            undo.append((self, name, steps))
        if steps and steps[-1].since == step.since:
            steps = steps[:-1]
        self.steps[name] = (*steps, step) if steps else (step,)
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
        found, end, rows = list[Step](), _REWRITE.since, self._owner.database.steps(self.number, name)
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
        names = dict.fromkeys(self._owner.database.ever(self.number, low, high))
        for name, steps in self.steps.items():
            if low <= name < high and any(step.value is not GONE for step in steps):  # else nothing was there to drop
                names[name] = None
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

    def writes(self) -> Writes:
        number, dump = self.number, self.codec.dump
        rewritten = [(number, name) for name, steps in self.steps.items() if steps[0] is _REWRITE]
        kept = [
            (number, name, None if value is GONE else dump(value), seqs or None, since)
            for name, steps in self.steps.items() for since, value, seqs in steps if since > _REWRITE.since
        ]  # fmt: skip
        return Writes(rewritten, kept, [], [(number, name) for name, value in self.changed.items() if value is GONE])

    def discard(self) -> None:
        super().discard()
        self.steps.clear()


class RowTables(Undo):
    """The tables of one state, as rows of a database."""

    database: Database

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

    def distrust(self, table: str) -> None:
        """A row is not what the ledger says. Busy: nothing of it is used, and all rows are made again.

        The error names the table alone: the key may be somebody's words.
        """
        self.is_bad = True
        raise Busy(
            f"a row of {table!r} in the state of this memory was changed by something else: it is not what the ledger"
            " says; nothing of it was used, and the state is made again; try again"
        )

    def prefetch(self, wanted: Sequence[tuple[Table[Any], Key]]) -> None:
        """A read by key is cheap here."""

    def clear(self) -> None:
        """Empty all tables, in the database too."""
        raise NotImplementedError

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

    def changes(self) -> int:
        """The number of changes that are not written yet."""
        return sum(table.changes() for table in self.tables.values())

    def writes(self) -> list[Writes]:
        """What is not written yet, of each table that was changed."""
        return [table.writes() for table in self.tables.values() if table.changed]

    def written(self, position: Position | None) -> None:
        """What was not written is in the database now, and belongs to that position."""
        for table in self.tables.values():
            if table.changed:
                self._cached += len(table.changed)
                table.known.update(table.changed)
                table.discard()
        if self._cached > _CACHED:
            self.forget()
        self.position = position


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


def array_of(seqs: str | None) -> str | None:
    """The events of a row as PostgreSQL writes an array of numbers."""
    return f"{{{','.join(seqs.split())}}}" if seqs else None


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
