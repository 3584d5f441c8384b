"""The rows of the past are those that a fold of the lines up to then gives."""

from __future__ import annotations

from hypothesis import given, strategies as st

from tallystick.projections.tables.past import TablesAt
from tallystick.projections.tables.rows import KeptTable, Position, TablesInRows
from tallystick.state.state import PastState, State
from tests.projections.index.ledgers import MadeUp, lessons, steps, walks
from tests.projections.tables.test_rows import attached

PATHS = ("", "draft", "deep", "other")


def kept_in(state: State, tables) -> dict[str, list]:
    names = [name for name, table in state.tables.tables.items() if isinstance(table, KeptTable)]
    return {name: list(tables[name].under()) for name in names}


@given(st.one_of(steps(), walks(), lessons()), st.integers(1, 40), st.booleans())
def test_the_past_in_rows_is_a_fold_of_the_lines_up_to_then(story, often, has_words):
    made = MadeUp()
    state = State(TablesInRows())
    rows, done = attached(state.tables), 0
    for step in story:  # erased lines are read before they are emptied, as a writer does
        made.say(step)
        for event in made.events[done:]:
            state.apply(event)
            if event.seq % often == 0:
                rows.save(Position(event.seq, event.hash, b"{}"))
                rows.forget()
        done = len(made.events)
    folded = State()
    for event in made.events:
        folded.apply(event)
        if event.seq % 3 and event.seq < len(made.events) - 2:
            continue
        past = PastState(TablesAt(rows, event.seq), state.paths, event.seq)
        assert kept_in(state, past.tables.tables) == kept_in(state, folded.tables.tables)
        for user in ("me", "ana"):
            assert [held.line for held in past.of_user(user)] == [held.line for held in folded.of_user(user)]
            for path in PATHS:
                asked = {"user": user, "path": path, "status": "active" if has_words else ""}
                seen, right = past.query(**asked), folded.query(**asked)
                assert [held.line for held in seen] == [held.line for held in right]
                for held in right:
                    name = held.body()["id"]
                    found = [each.find(name, user=user, path=path) for each in (past, folded)]
                    assert found[0] == found[1]
