"""Patterns of tags: what SQLite's own LIKE says, and never a moment longer for a pattern made to take long."""

import re
import sqlite3

from hypothesis import given, strategies as st

from tallystick.recall.filters import is_like
from tests.growth import assert_linear, seconds

LETTERS = st.text("ab%_/A", max_size=12)


@given(LETTERS.map(lambda text: re.sub("[%_]", "b", text)) | st.text("abA/", max_size=12), LETTERS)
def test_a_pattern_means_what_it_means_to_sqlite(text, like):
    with sqlite3.connect(":memory:") as db:
        [[says]] = db.execute("SELECT ? LIKE ?", (text, like))
    assert is_like(text, like) == bool(says)


def test_a_pattern_of_many_pieces_does_not_take_for_ever():
    def took(size: int) -> float:
        def work() -> None:
            assert not is_like("a" * size, "%a" * 200 + "c")
            assert is_like("a" * size + "c", "%a" * 200 + "c")
            assert is_like("x", "%" * 50 * size)

        return seconds(work)

    assert_linear(took, 200, 2_000)


def test_any_letters_are_letters():
    assert is_like("a.b[", "a.b[")
    assert not is_like("axb[", "a.b[")
    assert is_like("self/😀\n", "self/__")
    assert is_like("ÄPFEL", "äpfel")
