"""The rows of a state, for tests that look at one part of it."""

from __future__ import annotations

from typing import Any

import orjson

from tallystick.state.tables import Part


def rows_of(state: Part, table: str) -> list[list[Any]]:
    """The rows of the tables whose names begin so: the table, the key, the value."""
    return [row for row in [orjson.loads(row) for row in state.dump()] if row[0].startswith(table)]
