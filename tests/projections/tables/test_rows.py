"""Rows in SQLite and in memory answer alike, whatever is done to them."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, strategies as st

from tallystick.projections.tables.sqlite import SCHEMA, Position, TablesInSqlite
from tallystick.state.state import State
from tallystick.state.tables import TUPLE, Part, TablesInMemory, decoded, encoded
from tests.projections.index.ledgers import MadeUp, steps

fields = st.sampled_from(["", "a", "b", "ab", "a\x01", "\x1f", "\x1b", "\x1be", "é", "000000000007", "\U0001f600"])
pairs = st.tuples(fields, fields, fields)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("set"), pairs, st.integers(0, 9)), st.tuples(st.just("drop"), pairs),
        st.tuples(st.sampled_from(["begin", "commit", "rollback", "save"])),
    ),
    max_size=30,
)  # fmt: skip


def attached(tables: TablesInSqlite) -> TablesInSqlite:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA:
        db.execute(statement)
    tables.attach(db, is_new=True)
    return tables


@given(acts, fields, fields, fields)
def test_both_give_the_same_answers(what, one, two, after):
    memory, rows = TablesInMemory(), TablesInSqlite()
    tables = [memory.table("t"), rows.table("t")]
    attached(rows)
    for act, *given_ in what:
        if act in ("set", "drop"):
            for table in tables:
                getattr(table, act)(*given_)
        elif act == "save":
            if rows.undo is None:
                rows.save(Position(1, "h", b"{}"))
        else:
            for each in (memory, rows):
                getattr(each, act)()
    for prefix in ((), (one,), (one, two)):
        for reverse in (False, True):
            found = [list(table.under(*prefix, reverse=reverse)) for table in tables]
            assert found[0] == found[1]
        later = [list(table.under(*prefix, after=after)) for table in tables]
        assert later[0] == later[1]
        for most in (None, 0, 1, 2):
            assert len({table.count(*prefix, most=most) for table in tables}) == 1
            assert len({table.count(*prefix, after=after, most=most) for table in tables}) == 1
    assert len({table.get((one, two, after)) for table in tables}) == 1
    assert len({bool(table) for table in tables}) == 1
    tables[1].prefetch([(one, two, each) for each in ("", "a", after)])
    assert tables[0].get((one, two, after)) == tables[1].get((one, two, after))


@given(st.one_of(st.text(), st.lists(st.text(), min_size=2, max_size=4).map(tuple)))
def test_a_key_comes_back_from_its_string(key):
    assert decoded(encoded(key)) == key


@given(steps(), st.integers(1, 5))
def test_a_state_in_rows_is_the_state_in_memory(story, often):
    made, kept = MadeUp.of(story), TablesInSqlite()
    state = State(kept)
    attached(kept)
    for number, event in enumerate(made.events):
        state.apply(event)
        if number % often == 0:
            kept.save(Position(event.seq, event.hash, b"{}"))
            kept.forget()
    assert list(Part(kept).dump()) == list(made.state.dump())


def test_rows_are_read_in_parts_and_by_many_keys_at_once():
    kept = TablesInSqlite()
    table = kept.table("t", TUPLE)
    attached(kept)
    for number in range(2500):
        table.set(("x", f"{number:05d}"), (number,))
    kept.save(Position(1, "h", b"{}"))
    assert [value for _, (value,) in table.under("x")] == list(range(2500))
    assert [value for _, (value,) in table.under("x", reverse=True)] == list(reversed(range(2500)))
    kept.forget()
    table.prefetch([("x", f"{number:05d}") for number in range(3000)])
    assert (len(table.known), table.get(("x", "02999"))) == (2500, None)  # the others are above the last key


def test_what_others_wrote_is_read_again():
    kept = TablesInSqlite()
    table = kept.table("t")
    attached(kept)
    table.set("a", 1)
    kept.save(Position(1, "h", b"{}"))
    assert table.get("a") == 1
    kept.db.execute("UPDATE state_row SET value = '2' WHERE tab = ? AND key = 'a'", (table.number,))
    kept.db.execute("UPDATE positions SET seq = 2")
    assert table.get("a") == 1
    assert kept.look() == Position(2, "h", b"{}")
    assert table.get("a") == 2


def test_a_failed_save_changes_nothing_and_can_be_done_again():
    kept = TablesInSqlite()
    table = kept.table("t")
    attached(kept)
    table.set("a", 1)
    kept.db.execute("CREATE TRIGGER no BEFORE INSERT ON positions BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(sqlite3.IntegrityError):
        kept.save(Position(1, "h", b"{}"))
    assert (kept.look(), table.get("a"), kept.changes()) == (None, 1, 1)
    kept.db.execute("DROP TRIGGER no")
    kept.save(Position(1, "h", b"{}"))
    assert (kept.look(), table.get("a"), kept.changes()) == (Position(1, "h", b"{}"), 1, 0)
