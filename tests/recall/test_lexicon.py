"""What recall keeps of words and texts: bounded, and the same after it was thrown away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick.recall import lexicon as module
from tallystick.recall.lexicon import Lexicon, Part, Reading, weighted
from tests.growth import assert_text_linear
from tests.projections.vectors.doubles import Fast, Slow

TEXTS = st.lists(st.text(max_size=60), max_size=12)


def likeness(lexicon: Lexicon, asked: list[str], reading: Reading) -> list[list[float]]:
    return [np.round(lexicon.alike(asked, part.words, 2.0), 5).tolist() for part in reading.parts]


def seen(part: Part) -> tuple[float, float, frozenset[str]]:
    return part.times, part.asked, part.names


@given(TEXTS, st.lists(st.sampled_from(["tea", "teas", "coffee", "ß", "\0", "İ", "x" * 50]), max_size=4))
@pytest.mark.parametrize("static", [None, Fast()])
def test_a_text_is_read_alike_however_often_everything_was_thrown_away(
    static: Fast | None, texts: list[str], asked: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        large = Lexicon(static)
        named = [(f"{place}", text) for place, text in enumerate([*texts, "teas and Coffee, she said in May"])]
        large.read(named)
        patch.setattr(module, "MOST_WORDS", 3)
        small = Lexicon(static)
        for name, text in named:
            mine, other = small.read([(name, text)])[name], large._readings[name]
            assert [seen(part) for part in mine.parts] == [seen(part) for part in other.parts]
            assert mine[1:] == other[1:]
            assert likeness(small, asked, mine) == likeness(large, asked, other)


def test_what_is_kept_is_bounded_by_words_and_by_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORDS", 100)
    monkeypatch.setattr(module, "MOST_READ", 20_000)
    lexicon, most_words, most_texts = Lexicon(Fast()), 0, 0
    for number in range(500):
        [reading] = lexicon.read([(f"{number}", f"word{number} other{number} again")]).values()
        lexicon.alike(["again"], reading.parts[0].words, 1.0)
        most_words = max(most_words, len(lexicon._words))
        most_texts = max(most_texts, len(lexicon._readings))
        assert lexicon._has_vector <= len(lexicon._vectors) <= 4096
    for number in range(500):
        lexicon.read([(f"same{number}", "the same")])
        most_texts = max(most_texts, len(lexicon._readings))

    assert most_words <= 103
    assert 50 < most_texts <= 101
    lexicon.read([("long", "x" * 30_000)])
    assert lexicon.read([("short", "tea")]).keys() == lexicon._readings.keys() == {"short"}


def test_words_of_one_stem_are_the_same_word_and_others_are_as_near_as_their_vectors() -> None:
    for static, other in ((None, 0.0), (Fast(), None)):
        lexicon = Lexicon(static)
        [reading] = lexicon.read([("a", "painting coffee")]).values()
        [[same, near]] = lexicon.alike(["painted"], reading.parts[0].words, 1.0).tolist()
        assert same == 1.0
        assert 0 <= near < 1
        if other is not None:
            assert near == other


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "\ud800 \udfff", "‮ שלום עולם", "\u200b\u200d", "👩‍👩‍👧 🍵", "ﬃ ẞ İ ŉ", "'" * 5000, "a'" * 50_000],
)
def test_odd_words_are_words_or_nothing(text: str) -> None:
    lexicon = Lexicon(Fast())
    [reading] = lexicon.read([("a", text)]).values()

    assert reading.parts
    for part in reading.parts:
        found = lexicon.alike(["tea"], part.words, 2.0)
        assert found.shape == (1, len(part.words))
        assert np.isfinite(found).all()


@pytest.mark.parametrize("piece", ["tea ", "x", "Ana, Bob ", "may ", "? ", "\n", '"', "this week "])
def test_ten_times_the_text_takes_about_ten_times_as_long(piece: str) -> None:
    assert_text_linear(lambda text: Lexicon(None).read([("a", text)]), piece)


def test_a_question_is_weighed_by_its_rare_words_where_there_are_vectors_of_words() -> None:
    fast = Fast()
    mine = weighted(fast, ["tea", "ana"], [1.0, 0.0])

    assert np.allclose(mine, fast.embed(["tea"])[0], atol=1e-6)
    assert weighted(fast, [], []) is None
    assert weighted(Slow(), ["tea"], [1.0]) is None
