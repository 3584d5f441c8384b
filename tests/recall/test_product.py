"""The product of arrays: what it answers, that nothing in `src` goes round it, and that it raises no warning."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np

import tallystick
from tallystick.projections.vectors.rows import product, steady

_OTHERS = {"matmul", "dot", "inner", "vdot", "tensordot"}


def test_it_is_the_product() -> None:
    left, right = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    into = np.empty((2, 4), dtype=np.float32)
    assert product(left, right, out=into) is into
    assert into.tolist() == [[20, 23, 26, 29], [56, 68, 80, 92]]
    assert product(left[1], right).tolist() == [56, 68, 80, 92]


def test_a_steady_product_is_the_same_wherever_a_row_stands() -> None:
    dice = np.random.default_rng(7)
    rows, columns = dice.random((40, 256), dtype=np.float32), dice.random((256, 5), dtype=np.float32)
    whole, one = steady(rows, columns), steady(rows, columns[:, 0])
    assert np.allclose(whole, rows.astype(np.float64) @ columns, rtol=1e-5)
    for start in range(40):
        for end in range(start + 1, 41):
            assert (steady(rows[start:end], columns) == whole[start:end]).all()
            assert (steady(rows[start:end], columns[:, 0]) == one[start:end]).all()


def test_a_flag_that_the_processor_sets_is_no_warning() -> None:
    one = np.array([[np.inf, 1]], dtype=np.float32)  # sets the flag on every machine; warnings are errors here
    assert np.isnan(product(one, np.zeros((2, 1), dtype=np.float32))[0, 0])


def test_no_other_place_multiplies_arrays() -> None:
    home = Path(tallystick.__file__).parent
    found = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if _multiplies(path.read_text())}
    assert found == {"projections/vectors/rows.py"}


def _multiplies(code: str) -> bool:
    """Few files have the sign or a name at all: the others need not be taken apart."""
    if not re.search(rf"\S *@|{'|'.join(_OTHERS)}", code):
        return False
    return any(
        isinstance(node, ast.MatMult) or (isinstance(node, ast.Attribute) and node.attr in _OTHERS)
        for node in ast.walk(ast.parse(code))
    )
