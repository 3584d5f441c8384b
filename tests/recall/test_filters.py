"""What a question is narrowed to."""

import re
import sqlite3

import pytest
from hypothesis import given, strategies as st

from tallystick.recall.filters import Filters, bears
from tallystick.records.errors import Refused
from tests.growth import assert_linear, seconds


def test_nothing_given_passes_everything():
    assert Filters.of(None).is_empty()
    assert Filters.of({}, ()).is_empty()
    assert not Filters.of({"tags": "x"}).is_empty()
    assert not Filters.of(None, ["id"]).is_empty()


def test_moments_are_compared_as_moments():
    assert Filters.of({"since": "2026-05-03T10:00:00+02:00"}).since == "2026-05-03T08:00:00.000000Z"
    assert Filters.of({"until": "2026-05-03"}).until == "2026-05-03T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"colour": 1}, "recall filters by about, kinds"), ({"what": "facts"}, 'what is "belief"'),
        ({"trust": "god"}, "unknown trust 'god'"), ({"tags": [1]}, "tags is a text or a list"),
        ({"kinds": 5}, "kinds is a text or a list"), ({"without": "x"}, "not by 'without'"),
        ({"since": "yesterday"}, "not a time"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_line(given_, says):
    with pytest.raises(Refused, match=says):
        Filters.of(given_)


# Patterns of tags: what SQLite's own LIKE says, and never a moment longer for a pattern made to take long

LETTERS = st.text("abäÄ%_/A", max_size=12)


@given(LETTERS.map(lambda text: re.sub("[%_]", "b", text)) | st.text("abäÄA/", max_size=12), LETTERS)
def test_a_pattern_means_what_it_means_to_sqlite(text, like):
    with sqlite3.connect(":memory:") as db:
        [[says]] = db.execute("SELECT ? LIKE ?", (text, like))
    assert bears([text], [like]) == bool(says)


def test_a_pattern_of_many_pieces_does_not_take_for_ever():
    def took(size: int) -> float:
        def work() -> None:
            assert not bears(["a" * size], ["%a" * 200 + "c"])
            assert bears(["a" * size + "c"], ["%a" * 200 + "c"])
            assert bears(["x"], ["%" * 50 * size])

        return seconds(work)

    assert_linear(took, 200, 2_000)


def test_any_letters_are_letters():
    assert bears(["a.b["], ["a.b["])
    assert not bears(["axb["], ["a.b["])
    assert bears(["self/😀\n"], ["self/__"])
    assert bears(["ÄPFEL"], ["Äpfel"])  # as in the index: A-Z and a-z alone are equal
    assert not bears(["ÄPFEL"], ["äpfel"])
