"""Words, stems, parts and names: what recall reads off a text."""

import time

import pytest
from hypothesis import given, strategies as st

from tallystick.text.recall_words import CHUNK_WORDS, parts_of, share_asked, stem, telling, without_names, words
from tests.growth import assert_linear


def test_words_are_small_and_lose_their_possessive():
    assert words("Ana's port — it’s 5432, isn't it?") == ["ana", "port", "it", "5432", "isn't", "it"]
    assert telling("What is the port of Ana?") == ["port", "ana"]


FORMS = [("paints", "painted", "painting"), ("parties", "party"), ("run", "running"), ("like", "likes")]


@pytest.mark.parametrize("forms", FORMS)
def test_the_forms_of_a_word_have_one_stem(forms):
    assert len({stem(form) for form in forms}) == 1


def test_words_that_differ_keep_different_stems():
    assert stem("pass") != stem("pa")
    assert len({stem(word) for word in ("tea", "team", "teach", "ten")}) == 4


@given(st.text(max_size=300))
def test_a_short_text_is_one_part_and_any_text_has_parts(text):
    assert parts_of(text) == [text]
    assert 0 <= share_asked(text) <= 1
    stem(text)


SAID = st.sampled_from(["word", "ends.", "asks?", "x" * 50])


@given(st.lists(SAID, min_size=CHUNK_WORDS * 2, max_size=CHUNK_WORDS * 6))
def test_the_parts_of_a_long_text_hold_all_its_words_in_order(said):
    parts = parts_of(" ".join(said))
    assert len(parts) > 1
    assert " ".join(parts).split() == said
    assert all(len(part.split()) <= CHUNK_WORDS * 1.25 for part in parts)


def test_names_go_whole_and_in_any_letters_and_nothing_else_does():
    assert without_names("What did ANA's brother tell Ana Maria?", ["ana", "ana maria"]) == "What did brother tell ?"
    assert without_names("Banana for Anabel", ["ana"]) == "Banana for Anabel"
    assert without_names("a.b (c", ["(c", "a.b"])
    assert without_names("tea", []) == "tea"


@pytest.mark.longer
@pytest.mark.parametrize("piece", ["word ", "x", "?", "a.", "'", "a'", "? "])
def test_ten_times_the_text_takes_about_ten_times_as_long(piece):
    def taken(times: int) -> float:
        text, start = piece * times, time.process_time()
        parts_of(text)
        telling(text)
        share_asked(text)
        return time.process_time() - start

    assert_linear(taken, 2_000, 20_000, deeper=4)
