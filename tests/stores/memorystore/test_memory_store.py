"""The stand-alone store of episodes: its file, its indices, and what happens to a file that is not well."""

import asyncio
import gc
import os
import sqlite3
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import orjson
import pytest

from tallystick.consolidate.filter import parse
from tallystick.records.episode import Episode
from tallystick.records.errors import (
    Busy,
    Closed,
    ConsolidationRuleError,
    Damaged,
    MemoryScopeError,
    MigrationNotSupported,
    NotFound,
    NotWritable,
    NotWritten,
    Refused,
)
from tallystick.records.health import MigrationPlan
from tallystick.records.rule import ConsolidationRule
from tallystick.stores import places, sqlite_file
from tallystick.stores.memorystore import SQLiteMemoryStore, memory_store as sqlite_episodes
from tests.contracts.providers import ALL, NOON, Opener, told
from tests.crash.disks import at_once
from tests.stores.memorystore.test_as_printed import SCHEMA

SCOPE = {"user": "ana", "session": "S1", "agent": "rag"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "er" / ".memory"


@pytest.fixture
def store(path):
    return Opener(lambda: SQLiteMemoryStore(path=path))


def play(path, scene, **options):
    async def go():
        async with SQLiteMemoryStore(path=path, **options) as store:
            return await scene(store)

    return asyncio.run(go())


def rows(path, sql, *values):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.executescript(text)
    db.commit()
    db.close()


def names(episodes):
    return [each.id for each in episodes]


async def test_the_table_and_its_index_are_the_documented_ones(store, path):
    await store.put(told("e1", mood="good"), **SCOPE)
    columns = [(name, kind, needed, key) for _, name, kind, needed, _, key in rows(path, "PRAGMA table_info(episodes)")]
    assert columns[:5] == [
        ("id", "TEXT", 0, 1), ("scope_key", "TEXT", 1, 0), ("content", "BLOB", 1, 0), ("timestamp", "TEXT", 1, 0),
        ("metadata", "BLOB", 1, 0),
    ]  # fmt: skip
    [(index,)] = rows(path, "SELECT sql FROM sqlite_master WHERE name = 'idx_episodes_scope_ts'")
    assert index.endswith("ON episodes(scope_key, timestamp DESC)")
    [(key, content, when, metadata)] = rows(path, "SELECT scope_key, content, timestamp, metadata FROM episodes")
    assert key == "/user/ana/session/S1/agent/rag/"
    assert orjson.loads(content)["content"] == "Ana moved to Oslo"
    assert when == "2026-05-03T12:00:00.000000Z"
    assert metadata == b'{"mood":"good"}'
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


async def test_a_commit_is_on_disk_when_it_returns(store):
    assert await store._file.run(lambda conn: conn.execute("PRAGMA synchronous").fetchone()) == (2,)  # FULL


async def test_files_are_for_their_owner_alone(store, path):
    await store.put(told("e1"), **SCOPE)
    assert {os.stat(each).st_mode & 0o077 for each in (path.parent, *path.parent.iterdir())} == {0}


@pytest.mark.parametrize(
    ("width", "index"),
    [
        (("ana", None, None), "idx_episodes_user (user=?)"),
        (("ana", "S1", None), "idx_episodes_session (user=? AND session=?)"),
        (("ana", None, "rag"), "idx_episodes_agent (user=? AND agent=?)"),
        (("ana", "S1", "rag"), "idx_episodes_scope (user=? AND session=? AND agent=?)"),
    ],
)
async def test_every_width_is_read_by_an_index_and_sorts_nothing(store, width, index):
    sql, values = sqlite_episodes.recent_query(*width, 10)
    plan = await store._file.run(lambda conn: conn.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
    assert [line for *_, line in plan] == [f"SEARCH episodes USING INDEX {index}"]


async def test_a_run_over_everything_sorts_nothing(store):
    sql, values = sqlite_episodes.selection(parse(""), (), None)
    plan = await store._file.run(lambda conn: conn.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
    assert [line for *_, line in plan] == ["SCAN episodes USING INDEX idx_episodes_time"]


async def test_a_default_user_is_what_nobody_said(store):
    await store.put(Episode(id="e1", content="hello", timestamp=NOON), **SCOPE)
    [found] = await store.recent("ana", limit=1)
    assert (found.user, found.session, found.agent) == ("ana", "S1", "rag")


async def test_a_time_comes_back_in_the_zone_it_was_given_in(store):
    moment = datetime.fromisoformat("2026-05-03T14:30:00.000001+05:45")

    await store.put(Episode(id="e1", content="hello", timestamp=moment), **SCOPE)
    [found] = await store.recent("ana", limit=1)
    assert found.timestamp.isoformat() == moment.isoformat()
    again = Episode(id="e1", content="hello", timestamp=moment.astimezone(UTC))
    await store.put(again, **SCOPE)


@pytest.mark.parametrize(
    "episode",
    [
        told("", "no id"),
        told("e1", "a lone \ud800 surrogate"),
        told("e\ud800"),
        told("e1", n=float("nan")),
        told("e1", n=2**70),
        told("e1", when=NOON),
        told("e1", deep=orjson.loads("[" * 60 + "]" * 60)),
        told("e1", key={1: "not text"}),
    ],
)
async def test_what_could_not_be_read_back_is_refused_and_nothing_is_kept(store, episode):
    with pytest.raises(Refused) as caught:
        await store.put(episode, **SCOPE)
    assert "\n" not in str(caught.value)
    assert (await store.health()).fragment_count == 0


async def test_a_scope_of_a_lone_surrogate_is_refused(store):
    with pytest.raises(Refused):
        await store.put(told("e1"), user="a\ud800", session="S1", agent="rag")
    with pytest.raises(Refused):
        await store.recent("a\ud800", limit=1)
    with pytest.raises(MemoryScopeError):
        await store.recent(None, limit=1)


async def test_a_megabyte_of_words_comes_back(store):
    words = "\u202e😀\u200b" * 100_000

    await store.put(told("e1", words, subject="Ana", predicate="says"), **SCOPE)
    [found] = await store.recent("ana", limit=1)
    [delta] = await store.consolidate(ALL)
    assert found.content == words == delta.fact_payload["content"]


async def test_since_last_considers_each_episode_once_also_one_that_arrives_late(store):
    await store.put(told("new", after=10), **SCOPE)
    first = await store.consolidate(ALL, since_last=True)
    await store.put(told("old", after=-1000), **SCOPE)
    second = await store.consolidate(ALL, since_last=True)
    third = await store.consolidate(ALL, since_last=True)
    other = await store.consolidate(ConsolidationRule(id="other"), since_last=True)
    ids = [[each.source_episode_ids[0] for each in run] for run in (first, second, third, other)]
    assert ids == [["new"], ["old"], [], ["old", "new"]]
    assert len(await store.consolidate(ALL)) == 2, "without it, a run is cumulative"


async def test_a_run_that_fails_moves_no_mark(store):
    await store.put(told("1"), **SCOPE)
    await store.put(told("2"), **SCOPE)
    store._most_rows = 1
    with pytest.raises(ConsolidationRuleError, match="'everything'.* 1 "):
        await store.consolidate(ALL, since_last=True)
    store._most_rows = 10
    assert len(await store.consolidate(ALL, since_last=True)) == 2


async def test_the_mark_survives_a_tidying_of_the_file(store, path):
    """Rows may be given other numbers; the mark is found again by the episode it stands at."""
    for number in range(6):
        await store.put(told(f"e{number}", after=number), **SCOPE)
    await store.consolidate(ALL, since_last=True)
    await store.put(told("later"), **SCOPE)
    script(path, "DELETE FROM episodes WHERE id IN ('e0', 'e1', 'e2'); UPDATE episodes SET rowid = rowid - 3;")
    assert [each.source_episode_ids for each in await store.consolidate(ALL, since_last=True)] == [["later"]]


async def test_two_runs_at_once_have_their_own_findings(store):
    await store.put(told("bad", intent="?"), **SCOPE)
    everything, nothing = await asyncio.gather(
        store.consolidate(ALL), store.consolidate(ConsolidationRule(id="r", when_filter="id = 'none'"))
    )
    assert [each.episode_id for each in everything.findings] == ["bad"]
    assert nothing.findings == []
    await store.consolidate(ALL)
    assert [each.episode_id for each in store.findings] == ["bad"]


async def test_a_search_that_takes_too_long_is_ended(path):
    async with SQLiteMemoryStore(path=path, most_seconds=0) as store:
        for number in range(300):
            await store.put(told(f"e{number}", "a" * 500), **SCOPE)
        with pytest.raises(ConsolidationRuleError, match="'everything'.* 0 seconds"):
            await store.consolidate(ALL)


async def test_a_pattern_made_to_take_for_ever_does_not(path):
    async with SQLiteMemoryStore(path=path, most_seconds=20) as store:
        await store.put(told("e1", "a" * 100_000), **SCOPE)
        rule = ConsolidationRule(id="r", when_filter=f"content LIKE '{'%a' * 40}%b'")
        assert await store.consolidate(rule) == []


async def test_a_stream_gives_what_consolidate_gives_and_holds_nobody_up(store):
    for number in range(1200):
        await store.put(told(f"e{number}", after=number, **({"intent": "?"} if number == 600 else {})), **SCOPE)
    seen = []
    async for each in store.stream(ALL):
        if not seen:
            await store.put(told("during", after=9999), **SCOPE)
        seen.append(getattr(each, "episode_id", None) or each.source_episode_ids[0])
    assert seen == [f"e{number}" for number in range(1200)]
    async for _ in store.stream(ALL):
        break


async def test_a_stream_takes_no_more_memory_for_more_episodes(store):
    async def peak(store, rule):
        tracemalloc.start()
        async for _ in store.stream(rule):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    for number in range(2400):
        await store.put(told(f"e{number:05}", "w" * 300, after=number, subject="Ana", predicate="says"), **SCOPE)
    await peak(store, ALL)
    few = await peak(store, ConsolidationRule(id="r", when_filter="id < 'e00800'"))
    assert await peak(store, ALL) < 1.5 * few


async def test_a_column_is_there_for_a_store_that_was_open_before(store, path):
    column = {"op": "add_column", "name": "mood", "type": "TEXT", "nullable": True}

    await store.put(told("e0", mood="good"), **SCOPE)
    async with SQLiteMemoryStore(path=path) as other:
        await other.migrate(MigrationPlan(target_version=2, operations=[column]))
    for number, mood in enumerate(["good", ["a"], 7, None, 2**63], 1):
        await store.put(told(f"e{number}", mood=mood), **SCOPE)
    assert [each for (each,) in rows(path, "SELECT mood FROM episodes ORDER BY rowid")] == [
        None, "good", '["a"]', "7", None, "9.22337203685478e+18",
    ]  # fmt: skip
    with pytest.raises(MigrationNotSupported):
        await store.migrate(MigrationPlan(target_version=2))
    with pytest.raises(MigrationNotSupported):
        await store.migrate(MigrationPlan(target_version=1))
    for name in ("ID", "user", "rowid", "mood"):
        with pytest.raises(MigrationNotSupported, match=f"column '{name}'"):
            await store.migrate(MigrationPlan(target_version=3, operations=[column | {"name": name}]))
    assert (await store.health()).version == 2


@pytest.mark.parametrize("version", [0, True, "2", -1])
async def test_a_version_is_a_whole_number(store, version):
    with pytest.raises(MigrationNotSupported):
        await store.migrate(MigrationPlan(target_version=version))


def test_before_bootstrap_health_tells_and_nothing_is_made(path):
    async def scene():
        store = SQLiteMemoryStore(path=path)
        health = await store.health()
        assert (health.ok, health.version, health.fragment_count, health.lock_state) == (False, 0, None, "free")
        assert "bootstrap" in health.warnings[0]
        for call in (store.recent("ana", limit=1), store.put(told("e1"), **SCOPE), store.consolidate(ALL)):
            with pytest.raises(NotFound, match="bootstrap"):
                await call
        await store.close()

    asyncio.run(scene())
    assert not path.parent.parent.exists()


async def test_health_tells_whether_somebody_is_writing(store, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    held = (await store.health()).lock_state
    other.execute("ROLLBACK")
    other.close()
    assert (held, (await store.health()).lock_state) == ("held", "free")


async def test_health_warns_of_a_network(store, monkeypatch, tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(places, "MOUNTS", mounts)

    health = await store.health()
    assert (health.ok, health.fs_type) == (True, "nfs4")
    assert "network" in health.warnings[0]


def foreign(path, *episodes, key="/user/{user}/session/{session}/agent/{agent}/", when=None):
    """A file as another program makes it, with the documented columns only."""
    script(path, SCHEMA)
    db = sqlite3.connect(path)
    for number, (user, session, agent) in enumerate(episodes):
        moment = when or (NOON + timedelta(seconds=number)).isoformat()
        body = {"id": f"f{number}", "content": f"said {number}", "timestamp": moment, "source_node": "n"}
        row = (f"f{number}", key.format(user=user, session=session, agent=agent), orjson.dumps(body), moment, b"{}")
        db.execute("INSERT INTO episodes VALUES (?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()


def test_a_file_made_elsewhere_is_taken_over(path):
    foreign(path, ("ana", "S1", "rag"), ("anaX", "S1", "rag"), ("ana", "S%", "a_b"), ("ana", "S1", "rag"))

    async def scene(store):
        assert names(await store.recent("ana", limit=9)) == ["f3", "f2", "f0"]
        assert names(await store.recent("ana", "S1", "rag", limit=9)) == ["f3", "f0"]
        assert names(await store.recent("ana", "S%", limit=9)) == ["f2"]
        await store.put(told("e1", after=1.5), **SCOPE)
        assert names(await store.recent("ana", limit=9)) == ["f3", "f2", "e1", "f0"]
        await store.bootstrap()
        assert len(await store.consolidate(ALL)) == 5

    play(path, scene)
    assert rows(path, "SELECT DISTINCT length(timestamp) FROM episodes") == [(27,)]


async def test_a_time_without_a_zone_made_elsewhere_counts_as_utc(path):
    foreign(path, ("ana", "S1", "rag"), when="2026-05-03T12:00:00")

    async with SQLiteMemoryStore(path=path) as store:
        [found] = await store.recent("ana", limit=1)
    assert found.timestamp == NOON


@pytest.mark.parametrize("key", ["/user/a/session/b/session/c/agent/d/", "alice", "", "/user//session/s/agent/a/"])
def test_a_row_made_elsewhere_that_does_not_say_whose_it_is_is_refused_and_left(path, key):
    foreign(path, ("ana", "S1", "rag"), key=key)
    before = path.read_bytes()

    with pytest.raises(Damaged, match="f0"):
        play(path, lambda store: store.health())

    assert rows(path, "SELECT scope_key FROM episodes") == [(key,)]
    assert [name for _, name, *_ in rows(path, "PRAGMA table_info(episodes)")] == [
        "id", "scope_key", "content", "timestamp", "metadata",
    ]  # fmt: skip
    assert len(before) == path.stat().st_size


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path.write_bytes(b"not a database at all, but long enough" * 40), Damaged),
        (lambda path: path.mkdir(), NotWritable),
        (lambda path: script(path, "CREATE TABLE episodes (id TEXT PRIMARY KEY, words TEXT)"), Refused),
        (lambda path: script(path, SCHEMA.replace("id         TEXT PRIMARY KEY", "id TEXT")), Refused),
        (
            lambda path: script(path, SCHEMA.replace("BLOB NOT NULL    --", "BLOB NOT NULL, more TEXT NOT NULL --")),
            Refused,
        ),
    ],
    ids=["no database", "a folder", "another table", "no key", "a column that wants a value"],
)
def test_a_foreign_file_is_refused_in_one_line_and_left_as_it_is(tmp_path, make, error):
    path = tmp_path / ".memory"
    make(path)
    before = path.read_bytes() if path.is_file() else None

    with pytest.raises(error) as caught:
        play(path, lambda store: store.health())

    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before

    async def look():
        health = await SQLiteMemoryStore(path=path).health()
        assert not health.ok
        assert health.warnings

    asyncio.run(look())


def test_a_folder_above_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("I am a file")

    with pytest.raises(NotWritable):
        play(tmp_path / "file" / ".memory", lambda store: store.health())


@pytest.mark.parametrize("path", ["", ".", ":memory:", "a\0b"])
def test_a_path_that_no_file_can_have_is_refused(path):
    with pytest.raises(Refused):
        SQLiteMemoryStore(path)


async def test_odd_signs_in_a_path_are_only_a_name(tmp_path):
    path = tmp_path / "a?mode=ro#%41 😀" / "x&y.db"

    async with SQLiteMemoryStore(path=path) as store:
        await store.put(told("e1"), **SCOPE)
    assert path.exists()


async def test_a_full_disk_is_told_and_what_was_there_is_whole(store):
    await store.put(told("e1"), **SCOPE)
    pages = await store._file.run(lambda conn: conn.execute("PRAGMA page_count").fetchone()[0])
    await store._file.run(lambda conn: conn.execute(f"PRAGMA max_page_count={pages}").fetchone())
    with pytest.raises(NotWritten, match="full"):
        await store.put(told("e2", "w" * 100_000), **SCOPE)
    await store._file.run(lambda conn: conn.execute("PRAGMA max_page_count=1000000").fetchone())
    await store.put(told("e3"), **SCOPE)
    assert set(names(await store.recent("ana", limit=9))) == {"e1", "e3"}


async def test_a_file_that_is_damaged_later_is_told(path):
    async with SQLiteMemoryStore(path=path) as store:
        for number in range(200):
            await store.put(told(f"e{number}", "w" * 900), **SCOPE)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))

    with pytest.raises(Damaged):
        await SQLiteMemoryStore(path=path).bootstrap()


async def test_a_row_that_was_tampered_with_is_told(store, path):
    await store.put(told("e1"), **SCOPE)
    script(path, "UPDATE episodes SET content = x'00ff'")
    for call in (store.recent("ana", limit=1), store.consolidate(ALL)):
        with pytest.raises(Damaged):
            await call


async def test_a_file_that_was_put_in_its_place_is_the_store(store, path):
    await store.put(told("e1"), **SCOPE)
    for each in path.parent.iterdir():
        each.unlink()
    with pytest.raises(NotFound):
        await store.put(told("e2"), **SCOPE)
    await store.bootstrap()
    await store.put(told("e3"), **SCOPE)
    assert names(await store.recent("ana", limit=9)) == ["e3"]
    assert rows(path, "SELECT id FROM episodes") == [("e3",)]


async def test_a_closed_store_says_so_and_closing_twice_is_closing_once(store):
    await store.close()
    await store.close()
    for call in (store.recent("ana", limit=1), store.health(), store.bootstrap(), store.consolidate(ALL)):
        with pytest.raises(Closed):
            await call


def test_a_store_that_is_forgotten_leaves_no_warning_and_no_thread(path):
    async def scene():
        store = SQLiteMemoryStore(path=path)
        await store.bootstrap()
        await store.put(told("e1"), **SCOPE)

    before = threading.active_count()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(scene())
        gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("tallystick-store"):
            thread.join(120)
    assert threading.active_count() <= before


def test_one_store_serves_two_loops_in_two_threads_at_once(path):
    store = SQLiteMemoryStore(path=path)
    asyncio.run(store.bootstrap())

    async def work(name):
        for number in range(40):
            await store.put(told(f"{name}{number}", after=number), **SCOPE)
            await asyncio.gather(store.recent("ana", limit=3), store.consolidate(ALL))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: asyncio.run(work(name)), "ab"))

    assert len(asyncio.run(store.recent("ana", limit=1000))) == 80
    asyncio.run(store.close())


def write_some(path, name, count):
    async def scene(store):
        for number in range(count):
            await store.put(told(f"{name}{number}", after=number), **SCOPE)

    play(path, scene)


def test_two_processes_that_bootstrap_and_write_at_once_both_keep_everything(path):
    assert at_once(*(partial(write_some, path, name, 60) for name in "ab")) == [0, 0]
    assert rows(path, "SELECT count(*) FROM episodes") == [(120,)]


async def test_a_writer_that_waits_too_long_is_told(store, path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "TIMEOUT", 0.05)

    with sqlite_file._lock_for(path), pytest.raises(Busy, match="thread"):
        await store.put(told("e1"), **SCOPE)
    await store._file.run(lambda conn: conn.execute("PRAGMA busy_timeout=50").fetchone())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="process"):
        await store.put(told("e1"), **SCOPE)
    other.close()
    await store.put(told("e1"), **SCOPE)


def test_however_a_path_is_spelled_its_lock_is_one(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)

    lock = sqlite_file._lock_for(tmp_path / ".memory")
    assert sqlite_file._lock_for(tmp_path / "link" / ".." / tmp_path.name / ".memory") is lock
    assert sqlite_file._lock_for(tmp_path / "other") is not lock


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_forked_child_must_open_anew(store):
    await store.put(told("e1"), **SCOPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            store._file.must_be_open()
        except Closed:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    await store.put(told("e2"), **SCOPE)
