"""Tables that can be put back as they were.

Between `begin` and `commit` every change is noted with what was there before, so that `rollback` can undo a write that
did not reach the disk.
"""

from __future__ import annotations

from typing import Any

GONE = object()


class Transactional:
    """What is held in dictionaries that only `_set` and `_drop` change."""

    def __init__(self) -> None:
        self._undo: list[tuple[dict[Any, Any], Any, Any]] | None = None

    def begin(self) -> None:
        self._undo = []

    def commit(self) -> None:
        self._undo = None

    def rollback(self) -> None:
        undo, self._undo = self._undo or [], None
        for table, key, before in reversed(undo):
            if before is GONE:
                table.pop(key, None)
            else:
                table[key] = before

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if self._undo is not None:
            self._undo.append((table, key, table.get(key, GONE)))
        table[key] = value

    def _drop(self, table: dict[Any, Any], key: Any) -> None:
        if key in table:
            if self._undo is not None:
                self._undo.append((table, key, table[key]))
            del table[key]
