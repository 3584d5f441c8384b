"""What holds on every connection, whichever engine opened it, and what happens when several write at once."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from sqlalchemy import NullPool, StaticPool, inspect, select, text
from sqlalchemy.exc import IntegrityError

from tallystick.projections import database
from tallystick.records.errors import NotFound, Refused
from tallystick.stores.elfmem.engine import _set_pragmas, create_engine, create_test_engine
from tallystick.stores.elfmem.models import blocks, metadata
from tallystick.stores.elfmem.queries import block_exists, get_block, get_inbox_count, insert_block

PRAGMAS = {
    "journal_mode": "wal",
    "foreign_keys": 1,
    "synchronous": 1,  # NORMAL
    "cache_size": -32000,
    "temp_store": 2,  # MEMORY
    "busy_timeout": 30000,
}
A_BLOCK = {"content": "Ana prefers tea", "category": "knowledge", "source": "api"}


def on(engine, work):
    """Make the engine, have `work` use it, and dispose of it."""

    async def go():
        made = await engine
        try:
            return await work(made)
        finally:
            await made.dispose()

    return asyncio.run(go())


async def with_tables(path):
    engine = await create_engine(str(path))
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
    return engine


async def put(engine, *names):
    async with engine.begin() as conn:
        for name in names:
            await insert_block(conn, block_id=name, **A_BLOCK)


async def pragmas_of(engine):
    async with engine.connect() as conn:
        return {name: (await conn.execute(text(f"PRAGMA {name}"))).scalar() for name in PRAGMAS}


def test_every_connection_to_a_file_has_all_pragmas(tmp_path):
    async def work(engine):
        return [await pragmas_of(engine) for _ in range(2)]

    assert on(create_engine(str(tmp_path / "a.db")), work) == [PRAGMAS, PRAGMAS]


def test_the_engine_for_tests_has_all_pragmas_that_mean_something_in_memory():
    assert on(create_test_engine(), pragmas_of) == {**PRAGMAS, "journal_mode": "memory"}


def test_the_engine_for_tests_is_in_memory_with_all_tables_and_one_connection():
    async def work(engine):
        async with engine.connect() as conn:
            names = await conn.run_sync(lambda sync: inspect(sync).get_table_names())
        await put(engine, "a")
        async with engine.connect() as conn:
            return type(engine.pool), engine.url.database, set(names), await block_exists(conn, "a")

    assert on(create_test_engine(), work) == (StaticPool, ":memory:", set(metadata.tables), True)


def test_a_file_gets_a_fresh_connection_each_time_and_keeps_what_was_written(tmp_path):
    path = str(tmp_path / "a.db")

    async def write(engine):
        await put(engine, "a")
        return type(engine.pool)

    async def read(engine):
        async with engine.connect() as conn:
            return (await get_block(conn, "a"))["content"]

    assert on(with_tables(path), write) is NullPool
    assert on(create_engine(path), read) == "Ana prefers tea"


@pytest.mark.parametrize("name", ["with space.db", "a?b=c.db", "a#b.db", "100%25.db", "ü😀.db", "file:x.db", "a'b;.db"])
def test_a_path_is_taken_as_it_is_whatever_its_signs(tmp_path, name):
    on(with_tables(tmp_path / name), pragmas_of)

    assert [entry for entry in os.listdir(tmp_path) if not entry.endswith(("-wal", "-shm"))] == [name]


def test_a_relative_path_goes_on_meaning_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def work(engine):
        (tmp_path / "elsewhere").mkdir()
        os.chdir(tmp_path / "elsewhere")
        async with engine.connect() as conn:
            return await get_inbox_count(conn)

    assert on(with_tables("a.db"), work) == 0
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    ("path", "kind", "says"),
    [
        ("missing/a.db", NotFound, r"no folder .*/missing for a.db; create it first"),
        ("folder", Refused, "is a folder; name a file in it"),
        ("", Refused, r"use create_test_engine\(\)"),
        (":memory:", Refused, r"use create_test_engine\(\)"),
        ("a\0.db", Refused, "cannot contain NUL"),
    ],
)
def test_a_path_that_can_hold_no_database_is_refused_in_one_line(tmp_path, monkeypatch, path, kind, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()

    with pytest.raises(kind, match=says) as told:
        asyncio.run(create_engine(path))

    assert "\n" not in str(told.value)
    assert os.listdir(tmp_path) == ["folder"]


def test_statements_are_logged_only_if_that_is_asked_for(tmp_path):
    code = f"""
import asyncio
from sqlalchemy import select
from tallystick.stores.elfmem import create_engine
async def go(echo, number):
    engine = await create_engine({str(tmp_path / "a.db")!r}, echo=echo)
    async with engine.connect() as conn:
        await conn.execute(select(number))
    await engine.dispose()
asyncio.run(go(False, 11111))
asyncio.run(go(True, 22222))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert "22222" in done.stdout
    assert "11111" not in done.stdout


# Several at once


def test_of_many_identical_inserts_one_wins_and_the_others_are_told_so(tmp_path):
    async def work(engine):
        async def insert(known):
            async with engine.begin() as conn:
                if known:
                    assert isinstance(await block_exists(conn, "a"), bool)
                await insert_block(conn, block_id="a", **A_BLOCK)

        return await asyncio.gather(*(insert(at % 2) for at in range(16)), return_exceptions=True)

    found = on(with_tables(tmp_path / "a.db"), work)

    assert [type(each) for each in found if each is not None] == [IntegrityError] * 15


def test_a_writer_waits_for_another_instead_of_failing(tmp_path):
    async def work(engine):
        async with engine.connect() as first:
            await insert_block(first, block_id="a", **A_BLOCK)
            other = asyncio.create_task(put(engine, "b"))
            await asyncio.sleep(0.2)
            waited = not other.done()
            await first.commit()
        await other
        async with engine.connect() as conn:
            return waited, await get_inbox_count(conn)

    assert on(with_tables(tmp_path / "a.db"), work) == (True, 2)


def test_a_reader_does_not_wait_for_a_writer_and_sees_nothing_half_done(tmp_path):
    async def work(engine):
        async with engine.connect() as writer, engine.connect() as reader:
            await insert_block(writer, block_id="a", **A_BLOCK)
            during = await get_inbox_count(reader)
            await writer.commit()
            return during, await get_inbox_count(reader)

    assert on(with_tables(tmp_path / "a.db"), work) == (0, 1)


def test_a_new_file_may_be_opened_by_many_at_the_same_moment(tmp_path):
    """Turning a new file to WAL is the one thing for which SQLite does not wait by itself."""
    wrong, ready = [], threading.Barrier(8)

    def go(path):
        try:
            ready.wait(30)
            on(create_engine(path), pragmas_of)
        except BaseException as error:
            wrong.append(error)

    for at in range(12):
        threads = [threading.Thread(target=go, args=(str(tmp_path / f"{at}.db"),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert wrong == []


class Contended:
    """A connection, and the cursor of it, that SQLite turns away a few times as it does when two turn a file to WAL."""

    def __init__(self, code, times):
        self.code, self.times, self.ran = code, times, []

    def cursor(self):
        return self

    def execute(self, statement):
        if self.times and "journal_mode" in statement:
            self.times -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self.code
            raise error
        self.ran.append(statement)

    def close(self):
        self.ran.append("closed")


def test_a_connection_that_is_turned_away_for_the_moment_tries_again():
    contended = Contended(sqlite3.SQLITE_BUSY, times=3)
    _set_pragmas(contended, None)

    assert len(contended.ran) == len(PRAGMAS) + 1


@pytest.mark.parametrize(("code", "patience"), [(sqlite3.SQLITE_READONLY, 30.0), (sqlite3.SQLITE_BUSY, -1.0)])
def test_a_connection_does_not_try_for_ever_or_for_nothing(monkeypatch, code, patience):
    monkeypatch.setattr(database, "PATIENCE", patience)
    contended = Contended(code, times=3)

    with pytest.raises(sqlite3.OperationalError):
        _set_pragmas(contended, None)

    assert contended.times == 2
    assert contended.ran[-1] == "closed"


# Transactions are the caller's


def test_a_savepoint_that_is_kept_goes_when_its_transaction_is_taken_back(tmp_path):
    async def work(engine):
        async with engine.connect() as conn:
            async with conn.begin_nested():
                await insert_block(conn, block_id="a", **A_BLOCK)
            await conn.rollback()
        async with engine.connect() as conn:
            return await block_exists(conn, "a")

    assert on(with_tables(tmp_path / "a.db"), work) is False


def test_a_duplicate_inside_a_savepoint_leaves_the_rest_of_the_transaction_standing(tmp_path):
    async def work(engine):
        async with engine.begin() as conn:
            for block_id in ("a", "b", "a", "c"):
                try:
                    async with conn.begin_nested():
                        await insert_block(conn, block_id=block_id, **A_BLOCK)
                except IntegrityError:
                    pass
        async with engine.connect() as conn:
            return list(await conn.scalars(select(blocks.c.id).order_by(blocks.c.id)))

    assert on(with_tables(tmp_path / "a.db"), work) == ["a", "b", "c"]


def test_savepoints_of_several_writers_wait_for_each_other(tmp_path):
    async def work(engine):
        async def insert(block_id):
            async with engine.begin() as conn, conn.begin_nested():
                await block_exists(conn, block_id)
                await insert_block(conn, block_id=block_id, **A_BLOCK)

        await asyncio.gather(*(insert(str(at)) for at in range(8)))
        async with engine.connect() as conn:
            return await get_inbox_count(conn)

    assert on(with_tables(tmp_path / "a.db"), work) == 8


def test_a_process_that_is_killed_in_a_transaction_leaves_the_file_whole_and_the_work_undone(tmp_path):
    path = tmp_path / "a.db"
    code = f"""
import asyncio, os, signal
from tallystick.stores.elfmem import create_engine, metadata
from tallystick.stores.elfmem.queries import insert_block
async def go():
    engine = await create_engine({str(path)!r})
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
        await insert_block(conn, block_id="kept", content="x", category="c", source="s")
    async with engine.begin() as conn:
        await insert_block(conn, block_id="lost", content="x", category="c", source="s")
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(go())
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True)

    with sqlite3.connect(path) as db:
        assert db.execute("SELECT id FROM blocks").fetchall() == [("kept",)]
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
