"""Which of two statements is the newer one of the same thing: one statement against another, without an index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from tallystick.projections.index.search import SourceRow
from tallystick.recall.newer import Comparison, newer_first
from tallystick.recall.question import Question
from tallystick.text.dates.find import spans_in
from tallystick.text.recall_words import stem, telling
from tallystick.text.values import Statement

NOW = datetime(2026, 5, 20, tzinfo=UTC)
OLD = "The fee for the sailing club is 120 a year"
NEW = "The fee for the sailing club is 150 a year"


Said = tuple[SourceRow, str]


def statement(text: str, day: int, **more: object) -> Said:
    usual = SourceRow("s", "belief", "b", "", "", "", "human", "", None, f"2026-05-{day:02}", day, 0, None, None)
    return usual._replace(**more), text


def question(asked: str) -> Question:
    none = frozenset[str]()
    return Question(
        asked, asked, tuple(telling(asked)), True, none, none, (), (), tuple(spans_in(asked, NOW)), False, False
    )  # fmt: skip


def passes(
    newer: Said, older: Said, asked: str = "How much is the fee for the sailing club?", near: float = 0.5,
    scores: tuple[float, float] = (0.7, 1.0), marked: tuple[str, ...] = (),
) -> bool:  # fmt: skip
    """True if the newer one gets above the older one, which those `marked` are known to say otherwise than."""
    said, every = [newer, older], np.array(scores)
    order = np.argsort(-every).tolist()

    def compare(places: Sequence[int]) -> Comparison:
        rare = {stem(word): 3.0 for _, text in said for word in telling(text)}
        return Comparison({place: Statement.of(said[place][1]) for place in places}, np.full((2, 2), near), rare)

    passed = newer_first(
        question(asked), every, order, [[source] for source, _ in said], compare, lambda _: marked, NOW
    )
    assert passed == ({0: 1} if every[0] > every[1] else {})
    return bool(every[0] > every[1])


def test_the_newer_one_passes_the_older_and_never_the_other_way_round() -> None:
    assert passes(statement(NEW, 9), statement(OLD, 2))
    assert not passes(statement(NEW, 2), statement(OLD, 9))


def test_it_must_be_nearly_as_good_an_answer() -> None:
    assert not passes(statement(NEW, 9), statement(OLD, 2), scores=(0.5, 1.0))


def test_what_was_marked_when_it_was_recorded_passes_however_little_it_resembles_the_question() -> None:
    new = statement("The sailing club takes 150 from May on", 9, id="new")
    assert not passes(new, statement(OLD, 2), scores=(0.1, 1.0))
    assert passes(new, statement(OLD, 2), scores=(0.1, 1.0), marked=("new",))
    due = statement("The sailing club moved to the harbour now", 9, id="new")
    assert not passes(due, statement(OLD, 2), scores=(0.1, 1.0), marked=("new",)), "it has no such value"
    other = statement("The chess circle takes 150 from May on", 9, id="new")
    assert not passes(other, statement(OLD, 2), scores=(0.1, 1.0), marked=("new",)), "that is not what is asked"


@pytest.mark.parametrize(
    "asked",
    ["How much was the fee for the sailing club originally?", "How much was the fee for the sailing club on 5 May?"],
)
def test_a_question_of_the_past_is_left_alone(asked: str) -> None:
    assert not passes(statement(NEW, 9), statement(OLD, 2), asked)
    assert passes(statement(NEW, 9), statement(OLD, 2), "How much is the fee for the sailing club on 25 May?")


def test_it_must_hold_the_kind_of_value_that_is_asked_for() -> None:
    due = "The fee for the sailing club goes by bank now, ask Jill"
    assert not passes(statement(due, 9), statement(OLD, 2))
    assert passes(statement(due, 9), statement(OLD, 2), "Whom do we know at the sailing club?")


@pytest.mark.parametrize("text", ["The fee for the chess circle is 150 a year", "We ate 150 mussels at the harbour"])
def test_it_must_be_of_the_same_thing(text: str) -> None:
    assert not passes(statement(text, 9), statement(OLD, 2), near=0.1)


def test_the_same_value_is_no_correction_but_where_a_change_is_said() -> None:
    assert not passes(statement("The fee for the rowing club is 120 a year", 9), statement(OLD, 2))
    assert passes(statement("The fee for the sailing club is now for families, 120 a year", 9), statement(OLD, 2))


def test_an_instruction_is_passed_only_by_another_or_by_a_change() -> None:
    standing = statement(OLD, 2, standing=1)
    assert not passes(statement(NEW, 9), standing)
    assert passes(statement(NEW, 9, standing=1), standing)
    assert passes(statement("The fee for the sailing club is now 150 a year", 9), standing)


@pytest.mark.parametrize(("trust", "does"), [("agent", True), ("tool", False), ("web", False)])
def test_what_comes_from_outside_passes_no_persons_word(trust: str, does: bool) -> None:
    assert passes(statement(NEW, 9, trust=trust), statement(OLD, 2)) == does
    assert passes(statement(NEW, 9, trust=trust), statement(OLD, 2, trust=trust))


def test_whoever_repeats_a_statement_does_not_correct_it() -> None:
    assert passes(statement(f"{NEW} now", 9), statement(OLD, 2))
    assert not passes(statement(f"{NEW} now", 9, echo=1), statement(OLD, 2))
    assert not passes(statement(f"As of 9 May I was told now: “{OLD.upper()}”, in 2 notes", 9), statement(OLD, 2))
