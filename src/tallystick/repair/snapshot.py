"""Whether a snapshot says what the events up to it say."""

from __future__ import annotations

from tallystick.ledger.snapshot import Snapshot
from tallystick.state.beliefs import Beliefs
from tallystick.state.state import State


def says_the_same(told: Snapshot, state: Beliefs) -> bool:
    """Whether a snapshot holds the beliefs that `state` holds. It counts what is told of them, not how it is put."""
    lines = told.state.partition(b"[\n")[2].rpartition(b"\n],")[0].split(b",\n")
    if set(lines) == {held.line for held in state.held.values()}:
        return True
    other = State()
    try:
        other.load(told.state)
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    return _bodies(state) == _bodies(other)


def _bodies(state: Beliefs) -> dict[str, object]:
    return {ref: held.body() for ref, held in state.held.items()}
