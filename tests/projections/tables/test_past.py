"""The rows of the past are those that a fold of the lines up to then gives."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, strategies as st

from tallystick.projections.tables.past import TablesAt
from tallystick.projections.tables.rows import KeptTable, Position
from tallystick.projections.tables.sqlite import TablesInSqlite
from tallystick.records.event import Event
from tallystick.state.state import PastState, State
from tests.projections.index.ledgers import MadeUp, lessons, steps, walks
from tests.projections.tables.test_rows import attached

PATHS = ("", "draft", "deep", "other")


def kept_in(state: State, tables) -> dict[str, list]:
    names = [name for name, table in state.tables.tables.items() if isinstance(table, KeptTable)]
    return {name: list(tables[name].under()) for name in names}


def followed(state: State, events: Iterable[Event], often: int) -> State:
    """Apply events, and write the rows now and then."""
    for event in events:
        state.apply(event)
        if event.seq % often == 0:
            written(state, event)
    return state


def written(state: State, event: Event) -> list[list[tuple]]:
    state.tables.save(Position(event.seq, event.hash, b"{}"))
    state.tables.forget()
    rows = "SELECT name, key, value, since FROM state_row JOIN state_table ON id = tab ORDER BY 1, 2"
    past = "SELECT name, key, value, since, until FROM state_past JOIN state_table ON id = tab ORDER BY 1, 2, 5"
    return [state.tables.db.execute(each).fetchall() for each in (rows, past)]


def in_rows() -> State:
    tables = TablesInSqlite()
    state = State(tables)
    attached(tables)
    return state


@given(st.one_of(steps(), walks(), lessons()), st.integers(1, 40), st.sampled_from(["active", ""]))
def test_the_past_in_rows_is_a_fold_of_the_lines_up_to_then(story, often, status):
    made, state = MadeUp(), in_rows()
    for step in story:  # lines that are erased later are followed before they are emptied, as a writer does
        done = len(made.events)
        made.say(step)
        followed(state, made.events[done:], often)
    folded = State()
    for event in made.events:
        folded.apply(event)
        if event.seq % 3 and event.seq < len(made.events) - 2:
            continue
        past = PastState(TablesAt(state.tables, event.seq), state.paths, event.seq)
        assert kept_in(state, past.tables.tables) == kept_in(state, folded.tables.tables)
        for user in ("me", "ana"):
            for path in PATHS:
                asked = {"user": user, "path": path, "status": status}
                seen, right = past.query(**asked), folded.query(**asked)
                assert seen == right
                for name in (held.body()["id"] for held in right):
                    assert past.find(name, user=user, path=path) == folded.find(name, user=user, path=path)
    again = followed(in_rows(), made.events, 1)
    assert written(state, made.events[-1])[1] == written(again, made.events[-1])[1]
