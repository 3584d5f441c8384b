"""How far an index has read, without opening it for work."""

import os
import sqlite3

import pytest

from tallystick.projections.database import peek
from tallystick.projections.index.file import IndexFile
from tests.projections.index.ledgers import MadeUp


@pytest.fixture
def path(tmp_path):
    index = IndexFile(tmp_path / "state.db")
    index.catch_up(MadeUp().events)
    index.close()
    return tmp_path / "state.db"


def test_it_tells_the_last_event_and_its_hash_and_makes_nothing(path):
    before = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(path.parent)}
    assert peek(path) == (0, "0" * 64)
    assert {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(path.parent)} == before


def test_it_sees_what_a_writer_has_only_in_its_journal(path):
    index, made = IndexFile(path), MadeUp()
    made.say(("config", 1, "7"))
    index.catch_up(made.events)
    assert peek(path) == (1, f"{1:064x}")
    index.close()


@pytest.mark.parametrize(
    "change",
    ["UPDATE positions SET hash = 'x'", "UPDATE positions SET hash = upper(hash) || 'F'",
     "UPDATE positions SET hash = substr(hash, 2)", "UPDATE positions SET hash = hash || char(10)",
     "UPDATE positions SET hash = substr(hash, 2) || 'F'", "UPDATE positions SET hash = CAST(x'ff' AS TEXT)",
     "UPDATE positions SET hash = x'00'",
     "UPDATE positions SET seq = 'many'", "DELETE FROM positions", "DROP TABLE positions",
     "ALTER TABLE positions RENAME COLUMN hash TO h"],
)  # fmt: skip
def test_a_bookmark_that_is_none_is_no_witness(path, change):
    db = sqlite3.connect(path)
    db.execute(change)
    db.commit()
    db.close()
    assert peek(path) is None


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 3\x00", bytes(4096)])
def test_a_file_that_is_no_index_is_no_witness(path, content):
    path.write_bytes(content)
    assert peek(path) is None
    path.unlink()
    assert peek(path) is None
    path.mkdir()
    assert peek(path) is None


def test_a_name_with_odd_letters_is_a_name(tmp_path):
    folder = tmp_path / "a?b#c%20 d"
    folder.mkdir()
    index = IndexFile(folder / "state.db")
    index.catch_up(MadeUp().events)
    index.close()
    assert peek(folder / "state.db") == (0, "0" * 64)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        IndexFile(folder / "state.db", writable=False).db.execute("DELETE FROM positions")
