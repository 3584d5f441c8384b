"""However much is guaranteed, each of it is in the frame or named among the dropped, and in a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.recall import frame as sayings
from tallystick.recall.frame import Compared
from tallystick.records.recall import Frame, Hit
from tests.conftest import SOAK
from tests.recall.test_frame import By, fill, hit, ids, why

WEIGHTS = {"similarity": 1.0}
ALL = Frame("all", WEIGHTS, template="{blocks}", token_budget=400, guarantees=("kept/%",))
SAID = (
    "the port is 5432", "The port is 6543.", "port is 5432", "Ana likes tea", "Ana hates tea", "Ana does not like tea",
    "Ana loves tea", "Ana likes coffee", "Bob lives in Paris", "Bob lives in Rome", "Bob lived in Rome", "a b c",
    "the door is open", "the door is closed", "the build costs 5", "the build costs 6", "Password: ABC",
    "password: abc",
)  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, set[str]]]:
    """A memory of thousands of beliefs that a frame guarantees, by their tag or because they are always served."""
    with Memory(tmp_path_factory.mktemp("full") / "memory", embedder="none") as memory:
        hows: tuple[dict[str, Any], ...] = ({"always": True}, {"tags": ["kept/thing"]})
        with memory.batch():
            made = {
                memory.remember(f"Ana likes tea of kind {number}", agent="Ana", **hows[number % 2]).id
                for number in range(5_000 if SOAK else 1_500)
            }  # fmt: skip
        yield memory, made


@pytest.mark.longer
@pytest.mark.parametrize("scope", [{}, {"agent": "Ana"}])
def test_each_of_thousands_of_guaranteed_beliefs_is_shown_or_reported(
    full: tuple[Memory, set[str]], scope: dict[str, str]
) -> None:
    memory, made = full
    framed = memory.frame(ALL, "what does Ana like?", **scope)

    assert 0 < len(framed.hits) < 100
    assert framed.used <= 400
    shown, dropped = {each.id for each in framed.hits}, {each.id for each in framed.dropped if each.guaranteed}
    assert shown | dropped == made
    assert not shown & dropped


def test_what_is_guaranteed_and_not_to_be_heard_is_neither_shown_nor_reported(tmp_path: Any) -> None:
    with Memory(tmp_path / "memory", embedder="none") as memory:
        mine = memory.remember("tea", tags=["kept/a"], always=True).id
        memory.remember("another's", tags=["kept/a"], always=True, user="bob")
        memory.remember("a page's", tags=["kept/a"], trust="web")
        memory.remember("a branch's", tags=["kept/a"], always=True, path="draft")
        gone = memory.remember("gone", tags=["kept/a"], always=True)
        memory.forget(gone.id)
        framed = memory.frame(ALL, "what?")

    assert ids(framed) == [mine]
    assert framed.dropped == ()


# Comparing only what can be alike or opposed


every = st.builds(
    lambda text, **more: (text, more), st.sampled_from(SAID), what=st.sampled_from(["belief", "belief", "episode"]),
    trust=st.sampled_from(["human", "agent", "tool"]), confidence=st.sampled_from([0.3, 0.7]),
)  # fmt: skip


@given(st.lists(every, max_size=14), st.integers(0, 14))
def test_holding_each_against_those_that_share_a_gist_or_a_topic_finds_what_holding_all_against_all_does(
    said: list[tuple[str, dict[str, Any]]], kept: int
) -> None:
    hits = [hit(str(place), text, **more) for place, (text, more) in enumerate(said)]
    read = Compared()

    quick = fill(hits[kept:], guaranteed=hits[:kept], compare=read)
    slow = fill(hits[kept:], guaranteed=hits[:kept], compare=By(read.is_repeat, read.conflict))

    assert quick == slow


def test_the_time_grows_with_their_number_and_not_with_its_square() -> None:
    def compared(number: int, text: str) -> int:
        counted = 0

        def conflict(one: Hit, other: Hit) -> str:
            nonlocal counted
            counted += 1
            return read.conflict(one, other)

        read = Compared()
        some = [hit(str(place), text.format(place)) for place in range(number)]
        fill([], guaranteed=some, budget=1000, compare=By(read.is_repeat, conflict, read.gist, read.topic))
        return counted

    for text in ("item{} costs 5", "Ana likes kind{}", "no claim, {}"):
        few, many = compared(400, text), compared(1600, text)
        assert many <= 5 * few + 10


def test_beyond_so_many_on_one_topic_what_is_not_guaranteed_is_still_held_against_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sayings, "RIVALS", 2)
    kept = [hit(name, f"tea {name}", confidence=0.9) for name in "abc"] + [hit("p", "port 1", confidence=0.1)]

    result = fill([hit("q", "port 2")], guaranteed=kept)

    assert why(result)["q"].startswith("contradicts p")
