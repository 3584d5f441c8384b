"""Identities, and what an import costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tallystick.models.embedding import rows_for, unit
from tallystick.records.embedder import Identity
from tallystick.records.errors import Refused
from tests.models.conftest import need
from tests.refusals import refuses

SRC = Path(__file__).parents[2] / "src"


def test_the_key_follows_the_weights_and_the_dimensions_and_not_the_name_people_use() -> None:
    one = Identity("onnx", "minilm", 384, "a" * 64)

    assert one.key == "onnx-384-aaaaaaaaaaaaaaaa"
    assert Identity("onnx", "renamed", 384, "a" * 64).key == one.key
    assert Identity("onnx", "minilm", 384, "b" * 64).key != one.key
    assert Identity("onnx", "minilm", 256, "a" * 64).key != one.key
    assert Identity("fastembed", "minilm", 384, "a" * 64).key != one.key


@pytest.mark.parametrize(
    ("name", "dimensions", "digest", "says"),
    [
        ("", 1, "a" * 64, "name"),
        ("A b", 1, "a" * 64, "name"),
        ("a", 0, "a" * 64, "dimension"),
        ("a", 1, "xy", "digest"),
    ],
)
def test_an_identity_that_makes_no_sense_cannot_be_made(name: str, dimensions: int, digest: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        Identity(name, "r", dimensions, digest)


@pytest.mark.parametrize(
    "line",
    [
        "import tallystick.records.embedder",
        "from tallystick.models.registry import choose; choose('none')",
        "from tallystick.models.registry import choose; choose('http://localhost:1/v1#m')",
        "from tallystick.models.registry import choose; choose('wordllama')",
    ],
)
def test_importing_and_choosing_load_neither_numpy_nor_a_model(line: str) -> None:
    if "wordllama" in line:
        need("wordllama", "tokenizers")
    heavy = {"numpy", "tokenizers", "wordllama", "onnxruntime", "fastembed", "safetensors", "requests", "httpx"}
    code = f"{line}\nimport sys\nprint(sorted({heavy!r} & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SRC)}, check=False
    )

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_great_and_small_numbers_become_length_one_and_zeros_stay() -> None:
    rows = unit(np.array([[1e300, 1e300], [1e-300, 0.0], [0.0, 0.0], [3.0, 4.0]]))

    assert np.allclose(rows, [[0.5**0.5, 0.5**0.5], [1, 0], [0, 0], [0.6, 0.8]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_model_that_gives_something_else_than_numbers_is_refused(bad: float) -> None:
    with refuses("unavailable", "NaN"):
        rows_for(["tea"], 2, lambda _: np.array([[1.0, bad]]))


def test_a_model_that_gives_another_shape_is_refused() -> None:
    with refuses("unavailable", "(1, 3)", "(1, 2)"):
        rows_for(["tea"], 2, lambda _: np.ones((1, 3)))
