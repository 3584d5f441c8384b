"""Two programs that state the same thing at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tallystick import Memory
from tallystick.memory.beliefs.around import Surroundings


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Once, after somebody looked around for what a statement repeats, do something else first."""

    def once(work: Callable[[], object]) -> None:
        looked, done = Surroundings.of, list[int]()

        def around(self: Surroundings, statement: Any) -> Any:
            found = looked(self, statement)
            if not done:
                done.append(1)
                work()
            return found

        monkeypatch.setattr(Surroundings, "of", around)

    return once


@pytest.mark.parametrize(
    ("meanwhile", "said", "what"),
    [("Ana likes tea.", "Ana likes tea.", "known"), ("The port is 5432.", "The port is 6543.", "corrected")],
)
def test_the_same_words_are_one_belief_and_a_correction_corrects(tmp_path, interrupted, meanwhile, said, what):
    with Memory(tmp_path / "m") as one, Memory(tmp_path / "m") as other:
        one.remember("The sky is grey.")
        interrupted(lambda: other.remember(meanwhile))
        assert one.remember(said).answer.what == what

        assert [each.text for each in one.beliefs.all()] == ["The sky is grey.", said]


def test_whoever_never_finds_a_quiet_moment_still_writes(tmp_path, monkeypatch):
    with Memory(tmp_path / "m") as one, Memory(tmp_path / "m") as other:
        one.remember("The sky is grey.")
        looked = Surroundings.of

        def around(self: Surroundings, statement: Any) -> Any:
            found = looked(self, statement)
            if self is one._remember._surroundings:
                other.remember(f"Number {len(other.beliefs)}.", key=f"n{len(other.beliefs)}")
            return found

        monkeypatch.setattr(Surroundings, "of", around)
        one.remember("Ana likes tea.")

        assert one.get("n1") is not None
        assert [each.text for each in one.beliefs if "Ana" in each.text] == ["Ana likes tea."]
