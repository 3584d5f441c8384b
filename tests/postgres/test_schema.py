"""The schema is made once, and by several at once; a newer one is not touched."""

from __future__ import annotations

import threading

import psycopg
import pytest

from tallystick.ledger.postgres import migrate as migrating
from tallystick.ledger.postgres.address import parts_of
from tallystick.ledger.postgres.migrate import create_ledger, migrate, parts, prepare
from tallystick.ledger.postgres.passes import PassKey
from tallystick.records.errors import NotFound, NotWritable, Refused
from tallystick.stores.open_database import OpenDatabase
from tests.postgres.cluster import Cluster


@pytest.fixture
def fresh(cluster):
    """A database without the schema."""
    with cluster.owner() as db:
        db.execute("CREATE DATABASE fresh")
    yield cluster.address("fresh", user="postgres")
    with cluster.owner() as db:
        db.execute("DROP DATABASE fresh WITH (FORCE)")


def test_several_make_it_at_once_and_one_of_them_does(fresh):
    done = []

    def make() -> None:
        with psycopg.connect(fresh, autocommit=True) as db:
            done.append(migrate(db))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [[], [], [], sorted(parts())]


def test_a_later_part_is_added_and_an_older_program_changes_nothing(fresh, monkeypatch):
    known = parts()
    with psycopg.connect(fresh, autocommit=True) as db:
        migrate(db)
        monkeypatch.setattr(migrating, "parts", lambda: {**known, 99: "CREATE TABLE later (x int)"})
        assert migrate(db) == [99]
        monkeypatch.setattr(migrating, "parts", lambda: known)
        with pytest.raises(NotWritable):
            migrate(db)


def test_a_part_that_fails_leaves_nothing(fresh, monkeypatch):
    known = parts()
    monkeypatch.setattr(migrating, "parts", lambda: {**known, 99: "CREATE TABLE later (x int); SELECT 1/0"})
    with psycopg.connect(fresh, autocommit=True) as db:
        with pytest.raises(psycopg.errors.DivisionByZero):
            migrate(db)
        assert db.execute("SELECT to_regnamespace('tallystick')").fetchone() == (None,)


def test_what_is_not_there_is_said(cluster, fresh):
    key = PassKey.generate()
    with psycopg.connect(fresh, autocommit=True) as db, pytest.raises(NotFound, match="tallystick init"):
        create_ledger(db, "one", key)
    with pytest.raises(NotFound, match="tallystick init"):
        OpenDatabase(f"{cluster.address('fresh')}?ledger=one", str(key))
    with pytest.raises(NotFound, match="tallystick init"):
        OpenDatabase(cluster.ledger_address("nobody"), str(cluster.key))


def test_a_name_and_an_id_belong_to_one_ledger(cluster):
    name = cluster.new_ledger()
    with cluster.owner() as db:
        with pytest.raises(Refused):
            create_ledger(db, name, cluster.key)
        for bad in ("", "a/b", "a?b", "x" * 201, "\0"):
            with pytest.raises(Refused):
                create_ledger(db, bad, cluster.key)


def test_a_ledger_of_a_newer_program_is_read_and_not_written(cluster):
    address = cluster.ledger_address(cluster.new_ledger())
    OpenDatabase(address, str(cluster.key)).close()
    with cluster.owner() as db:
        db.execute("UPDATE tallystick.heads SET shape = 99 WHERE shape < 99")
    opened = OpenDatabase(address, str(cluster.key))
    assert len(list(opened.events())) == 1
    with pytest.raises(NotWritable, match="upgrade"):
        opened.ledger.append([])
    opened.close()
    with cluster.owner() as db:
        db.execute("UPDATE tallystick.heads SET shape = 5 WHERE shape = 99")


@pytest.mark.parametrize("address", ["postgresql://h/d", "postgresql://h/d?ledger=", "postgresql://h/d?ledger=a&ledger=b"])
def test_an_address_names_one_ledger(address):
    with pytest.raises(Refused):
        parts_of(address)


def test_what_else_is_in_an_address_is_for_the_connection():
    rest = "postgresql://u@h:1/d?sslmode=require"
    assert parts_of(f"{rest}&ledger=a%20b") == (rest, "a b")


@pytest.mark.parametrize("text", ["", "abc", "id:00", "ID:" + "00" * 32, "id:zz", "id:" + "00" * 65])
def test_a_key_that_is_none_is_refused_without_being_repeated(text):
    with pytest.raises(Refused) as refused:
        PassKey.parse(text)
    assert not text or text not in str(refused.value)


@pytest.mark.usefixtures("cluster")  # none can be had, where that cannot
def test_a_role_that_may_create_roles_makes_a_new_server_ready():
    """Since PostgreSQL 16 it has to grant itself the owner that it has made."""
    server = Cluster(is_ready=False)
    try:
        with server.owner("postgres") as db:
            db.execute("CREATE ROLE maker LOGIN CREATEROLE")
            db.execute("CREATE DATABASE made OWNER maker")
        key, address = PassKey.generate(), f"postgresql://maker@127.0.0.1:{server.port}/made"
        assert prepare(address, "notes", key)[0] is True
        assert prepare(address, "notes", key)[0] is False
        opened = OpenDatabase(f"{address.replace('maker', 'tallystick_app')}?ledger=notes", str(key))
        assert opened.ledger.head.seq == 0
        opened.close()
    finally:
        server.stop()
