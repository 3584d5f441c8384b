"""Rows in PostgreSQL answer as rows in memory do, whatever is done to them, whatever their keys are."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import example, given, settings, strategies as st

from tallystick.ledger.postgres.connection import Database, LedgerCalls
from tallystick.ledger.postgres.reader import fill_rows
from tallystick.projections.tables.past import TablesAt
from tallystick.projections.tables.postgres import TablesInPostgres
from tallystick.projections.tables.sqlite import Position, TablesInSqlite
from tallystick.records.event import Event
from tallystick.state.tables import TablesInMemory
from tests.conftest import at_most
from tests.projections.tables.test_rows import attached
from tests.strategies import HOSTILE

fields = st.sampled_from(["", "a", "b", "a\x01", "\x1f", "\x1b", "\x00", "\udc80", "é", "\U0001f600", *HOSTILE])


@st.composite
def stories(draw: st.DrawFn) -> list[tuple]:
    """What is done to few keys, so that they meet."""
    few = st.sampled_from(draw(st.lists(fields, min_size=1, max_size=3, unique=True)))
    keys = st.tuples(few, few)
    set_ = st.tuples(st.just("set"), keys, st.integers(0, 2))
    one = st.one_of(
        set_, set_, set_, st.tuples(st.just("drop"), keys), st.tuples(st.just("erase"), keys),
        st.tuples(st.just("move"), keys, keys),
        st.tuples(st.sampled_from(["begin", "commit", "rollback", "save", "save", "next", "next", "next"])),
    )  # fmt: skip
    return draw(st.lists(one, min_size=5, max_size=40))


@pytest.fixture(scope="module")
def calls(cluster) -> Iterator[LedgerCalls]:
    database = Database(cluster.address("straight"), cluster.key)
    made = LedgerCalls(database, database.find(cluster.new_ledger()))
    assert isinstance(made.ledger, UUID)
    yield made
    database.close()


def in_postgres(calls: LedgerCalls) -> TablesInPostgres:
    fill_rows(calls, [])
    tables = TablesInPostgres()
    tables.attach(calls.rows, lambda _: {}, lambda _: None)
    return tables


def write_rows(calls: LedgerCalls, tables: TablesInPostgres) -> None:
    """Write what is not written yet, without a line."""
    [(seq, hashed, ts, _, saved, shape, names, _, _, _, version, *_)] = calls.rows("look", -1, "", None, False, "0")
    as_it_is, fields = (seq, hashed, ts, 0, saved or b"", None, None), tables.fields()
    fields += [None] * (5 - len(fields))
    done = calls.rows("write", seq, hashed, shape, version, *as_it_is, *fields, names, shape)
    assert done == [("written",)]


def is_text(key: tuple) -> bool:
    return not any("\udc80" in each for each in key)


@settings(max_examples=at_most(200))
@given(stories(), fields, fields)
@example([("set", ("", ""), 0)], "", "\x1f")
def test_all_three_give_the_same_answers_now_and_of_the_past(calls, what, one, after):
    memory, sqlite, rows = TablesInMemory(), TablesInSqlite(), in_postgres(calls)
    every = (memory, sqlite, rows)
    plain = [each.table("plain") for each in every]
    kept = [each.kept("kept") for each in every]
    attached(sqlite)
    rows.follow([])
    seq = 0
    for act, *given_ in what:
        if act in ("set", "drop", "erase", "move"):
            if all(map(is_text, (each for each in given_ if type(each) is tuple))):
                for table in (*plain, *kept):
                    table_act = getattr(table, act)
                    table_act(*given_)
        elif act == "next":
            seq += 1
            for each in every:
                each.event = Event(seq, "", "", "", "", "", {})
        elif act == "save":
            if rows.undo is None:
                sqlite.save(Position(seq, "h", b"{}"))
                write_rows(calls, rows)
                rows.written(None)
                rows.follow(rows.filled)
        else:
            for each in every:
                getattr(each, act)()
    for tables in (plain, kept):
        for prefix in ((), (one,)):
            for reverse in (False, True):
                assert len({str(list(table.under(*prefix, reverse=reverse))) for table in tables}) == 1
            if is_text((after,)):
                assert len({str(list(table.under(*prefix, after=after))) for table in tables}) == 1
            assert len({table.count(*prefix) for table in tables}) == 1
        assert len({table.get((one, after)) for table in tables}) == 1
        assert len({bool(table) for table in tables}) == 1
    for last in range(seq + 1):
        past = [TablesAt(each, last).kept("kept") for each in (sqlite, rows)]
        for reverse in (False, True):
            assert len({str(list(table.under(reverse=reverse))) for table in past}) == 1
        assert len({table.get((one, after)) for table in past}) == 1
        assert len({table.count(one) for table in past}) == 1
    assert len({str(table.ever()) for table in kept[1:]}) == 1
    for key in kept[1].ever():
        assert kept[1].history(key) == kept[2].history(key)


def test_rows_are_read_in_parts_and_by_many_keys_at_once(calls):
    kept = in_postgres(calls)
    table = kept.table("t")
    kept.follow([])
    for number in range(2500):
        table.set(("x", f"{number:05d}"), number)
    write_rows(calls, kept)
    kept.written(None)
    kept.follow(["t"])
    assert list(table.values("x")) == list(range(2500))
    assert [value for _, value in table.under("x", reverse=True)] == list(reversed(range(2500)))
    table.prefetch([("x", f"{number:05d}") for number in range(3000)])
    before = calls.count
    assert (table.get(("x", "00001")), table.get(("x", "02999"))) == (1, None)
    assert calls.count == before


def test_a_table_that_never_had_a_row_is_not_asked(calls):
    kept = in_postgres(calls)
    table = kept.table("t")
    kept.follow([])
    before = calls.count
    assert (table.get("x"), list(table.under()), table.count(), bool(table)) == (None, [], 0, False)
    assert calls.count == before


def test_a_table_that_has_rows_is_not_asked_again_whether_it_has_any(calls):
    kept = in_postgres(calls)
    table = kept.table("t")
    kept.follow([])
    table.set("x", 1)
    write_rows(calls, kept)
    kept.written(None)
    kept.follow(["t"])
    before = calls.count
    assert [bool(table) for _ in range(10)] == [True] * 10
    assert calls.count <= before + 2
    table.drop("x")
    assert not table


def test_a_value_that_is_replaced_is_still_there_in_the_past(calls):
    kept = in_postgres(calls)
    table = kept.kept("kept")
    kept.follow([])
    for seq, value in ((1, "a"), (2, "b"), (3, "b"), (4, "c"), (5, "d")):
        kept.event = Event(seq, "", "", "", "", "", {})
        table.set("x", value)
        if seq != 4:  # two values are written at once
            write_rows(calls, kept)
            kept.written(None)
            kept.follow(["kept"])
    assert [TablesAt(kept, seq).kept("kept").get("x") for seq in range(6)] == [None, "a", "b", "b", "c", "d"]
    assert table.history("x") == ["a", "b", "c", "d"]
