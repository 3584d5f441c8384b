"""Engines for the index, and the settings of every connection they open.

Readers do not wait for writers, and a short write waits its turn for up to `PATIENCE` seconds instead of failing with
"database is locked". Foreign keys are on. A savepoint is always part of its transaction.

After a crash of the process every committed transaction is there; after a power cut the last ones may not be, but the
file is whole (`synchronous=NORMAL`). The caller disposes of the engine, and says where a transaction begins and ends.
"""

from __future__ import annotations

import os
from typing import Any

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, StaticPool

from tallystick.projections.database import PATIENCE, run_patiently
from tallystick.records.errors import NotFound, Refused
from tallystick.stores.elfmem.models import metadata

_PRAGMAS = (
    f"PRAGMA busy_timeout={int(PATIENCE * 1000)}",  # first: the next one may have to wait
    "PRAGMA journal_mode=WAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA cache_size=-32000",  # 32 MB
    "PRAGMA temp_store=MEMORY",
)
_SAME_THREAD = {"check_same_thread": False}  # aiosqlite calls from a thread of its own


async def create_engine(db_path: str | os.PathLike[str], *, echo: bool = False) -> AsyncEngine:
    """An engine for the database file at `db_path`, with WAL mode, foreign keys and a page cache.

    Nothing is opened or created yet: the first connection creates the file, and `metadata.create_all` or `migrate` its
    tables. `echo` logs every statement. The caller disposes of the engine.
    """
    url = url_of(db_path, "sqlite+aiosqlite")
    engine = create_async_engine(url, poolclass=NullPool, connect_args=_SAME_THREAD, echo=echo)
    prepare(engine.sync_engine)
    return engine


async def create_test_engine() -> AsyncEngine:
    """An engine for a database in memory with all tables. Every connection is the same one, and sees the same."""
    url = URL.create("sqlite+aiosqlite", database=":memory:")
    engine = create_async_engine(url, poolclass=StaticPool, connect_args=_SAME_THREAD)
    prepare(engine.sync_engine)
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
    return engine


def prepare(engine: Engine) -> None:
    """Have every connection of `engine`, synchronous or not, behave as this module promises."""
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "savepoint", _begin_before_savepoint)


def url_of(db_path: str | os.PathLike[str], driver: str) -> URL:
    """The URL of a database file, whatever characters its path has. Refused if there can be no such file."""
    path = os.fspath(db_path)
    if path in ("", ":memory:"):
        raise Refused(
            "a database in memory would be a new one on every connection; use create_test_engine()", "unsupported"
        )
    if "\0" in path:
        raise Refused(f"a file name cannot contain NUL: {path!r}", "text")
    folder, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise NotFound(f"no folder {folder} for {name}; create it first")
    if os.path.isdir(path):
        raise Refused(f"{path} is a folder; name a file in it", "place")
    return URL.create(driver, database=path)


def _set_pragmas(dbapi_connection: Any, _record: object) -> None:
    cursor = dbapi_connection.cursor()
    try:
        for pragma in _PRAGMAS:
            run_patiently(cursor, pragma)
    finally:
        cursor.close()


def _begin_before_savepoint(conn: Connection, _name: str | None) -> None:
    """Python's sqlite3 begins a transaction before a write, not before a SAVEPOINT: its RELEASE would be a commit.

    The lock for writing is taken here, where it can still be waited for; inside the savepoint it may be too late.
    """
    driver = conn.connection.driver_connection
    if driver is not None and not driver.in_transaction:
        conn.exec_driver_sql("BEGIN IMMEDIATE")
