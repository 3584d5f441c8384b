"""The SQL of the index fits its schema, the rows in memory, and elfmem's tables."""

import re
import sqlite3
import subprocess
import sys

from sqlalchemy import create_engine

from tallystick.projections.index import file, statements
from tallystick.projections.index.rows import Block, Source, Tie
from tallystick.projections.index.schema import SCHEMA, TABLES
from tallystick.stores.elfmem.models import metadata


def _empty() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    for statement in SCHEMA:
        db.execute(statement)
    return db


def _columns(db: sqlite3.Connection, statement: str, *values: object) -> list[str]:
    return [column[0] for column in db.execute(statement, values).description]


def test_the_schema_makes_an_index_in_which_every_statement_can_be_prepared():
    db = _empty()
    prepared = 0
    for name, statement in vars(statements).items():
        if re.fullmatch("[A-Z][A-Z_]+", name) and isinstance(statement, str):
            values = dict.fromkeys(re.findall(r":(\w+)", statement), None)
            db.execute("EXPLAIN " + statement, values or [None] * statement.count("?"))
            prepared += 1
    assert prepared > 100
    db.close()


def test_rows_in_memory_have_the_fields_of_their_tables_in_order():
    db = _empty()
    assert _columns(db, "SELECT * FROM index_sources") == list(Source.__slots__[:-1])
    assert _columns(db, "SELECT * FROM index_ties") == list(Tie.__slots__)
    assert _columns(db, statements.BLOCKS, "[]") == list(Block.__slots__[:-2])
    db.close()


def test_the_first_tables_are_those_of_elfmem():
    db = _empty()
    layer = create_engine("sqlite://")
    metadata.create_all(layer)
    with layer.connect() as connection:
        for table in metadata.tables:
            for pragma in ("table_info", "foreign_key_list", "index_list"):
                rows = connection.exec_driver_sql(f"PRAGMA {pragma}({table})")
                assert {row[1:] for row in rows} == {row[1:] for row in db.execute(f"PRAGMA {pragma}({table})")}
    assert set(TABLES[:7]) == metadata.tables.keys()
    layer.dispose()
    db.close()


def test_importing_the_open_file_does_not_import_sqlalchemy():
    code = "import sys, tallystick.memory.core.index, tallystick.recall.pipeline; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert file.SHAPE >= 1
