"""What recall keeps, counts or passes over to be quick changes no answer."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake import Memory
from keepsake.projections.index import prepared as sql
from keepsake.projections.index.fulltext import NOW, Scope, count_of, rarity
from keepsake.recall.hits import _ALIKE
from keepsake.recall.seen import Seen
from keepsake.recall.signals import _each_once
from keepsake.recall.text import stem, words

SAID = ("We don't paint", "Painting, painted, paints", "they don", "the t in don't", "Ünïcödé", "co-op o'clock o'clock")
ASKED = ["don't", "paint", "painter", "don", "t", "unicode", "o'clock", "papa'papa", "zebra", "天气"]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder="none") as opened:
        yield opened


def rarity_by_counting(index, user):
    total = index.db.execute(sql.COUNT_OF, (user, NOW)).fetchone()[0]
    counts = [index.db.execute(sql.COUNT_WITH, (f'"{word}"', user, NOW)).fetchone()[0] for word in ASKED]
    return [math.log(1 + max(total - n + 0.5, 0.5) / (n + 0.5)) for n in (max(count, 1) for count in counts)]


def test_a_word_is_as_rare_for_whoever_is_alone_as_counting_says(memory):
    for text in SAID:
        memory.observe(text)
    index = memory._index.level()

    assert rarity(index, ASKED, "me", count_of(index, "me")) == rarity_by_counting(index, "me")


def test_what_another_user_says_makes_no_word_less_rare(memory):
    for text in SAID:
        memory.observe(text)
    memory.observe("paint paint, and don't stop at zebra", user="bob")
    index = memory._index.level()

    assert rarity(index, ASKED, "me", count_of(index, "me")) == rarity_by_counting(index, "me")


def test_a_standing_memory_that_expires_is_served_until_then_and_not_after(memory):
    soon = datetime.now(UTC) + timedelta(hours=1)
    memory.remember("Never call before noon", kind="constraint", expires=soon.isoformat())
    memory.remember("Always write in English", kind="constraint")
    seen = Seen(memory._index.level())
    early, late = (Scope("me", now=(soon + timedelta(hours=by)).isoformat()) for by in (-1, 1))
    blocks = [row[0] for row in seen.index.db.execute("SELECT id FROM blocks ORDER BY rowid")]

    assert list(seen.view(early).sources_of(blocks, early)) == blocks
    assert list(seen.view(late).sources_of(blocks, late)) == blocks[1:]
    assert seen.view(early) is seen.view(late)
    assert not seen.view(early).is_lasting(blocks)
    assert seen.view(early).is_lasting(blocks[1:])


@given(
    st.text(alphabet="aeiosyldngtr'é", min_size=1, max_size=9), st.sampled_from(["ing", "ed", "es", "ies", "ly", "s"])
)
def test_words_of_one_stem_begin_alike(word, ending):
    for one in words(word):
        for other in words(word + ending):
            assert stem(one) != stem(other) or one[:_ALIKE] == other[:_ALIKE]


@given(st.lists(st.integers(0, 300), min_size=1))
def test_each_number_once_is_what_sorting_finds(numbers):
    found, places = _each_once(np.array(numbers))
    wanted, wanted_places = np.unique(numbers, return_inverse=True)

    assert found.tolist() == wanted.tolist()
    assert places.tolist() == wanted_places.tolist()
