"""The nearest vectors: what a comparison of all would find, or nearly so through the graph; never a stale row."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from tallystick.projections.vectors import file as module
from tallystick.projections.vectors.file import Nearest, VectorFile, best_of
from tallystick.projections.vectors.rows import numbers_of
from tests.projections.vectors.doubles import ids

SIZE = 64
Floats = NDArray[np.float32]


def drawn(count: int, seed: int = 0, size: int = SIZE) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)
    made: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made


def opened(root: Path) -> VectorFile:
    return VectorFile(root / "vectors", "k", SIZE, "me")


def put(file: VectorFile, vectors: Floats, first: int = 0) -> None:
    with file.writing():
        file.add(ids(*range(first, first + len(vectors))), [0] * len(vectors), vectors)


def whole(near: Nearest) -> Nearest:
    while near.build():
        pass
    return near


def near_files(root: Path) -> list[Path]:
    return sorted((root / "vectors" / "k").glob("*.near"))


def exact(vectors: Floats, question: Floats, most: int) -> list[int]:
    return np.argsort(-(vectors @ question), kind="stable")[:most].tolist()


# -- exactly -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 40), st.integers(0, 5), st.randoms(use_true_random=False))
def test_equally_near_rows_come_in_the_order_of_their_blocks_wherever_they_stand(
    count: int, most: int, alike: int, random: st.DataObject
) -> None:
    """Many rows are the same vector; their order, and the split into products of several rows, must not show."""
    kinds = drawn(alike + 1, 1, 37)
    blocks = np.arange(count, dtype=np.uint64)
    vectors = kinds[np.arange(count) % (alike + 1)]
    question = drawn(1, 2, 37)[0]
    rows, near = best_of(vectors, question, most, blocks)
    order = list(range(count))
    random.shuffle(order)  # type: ignore[attr-defined]
    again, as_near = best_of(np.ascontiguousarray(vectors[order]), question, most, blocks[order])

    assert blocks[rows].tolist() == blocks[order][again].tolist()
    assert near.tolist() == as_near.tolist()
    assert near.tolist() == sorted(near.tolist(), reverse=True)
    assert len(rows) == min(most, count)


def test_all_rows_are_compared_though_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 7)
    vectors, question = drawn(100), drawn(1, 5)[0]

    assert best_of(vectors, question, 10, np.arange(100, dtype=np.uint64))[0].tolist() == exact(vectors, question, 10)


# -- through the graph -------------------------------------------------------------------------------------------------


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("usearch") is None:  # importing it here would load it in another way than the program does
        pytest.skip("usearch is not installed here")
    monkeypatch.setattr(module, "LIMIT", 100)


def test_the_graph_finds_what_a_comparison_of_all_finds(tmp_path: Path, low: None) -> None:
    vectors, questions = drawn(5000), drawn(50, 9)
    file = opened(tmp_path)
    put(file, vectors)
    near = whole(Nearest(file))
    found = 0
    for question in questions:
        rows, how_near = near.search(question, 10)
        found += len(set(rows.tolist()) & set(exact(vectors, question, 10)))
        assert np.allclose(how_near, vectors[rows] @ question, atol=1e-6)

    assert found >= 0.95 * 10 * len(questions)
    assert near._graph is not None


def test_rows_that_came_since_are_found_at_once(tmp_path: Path, low: None) -> None:
    file = opened(tmp_path)
    put(file, drawn(300))
    near = whole(Nearest(file))
    fresh = drawn(1000, 3)
    put(file, fresh, 1000)

    assert near.search(fresh[999], 3)[0][0] == 1299
    assert 300 < len(near._graph) < 1300
    assert near.search(fresh[0], 3)[0][0] == 300


def test_the_graph_is_saved_when_it_has_grown_by_a_tenth_and_is_its_owners_alone(tmp_path: Path, low: None) -> None:
    before = os.umask(0)
    try:
        file = opened(tmp_path)
        put(file, drawn(1000))
        near = whole(Nearest(file))
    finally:
        os.umask(before)
    [path] = near_files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sizes = {path.stat().st_size}
    put(file, drawn(200, 4), 1000)
    for _ in range(3):
        near.search(drawn(1)[0], 5)
    sizes.add(path.stat().st_size)
    again = Nearest(opened(tmp_path))
    again.search(drawn(1)[0], 5)

    assert len(sizes) == 2
    assert len(again._graph) > 1100


def test_a_graph_is_taken_from_its_file_by_whoever_comes_next(tmp_path: Path, low: None) -> None:
    put(opened(tmp_path), drawn(200))
    whole(Nearest(opened(tmp_path)))
    near = Nearest(opened(tmp_path))
    near.search(drawn(1)[0], 5)

    assert len(near._graph) == near._saved == 200


@pytest.mark.parametrize("how", ["garbage", "empty", "cut", "flipped", "foreign", "too long", "a folder"])
def test_a_graph_that_does_not_fit_is_not_used_and_rebuilt(tmp_path: Path, low: None, how: str) -> None:
    vectors = drawn(200)
    put(opened(tmp_path), vectors)
    whole(Nearest(opened(tmp_path)))
    [path] = near_files(tmp_path)
    said = path.read_bytes()
    if how == "a folder":
        path.unlink()
        path.mkdir()
    elif how == "too long":
        other = opened(tmp_path)
        put(other, drawn(50, 8), 500)
        whole(Nearest(other))
        for kind, size in (("rows", 16), ("f32", 4 * SIZE)):
            [file] = (tmp_path / "vectors" / "k").glob(f"*.{kind}")
            os.truncate(file, 200 * size)
    else:
        path.write_bytes(
            {
                "garbage": os.urandom(3000),
                "empty": b"",
                "cut": said[: len(said) // 2],
                "flipped": said[:999] + bytes([said[999] ^ 4]) + said[1000:],
                "foreign": said[20:],
            }[how]
        )
    near = Nearest(opened(tmp_path))

    assert near.search(vectors[7], 1)[0].tolist() == [7]
    assert near._graph is None
    assert len(whole(near)._graph) == 200
    assert near.search(vectors[7], 1)[0].tolist() == [7]


def test_when_vectors_are_taken_away_the_graph_goes_with_them_and_none_is_left_of_them(
    tmp_path: Path, low: None
) -> None:
    vectors = drawn(300)
    file = opened(tmp_path)
    put(file, vectors)
    near = whole(Nearest(file))
    [old] = near_files(tmp_path)
    other = opened(tmp_path)
    with other.writing():
        other.keep_only(numbers_of(ids(*range(150))))
    near._save()  # by one who has not heard of it

    assert near_files(tmp_path) == []
    assert not old.exists()
    file.read()
    assert near.search(vectors[200], 1)[0][0] < 150
    assert len(whole(near)._graph) == 150


def test_a_search_that_saves_the_graph_while_vectors_are_taken_away_names_the_right_rows(
    tmp_path: Path, low: None
) -> None:
    vectors = drawn(300)
    file = opened(tmp_path)
    put(file, vectors[:250])
    near = whole(Nearest(file))
    put(file, vectors[250:], 250)
    other = opened(tmp_path)
    with other.writing():
        other.keep_only(numbers_of(ids(*range(100, 300))))
    rows, _ = near.search(vectors[299], 1)

    assert file.blocks_at(rows) == ids(299)
    assert near_files(tmp_path) == []


def test_without_the_package_the_search_is_exact(tmp_path: Path, low: None, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path)
    vectors = drawn(300)
    put(file, vectors)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    near, question = Nearest(file), drawn(1, 6)[0]

    assert whole(near)._graph is None
    assert near.search(question, 10)[0].tolist() == exact(vectors, question, 10)
    assert near_files(tmp_path) == []


def test_a_graph_that_cannot_be_saved_is_used_all_the_same(tmp_path: Path, low: None) -> None:
    file = VectorFile(None, "k", SIZE, "me")
    vectors = drawn(200)
    put(file, vectors)
    near = whole(Nearest(file))

    assert len(near._graph) == 200
    assert near.search(vectors[9], 1)[0].tolist() == [9]


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_a_model_in_onnx_can_be_loaded_after_the_graph():
    """Each brings C++ libraries of its own, which crashed the process in this order."""
    code = "from tallystick.projections.vectors import file; file._empty(8); import onnxruntime"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
