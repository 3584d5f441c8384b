"""By what a text is known again."""

import time

import pytest
from hypothesis import given, strategies as st

from tallystick.text.fingerprint import KEPT, exactly, mark_of, marks_of, whole_marks
from tests.growth import assert_linear


def test_capitals_signs_spaces_and_what_is_not_seen_make_no_difference():
    assert mark_of("Ana LIKES—tea!") == mark_of(" ana likes   tea ") == mark_of("Ana\u200b likes\u202e “tea”")
    assert mark_of("Ana likes tea") != mark_of("Ana likes teas")


def test_letters_that_look_alike_are_others():
    assert mark_of("Ana likes tea") != mark_of("An\u0430 likes tea")


def test_exactly_is_letter_for_letter():
    assert exactly(" Tea ") == exactly("Tea")
    assert len({exactly(each) for each in ("Tea", "tea", "Tea.", "T ea")}) == 4


def test_a_line_or_a_sentence_of_a_text_is_known_by_itself():
    for piece in ("The port is 5432.", "Ana likes tea", "第三条规则很重要"):
        assert set(marks_of(piece)) & set(marks_of(f"Hello there, friend. {piece}\nGood bye to you."))


@pytest.mark.parametrize("short", ["", "yes", "ok then", "5432", "- x", "茶", "\u200b"])
def test_what_is_too_short_to_be_anybodys_has_no_mark(short):
    assert marks_of(short) == whole_marks(short) == []


@given(st.text(max_size=300))
def test_marks_are_the_same_each_time_and_none_is_there_twice(text):
    marks = marks_of(text)
    assert marks == marks_of(text)
    assert len(marks) == len(set(marks))


@pytest.mark.longer
@pytest.mark.parametrize("piece", ["a. ", "\n", "- [x] ", "a: ", "(", "[", "> ", "1. ", "é", "x y z.\n"])
def test_time_grows_with_the_text_and_no_faster(piece):
    def taken(size):
        text, start = piece * (size // len(piece)), time.process_time()
        marks_of(text)
        marks_of(text, KEPT)
        return time.process_time() - start

    assert_linear(taken, 2_000, 20_000, deeper=10)
