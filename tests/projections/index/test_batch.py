"""The rows that a few events touch: asked for once, written together, in one transaction with the bookmark."""

import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest

from tallystick import Memory
from tallystick.projections.database import IN_MEMORY
from tallystick.projections.index import file as file_module, fold
from tallystick.projections.index.batch import WriteBatch
from tallystick.projections.index.file import NOTHING, IndexFile
from tallystick.state.sessions import ActiveHours
from tests.projections.index.ledgers import MadeUp, assert_as_rebuilt


def a_story() -> MadeUp:
    puts = (
        ("put", 1, f"tea {number % 5}", "me", "human", ["taste"], number, "cli:local", "", "") for number in range(12)
    )  # fmt: skip
    return MadeUp.of([*puts, ("merge", 1, "tea merged", "me", 0, 1), ("forget", 1, "me", 2)])


def test_a_crash_between_the_rows_and_the_bookmark_leaves_neither(tmp_path, monkeypatch):
    made = a_story()
    index = IndexFile(tmp_path / "state.db")
    index.catch_up(made.events[:5])
    mark = index.bookmark()
    rows = index.db.execute("SELECT * FROM index_sources").fetchall()

    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(IndexFile, "_save", dies)
    with pytest.raises(KeyboardInterrupt):
        index.catch_up(made.events[5:])
    monkeypatch.undo()

    other = IndexFile(tmp_path / "state.db")
    assert (index.bookmark(), other.bookmark()) == (mark, mark)
    assert other.db.execute("SELECT * FROM index_sources").fetchall() == rows
    other.catch_up(made.events)
    assert_as_rebuilt(other, made.events)
    index.close()


def test_a_mistake_in_a_later_chunk_takes_back_the_earlier_ones_too(monkeypatch):
    made, index = a_story(), IndexFile(IN_MEMORY)
    monkeypatch.setattr(file_module, "CHUNK", 4)
    real = fold.apply

    def fails_late(desk, event):
        if event.seq == 9:
            raise sqlite3.OperationalError("the disk is full")
        real(desk, event)

    monkeypatch.setattr(fold, "apply", fails_late)
    with pytest.raises(sqlite3.OperationalError):
        index.catch_up(made.events)
    assert index.bookmark() == NOTHING
    assert index.db.execute("SELECT count(*) FROM blocks").fetchone() == (0,)
    index.close()


def test_events_that_were_applied_before_are_passed_over_and_a_gap_stops_it():
    made, index = a_story(), IndexFile(IN_MEMORY)
    index.catch_up(made.events[:6])
    assert index.catch_up(made.events[8:]).seq == 5
    assert index.catch_up(made.events[2:]).seq == len(made.events) - 1
    assert index.catch_up(made.events).seq == len(made.events) - 1
    index.close()


def test_whoever_expects_another_bookmark_changes_nothing():
    made, index = a_story(), IndexFile(IN_MEMORY)
    mark = index.catch_up(made.events[:6])
    wrong = mark._replace(hash="f" * 64)
    assert index.catch_up(made.events[6:], expected=wrong) == mark
    assert index.bookmark() == mark
    assert index.catch_up(made.events[6:], expected=mark).seq == len(made.events) - 1
    index.close()


def test_two_who_make_one_index_at_once_make_one(tmp_path):
    made = a_story()
    one, two = IndexFile(tmp_path / "state.db"), IndexFile(tmp_path / "state.db")
    for at in range(0, len(made.events), 2):
        one.catch_up(made.events[: at + 1])
        two.catch_up(made.events[: at + 2])
    one.catch_up(made.events)
    assert_as_rebuilt(two, made.events)
    one.close()


def test_what_is_not_there_is_asked_for_once():
    index, asked = IndexFile(IN_MEMORY), []
    index.db.set_trace_callback(asked.append)
    desk = WriteBatch(index.db, ActiveHours())
    for _ in range(3):
        assert desk.source("nobody") is None
        assert desk.ref_of("nobody") is None
        assert desk.at("0" * 64, "me") == ("0" * 16, None)
    assert len(asked) == 2
    with pytest.raises(LookupError, match="not the block"):
        desk.block("0" * 16)
    index.close()


def test_no_write_merges_much_full_text_and_it_never_falls_apart(tmp_path):
    with Memory(tmp_path / "kept") as memory:
        for start in range(0, 4_000, 1_000):
            with memory.batch():
                for n in range(start, start + 1_000):
                    memory.observe(f"Parcel {n} of {n * 7919 % 997} has come to house {n * 31 % 977}.")
        with closing(sqlite3.connect(tmp_path / "kept" / "state.db")) as db:
            pages = [pages_of(db)]
            for n in range(140):
                memory.observe(f"One more parcel: {n}.")
                pages.append(pages_of(db))
            assert max(len(after - before) for before, after in pairwise(pages)) <= 30
            assert db.execute("SELECT count(DISTINCT segid) FROM index_texts_idx").fetchone()[0] <= 30


def pages_of(db):
    return set(db.execute("SELECT id, block FROM index_texts_data"))
