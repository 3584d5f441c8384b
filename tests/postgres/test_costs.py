"""What a call asks of the database: one statement where nobody else writes, and no more rows than it needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from tallystick.decide import beliefs as decide, episodes
from tallystick.ledger.lock import HeadPin
from tallystick.ledger.postgres.connection import Database
from tallystick.records.episode import Episode
from tallystick.records.errors import NotFound, RolledBack
from tallystick.records.event import Draft
from tallystick.stores.open_database import OpenDatabase
from tests.postgres.stories import config

MANY = 3_000


def put(opened: OpenDatabase, key: str) -> list[Draft]:
    return decide.put(opened.state, {"text": f"about {key}", "key": key}, opened.draw())


@pytest.fixture(scope="module")
def address(cluster) -> str:
    return cluster.ledger_address(cluster.new_ledger())


@pytest.fixture
def opened(cluster, address) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key))
    yield made
    made.close()


@pytest.fixture
def other(cluster, address) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key))
    yield made
    made.close()


def statements(opened: OpenDatabase, work) -> int:
    before = opened.ledger._calls.count
    work()
    return opened.ledger._calls.count - before


def test_a_write_where_nobody_else_writes_is_one_statement(opened):
    opened.ledger.append([config(0)])

    assert statements(opened, lambda: opened.ledger.append([config(1)])) == 1
    assert statements(opened, lambda: opened.ledger.append([config(2), config(3)])) == 1


def test_a_write_after_somebody_elses_is_decided_again_on_what_is_there(opened, other):
    seen = []
    opened.ledger.append([config("before")])
    other.ledger.append([config("theirs")])

    opened.ledger.write(lambda: [config(f"after {seen.append(opened.ledger.head.seq)}")])

    first, last = seen
    assert last == first + 1


def test_nothing_to_write_is_believed_only_of_the_head_that_is_there(opened, other):
    """The first decision is on rows that were read before somebody else wrote."""
    opened.ledger.write(lambda: put(opened, "ours") if not opened.state.find("theirs", short=False) else [])
    other.ledger.write(lambda: put(other, "theirs"))

    written = opened.ledger.write(
        lambda: [] if not opened.state.find("theirs", short=False) else [config("it is there")]
    )

    assert len(written) == 1


def test_an_error_is_believed_only_of_the_head_that_is_there(opened, other):
    def must_be_there() -> list[Draft]:
        if not opened.state.find("late", short=False):
            raise NotFound("late")
        return [config("it is there")]

    with pytest.raises(NotFound):
        opened.ledger.write(must_be_there)
    opened.ledger.append([config("ours")])
    other.ledger.write(lambda: put(other, "late"))

    assert opened.ledger.write(must_be_there)


def test_a_write_is_decided_under_the_settings_that_are_there(opened, other):
    opened.ledger.append([config("before")])
    other.settings.replace(f'zone = "UTC" # {time.time()}\n')
    seen = []

    opened.ledger.write(lambda: [config(f"{seen.append(opened.settings.version())}")])

    assert seen[-1] == other.settings.version()
    assert seen[0] != seen[-1]


def test_the_rows_of_an_episode_with_an_id_are_one_statement(cluster, address, opened):
    lamp = Episode(content="the lamp broke", timestamp=datetime(2026, 5, 20, tzinfo=UTC), id="lamp")
    opened.ledger.write(lambda: episodes.put(opened.state.episodes, lamp))
    cold = OpenDatabase(address, str(cluster.key))

    other = replace(lamp, id="door")
    assert statements(cold, lambda: cold.ledger.write(lambda: episodes.put(cold.state.episodes, other))) == 3
    cold.close()


def test_a_name_with_half_a_character_is_not_there(cluster, address, opened):
    opened.ledger.write(lambda: put(opened, "whole"))
    cold = OpenDatabase(address, str(cluster.key))

    assert cold.state.find("half \udc80", short=False) is None
    cold.close()


def test_the_servers_time_goes_on_by_the_clocks_of_this_machine_for_a_while(cluster, monkeypatch):
    database = Database(cluster.address("straight"), cluster.key)
    assert database.time() is None
    database.note_time("2026-05-20T12:00:00.000000Z")
    since, wall = time.monotonic(), time.time()

    for passed, slept, shown in ((0.0, 0.0, "12:00:0"), (30.0, 0.0, "12:00:3"), (61.0, 0.0, ""), (5.0, 3600.0, "")):
        with monkeypatch.context() as patched:
            patched.setattr(time, "monotonic", lambda passed=passed: since + passed)
            patched.setattr(time, "time", lambda passed=passed, slept=slept: wall + passed + slept)
            assert (database.time() or "")[11:18] == shown

    database.note_time("2026-05-20T12:00:00.000000Z")
    database.forget()
    assert database.time() is None


@contextmanager
def rows_read(db: psycopg.Connection) -> Iterator[list[int]]:
    """How many rows of all tables one transaction reads."""
    count = "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"
    found = list[int]()
    with db.transaction():
        yield found
        found += [int(each) for (each,) in db.execute(count).fetchall()]


def test_what_is_looked_up_by_key_is_all_that_is_read(cluster):
    made = OpenDatabase(cluster.ledger_address(cluster.new_ledger()), str(cluster.key))
    with made.ledger.batch():
        for number in range(MANY):
            made.ledger.write(lambda number=number: put(made, f"key-{number}"))
    ledger = made.ledger._calls.ledger
    made.close()
    own = (ledger, cluster.key.sign(str(ledger), "postgres", int(time.time()) + 60))
    keys = [f"me\x1f\x1fkey-{number}".encode() for number in (7, 70)]
    tabs = ["belief.key"] * 2

    def pairs(names: list[bytes]) -> list[bytes]:
        return [field for name in names for field in (b"belief.key", name)]

    calls = {
        "rows_by_key(%s, %s, %s, %s, NULL)": (tabs, keys),
        f"rows_by_key(%s, %s, %s, %s, {MANY})": (tabs, keys),
        "lines_of(%s, %s, %s)": ([7, 70],),
        "row_steps(%s, %s, %s, %s)": ("belief.key", keys[0]),
        "put_kept(%s, %s, NULL, NULL, NULL)": (pairs(keys),),
        "put_kept(%s, NULL, NULL, NULL, %s)": (pairs([b"me\x1f\x1fkey-8", b"me\x1f\x1fkey-9"]),),
    }
    with cluster.owner() as db:
        for call, values in calls.items():
            with rows_read(db) as read:
                first = own[:1] if "put_kept" in call else own
                db.execute(f"SELECT count(*) FROM tallystick.{call}", (*first, *values))
            assert 0 < read[0] < 100, call


def test_a_head_that_another_process_here_has_moved_on_is_looked_at(cluster, address, tmp_path):
    """The database may have been restored since: only the pin tells."""
    pin = HeadPin(tmp_path, address)
    made = OpenDatabase(address, str(cluster.key), head=pin)
    made.ledger.append([config(1)])
    pin.advance(made.ledger._calls.ledger.hex, made.ledger.head.seq + 1, "0" * 64)

    with pytest.raises(RolledBack):
        made.ledger.append([config(2)])
    made.close()


def test_a_ledger_that_is_gone_is_noticed_by_whoever_has_written_there(cluster, tmp_path):
    """The database may have been restored from a copy that is older than the ledger."""
    address = cluster.ledger_address(cluster.new_ledger())
    pin = HeadPin(tmp_path, address)
    with pytest.raises(NotFound, match="no ledger 'another'"):
        OpenDatabase(address.partition("=")[0] + "=another", str(cluster.key), head=pin)
    made = OpenDatabase(address, str(cluster.key), head=pin)
    made.ledger.append([config(1)])
    with cluster.owner() as db:
        then = (made.ledger._calls.ledger,)
        db.execute("UPDATE tallystick.ledgers SET name = name || ' of then' WHERE ledger = %s", then)
    made.close()

    with pytest.raises(RolledBack, match="is gone"):
        OpenDatabase(address, str(cluster.key), head=pin)


def test_rows_are_made_again_as_they_were_in_few_statements(cluster):
    made = OpenDatabase(cluster.ledger_address(cluster.new_ledger()), str(cluster.key))
    for turn in range(2):  # the second time each replaces one
        with made.ledger.batch():
            for number in range(MANY // 2):
                fields = {"text": f"{turn} about {number}", "key": f"key-{number}"}
                made.ledger.write(lambda fields=fields: decide.put(made.state, fields, made.draw()))
    tables = ("state_row", "state_past")
    rows = [f"SELECT * FROM tallystick.{name} WHERE ledger = %s ORDER BY tab, key, since" for name in tables]
    with cluster.owner() as db:
        was = [db.execute(each, (made.ledger._calls.ledger,)).fetchall() for each in rows]
        db.execute("UPDATE tallystick.state_row SET value = '{}' WHERE ledger = %s", (made.ledger._calls.ledger,))
        calls = made.ledger._calls.count
        made.ledger.rebuild()
        assert made.ledger._calls.count - calls < 20
        assert [db.execute(each, (made.ledger._calls.ledger,)).fetchall() for each in rows] == was
    assert all(was)
    made.close()


def prepared(opened: OpenDatabase) -> list[str]:
    """The statements that its connection keeps; it has but one."""
    [connection] = opened.ledger._calls.database._idle
    return [text for (text,) in connection.db.execute("SELECT statement FROM pg_prepared_statements").fetchall()]


@pytest.mark.parametrize("database", ["straight", "pooled"])
def test_calls_are_prepared_where_no_pooler_is_between(cluster, database):
    opened = OpenDatabase(cluster.ledger_address(cluster.new_ledger(database), database), str(cluster.key))
    for number in range(10):
        opened.ledger.append([config(number)])
    opened.ledger.refresh()
    with opened.ledger.batch():
        opened.ledger.append([config(10)])

    assert {text.partition("(")[0].rpartition(".")[2] for text in prepared(opened)} == (
        {"look", "write"} if database == "straight" else set()
    )
    opened.close()


def test_a_server_that_has_forgotten_what_was_prepared_is_asked_without(cluster):
    opened = OpenDatabase(cluster.ledger_address(cluster.new_ledger()), str(cluster.key))
    for number in range(10):
        opened.ledger.append([config(number)])
    [connection] = opened.ledger._calls.database._idle
    connection.db.pgconn.exec_(b"DEALLOCATE ALL")

    assert [event.body["value"] for event in opened.ledger.append([config(10)])] == ["10"]
    assert len(list(opened.ledger.events())) == 12
    for number in range(10):
        opened.ledger.append([config(number)])
    assert prepared(opened) == []
    opened.close()
