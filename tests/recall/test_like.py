"""Patterns of tags: what SQLite's own LIKE says, and never a moment longer for a pattern made to take long."""

import re
import sqlite3
import time

from hypothesis import given
from hypothesis import strategies as st

from keepsake.recall.filters import is_like

LETTERS = st.text("ab%_/A", max_size=12)


@given(LETTERS.map(lambda text: re.sub("[%_]", "b", text)) | st.text("abA/", max_size=12), LETTERS)
def test_a_pattern_means_what_it_means_to_sqlite(text, like):
    with sqlite3.connect(":memory:") as db:
        [[says]] = db.execute("SELECT ? LIKE ?", (text, like))
    assert is_like(text, like) == bool(says)


def test_a_pattern_of_many_pieces_does_not_take_for_ever():
    began = time.monotonic()
    assert not is_like("a" * 2_000, "%a" * 200 + "c")
    assert is_like("a" * 2_000 + "c", "%a" * 200 + "c")
    assert is_like("x", "%" * 100_000)
    assert time.monotonic() - began < 2


def test_any_letters_are_letters():
    assert is_like("a.b[", "a.b[")
    assert not is_like("axb[", "a.b[")
    assert is_like("self/😀\n", "self/__")
    assert is_like("ÄPFEL", "äpfel")
