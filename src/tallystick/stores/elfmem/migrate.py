"""Migration of a stand-alone index database to the current tables, without dropping anything.

A migration is whole or absent: it runs in one transaction, and two processes take turns. Foreign keys are off while
tables are rebuilt, because SQLite would otherwise delete, with the old table, whatever refers to its rows. Tables that
are not the index's are neither read nor changed.

The index inside a memory folder needs none of this: it is derived, and rebuilt.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect
from sqlalchemy.engine.interfaces import ReflectedForeignKeyConstraint, ReflectedIndex
from sqlalchemy.exc import DBAPIError

from tallystick.projections.database import PATIENCE
from tallystick.records.errors import Refused
from tallystick.stores.elfmem.engine import url_of
from tallystick.stores.elfmem.models import metadata
from tallystick.stores.sqlite_file import sqlite_error

SCRIPTS = "tallystick.stores.elfmem:migrations"

_ONE_AT_A_TIME = threading.Lock()  # Alembic's context is one for the whole process

_Shape = dict[str, tuple[Any, ...]]


def migrate(db_path: str | os.PathLike[str]) -> str:
    """Bring the database at `db_path` to the newest tables, and return its revision.

    A missing file is created. One made by `metadata.create_all` is recognised by its tables. Calling it again changes
    nothing. Refused if the tables are someone else's, or a newer tallystick's.
    """
    with _ONE_AT_A_TIME, opened(db_path) as conn:
        config = _config(conn)
        scripts = ScriptDirectory.from_config(config)
        recorded = MigrationContext.configure(conn).get_current_heads()
        if not recorded and inspect(conn).get_table_names():
            _adopt(conn, scripts, os.fspath(db_path))
        known = {script.revision for script in scripts.walk_revisions()}
        for revision in (each for each in recorded if each not in known):
            raise Refused(
                f"{os.fspath(db_path)} is at revision {revision!r}, which this tallystick does not know; "
                "upgrade tallystick", "unsupported"
            )  # fmt: skip
        command.upgrade(config, "head")
        return str(scripts.get_current_head())


@contextmanager
def opened(db_path: str | os.PathLike[str]) -> Iterator[Connection]:
    """The database in one transaction, rolled back if anything goes wrong. Waits for another writer."""
    engine = _engine(url_of(db_path, "sqlite"))
    try:
        with engine.begin() as conn:
            yield conn
    except DBAPIError as error:
        found = sqlite_error(os.fspath(db_path), getattr(error.orig, "sqlite_errorcode", 0), str(error.orig))
        if found is None:
            raise
        raise found from error
    finally:
        engine.dispose()


def _engine(url: URL) -> Engine:
    """Python's sqlite3 begins no transaction for a CREATE TABLE, so that each would stand for itself; this one does."""
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": PATIENCE})
    event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _config(conn: Connection) -> Config:
    config = Config(attributes={"connection": conn})
    config.set_main_option("script_location", SCRIPTS)
    return config


def _adopt(conn: Connection, scripts: ScriptDirectory, path: str) -> None:
    """Record the revision of tables that no migration made, if any are ours."""
    found = _shape(conn)
    if not found:
        return
    wanted: _Shape = {}
    for script in reversed([*scripts.walk_revisions()]):
        wanted = _shape_at(script.revision)
        if found == wanted:
            command.stamp(_config(conn), script.revision)
            return
    odd = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
    raise Refused(
        f"{path} has tables that are not this index's ({', '.join(odd)}); give the index a file of its own", "mismatch"
    )


def _shape_at(revision: str) -> _Shape:
    """The shape of the tables at a revision, from a database in memory."""
    engine = _engine(URL.create("sqlite", database=":memory:"))
    try:
        with engine.begin() as conn:
            command.upgrade(_config(conn), revision)
            return _shape(conn)
    finally:
        engine.dispose()


def _shape(conn: Connection) -> _Shape:
    """The tables with the index's names: columns, keys, constraints and indexes of each."""
    look = inspect(conn)
    return {
        name: (
            [(each["name"], str(each["type"]), each["nullable"]) for each in look.get_columns(name)],
            look.get_pk_constraint(name)["constrained_columns"],
            sorted((str(each["name"]), each["column_names"]) for each in look.get_unique_constraints(name)),
            sorted(map(_reference, look.get_foreign_keys(name))),
            sorted(map(_index, look.get_indexes(name))),
        )
        for name in look.get_table_names()
        if name in metadata.tables
    }


def _reference(key: ReflectedForeignKeyConstraint) -> tuple[Any, ...]:
    on_delete = key.get("options", {}).get("ondelete", "")
    return key["constrained_columns"], key["referred_table"], key["referred_columns"], on_delete


def _index(index: ReflectedIndex) -> tuple[Any, ...]:
    where = index.get("dialect_options", {}).get("sqlite_where", "")
    return index["name"], index["column_names"], bool(index["unique"]), str(where)
