"""Results as plain dictionaries. SQLAlchemy's own names for columns are not quite texts, and some encoders mind."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select


def fetch(conn: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    """Every row that `query` finds."""
    result = conn.execute(query)
    names = [str(name) for name in result.keys()]  # noqa: SIM118  (of a result, not of a dictionary)
    return [dict(zip(names, row, strict=True)) for row in result]


def fetch_one(conn: Connection, query: Select[Any]) -> dict[str, Any] | None:
    """The row that `query` finds, if any."""
    return next(iter(fetch(conn, query)), None)
