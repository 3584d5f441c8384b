"""Lines in the database are checked as lines in a folder are, by this program and by the documentation's checker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.decide import beliefs as decide
from tallystick.ledger.checkpoint import Claim
from tallystick.ledger.lock import Witness
from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.verify import verify
from tallystick.records.errors import Busy, Damaged, RolledBack
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tests.postgres.stories import end_erasures

FORMAT = Path(__file__).parents[2] / "docs" / "design" / "ledger-format.md"
LINES = """COPY (
    SELECT convert_from(head || ',"hash":"' || encode(sha256(head), 'hex')::bytea || '","data":' || data || '}', 'UTF8')
    FROM tallystick.events ORDER BY seq
) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')"""


@pytest.fixture
def opened(cluster) -> Iterator[OpenDatabase]:
    made = OpenDatabase(cluster.ledger_address(cluster.new_ledger()), str(cluster.key))
    for number in range(6):
        words = {"text": f"tea {number}", "confidence": 0.5, "key": f"k{number}"}
        made.ledger.write(lambda words=words: decide.put(made.state, words, made.draw()))
    with made.ledger.batch():
        for number in range(3):
            words = {"text": f"of a batch {number}", "confidence": 0.5}
            made.ledger.write(lambda words=words: decide.put(made.state, words, made.draw()))
    made.ledger.erase(lambda: decide.erase(made.state, ["k3"]))
    end_erasures(made.ledger)
    yield made
    made.close()


def verified(cluster, opened, **how):
    database = Database(cluster.address("straight"), cluster.key)
    try:
        return verify(database, opened.ledger.place.partition("?ledger=")[2], **how)
    finally:
        database.close()


def copied(cluster, opened) -> bytes:
    """The lines, as a program reads them by COPY."""
    database = Database(cluster.address("straight"), cluster.key)
    ledger = opened.ledger._calls.ledger
    with database.connection() as connection, connection.db.transaction():
        connection.db.execute("SELECT tallystick.enter(%s, %s)", (ledger, database.pass_for(str(ledger)).decode()))
        with connection.db.cursor().copy(LINES) as rows:
            lines = b"".join(rows)
    database.close()
    return lines


def checker():
    """The checker of one's own that the documentation prints."""
    code = re.search(r"```python\n((?:(?!```).)*def check\(folder\).*?)```", FORMAT.read_text(), re.DOTALL)[1]
    names: dict = {}
    exec(code, names)
    return names["check"]


def test_the_checker_of_the_documentation_accepts_lines_read_by_copy(cluster, opened, tmp_path):
    lines = copied(cluster, opened)
    assert lines == b"".join(line.slice + b',"hash":"%b","data":%b}\n' % (line.hash.encode(), line.data)
                             for line in opened.ledger.lines())  # fmt: skip
    (tmp_path / "events.wal").write_bytes(lines)
    leaves, hashes = checker()(tmp_path)
    assert (len(leaves), hashes[-1].decode()) == (opened.ledger.head.seq + 1, opened.ledger.head.hash)


def test_an_export_names_the_event_that_the_checker_finds_and_has_the_words_of_the_lines(
    cluster, monkeypatch, tmp_path
):
    """Who has an export and the lines can tell that it is of them, without this program."""
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    with Memory(cluster.ledger_address(cluster.new_ledger())) as memory:
        for number in range(3):
            memory.remember(f"tea {number}", key=f"k{number}")
        memory.erase("k1")
        (tmp_path / "events.wal").write_bytes(copied(cluster, memory._folder))
        begin, *rest = [json.loads(line) for line in memory.export_lines()]
    leaves, hashes = checker()(tmp_path)
    assert (begin["through"], begin["head"]) == (len(leaves) - 1, hashes[-1].decode())
    lines = (tmp_path / "events.wal").read_bytes()
    texts = [each["text"] for each in rest if each["type"] == "belief"]
    assert texts == ["tea 0", "tea 2"]
    assert all(text.encode() in lines for text in texts)


def test_the_lines_are_a_folder(cluster, opened, tmp_path):
    (tmp_path / "events.wal").write_bytes(copied(cluster, opened))
    folder = OpenFolder(tmp_path)
    assert folder.ledger.trouble is None
    assert folder.ledger.standing.ledger == opened.ledger.standing.ledger
    assert list(folder.state.dump()) == list(opened.state.dump())
    folder.close()


def test_a_whole_ledger_is_ok_and_says_which_witnesses_it_had(cluster, opened):
    report = verified(cluster, opened, tree=True)
    assert (report.ok, report.events, report.head) == (True, opened.ledger.head.seq + 1, opened.ledger.head.hash)
    assert report.root == opened.ledger.tree().root().hex()
    assert not report.outside
    pin = Claim(Witness(4, opened.ledger.hash_at(4), name="the pin"), None, outside=True)
    assert verified(cluster, opened, checkpoints=[pin]).outside
    false = Claim(Witness(4, "0" * 64, name="the pin"), None, outside=True)
    assert "rewritten" in verified(cluster, opened, checkpoints=[false]).bad.why


def test_the_data_of_an_erased_event_says_nothing(cluster, opened):
    assert b"tea 3" not in copied(cluster, opened)
    assert b"tea 2" in copied(cluster, opened)
    assert opened.ledger.line(4).event().body is None
    with cluster.owner() as db:
        for table in ("state_row", "state_past"):
            found = db.execute(f"SELECT count(*) FROM tallystick.{table} WHERE position('tea 3'::bytea IN value) > 0")
            assert found.fetchone() == (0,)


FLIP = "UPDATE {e} SET %s = set_byte(%s, %s, get_byte(%s, %s) # 1) WHERE {l} AND seq = %d"


def flipped(column: str, place: str, seq: int) -> str:
    return FLIP % (column, column, place, column, place, seq)


TAMPER = {
    "a flipped byte of the header": (2, flipped("head", "50", 2)),
    "a flipped byte of the link": (2, flipped("head", "length(head) - 2", 2)),
    "a flipped byte of the data": (2, flipped("data", "80", 2)),
    "a flipped byte of the last header": (11, flipped("head", "50", 11)),
    "a dropped row": (5, "DELETE FROM {e} WHERE {l} AND seq = 5"),
    "the first row dropped": (0, "DELETE FROM {e} WHERE {l} AND seq = 0"),
    "the last row dropped": (11, "DELETE FROM {e} WHERE {l} AND seq = 11"),
    "a doubled row": (12, "INSERT INTO {e} SELECT ledger, 12, head, data FROM {e} WHERE {l} AND seq = 11"),
    "two rows swapped": (4, "UPDATE {e} SET seq = CASE seq WHEN 4 THEN 105 ELSE 104 END WHERE {l} AND seq IN (4, 5);"
                            " UPDATE {e} SET seq = seq - 100 WHERE {l} AND seq > 100"),
    "the head put back": (10, "UPDATE tallystick.heads SET seq = 10 WHERE {l}"),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPER)
def test_the_first_bad_event_is_named(cluster, opened, what):
    seq, statement = TAMPER[what]
    ledger = f"ledger = '{opened.ledger._calls.ledger}'"
    with cluster.owner() as db:
        for each in statement.format(e="tallystick.events", l=ledger).split(";"):
            db.execute(each)
    report = verified(cluster, opened)
    assert (report.ok, report.bad.seq) == (False, seq), report


def test_a_row_of_the_state_that_somebody_edited_is_not_used_and_is_made_again(cluster, opened):
    ledger = opened.ledger._calls.ledger
    rows = list(opened.state.dump())
    edit = (
        "UPDATE tallystick.state_row SET value = replace(convert_from(value, 'UTF8'), 'tea', 'rum')::bytea"
        " WHERE ledger = %s AND tab = 'belief'"
    )
    with cluster.owner() as db:
        db.execute(edit, (ledger,))
    again = OpenDatabase(cluster.ledger_address(opened.ledger.place.rpartition("=")[2]), str(cluster.key))
    with pytest.raises(Busy), again.known() as known:
        known.get("k1")
    words = {"text": "one more", "confidence": 0.5}
    again.ledger.write(lambda: decide.put(again.state, words, again.draw()))
    with again.known() as known:
        assert known.get("k1").belief().text == "tea 1"
    again.ledger.rebuild()
    assert len(list(again.state.dump())) > len(rows)
    again.close()


def test_a_database_that_was_put_back_is_noticed_and_not_written(cluster, opened):
    head = opened.ledger.head
    with cluster.owner() as db:
        for statement in (
            "DELETE FROM tallystick.events WHERE ledger = %(l)s AND seq > 8",
            "UPDATE tallystick.heads SET seq = 8, hash = %(h)s WHERE ledger = %(l)s",
        ):
            db.execute(statement, {"l": opened.ledger._calls.ledger, "h": opened.ledger.hash_at(8)})
    opened.ledger.refresh()
    assert isinstance(opened.ledger.trouble, RolledBack)
    with pytest.raises(RolledBack, match=str(head.seq)):
        opened.ledger.write(list)


def test_a_line_that_was_changed_is_damage_to_whoever_reads_it(cluster, opened):
    ledger = opened.ledger._calls.ledger
    with cluster.owner() as db:
        db.execute("UPDATE tallystick.events SET data = '{}' WHERE ledger = %s AND seq = 2", (ledger,))
    with pytest.raises(Damaged, match="event 2"):
        list(opened.events())


def test_rows_that_cannot_be_made_again_stay_as_they_were(cluster, opened):
    with cluster.owner() as db:
        edit = "UPDATE tallystick.events SET data = '{}' WHERE ledger = %s AND seq = 8"
        db.execute(edit, (opened.ledger._calls.ledger,))
    with pytest.raises(Damaged, match="event 8"):
        opened.ledger.rebuild()
    assert opened.ledger._rows.changes() == 0
    assert opened.ledger._rows.tables_with_rows() == opened.ledger._kept.tables
