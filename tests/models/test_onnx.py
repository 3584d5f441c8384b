"""Transformers in a folder of one's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tallystick.models.embedding import unit
from tallystick.models.onnx import Onnx
from tallystick.records.errors import Refused
from tests.models import tiny
from tests.models.conftest import need
from tests.refusals import refuses


@pytest.fixture(autouse=True)
def _installed(fresh: None) -> None:
    need("onnxruntime", "tokenizers")


def _mean(*words: str) -> np.ndarray:
    places = [tiny.WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]
    return unit(tiny.table()[places].mean(axis=0, keepdims=True))[0]


@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("input_ids", "attention_mask", "token_type_ids"),
    ],
)
@pytest.mark.parametrize("kind", [tiny.INT64, tiny.INT32])
def test_token_vectors_are_averaged_over_the_text_and_not_over_the_padding(
    tmp_path: Path, inputs: tuple[str, ...], kind: int
) -> None:
    model = Onnx(tiny.folder(tmp_path, inputs=inputs, kind=kind))

    rows = model.embed(["tea", "ana likes tea and", "a b"])

    assert np.allclose(rows, [_mean("tea"), _mean("ana", "likes", "tea", "[UNK]"), _mean("a", "b")], atol=1e-6)


def test_a_model_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    model = Onnx(tiny.folder(tmp_path, steps="pooled"))

    assert np.allclose(model.embed(["tea a"]), [_mean("tea", "a")], atol=1e-6)


def test_the_folder_may_ask_for_the_first_token(tmp_path: Path) -> None:
    pooling = tiny.folder(tmp_path) / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    mean = Onnx(tmp_path, longest=64).identity.key
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))

    first = Onnx(tmp_path)

    assert np.allclose(first.embed(["tea"]), unit(tiny.table()[[tiny.WORDS.index("[CLS]")]]), atol=1e-6)
    assert first.identity.key != mean


def test_a_pooling_that_is_not_known_is_refused_rather_than_guessed(tmp_path: Path) -> None:
    pooling = tiny.folder(tmp_path) / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))

    with refuses("unavailable", "1_Pooling/config.json"):
        Onnx(tmp_path).embed(["tea"])


def test_the_neighbours_of_a_text_do_not_change_it_in_a_quantised_model(tmp_path: Path) -> None:
    model = Onnx(tiny.folder(tmp_path, steps="quantised"))

    together = model.embed(["tea", "loud", "coffee"])

    assert np.array_equal(together[0], model.embed(["tea"])[0])
    assert np.array_equal(together[2], model.embed(["coffee"])[0])


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({}, 256),
        ({"config.json": {"max_position_embeddings": 40}}, 40),
        ({"tokenizer_config.json": {"model_max_length": 30}, "config.json": {"max_position_embeddings": 40}}, 30),
        ({"sentence_bert_config.json": {"max_seq_length": 20}, "tokenizer_config.json": {"model_max_length": 30}}, 20),
        ({"tokenizer_config.json": {"model_max_length": 10**30}, "config.json": {"max_position_embeddings": 40}}, 40),
        ({"config.json": {"max_position_embeddings": 8192}}, 512),
        ({"config.json": {"max_position_embeddings": None}}, 256),
        ({"config.json": []}, 256),
    ],
)
def test_a_text_is_cut_where_the_folder_says(tmp_path: Path, files: dict[str, object], longest: int) -> None:
    tiny.folder(tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    model = Onnx(tmp_path)
    words = longest - 2  # the control tokens are part of it

    rows = model.embed(
        [" ".join(["a"] * words), " ".join(["a"] * words + ["loud"] * 9), " ".join(["a"] * words + ["a"])]
    )

    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])
    assert not np.allclose(model.embed([" ".join(["a"] * (words - 1))])[0], rows[0], atol=1e-9)


def test_tokens_are_counted_beyond_the_cut_and_without_control_tokens(tmp_path: Path) -> None:
    model = Onnx(tiny.folder(tmp_path), longest=8)

    assert [model.count(text) for text in ("tea", "ana likes tea", "tea " * 1000, "")] == [1, 3, 1000, 0]


def test_the_key_is_that_of_the_files_wherever_they_lie(tmp_path: Path) -> None:
    here, there = tiny.folder(tmp_path / "here"), tiny.folder(tmp_path / "there")
    assert Onnx(here).identity.key == Onnx(there).identity.key
    assert Onnx(here).identity.revision == "here"

    (there / "model.onnx_data").write_bytes(b"more weights")

    assert Onnx(here, threads=1).identity.key != Onnx(there, threads=1).identity.key
    assert Onnx(here).identity.key != Onnx(here, longest=9).identity.key


def test_the_layout_of_hugging_face_is_understood(tmp_path: Path) -> None:
    tiny.folder(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model.onnx")

    assert np.allclose(Onnx(tmp_path).embed(["tea"]), [_mean("tea")], atol=1e-6)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_is_refused_when_it_is_chosen(tmp_path: Path, missing: str) -> None:
    (tiny.folder(tmp_path) / missing).unlink()

    with refuses("unavailable", missing):
        Onnx(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("model.onnx", b"", "cannot be loaded"),
        ("model.onnx", b"\x00\xff not a model", "cannot be loaded"),
        ("tokenizer.json", b"{}", "is not a tokenizer"),
        ("config.json", b"{", "cannot be read"),
    ],
)
def test_a_spoiled_folder_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tiny.folder(tmp_path) / name).write_bytes(content)

    with pytest.raises(Refused, match=says) as refusal:
        Onnx(tmp_path).embed(["tea"])

    assert "\n" not in str(refusal.value)


def test_a_model_for_something_else_than_text_is_refused(tmp_path: Path) -> None:
    tiny.folder(tmp_path, inputs=("input_ids", "pixel_values"))

    with refuses("unavailable", "pixel_values"):
        Onnx(tmp_path).embed(["tea"])


def test_without_the_extra_its_install_line_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.folder(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with refuses("unavailable", "'.[onnx]'"):
        Onnx(tmp_path)


def test_nothing_is_fetched(tmp_path: Path, no_network: list[object]) -> None:
    Onnx(tiny.folder(tmp_path)).embed(["tea"])

    assert no_network == []
