"""No call and no statement of a program crosses to another ledger. What there is is listed from the catalogue."""

from __future__ import annotations

import threading
import time
from random import Random
from uuid import UUID

import psycopg
import pytest

from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.passes import PassKey
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.stores.open_database import OpenDatabase

TABLES = """SELECT c.oid::regclass::text, c.relrowsecurity AND c.relforcerowsecurity, c.relispartition,
      coalesce(array_to_string(c.relacl, ' '), '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attname = 'ledger' AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace = 'tallystick'::regnamespace"""
FUNCTIONS = """SELECT p.proname, p.prosecdef, coalesce(array_to_string(p.proconfig, ' '), ''),
      coalesce(array_to_string(p.proacl, ' '), ''), has_function_privilege('tallystick_app', p.oid, 'EXECUTE'),
      array_to_string(p.proargnames[:p.pronargs], ','), oidvectortypes(p.proargtypes)
    FROM pg_proc p WHERE p.pronamespace = 'tallystick'::regnamespace"""


@pytest.fixture(scope="module")
def ledgers(cluster):
    """Two ledgers with an event each, opened as a program opens them."""
    made = []
    for _ in range(2):
        name = cluster.new_ledger()
        opened = OpenDatabase(cluster.ledger_address(name), str(cluster.key))
        opened.ledger.append([Draft("config.set/1", {"key": "top_k", "value": name})])
        opened.ledger.keep_checkpoint(f"tallystick/x\n2\n{name}\n")
        made.append(opened)
    yield made
    for opened in made:
        opened.close()


@pytest.fixture
def app(cluster):
    with psycopg.connect(cluster.address("straight"), autocommit=True) as db:
        yield db


def ids_of(ledgers) -> list[str]:
    return [opened.ledger.standing.ledger for opened in ledgers]


def a_pass(cluster, ledger: str, **changes) -> str:
    given = {"subject": str(UUID(ledger)), "role": "tallystick_app", "expires": int(time.time()) + 60, **changes}
    return cluster.key.sign(**given)


def test_every_table_with_a_ledger_is_walled_and_no_partition_is_open(cluster):
    with cluster.owner() as db:
        tables = db.execute(TABLES).fetchall()
        policies = dict(db.execute(
            "SELECT tablename, array_agg(roles::text || ' ' || qual ORDER BY 1) FROM pg_policies"
            " WHERE schemaname = 'tallystick' GROUP BY 1"
        ).fetchall())  # fmt: skip
    assert len(tables) > 100
    for table, is_forced, is_partition, grants in tables:
        name = table.partition(".")[2]
        assert is_forced, table
        if is_partition:
            assert "tallystick_app" not in grants, table
            assert name not in policies, table
        else:
            assert any("mine()" in each and "tallystick_app" in each for each in policies[name]), table
        writes = set("awdDxt") & set(grants.partition("tallystick_app=")[2].partition("/")[0])
        assert not writes, f"a program changes {table} without a function"


def test_every_function_is_called_with_a_pass_or_by_the_owner_alone(cluster):
    with cluster.owner() as db:
        functions = db.execute(FUNCTIONS).fetchall()
    assert len(functions) > 15
    for name, is_definer, settings, grants, is_callable, arguments, _ in functions:
        assert not any(each.startswith("=") for each in grants.split(" ")), f"anybody may call {name}"
        if is_callable and name != "mine":
            assert is_definer, name
            assert "search_path=pg_catalog" in settings, name
            assert "pass" in arguments.split(","), name


@pytest.mark.parametrize("wrong", ["other", "role", "late", "key", "", None, "a.b.c", "x" * 5000])
def test_no_function_answers_without_a_valid_pass_for_that_ledger(cluster, ledgers, app, wrong):
    mine, other = ids_of(ledgers)
    given = {
        "other": a_pass(cluster, other), "role": a_pass(cluster, mine, role="postgres"),
        "late": a_pass(cluster, mine, expires=1),
        "key": PassKey("0000", b"k" * 32).sign(str(UUID(mine)), "tallystick_app", int(time.time()) + 60),
    }.get(wrong, wrong)  # fmt: skip
    with cluster.owner() as db:
        functions = db.execute(FUNCTIONS).fetchall()
    for name, _, _, _, is_callable, arguments, types in functions:
        if not is_callable or name == "mine":
            continue
        values = [mine if each == "l" else given if each == "pass" else None for each in arguments.split(",")]
        casts = [f"%s::{each}" for each in types.split(", ")]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(f"SELECT * FROM tallystick.{name}({', '.join(casts)})", values)


def within(cluster, app, ledger: str, *statements: str) -> list:
    """The rows of the last of these statements of a program that is within that ledger."""
    with app.transaction():
        app.execute("SELECT tallystick.enter(%s, %s)", (ledger, a_pass(cluster, ledger)))
        for statement in statements:
            found = app.execute(statement)
        return found.fetchall()


def test_what_forgets_to_say_which_ledger_sees_its_own(cluster, ledgers, app):
    mine, _ = ids_of(ledgers)
    with cluster.owner() as db:
        tables = [row[0] for row in db.execute(TABLES).fetchall() if "tallystick_app=" in row[3]]
    assert len(tables) == 7
    for table in tables:
        seen = {row[0].hex for row in within(cluster, app, mine, f"SELECT ledger FROM {table}")}
        assert seen <= {mine}, table
        assert app.execute(f"SELECT ledger FROM {table}").fetchall() == [], "the next transaction has no ledger"


def test_a_setting_that_was_injected_opens_nothing(cluster, ledgers, app):
    mine, other = ids_of(ledgers)
    read, injected = "SELECT * FROM tallystick.events", f"SELECT set_config('tallystick.ledger', '{UUID(other)}', true)"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        within(cluster, app, mine, read, injected, read)


@pytest.mark.parametrize("statement", [
    "SELECT * FROM tallystick.pass_keys", "SELECT * FROM tallystick.ledgers", "DELETE FROM tallystick.events",
    "UPDATE tallystick.events SET data = ''", "UPDATE tallystick.heads SET seq = 0",
    "INSERT INTO tallystick.events VALUES (gen_random_uuid(), 0, '', '')", "SELECT * FROM tallystick.events_0",
    "ALTER TABLE tallystick.events DISABLE ROW LEVEL SECURITY", "SET ROLE tallystick_owner",
    "SELECT tallystick.admit(NULL, 'x')", "CREATE FUNCTION tallystick.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "COPY tallystick.events TO PROGRAM 'cat'",
])  # fmt: skip
def test_a_program_may_not(cluster, ledgers, app, statement):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        within(cluster, app, ids_of(ledgers)[0], statement)


def test_security_that_is_switched_off_is_refused(cluster, ledgers, app):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        within(cluster, app, ids_of(ledgers)[0], "SET LOCAL row_security = off", "SELECT * FROM tallystick.events")


def test_an_error_tells_nothing_of_another_ledger(cluster, ledgers, app):
    mine, _ = ids_of(ledgers)
    probe = f"SELECT count(*) FROM tallystick.heads WHERE ledger <> '{UUID(mine)}' AND 1 / (seq - seq) > 0"
    assert within(cluster, app, mine, probe) == [(0,)]


def test_many_on_few_connections_of_a_pooler_never_see_each_other(cluster):
    key, crossings, reads = str(cluster.key), [], []
    names = [cluster.new_ledger("pooled") for _ in range(4)]
    opened = [OpenDatabase(cluster.ledger_address(name, "pooled"), key) for name in names]
    for name, one in zip(names, opened, strict=True):
        one.ledger.append([Draft("config.set/1", {"key": "top_k", "value": name})])
    ids = ids_of(opened)

    def read(seed: int) -> None:
        random = Random(seed)
        db = psycopg.connect(cluster.address("pooled"), autocommit=True, prepare_threshold=None)
        for _ in range(15):
            mine = random.choice(ids)
            try:
                with db.transaction():
                    if random.random() < 0.8:
                        db.execute("SELECT tallystick.enter(%s, %s)", (mine, a_pass(cluster, mine)))
                        expected = {mine}
                    else:
                        expected = set()
                    seen = {row[0].hex for row in db.execute("SELECT ledger FROM tallystick.events").fetchall()}
                    reads.append(seen)
                    if seen != expected:
                        crossings.append((expected, seen))
                    if random.random() < 0.3:
                        db.execute("SELECT 1/0")
                    if random.random() < 0.1:
                        db.close()  # in the middle of a transaction
            except psycopg.Error:
                pass
            if db.closed:
                db = psycopg.connect(cluster.address("pooled"), autocommit=True, prepare_threshold=None)
        db.close()

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in opened:
        one.close()
    assert (len(reads) > 200, crossings) == (True, [])


def test_a_key_is_replaced_while_programs_run(cluster):
    from tallystick.ledger.postgres.migrate import add_key, drop_key

    name, other = cluster.new_ledger(), PassKey.generate()
    old = OpenDatabase(cluster.ledger_address(name), str(cluster.key))
    with cluster.owner() as db:
        add_key(db, other)
        new = OpenDatabase(cluster.ledger_address(name), str(other))
        for opened in (old, new):
            opened.ledger.append([Draft("config.set/1", {"key": "top_k", "value": "3"})])
        drop_key(db, other.id)
    with pytest.raises(Refused, match="pass key"):
        new.ledger.refresh()
    old.ledger.refresh()
    assert old.ledger.head.seq == 2
    old.close()
    new.close()


def test_a_name_is_found_only_with_a_pass_for_it(cluster):
    database = Database(cluster.address("straight"), PassKey.generate())
    with pytest.raises(Refused):
        database.find(cluster.new_ledger())
    database.close()
