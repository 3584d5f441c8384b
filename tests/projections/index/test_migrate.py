"""A database that someone uses alone comes to today's tables, and loses nothing on the way."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import tallystick.stores.elfmem.migrations as scripts_package
from tallystick.records.errors import Busy, Damaged, NotFound
from tallystick.stores.elfmem import migrate as migrating
from tallystick.stores.elfmem.engine import prepare, url_of
from tallystick.stores.elfmem.migrate import migrate
from tallystick.stores.elfmem.models import metadata
from tallystick.stores.elfmem.rows import add_tags, get_block, get_neighbours, get_tags, insert_block, insert_edge
from tests.refusals import refuses

SCRIPTS = Path(next(iter(scripts_package.__path__)))
A_SECOND = '''
"""A made-up change: `blocks` is rebuilt, a column comes, another is renamed."""
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = depends_on = None


def upgrade():
    with op.batch_alter_table("blocks", recreate="always") as batch:
        batch.add_column(sa.Column("mood", sa.Text, nullable=False, server_default="calm"))
        batch.alter_column("category", nullable=True)


def downgrade():
    with op.batch_alter_table("blocks") as batch:
        batch.drop_column("mood")
'''
A_FAILING_SECOND = A_SECOND.replace("def downgrade", "    raise RuntimeError('power cut')\n\n\ndef downgrade")


def opened(path):
    engine = create_engine(url_of(path, "sqlite"))
    prepare(engine)
    return engine


def using(path, work):
    engine = opened(path)
    try:
        with engine.begin() as conn:
            return work(conn)
    finally:
        engine.dispose()


def created(path):
    """As `metadata.create_all` makes it: without a version."""
    using(path, metadata.create_all)
    return path


def fill(conn):
    for name in "ab":
        insert_block(conn, block_id=name, content=f"content of {name}", category="c", source="s")
    add_tags(conn, "a", ["x", "y"])
    insert_edge(conn, from_id="a", to_id="b", weight=0.5)


def is_filled(conn):
    return (
        get_block(conn, "a")["content"] == "content of a"
        and get_tags(conn, "a") == ["x", "y"]
        and get_neighbours(conn, ["a"]) == ["b"]
    )


def asked(path, query):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def revision_of(path):
    return asked(path, "SELECT version_num FROM alembic_version")


def schema_of(path):
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%alembic%' AND sql IS NOT NULL ORDER BY name"
    return [(name, " ".join(sql.split())) for name, sql in asked(path, query)]


@pytest.fixture
def with_a_second(tmp_path, monkeypatch):
    """Today's migrations, and one more that is made up."""

    def add(text=A_SECOND):
        folder = tmp_path / "scripts"
        shutil.copytree(SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "0002_made_up.py").write_text(text)
        monkeypatch.setattr(migrating, "SCRIPTS", str(folder))

    return add


# The newest revision is the metadata


def test_alembic_finds_no_difference_between_the_newest_revision_and_the_tables(tmp_path):
    migrate(tmp_path / "a.db")

    def differences(conn):
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(conn, opts=options), metadata)

    assert using(tmp_path / "a.db", differences) == []


def test_the_newest_revision_and_the_tables_are_the_same_to_the_letter(tmp_path):
    (tmp_path / "a.db").touch()  # an empty file is a new one
    migrate(tmp_path / "a.db")
    scripts = ScriptDirectory(str(SCRIPTS))

    assert schema_of(tmp_path / "a.db") == schema_of(created(tmp_path / "b.db"))
    assert len(scripts.get_heads()) == len(scripts.get_bases()) == 1


def test_the_environment_imports_the_tables_without_a_guard_and_rebuilds_in_batches():
    text = (SCRIPTS / "env.py").read_text()

    assert "from tallystick.stores.elfmem.models import metadata as target_metadata" in text
    assert "except ImportError" not in text
    assert text.count("render_as_batch=True") == text.count("context.configure(")


def test_the_wheel_carries_the_migrations_and_their_template(wheel):
    shipped = set(zipfile.ZipFile(wheel).namelist())
    wanted = {path.relative_to(SCRIPTS) for path in SCRIPTS.rglob("*") if path.suffix in (".py", ".mako")}

    assert {f"tallystick/stores/elfmem/migrations/{path}" for path in wanted} <= shipped
    assert Path("script.py.mako") in wanted


# Whatever the file is


def test_a_new_file_is_made_with_all_tables_and_its_revision(tmp_path):
    path = tmp_path / "a b?#100%.db"

    assert migrate(path) == "0001"
    assert revision_of(path) == [("0001",)]
    assert os.listdir(tmp_path) == [path.name]
    using(path, fill)
    assert using(path, is_filled)


def test_migrating_again_changes_nothing(tmp_path):
    migrate(tmp_path / "a.db")
    using(tmp_path / "a.db", fill)
    before = asked(tmp_path / "a.db", "SELECT * FROM blocks"), schema_of(tmp_path / "a.db")

    assert migrate(tmp_path / "a.db") == "0001"
    assert (asked(tmp_path / "a.db", "SELECT * FROM blocks"), schema_of(tmp_path / "a.db")) == before


def test_a_database_made_without_migrations_is_recognised_and_keeps_its_rows(tmp_path):
    using(created(tmp_path / "a.db"), fill)

    assert migrate(tmp_path / "a.db") == "0001"
    assert revision_of(tmp_path / "a.db") == [("0001",)]
    assert using(tmp_path / "a.db", is_filled)


def test_tables_of_others_in_the_same_file_are_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        db.executescript("CREATE TABLE recipes (name); INSERT INTO recipes VALUES ('soup')")

    assert migrate(tmp_path / "a.db") == "0001"
    assert asked(tmp_path / "a.db", "SELECT * FROM recipes") == [("soup",)]
    assert migrate(tmp_path / "a.db") == "0001"


@pytest.mark.parametrize(
    ("change", "odd"),
    [
        ("ALTER TABLE blocks ADD COLUMN mood TEXT", "blocks"),
        ("DROP TABLE edges", "edges"),
        ("DROP INDEX idx_edges_to", "edges"),
        ("DROP TABLE sessions; CREATE TABLE sessions (cookie TEXT)", "sessions"),
        ("DROP TABLE block_tags; CREATE TABLE block_tags (block_id TEXT NOT NULL, tag TEXT NOT NULL)", "block_tags"),
    ],
)
def test_tables_that_are_nearly_ours_are_refused_by_name_and_left_as_they_are(tmp_path, change, odd):
    path = created(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    before = schema_of(path)

    with refuses("mismatch", "a.db", odd) as told:
        migrate(path)

    assert "\n" not in str(told.value)
    assert schema_of(path) == before
    assert asked(path, "SELECT name FROM sqlite_master WHERE name = 'alembic_version'") == []


def test_a_database_of_a_newer_tallystick_is_refused_in_one_line(tmp_path):
    migrate(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")

    with refuses("unsupported", "'9999'", "a.db") as told:
        migrate(tmp_path / "a.db")

    assert "\n" not in str(told.value)
    assert revision_of(tmp_path / "a.db") == [("9999",)]


@pytest.mark.parametrize("spoiled", [b"Dear diary, " * 100, None], ids=["a diary", "its first page"])
def test_a_file_that_is_no_database_is_damaged_and_left_as_it_is(tmp_path, spoiled):
    path = created(tmp_path / "a.db")
    raw = spoiled or path.read_bytes()[:100] + b"\xff" * 3900 + path.read_bytes()[4000:]
    path.write_bytes(raw)

    with pytest.raises(Damaged, match=r"a\.db") as told:
        migrate(path)

    assert "\n" not in str(told.value)
    assert path.read_bytes() == raw
    with pytest.raises(NotFound, match=r"a\.db"):
        migrate(tmp_path / "missing" / "a.db")


def test_a_writer_that_does_not_end_is_reported_as_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(migrating, "PATIENCE", 0.1)
    path = created(tmp_path / "a.db")

    with closing(sqlite3.connect(path)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match=r"a\.db"):
            migrate(path)

    assert migrate(path) == "0001"


def test_two_at_once_take_turns(tmp_path):
    found, ready = [], threading.Barrier(4)

    def go():
        ready.wait(30)
        found.append(migrate(tmp_path / "a.db"))

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == ["0001"] * 4


def test_two_processes_at_once_take_turns(tmp_path):
    code = "import sys; from tallystick.stores.elfmem.migrate import migrate; print(migrate(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in "ab"]

    assert [each.communicate()[0] for each in running] == ["0001\n", "0001\n"]


# From an older revision


@pytest.mark.parametrize("make", [migrate, created], ids=["migrated", "created"])
def test_an_older_database_keeps_every_row_through_an_upgrade(tmp_path, with_a_second, make):
    """Rebuilding `blocks` drops the old table: with foreign keys on, SQLite would delete all tags and edges."""
    path = tmp_path / "a.db"
    make(path)
    using(path, fill)
    with_a_second()

    assert migrate(path) == "0002"
    assert revision_of(path) == [("0002",)]
    assert using(path, is_filled)
    assert asked(path, "SELECT DISTINCT mood FROM blocks") == [("calm",)]
    assert asked(path, "PRAGMA foreign_key_check") == []
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_after_an_upgrade_what_hangs_on_a_block_still_goes_with_it(tmp_path, with_a_second):
    using(created(tmp_path / "a.db"), fill)
    with_a_second()
    migrate(tmp_path / "a.db")
    using(tmp_path / "a.db", lambda conn: conn.exec_driver_sql("DELETE FROM blocks WHERE id = 'a'"))

    assert asked(tmp_path / "a.db", "SELECT * FROM block_tags") == asked(tmp_path / "a.db", "SELECT * FROM edges") == []


def test_an_upgrade_that_fails_half_way_leaves_the_database_as_it_was(tmp_path, with_a_second):
    path = created(tmp_path / "a.db")
    using(path, fill)
    before = schema_of(path)
    with_a_second(A_FAILING_SECOND)

    with pytest.raises(RuntimeError, match="power cut"):
        migrate(path)

    assert schema_of(path) == before
    assert asked(path, "SELECT name FROM sqlite_master WHERE name LIKE '%alembic%'") == []
    assert using(path, is_filled)


def test_this_tallystick_refuses_what_the_made_up_one_has_migrated(tmp_path, with_a_second, monkeypatch):
    with_a_second()
    migrate(tmp_path / "a.db")
    monkeypatch.undo()

    with refuses("unsupported", "'0002'"):
        migrate(tmp_path / "a.db")


# From the command line, without an alembic.ini


@pytest.fixture
def alembic(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.alembic]\nscript_location = "tallystick.stores.elfmem:migrations"\n'
    )

    def run(*words):
        command = [sys.executable, "-m", "alembic.config", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


def test_alembic_itself_upgrades_and_finds_nothing_to_do_not_even_with_the_tables_of_others(tmp_path, alembic):
    with closing(sqlite3.connect(tmp_path / "my index.db")) as db:
        db.execute("CREATE TABLE recipes (name)")

    assert alembic("-x", "db=my index.db", "upgrade", "head") == (0, "")
    assert alembic("-x", "db=my index.db", "check") == (0, "No new upgrade operations detected.\n")
    assert migrate(tmp_path / "my index.db") == "0001"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["current"], "FAILED: no database given"),
        (["-x", "db=missing/a.db", "current"], "FAILED: no folder"),
        (["-x", "db=a.db", "downgrade", "base"], "FAILED: 0001 is the first revision; remove the file instead"),
    ],
)
def test_alembic_says_what_is_wrong_in_one_line(tmp_path, alembic, words, says):
    migrate(tmp_path / "a.db")
    status, said = alembic(*words)

    assert status != 0
    assert says in said
    assert "Traceback" not in said
    assert len(revision_of(tmp_path / "a.db")) == 1


def test_alembic_prints_the_statements_of_an_upgrade(alembic):
    status, said = alembic("upgrade", "head", "--sql")

    assert status == 0
    assert said.count("CREATE TABLE") == len(metadata.tables) + 1
