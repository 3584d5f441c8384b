"""Comparing two indexes row for row, and checking that full text still belongs to the contents.

Both are read in order and in step, so a large index needs no more memory than a small one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.schema import TABLES

Row = tuple[object, ...]


class Difference(NamedTuple):
    """One row that only one of the two has. `row` begins with what names it."""

    table: str
    row: Row
    is_extra: bool  # in the first, and not in the second


def differences(index: IndexFile, other: IndexFile) -> Iterator[Difference]:
    """The rows in which two indexes differ. Raises sqlite3.Error if the first lacks a column of the second."""
    for table in TABLES:
        names = [f"{table}.{column[0]}" for column in other.db.execute(f"SELECT * FROM {table} LIMIT 0").description]
        in_order = f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(names)}"
        yield from _in_step(table, index.db.execute(in_order), other.db.execute(in_order))


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
    """The order of SQLite: NULL before numbers, numbers before text, text by its bytes."""
    return [
        (0, 0) if value is None
        else (1, value) if isinstance(value, int | float)
        else (2, value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass"))
        for value in row
    ]  # fmt: skip


def file_trouble(index: IndexFile) -> str:
    """SQLite's own finding about its file (pages, and indexes that belong to their tables); empty if it is sound."""
    is_sound = index.db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    return "" if is_sound else "its pages do not belong together"


def text_trouble(index: IndexFile) -> str:
    """SQLite's finding about the full text of an index; empty if it belongs to the contents."""
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
