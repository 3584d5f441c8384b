"""A belief's history is found in the bytes of the ledger: what cannot speak of it is passed over, nothing is missed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.ledger import format as fmt
from tallystick.records.belief import Version
from tallystick.records.errors import TallystickError
from tallystick.state import history as timeline

KEYS = ("a", 'q"uote', "back\\slash", "né", "a/b")
STEPS = st.tuples(
    st.sampled_from(("say", "revise", "forget", "invalidate", "branch", "erase", "quote", "compact")),
    st.sampled_from(KEYS), st.integers(0, 3),
)  # fmt: skip


def done(m: Memory, what: str, key: str, number: int) -> None:
    """One thing that happens to a memory; what is refused does not happen."""
    path = "idea" if number == 3 and what in ("say", "revise", "forget") else ""
    doing: dict[str, Any] = {
        "say": lambda: m.remember(f"number {number}", key=key, path=path),
        "revise": lambda: m.revise(key, f"number {number}, again", reason="so", path=path),
        "forget": lambda: m.forget(key, reason="so", path=path),
        "invalidate": lambda: m.invalidate(key, reason="so"),
        "branch": lambda: m.paths.branch("idea"),
        "erase": lambda: m.erase(key) if number == 0 else None,
        "quote": lambda: m.observe(f'somebody spoke of "{m.show(key).id}"'),
        "compact": lambda: m.ledger.compact() if number == 0 else None,
    }
    try:
        doing[what]()
    except TallystickError:
        return


def read_whole(m: Memory, name: str, path: str) -> list[Version]:
    """The same from every line there is."""
    with m._folder.known() as known:
        held = known.get(name, user=m.user, path=path)
        _, before = timeline.begun(known, held)
        names = [*before, *known.ids_of(held)]
    found = timeline.history(m._folder.ledger.events(), names)
    return [each for each in found if each.seq < held.first or each.belief.path == held.path]


@settings(max_examples=8, deadline=None)
@given(st.lists(STEPS, min_size=8, max_size=30))
def test_every_history_is_the_one_that_the_whole_ledger_tells(steps: list[tuple[str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m") as m:
        for key in KEYS:
            done(m, "say", key, 0)
        for step in steps:
            done(m, *step)
        for key in KEYS:
            for path in ("", "idea"):
                if m.get(key, path=path):
                    assert m.history(key, path=path) == read_whole(m, key, path)


def test_what_does_not_speak_of_it_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(tmp_path / "m") as m:
        m.remember("tea", key="k")
        with m.batch():
            for number in range(50):
                m.remember(f"number {number}")
        m.revise("k", "coffee")
        parse, read = fmt.parse, list[bytes]()
        monkeypatch.setattr(fmt, "parse", lambda raw: read.append(raw) or parse(raw))

        assert [version.belief.text for version in m.history("k")] == ["tea", "coffee"]
        assert len(read) < 10


@pytest.mark.parametrize("name", ["né", 'a"b', "a\\b", "a/b", "a\nb"])
def test_a_name_that_may_be_written_in_two_ways_is_looked_for_in_every_line(name: str) -> None:
    assert timeline.naming(["plain"]) == [b'"plain"']
    assert timeline.naming(["plain", name]) == []
    assert timeline.naming([f"n{number}" for number in range(1000)]) == []
