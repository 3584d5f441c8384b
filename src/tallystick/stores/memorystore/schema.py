"""The shape of a stand-alone store: its tables, its versions, one more column, and how it is.

Every table is made with IF NOT EXISTS and in one transaction, so making it twice is the same as making it once, and a
crash leaves all of it or nothing. A version is written in the same transaction as the columns it adds.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import orjson

from tallystick.records.errors import MigrationNotSupported, NotFound, Refused, TallystickError
from tallystick.records.health import ADD_COLUMN_ONLY, Column, MigrationPlan, StoreHealth, columns_of
from tallystick.stores.file_system import is_remote, kind_of
from tallystick.stores.memorystore.database import open_file, telling

FIRST = 1
GOING_BACK = "going-back"

_OF_SQLITE = ("rowid", "_rowid_", "oid")  # a column so named would hide SQLite's own


@dataclass(frozen=True, slots=True)
class Shape:
    """What a store's main table must have, and the statements that make the rest of it."""

    table: str
    key: str
    documented: tuple[str, ...]
    added: tuple[str, ...]  # beside the documented, each with its type: may be missing in a file made elsewhere
    statements: tuple[str, ...]
    counted: str = ""  # which rows count as held
    foreign: tuple[str, ...] = ()  # the columns of a table with another key, which the store's `build` converts

    @property
    def versions(self) -> str:
        return f"{self.table}_versions"

    def verify(self, conn: sqlite3.Connection) -> None:
        """Refused, unless the store is here and has its shape. Looks only."""
        names = columns(conn, self.table)
        if not names:
            raise NotFound(f"{_name(conn)}: there is no store yet; call bootstrap() first")
        self.fit(conn)
        if not {each.split()[0] for each in self.added} <= names or not columns(conn, self.versions):
            raise NotFound(f"{_name(conn)}: made elsewhere, or by an older version; call bootstrap() first")

    def fit(self, conn: sqlite3.Connection) -> None:
        """Refused, if a table of that name is there and is another one than ours. Looks only."""
        rows = conn.execute(f"PRAGMA table_info({self.table})").fetchall()
        if not rows or self.is_foreign(conn):
            return
        names = {name for _, name, *_ in rows}
        missing = [name for name in self.documented if name not in names]
        known = {*self.documented, *(each.split()[0] for each in self.added)}
        demanded = [name for _, name, _, needed, usual, _ in rows if needed and usual is None and name not in known]
        keyed = {name for _, name, *_, key in rows if key}
        if missing or demanded or self.key not in keyed:
            why = f"no column {missing[0]!r}" if missing else f"{(demanded or ['its key'])[0]!r} is not ours"
            raise Refused(
                f"{_name(conn)}: holds a table {self.table!r} of another shape ({why}); name another file", "mismatch"
            )

    def is_foreign(self, conn: sqlite3.Connection) -> bool:
        """Whether the table was made elsewhere with another key, and is still to be converted."""
        names = columns(conn, self.table)
        return bool(self.foreign) and self.key not in names and names >= set(self.foreign)

    def build(self, conn: sqlite3.Connection, at: str) -> None:
        """Make what is missing, inside the caller's transaction."""
        self.fit(conn)
        there = columns(conn, self.table)
        for each in self.added if there else ():
            if each.split()[0] not in there:
                conn.execute(f"ALTER TABLE {self.table} ADD COLUMN {each}")
        for statement in self.statements:
            conn.execute(statement)
        conn.execute(
            f"CREATE TABLE IF NOT EXISTS {self.versions} "
            "(version INTEGER PRIMARY KEY, columns BLOB NOT NULL, at TEXT NOT NULL)"
        )
        conn.execute(f"INSERT OR IGNORE INTO {self.versions} VALUES (?, ?, ?)", (FIRST, b"[]", at))

    def version(self, conn: sqlite3.Connection) -> int:
        if not columns(conn, self.versions):
            return 0
        return int(conn.execute(f"SELECT coalesce(max(version), 0) FROM {self.versions}").fetchone()[0])

    def extras(self, conn: sqlite3.Connection) -> tuple[str, ...]:
        """The columns that plans added, in the order they came."""
        rows = conn.execute(f"SELECT columns FROM {self.versions} ORDER BY version")
        return tuple(name for (names,) in rows for name in orjson.loads(names))

    def migrate(self, conn: sqlite3.Connection, plan: MigrationPlan, at: str) -> None:
        """Add the plan's columns and its version, inside the caller's transaction. A version that is there is kept."""
        wanted, now = checked_plan(plan, self.table), self.version(conn)
        if plan.target_version < now:
            raise MigrationNotSupported(f"the store is at version {now}: there is no way back", GOING_BACK)
        names = [column.name for column in wanted]
        if plan.target_version == now:
            [(had,)] = conn.execute(f"SELECT columns FROM {self.versions} WHERE version = ?", (now,))
            if orjson.loads(had) != names:
                raise MigrationNotSupported(f"version {now} is here and is another one; raise it", ADD_COLUMN_ONLY)
            return
        there = {name.lower() for name in columns(conn, self.table)} | set(_OF_SQLITE)
        for column in wanted:
            if column.name.lower() in there:
                raise MigrationNotSupported(f"there is a column {column.name!r} already", ADD_COLUMN_ONLY)
            conn.execute(f'ALTER TABLE {self.table} ADD COLUMN "{column.name}" {column.type}')
            there.add(column.name.lower())
        row = (plan.target_version, orjson.dumps(names), at)
        conn.execute(f"INSERT INTO {self.versions} VALUES (?, ?, ?)", row)


def checked_plan(plan: MigrationPlan, table: str) -> list[Column]:
    if type(plan.target_version) is not int or plan.target_version < FIRST:
        raise MigrationNotSupported(f"a version is a whole number from {FIRST} on", ADD_COLUMN_ONLY)
    return columns_of(plan, table=table)


def columns(conn: sqlite3.Connection, table: str) -> set[str]:
    return {name for _, name, *_ in conn.execute(f"PRAGMA table_info({table})")}


def cell(value: object) -> object:
    """A value of some metadata, as a column that a plan added holds it."""
    if value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    return orjson.dumps(value).decode()


def health_of(path: Path, shape: Shape) -> StoreHealth:
    """How the store at `path` is. Makes nothing, waits for nobody, and raises nothing for a file that is not well."""
    kind = kind_of(path)
    warnings = [f"{path} is on a network file system ({kind}): locks may not hold there"] if is_remote(kind) else []

    def sick(why: str) -> StoreHealth:
        return StoreHealth(ok=False, version=0, fs_type=kind, lock_state="free", warnings=[*warnings, why])

    if not path.exists():
        return sick(f"{path}: there is no store yet; call bootstrap() first")
    try:
        with telling(path):
            return _looked_at(path, shape, kind, warnings)
    except TallystickError as error:
        return sick(str(error))


def _looked_at(path: Path, shape: Shape, kind: str, warnings: list[str]) -> StoreHealth:
    if os.path.isdir(path):
        raise Refused(f"{path} is a folder; name a file in it", "place")
    conn = open_file(path, timeout=0)
    try:
        shape.verify(conn)
        counted = conn.execute(f"SELECT count(*) FROM {shape.table} {shape.counted}").fetchone()[0]
        version = shape.version(conn)
        lock = _lock_state(conn)
    finally:
        conn.close()
    return StoreHealth(
        ok=True, version=version, fragment_count=counted, fs_type=kind, lock_state=lock, warnings=warnings
    )


def _lock_state(conn: sqlite3.Connection) -> str:
    try:
        conn.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        return "held" if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY else "free"
    conn.execute("ROLLBACK")
    return "free"


def _name(conn: sqlite3.Connection) -> str:
    return str(conn.execute("PRAGMA database_list").fetchone()[2] or "the file")
