"""A caller's list as a table, however long it is.

SQLite limits how many values a statement may bind, and plans worse with each. A list is therefore bound as one JSON
text, and read with `json_each`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Select, Text, column, func, select


def given(values: Sequence[str]) -> Select[str]:
    """One row for each of `values`.

    Not a common table, so that a write still begins with its verb: Python's sqlite3 begins a transaction before
    `UPDATE …`, and none before `WITH … UPDATE …`.
    """
    each = func.json_each(_json(values)).table_valued(column("value", Text))
    return select(each.c.value)


def given_once(values: Sequence[str]) -> CTE:
    """The same for a read that uses it more than once: a common table with the one column `value`."""
    return given(values).cte("given")


def given_pairs(pairs: Sequence[tuple[str, str]]) -> Select[str, str]:
    """One row of two columns for each of `pairs`."""
    each = func.json_each(_json(pairs)).table_valued(column("value", Text))
    first, second = (func.json_extract(each.c.value, f"$[{at}]", type_=Text) for at in (0, 1))
    return select(first, second)


def _json(values: Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False)
