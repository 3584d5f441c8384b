"""What is left of a question, less whom it names."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick.recall.residual import called_in, covers_of_rest, names_someone
from tallystick.text.recall_words import telling


def names(asked: str) -> list[str]:
    words = list(dict.fromkeys(telling(asked)))
    return [words[place] for place in called_in(asked, words)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("What does Ana drink?", ["ana"]), ("Ana's blood type?", ["ana"]), ("ana's blood type", ["ana"]),
        ("What is Ana’s job?", ["ana"]), ("Is Olga married to Peter?", ["olga", "peter"]),
        ("what does ana drink", []), ("WHAT DOES ANA DRINK", []), ("What Does Ana Drink", []), ("Who is Ana?", []),
        ("What did we do in March?", []), ("Ana", []), ("When do I ship?", []), ("", []),
    ],
)  # fmt: skip
def test_a_name_is_what_is_written_like_one_beside_words_that_are_not(asked, found):
    assert names(asked) == found


def test_the_first_name_that_is_held_counts_for_nothing_and_the_rest_for_all():
    alike = np.array([[1.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], np.float32)
    covered, holds = covers_of_rest(alike, np.array([0.5, 0.25, 0.25], np.float32), (0, 2))

    assert holds.tolist() == [True, True, False]
    assert covered.tolist() == pytest.approx([0.25, 0.5, 0.125])


def test_who_speaks_of_others():
    assert names_someone("Ana drinks tea")
    assert names_someone("the tea of Ana")
    assert names_someone("Ines is here")
    assert not names_someone("The tea is green")
    assert not names_someone("Backups are kept")
    assert not names_someone("The talk is on Monday, 3 March")
    assert not names_someone("we ship on the first")


@given(st.text(max_size=60))
def test_whatever_is_asked_not_all_words_are_names(asked):
    words = list(dict.fromkeys(telling(asked)))

    assert len(called_in(asked, words)) < max(len(words), 1)
    names_someone(asked)
