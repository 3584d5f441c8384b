"""Whether two indexes say the same: row for row, and whether full text still belongs to the contents.

Reads both in order and in step, so that it needs no more memory for a large index than for a small one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile

Row = tuple[object, ...]


class Difference(NamedTuple):
    """One row that is in one of them alone. `row` begins with what names it."""

    table: str
    row: Row
    is_extra: bool  # in the first, and not in the second


def differences(index: IndexFile, other: IndexFile) -> Iterator[Difference]:
    """The rows in which two indexes differ."""
    for table, statement in sql.EVERYTHING.items():
        mine, theirs = iter(index.db.execute(statement)), iter(other.db.execute(statement))
        yield from _in_step(table, mine, theirs)


def _in_step(table: str, mine: Iterator[Row], theirs: Iterator[Row]) -> Iterator[Difference]:
    left, right = next(mine, None), next(theirs, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(mine, None), next(theirs, None)
        elif right is None or (left is not None and _order(left) < _order(right)):
            yield Difference(table, left or (), True)
            left = next(mine, None)
        else:
            yield Difference(table, right, False)
            right = next(theirs, None)


def _order(row: Row) -> list[tuple[int, object]]:
    """As SQLite orders: nothing before numbers, numbers before text, text by its bytes."""
    return [
        (0, 0) if value is None else (1, value) if isinstance(value, int | float) else (2, _bytes(value))
        for value in row
    ]


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def file_trouble(index: IndexFile) -> str:
    """What SQLite finds wrong with its own file, if anything: pages, and whether its indexes belong to the tables."""
    if index.db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        return "its pages do not belong together"
    return ""


def text_trouble(index: IndexFile) -> str:
    """What is wrong with the full text of an index, if anything."""
    try:
        index.db.execute("BEGIN IMMEDIATE")
        try:
            index.db.execute(sql.TEXTS_ARE_WHOLE)
            index.db.execute(sql.ASIDES_ARE_WHOLE)
        finally:
            index.db.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""
