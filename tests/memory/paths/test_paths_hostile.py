"""Whatever a path is called and whatever is said of it: it is taken, or refused in a short line and nothing changed."""

import itertools
from typing import Any

import pytest

from tallystick import Memory, TallystickError
from tests.strategies import HOSTILE

ODD = [*HOSTILE, "\ud800", "\u200b", "漢" * 5000, "x" * (1 << 20), None, 5, b"x", ["a"], {"a": 1}]
FRESH = itertools.count()


def calls(memory: Memory, odd: Any) -> dict[str, Any]:
    """Each call with something odd in one place. The paths that it acts on are made for it."""
    name = f"n{next(FRESH)}"
    paths = memory.paths
    paths.branch(name)
    return {
        "branch": lambda: paths.branch(odd), "from": lambda: paths.branch(f"{name}-below", odd),
        "on": lambda: memory.on(odd), "get": lambda: paths.get(odd), "merge": lambda: paths.merge(odd),
        "into": lambda: paths.merge(name, odd), "rule": lambda: paths.merge(name, conflicts=odd),
        "abandon": lambda: paths.abandon(name, odd), "give up": lambda: paths.abandon(odd, "no"),
        "compact": lambda: paths.compact(name, summary=odd), "said": lambda: paths.said(odd),
        "conflicts": lambda: paths.conflicts(odd), "in": lambda: odd in paths,
        "remember": lambda: memory.remember("t", path=odd), "observe": lambda: memory.observe("t", path=odd),
        "query": lambda: memory.beliefs.query(path=odd), "find": lambda: memory.get("x", path=odd),
        "forget": lambda: memory.forget("x", path=odd), "history": lambda: memory.history("x", path=odd),
    }  # fmt: skip


@pytest.mark.parametrize("number", range(len(ODD)))
@pytest.mark.sample(12)
def test_what_is_odd_is_taken_or_refused_in_one_short_line(memory: Memory, number: int) -> None:
    for what in calls(memory, ODD[number]):
        events = memory.status().events + 1  # the path that is made for the call
        call = calls(memory, ODD[number])[what]
        try:
            call()
        except TallystickError as error:
            told = str(error)
            assert "\n" not in told, what
            assert len(told) < 400, what
            assert memory.status().events == events, what
    with Memory(memory.folder) as again:
        assert again.paths.tree() == memory.paths.tree()
        assert again.ledger.verify().ok
