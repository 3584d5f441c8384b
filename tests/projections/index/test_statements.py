"""The statements that are compiled ahead are the ones that the expressions compile to."""

import re
import sqlite3
from pathlib import Path

from tallystick.projections.index import expressions, file, statements as prepared
from tallystick.projections.index.rows import Block, Source
from tallystick.projections.index.schema import bookmark, sources


def test_prepared_is_what_the_expressions_compile_to():
    assert Path(prepared.__file__).read_text("utf-8") == expressions.rendered()


def test_the_schema_makes_an_index_in_which_every_statement_can_be_prepared():
    db = sqlite3.connect(":memory:")
    for statement in prepared.SCHEMA:
        db.execute(statement)
    for name, statement in vars(prepared).items():
        if name.isupper() and isinstance(statement, str):
            values = dict.fromkeys(re.findall(r":(\w+)", statement), None)
            db.execute("EXPLAIN " + statement, values or [None] * statement.count("?"))
    for statement in prepared.EVERYTHING.values():
        assert db.execute(statement).fetchall() == []
    db.close()


def test_every_table_is_among_those_that_are_compared():
    made = {found[1] for each in prepared.SCHEMA if (found := re.match(r"CREATE TABLE (\w+)", each))}
    assert made == prepared.EVERYTHING.keys()


def test_rows_on_a_desk_have_the_fields_of_their_tables_in_order():
    assert [column.name for column in sources.c] == list(Source.__slots__[:-1])
    columns = re.match(r"SELECT (.*?) FROM", prepared.BLOCKS)[1].split(", ")
    assert [name.partition(".")[2] for name in columns] == list(Block.__slots__[:-2])
    assert [column.name for column in bookmark.c][:4] == ["one", "shape", "seq", "hash"]


def test_importing_the_open_file_does_not_import_the_expression_language():
    import subprocess
    import sys

    code = "import sys, tallystick.memory.core.index, tallystick.recall.pipeline; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert file.SHAPE >= 1
