"""The tables of a state as rows of PostgreSQL: see `rows.py`.

The ledger is in the same database, and writes what is not written yet in the transaction of its lines. Rows are read by
calls of the database's functions, which the ledger makes: they are within one ledger, and each row comes with the lines
of the events that it follows from, so that comparing it asks for nothing more. What was read is kept as long as the
head does not move, or only this process moves it. Which tables have ever had a row is known with the head.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

from tallystick.projections.tables.rows import (
    GONE,
    SHAPE,
    Change,
    KeptTable,
    Number,
    PastRow,
    Recorded,
    Row,
    RowTable,
    RowTables,
    Writes,
    array_of,
)
from tallystick.records.event import Position
from tallystick.state.tables import Key, Table, encoded

Rows = list[tuple[Any, ...]]
Calls = Callable[..., Rows]  # a function of the database by its name, and its values
Noted = Callable[[Rows], None]  # lines: the number, the slice, the data, and the next line's slice


class PostgresRows:
    """The rows within one ledger, or as they were after event `last`."""

    def __init__(self, owner: TablesInPostgres, last: int | None = None) -> None:
        self._owner, self._last = owner, last

    def end(self, number: Number) -> str | None:
        return None if number in self._owner.filled else ""

    def by_key(self, number: Number, names: Sequence[str]) -> list[Row]:
        keys = [name.encode() for name in names]
        return self._found(self._owner.calls("rows_by_key", [number] * len(keys), keys, self._last))

    def in_range(self, number: Number, low: str, high: str, limit: int, reverse: bool, bare: bool) -> list[Row]:  # noqa: ARG002
        ends = low.encode(), high.encode()
        rows = self._found(self._owner.calls("rows_in", number, *ends, limit, reverse, self._last))
        return sorted(rows, key=lambda row: row[0].encode(), reverse=reverse)

    def count(self, number: Number, low: str, high: str, limit: int) -> int:
        ends = low.encode(), high.encode()
        return int(self._owner.calls("count_in", number, *ends, limit, self._last)[0][0])

    def steps(self, number: Number, name: str) -> list[PastRow]:
        found = dict[int, PastRow]()
        lines = Rows()
        for key, value, seqs, since, until, *line in self._owner.calls("row_steps", number, name.encode()):
            found[since] = key.decode(), value, _named(seqs), since, until
            lines.append(tuple(line))
        self._note(lines)
        return list(found.values())

    def ever(self, number: Number, low: str, high: str) -> list[str]:
        found = self._owner.calls("keys_ever", number, low.encode(), high.encode())
        return [key.decode() for (key,) in found]

    def at(self, last: int) -> PostgresRows:
        return PostgresRows(self._owner, last)

    def of_tables(self, wanted: Sequence[tuple[Number, str]]) -> dict[tuple[Number, str], list[Row]]:
        """The rows of several tables that are there."""
        tabs, keys = [number for number, _ in wanted], [name.encode() for _, name in wanted]
        rows = self._owner.calls("rows_by_key", tabs, keys, self._last)
        self._note([row[5:] for row in rows])
        found = ((row[0], (row[1].decode(), row[2], _named(row[3]), row[4])) for row in rows)
        return {(tab, row[0]): [row] for tab, row in found}

    def _found(self, rows: Rows) -> list[Row]:
        """Each row once: it comes with each of its lines."""
        self._note([row[5:] for row in rows])
        found = {row[1]: (row[1].decode(), row[2], _named(row[3]), row[4]) for row in rows}
        return list(found.values())

    def _note(self, lines: Rows) -> None:
        self._owner.noted([line for line in lines if line[0] is not None])


def _named(seqs: Sequence[int] | None) -> str | None:
    return None if seqs is None else " ".join(map(str, seqs))


class TablesInPostgres(RowTables):
    """The tables of one state, as rows within one ledger."""

    shape = SHAPE
    calls: Calls
    noted: Noted

    def __init__(self) -> None:
        super().__init__()
        self.database: PostgresRows = PostgresRows(self)
        self.filled = frozenset[str]()  # the tables that have rows in the database, or had

    def _declared(self, table: RowTable[Any]) -> RowTable[Any]:
        table.number = table.name
        return super()._declared(table)

    def attach(self, calls: Calls, recorded: Recorded, noted: Noted) -> None:
        self.calls, self.recorded, self.noted = calls, recorded, noted

    def prefetch(self, wanted: Sequence[tuple[Table[Any], Key]]) -> None:
        names = [(table, encoded(key)) for table, key in wanted if isinstance(table, RowTable)]
        names = [(table, name) for table, name in names if table.is_unknown(name)]
        if len(names) < 2:
            return
        try:
            found = self.database.of_tables([(table.number, name) for table, name in names])
        except UnicodeEncodeError:  # half a character in one of them: each is read by itself
            return
        for table, name in names:
            table.learn(name, found.get((table.number, name), []))

    def follow(self, tables: Collection[str]) -> None:
        self.filled, self.is_bad = frozenset(tables), False
        self.discard()

    def tables_with_rows(self) -> frozenset[str]:
        new = [name for name in self.dirty.keys() - self.filled if self.dirty[name].changed]
        return self.filled.union(new) if new else self.filled

    def written(self, position: Position | None) -> None:
        if self.dirty:
            self.filled = self.tables_with_rows()
        super().written(position)

    def fields(self) -> list[list[Any] | None]:
        """What is not written yet: `plain`, `rewritten`, `kept`, `kept_at` and `gone` of the database's `write`. The
        last ones are left out, if there are none."""
        if not self.dirty:
            return []
        plain: list[Any] = []
        gone: list[Any] = []
        with_past: list[Writes] = []
        for table in self.dirty.values():
            if isinstance(table, KeptTable):
                with_past.append(table.writes())
                continue
            tab, dump, seqs = table.name.encode(), table.codec.dump, table.seqs.get
            for name, value in table.changed.items():
                if value is GONE:
                    gone += tab, name.encode()
                else:
                    plain += tab, name.encode(), dump(value), _events(seqs(name)) if table.agrees else None
        return [plain or None, *_kept_fields(with_past, gone)] if with_past or gone else [plain] if plain else []


def _kept_fields(tables: Sequence[Writes], gone: list[Any]) -> list[list[Any] | None]:
    """`rewritten`, `kept`, `kept_at` and `gone`, with what is gone of other tables. Values of one row take turns, so
    that no statement changes a row twice."""
    rewritten: list[Any] = []
    steps: list[tuple[int, Change]] = []
    for writes in tables:
        gone += [field.encode() for row in writes.gone for field in row]
        rewritten += [field.encode() for row in writes.rewritten for field in row]
        turns: dict[str, int] = {}
        for row in writes.kept:
            turns[row[1]] = turns.get(row[1], -1) + 1
            steps.append((turns[row[1]], row))
    steps.sort(key=itemgetter(0))
    kept = [
        field for _, (number, name, value, events, _) in steps
        for field in (number.encode(), name.encode(), value, _events(events))
    ]  # fmt: skip
    kept_at = [number for turn, row in steps for number in (turn, row[4])]
    return [fields or None for fields in (rewritten, kept, kept_at, gone)]


def _events(seqs: str | None) -> bytes | None:
    found = array_of(seqs)
    return found.encode() if found else None
