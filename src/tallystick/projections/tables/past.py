"""The tables of a state as they were after an event, read from the rows that `rows.py` keeps.

A row that has its value since no later than the event is still the one of then. Of any other, `state_past` has the
value of then, if there was one. So a question about the past reads as many rows as the same question about now, however
much was written since. Of a table that keeps no past, no row can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tallystick.projections.tables.rows import GONE, KeptTable, RowTable, RowTables, Step
from tallystick.state.tables import PLAIN, Agrees, Codec, Key

V = TypeVar("V")


class TableAt(RowTable[V]):
    """A table as it was."""

    def __init__(self, owner: TablesAt, table: KeptTable[V]) -> None:
        super().__init__(owner, table.name, table.codec, table.agrees)
        self._table, self.number, self._last = table, table.number, owner.last
        self.changed = _ChangedAt(table.steps, owner.last)

    def ever(self, *prefix: str) -> list[Key]:
        """Those of later events are among them; they have no history by then."""
        return self._table.ever(*prefix)

    def history(self, key: Key) -> list[V]:
        steps = self._table.steps_of(key)
        return [value for since, value, _ in steps if since <= self._last and value is not GONE]


class TablesAt(RowTables):
    """The tables as they were after event `last`. They are for reading."""

    def __init__(self, now: RowTables, last: int) -> None:
        super().__init__()
        self._now, self.recorded, self.last, self.database = now, now.recorded, last, now.database.at(last)

    def table(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> RowTable[Any]:
        return RowTable(self, name, codec, agrees)  # it is attached to no database

    def kept(self, name: str, *_: object) -> RowTable[Any]:
        table = self._now.tables[name]
        assert isinstance(table, KeptTable)
        made = self.tables[name] = TableAt(self, table)
        return made

    def distrust(self, table: str) -> None:
        self._now.distrust(table)


class _ChangedAt(Mapping[str, Any]):
    """Of the rows that are not written yet, those that had a value after an event."""

    def __init__(self, steps: Mapping[str, tuple[Step, ...]], last: int) -> None:
        self._steps, self._last = steps, last

    def __getitem__(self, name: str) -> Any:
        for since, value, _ in reversed(self._steps[name]):
            if since <= self._last:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, steps in self._steps.items() if steps[0][0] <= self._last)

    def __len__(self) -> int:
        return sum(1 for _ in self)
