"""The health of a store, and migrations of its schema."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tallystick.records.display import Displayable
from tallystick.records.errors import MigrationNotSupported

ADD_COLUMN_ONLY = "v1-add-column-only"
NON_NULLABLE = "non-nullable-add"
GOING_BACK = "going-back"
TYPES = ("TEXT", "INTEGER", "REAL", "BLOB", "NUMERIC")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth(Displayable):
    """The health of a store. `fragment_count` is the number of its records; None before it exists."""

    ok: bool
    version: int
    fragment_count: int | None = None
    fs_type: str
    lock_state: str  # "free" or "held"
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """Changes of a store's schema, like `{"op": "add_column", "name": "mood", "type": "TEXT", "nullable": True}`."""

    target_version: int
    operations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Column:
    """A new nullable column."""

    table: str
    name: str
    type: str


def columns_of(plan: MigrationPlan, *, table: str) -> list[Column]:
    """The columns that a plan adds to `table`. MigrationNotSupported, with the reason, for anything else."""
    return [_column(operation, table) for operation in plan.operations]


def _column(operation: dict[str, Any], table: str) -> Column:
    kind = operation.get("op")
    if kind != "add_column":
        raise MigrationNotSupported(f"{kind!r} is not supported; only add_column is", ADD_COLUMN_ONLY)
    if operation.get("nullable") is not True:
        raise MigrationNotSupported("a new column must be nullable: existing rows have no value for it", NON_NULLABLE)
    name, kind = operation.get("name", operation.get("column", "")), str(operation.get("type", "TEXT")).upper()
    if operation.get("table", table) != table:
        raise MigrationNotSupported(f"this store has one table, {table!r}", ADD_COLUMN_ONLY)
    if type(name) is not str or not _NAME.match(name):
        raise MigrationNotSupported(f"{name!r} is not a column name: use letters, digits and _", ADD_COLUMN_ONLY)
    if kind not in TYPES:
        raise MigrationNotSupported(f"a column's type must be one of {', '.join(TYPES)}, not {kind!r}", ADD_COLUMN_ONLY)
    return Column(table, name, kind)
