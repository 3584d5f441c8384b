"""Searching by words, whatever the question holds."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from tallystick.projections.index.search import (
    MOST_WORDS,
    NOW,
    Scope,
    _terms,
    rarity,
    search,
    search_all,
    search_letters,
    sources_of,
    words_of,
)  # fmt: skip
from tallystick.projections.index.segmentation import has_no_spaces, runs, spread
from tests.projections.index.ledgers import Told


@pytest.fixture(scope="module")
def index():
    told = Told()
    for text in ("green tea", "tea time", "naïve café", "x_y", "running runs", "茶", "OR", "don't"):
        told.put(text)
    told.put("green tea of hers", user="ana")
    yield told.index
    told.index.close()


def contents(index, hits):
    return [index.db.execute("SELECT content FROM blocks WHERE id = ?", (each.block,)).fetchone()[0] for each in hits]


def found(index, question, **scope):
    return sorted(contents(index, search(index, words_of(question), Scope("me", **scope), 50)))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("green", ["green tea"]), ("TEA!", ["green tea", "tea time"]), ("cafe", ["naïve café"]),
        ("run", ["running runs"]), ("y", ["x_y"]), ("茶", ["茶"]), ("or", ["OR"]), ("don't", ["don't"]),
        ("content:tea", ["green tea", "tea time"]), ("", []), ('"', []), ("te*", []),
    ],
)  # fmt: skip
def test_words_are_found_by_their_stem_without_accents_and_nothing_is_syntax(index, question, expected):
    assert found(index, question) == expected


@given(st.lists(st.text(st.characters(), max_size=12), max_size=8))
def test_any_letters_may_be_put_together_to_a_question(index, parts):
    question = " ".join(parts)
    words = words_of(question)
    search(index, words, Scope("me"), 5)
    search_all(index, words, 5)
    search_letters(index, question, Scope("me"), 5)
    assert all(0 < rare < 10 for rare in rarity(index, words, "me"))


def test_a_question_has_so_many_words_and_each_once():
    assert words_of("Tea tea TEA time") == ["tea", "time"]
    assert len(words_of(" ".join(map(str, range(1000))))) == MOST_WORDS


def test_a_scope_of_impossible_numbers_and_names_finds_nothing_and_raises_nothing(index):
    assert found(index, "tea", at=-(2**80)) == []
    assert found(index, "tea", at=2**80) == found(index, "tea")
    assert search(index, ["tea"], Scope("\ud800"), 5) == []
    assert search(index, ["tea"], Scope("me", session="\udfff"), 5) == []
    assert len(search(index, ["tea"], Scope("me"), 2**90)) == 2
    assert NOW < 2**63


def test_no_more_than_asked_and_the_best_first(index):
    ranks = [each.rank for each in search(index, ["tea", "green"], Scope("me"), 50)]
    assert ranks == sorted(ranks, reverse=True)
    assert contents(index, search(index, ["tea", "green"], Scope("me"), 1)) == ["green tea"]
    everyones = contents(index, search_all(index, ["tea", "green"], 50))
    assert sorted(everyones) == ["green tea", "green tea of hers", "tea time"]


def test_letters_of_a_script_without_spaces_are_found_two_by_two(index):
    assert contents(index, search_letters(index, "茶", Scope("me"), 5)) == ["茶"]
    assert search_letters(index, "茶茶", Scope("me"), 5) == []
    assert search_letters(index, "tea", Scope("me"), 5) == []
    assert search_letters(index, '茶" OR "', Scope("ana"), 5) == []


def test_a_word_is_the_rarer_the_fewer_of_ones_own_texts_hold_it_in_any_ending(index):
    tea, green, run, nobody = rarity(index, ["teas", "green", "run", "quince"], "me")
    assert tea < green == run == nobody
    [hers] = rarity(index, ["tea"], "ana")
    assert hers < tea


def test_sources_are_those_that_the_scope_may_see(index):
    [mine] = search(index, ["green"], Scope("me"), 5)
    assert [source.user for source in sources_of(index, [mine.block], Scope("me"))[mine.block]] == ["me"]
    assert sources_of(index, [mine.block], Scope("ana")) == {}


def test_full_text_forgets_nothing_that_a_block_holds(index):
    for (content,) in index.db.execute("SELECT content FROM blocks"):
        words = words_of(content)
        held = index.db.execute("SELECT count(*) FROM index_texts WHERE index_texts"
            " MATCH ?", (" ".join(f'"{w}"' for w in words),))
        assert held.fetchone()[0] >= 1
    with pytest.raises(sqlite3.Error):
        index.db.execute("SELECT * FROM index_texts WHERE index_texts MATCH 'content:'").fetchall()


# Scripts without spaces, character by character


def test_only_such_letters_are_spread_and_everything_else_parts_them():
    assert spread("我喝tea和咖啡") == "我 喝 · 和 咖 啡"
    assert spread("only English") == ""
    assert has_no_spaces("ドア")
    assert has_no_spaces("ประตู")
    assert not has_no_spaces("naïve café Привет")


def test_a_question_looks_for_pairs_or_for_the_letter_that_stands_alone():
    assert runs("咖啡店", 10) == ["咖 啡", "啡 店"]
    assert runs("茶 or 咖啡", 10) == ["茶", "咖 啡"]
    assert runs("tea", 10) == []
    assert len(runs("一二三四五六七八九十" * 9, 5)) == 5


@given(st.text(st.characters(), max_size=50))
def test_any_text_is_taken(text):
    assert (spread(text) != "") == has_no_spaces(text)
    assert all('"' not in run for run in runs(text, 64))


def test_threads_that_ask_at_once_each_get_the_terms_of_their_own_words():
    words = [f"kettle{number}" for number in range(400)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_terms.__wrapped__, words)) == [(word,) for word in words]
