"""Whether two indexes say the same."""

import sqlite3
from contextlib import suppress

import pytest

from tallystick.projections.index.file import Difference, differences
from tallystick.projections.index.schema import TABLES
from tests.projections.index.ledgers import rebuilt


@pytest.fixture
def pair(told):
    for number in range(6):
        told.put(f"tea {number}", number=number, tags=["t"], trust="web" if number == 5 else "human")
    told.say("start", "s1", "cli:local")
    one, two = rebuilt(told.made.events), rebuilt(told.made.events)
    yield one, two
    one.close()
    two.close()


def test_equal_ones_do_not_differ(pair):
    one, two = pair
    assert list(differences(one, two)) == []
    assert one.text_trouble() == ""


def test_a_row_too_many_and_one_too_few_are_told_apart(pair):
    one, two = pair
    two.db.execute("INSERT INTO system_config VALUES ('zz', '1')")
    one.db.execute("INSERT INTO system_config VALUES ('aa', '1')")
    assert set(differences(one, two)) == {
        Difference("system_config", ("aa", "1"), True), Difference("system_config", ("zz", "1"), False),
    }  # fmt: skip


def test_one_last_row_too_many_is_found_on_either_side(pair):
    one, two = pair
    one.db.execute("INSERT INTO system_config VALUES ('zz', '1')")
    assert list(differences(one, two)) == [Difference("system_config", ("zz", "1"), True)]
    assert list(differences(two, one)) == [Difference("system_config", ("zz", "1"), False)]


@pytest.mark.parametrize("value", [None, -1, 1.5, "", "z", "ÿ", "\U0001f375", b"", b"\xff"])
def test_a_changed_cell_is_found_in_every_column_of_every_table_whatever_it_is_changed_to(pair, value):
    one, two = pair
    one.db.execute("PRAGMA foreign_keys = OFF")
    one.db.execute("PRAGMA ignore_check_constraints = ON")
    for table in TABLES:
        rows = one.db.execute(f"SELECT * FROM {table}")
        for column in [column[0] for column in rows.description] if rows.fetchone() else ():
            one.db.execute("BEGIN")
            with suppress(sqlite3.IntegrityError):  # a cell that cannot be so
                change = f'UPDATE OR IGNORE {table} SET "{column}" = ? WHERE "{column}" IS NOT ?'
                if one.db.execute(change, (value, value)).rowcount:
                    assert {each.table for each in differences(one, two)} == {table}, column
            one.db.execute("ROLLBACK")


def test_full_text_that_does_not_belong_to_the_rows_is_found(pair):
    one, _ = pair
    one.db.execute("UPDATE blocks SET content = 'other' WHERE content = 'tea 1'")
    assert one.text_trouble() != ""
    one.db.execute("UPDATE blocks SET content = 'tea 1' WHERE content = 'other'")
    assert one.text_trouble() == ""
    assert not one.db.in_transaction
