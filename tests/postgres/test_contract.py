"""One story, three engines: a folder, PostgreSQL, and PostgreSQL through pgbouncer give the same lines and answers."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tallystick.ledger.fold import LedgerMetadata, fold_line
from tallystick.state.state import State
from tests.conftest import at_most
from tests.postgres.stories import Draws, InDatabase, InFolder, Recorded, closed
from tests.projections.index.ledgers import steps, walks

jumps = st.tuples(st.just("jump"), st.sampled_from([-60 * 24 * 40, -60 * 30, 60 * 24 * 400]))


def told(stories: st.SearchStrategy) -> st.SearchStrategy:
    """Stories in which the clock jumps now and then, and the ledger is opened again."""
    more = st.one_of(st.just(("again", 0)), jumps)
    return st.tuples(stories, st.lists(st.tuples(st.integers(0, 40), more), max_size=3))


def with_jumps(story: list[tuple], more: list[tuple]) -> list[tuple]:
    made = list(story)
    for place, step in more:
        made.insert(place, step)
    return made


def folded(story: Recorded) -> list[bytes]:
    """The state that follows from the lines."""
    state, standing = State(), LedgerMetadata()
    for line in story.lines():
        fold_line(line, state, standing)
    return list(state.dump())


@settings(max_examples=at_most(200))
@given(told(st.one_of(steps(), walks())))
def test_the_same_calls_give_the_same_lines_answers_and_errors(cluster, given_):
    story, draws, root = with_jumps(*given_), Draws(), Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", draws)
        folder = InFolder(draws, root / "memory")
        ledger, engines = folder.ledger.standing.ledger, [folder]
        try:
            for database in ("straight", "pooled"):
                name = cluster.new_ledger(database, ledger)
                engines.append(InDatabase(draws, cluster.ledger_address(name, database), str(cluster.key)))
            for step in story:
                for engine in engines:
                    engine.again() if step[0] == "again" else engine.say(step)
            lines, answers, rows = folder.lines(), folder.answers(), list(folder.state.dump())
            for engine in engines[1:]:
                assert engine.lines() == lines
                assert engine.refused == folder.refused
                assert engine.ledger.tree().root() == folder.ledger.tree().root()
                assert engine.ledger.standing.dump() == folder.ledger.standing.dump()
                assert engine.answers() == answers
                assert list(engine.state.dump()) == rows == folded(engine)
                engine.again()
                assert list(engine.state.dump()) == rows
        finally:
            closed(*engines)
            forget_ledgers(cluster, ledger)


def forget_ledgers(cluster, ledger: str) -> None:
    for database in ("straight", "pooled"):
        with cluster.owner(database) as db:
            tables = db.execute(
                "SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
                " WHERE attname = 'ledger' AND relkind IN ('r', 'p') AND NOT relispartition"
                " AND relnamespace = 'tallystick'::regnamespace"
            ).fetchall()
            for (table,) in tables:
                db.execute(f"DELETE FROM {table} WHERE ledger = %s", (ledger,))
