"""The rows of a state file: what a row that follows from events which were moved away is compared with.

In the file the rows of each table are together, in the order of their keys, one a line: the table, the key, the value.
So one is found by bisection, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from mmap import mmap
from typing import Any

import orjson

from tallystick.records.event import Event
from tallystick.state.tables import encoded

_WORDS = ("text", "user", "agent", "session", "about", "key", "path", "trust", "triple")
_NONE = object()


class SealedRows:
    """The rows of the state after event `seq`, in a file with these bytes."""

    def __init__(self, seq: int, data: mmap) -> None:
        self._seq, self._data = seq, data
        self._tables = dict[str, tuple[int, int]]()
        start = data.find(b"\n") + 1
        while start < len(data):
            table = self._row(start)[0]
            end = self._first(start, len(data), lambda row, table=table: row[0] == table)  # type: ignore[misc]
            self._tables[table] = start, end
            start = end

    def agrees(self, table: str, name: str, value: bytes, seqs: Sequence[int], later: Sequence[Event]) -> bool:
        """True if a row has this value there; or, where it also follows from later events, the words of both alone."""
        there = self._value(table, name)
        if max(seqs, default=-1) <= self._seq:
            return there is not _NONE and orjson.loads(value) == there
        known = {word for each in (there, *(event.body for event in later)) for word in _words(each)}
        return known.issuperset(_words(orjson.loads(value)))

    def _value(self, table: str, name: str) -> Any:
        low, high = self._tables.get(table, (0, 0))
        start = self._first(low, high, lambda row: _key(row) < name.encode("utf-8", "replace"))
        row = self._row(start) if start < high else None
        return row[2] if row and _key(row) == name.encode("utf-8", "replace") else _NONE

    def _first(self, low: int, high: int, is_before: Callable[[list[Any]], bool]) -> int:
        """Where the first line of a range begins for which this is not true."""
        while low < high:
            start = self._data.rfind(b"\n", 0, (low + high) // 2) + 1
            if is_before(self._row(start)):
                low = self._data.find(b"\n", start) + 1
            else:
                high = start
        return low

    def _row(self, start: int) -> list[Any]:
        row: list[Any] = orjson.loads(self._data[start : self._data.find(b"\n", start)])
        return row


def _key(row: list[Any]) -> bytes:
    key = row[1]
    return encoded(tuple(key) if type(key) is list else key).encode("utf-8", "replace")


def _words(value: Any) -> Iterator[str]:
    """Whatever is said in a value, and whose it is."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in _WORDS:
                yield from map(str, each if isinstance(each, list) else [each])
            else:
                yield from _words(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
