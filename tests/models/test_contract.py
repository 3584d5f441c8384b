"""What every embedder promises, whoever made its weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tallystick.records.embedder import Embedder, TokenVectors
from tests.refusals import refuses

SAID = ["Ana likes tea", "coffee", "a b c a b c a b c", "loud", "tea ana", "Ana likes loud coffee", "b", "likes c"]
HOSTILE = [
    "\x00", "tea\x00coffee", "\ud800", "tea \udfff b", "😀👩‍👩‍👧‍👦", "\u202eaet", "é" * 300,
    "[CLS] [SEP] [PAD]", "<s></s>",
    "'; DROP TABLE blocks;--", "\ufeff", "\x1b[31m", "ﷺ" * 50, "🇩🇪" * 40, "\u0301" * 200,
]  # fmt: skip
BLANK = ["", " ", "\t\r\n", "\u2003\u3000"]


def _lengths(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows.astype(np.float64), axis=1)


def test_each_text_has_one_row_of_length_one(embedder: Embedder) -> None:
    rows = embedder.embed(SAID)

    assert rows.shape == (len(SAID), embedder.identity.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(_lengths(rows), 1, atol=1e-6)


def test_no_texts_have_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.identity.dimensions)


def test_a_blank_text_says_nothing_and_gives_zeros(embedder: Embedder) -> None:
    rows = embedder.embed([*BLANK, "tea", *BLANK])

    assert not rows[: len(BLANK)].any()
    assert not rows[-len(BLANK) :].any()
    assert np.array_equal(rows[len(BLANK)], embedder.embed(["tea"])[0])
    assert [embedder.count(text) for text in BLANK] == [0] * len(BLANK)


def test_a_vector_does_not_depend_on_neighbours_or_order(embedder: Embedder) -> None:
    texts = SAID * 3
    alone = np.stack([embedder.embed([text])[0] for text in texts])

    assert np.allclose(embedder.embed(texts), alone, atol=1e-6)
    assert np.allclose(embedder.embed(texts[::-1])[::-1], alone, atol=1e-6)
    assert np.allclose(embedder.embed(texts * 4)[: len(texts)], alone, atol=1e-6)


def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    rows = embedder.embed(SAID)

    assert len(np.unique(rows.round(5), axis=0)) == len(SAID)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_gives_a_vector_like_any_other(embedder: Embedder, text: str) -> None:
    rows = embedder.embed([text, "tea"])

    assert np.allclose(_lengths(rows), 1, atol=1e-6)
    assert np.allclose(rows[1], embedder.embed(["tea"])[0], atol=1e-6)
    assert embedder.count(text) >= 0


def test_a_lone_surrogate_is_read_as_the_replacement_character_and_a_pair_as_what_it_means(embedder: Embedder) -> None:
    rows = embedder.embed(["tea \ud800", "tea \ufffd", "\ud83d\ude00", "😀"])

    assert np.allclose(rows[0], rows[1], atol=1e-6)
    assert np.allclose(rows[2], rows[3], atol=1e-6)


def test_a_very_long_text_is_taken(embedder: Embedder) -> None:
    rows = embedder.embed(["tea likes ana " * 5_000, "tea"])

    assert np.allclose(_lengths(rows), 1, atol=1e-6)


def test_one_text_that_is_not_in_a_list_is_refused(embedder: Embedder) -> None:
    with refuses("value", "list"):
        embedder.embed("tea")


def test_threads_get_what_one_alone_gets(embedder: Embedder) -> None:
    expected = embedder.embed(SAID)

    with ThreadPoolExecutor(8) as pool:
        many = list(pool.map(lambda shift: np.roll(embedder.embed(SAID[shift:] + SAID[:shift]), shift, 0), range(8)))

    assert all(np.allclose(rows, expected, atol=1e-6) for rows in many)


def test_an_identity_is_stable_and_its_key_is_short_and_plain(embedder: Embedder) -> None:
    first = embedder.identity
    embedder.embed(["tea"])

    assert embedder.identity == first
    assert first.key == f"{first.name}-{first.dimensions}-{first.digest[:16]}"
    assert first.key.isascii()
    assert len(first.key) < 40


def test_tokens_are_counted_and_more_text_has_no_fewer(embedder: Embedder) -> None:
    assert 0 < embedder.count("tea") <= embedder.count("tea likes ana") <= embedder.count("tea likes ana " * 100)


def test_token_vectors_where_there_are_any_make_up_the_texts_vector(embedder: Embedder) -> None:
    if not isinstance(embedder, TokenVectors):
        pytest.skip("this embedder has no vectors for tokens")
    tokens, rows = embedder.token_vectors("Ana likes tea")
    mean = rows.mean(axis=0)

    assert len(tokens) == len(rows) == embedder.count("Ana likes tea")
    assert "".join(tokens).replace("▁", " ").strip() == "Ana likes tea"
    assert rows.dtype == np.float32
    assert np.allclose(mean / np.linalg.norm(mean), embedder.embed(["Ana likes tea"])[0], atol=1e-6)
    assert embedder.token_vectors("")[0] == []
    assert embedder.token_vectors(" ")[1].shape == (0, embedder.identity.dimensions)
