"""The product of two arrays of finite numbers, without the warning that some machines raise for nothing.

BLAS works on whole registers and also multiplies what lies in them beyond the array. On some processors that sets the
flag for an invalid operation although every number of the answer is right, and NumPy turns the flag into a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def product(left: Floats, right: Floats, out: Floats | None = None) -> NDArray[Any]:
    """`left @ right`. Neither holds a NaN or an infinity: what is stored was checked when it came in."""
    with np.errstate(invalid="ignore"):
        return np.dot(left, right, out=out)


def steady(left: Floats, right: Floats) -> NDArray[Any]:
    """The same, where `right` may be a vector, with each number summed up in one way wherever its row or column stands.

    In `product` the last bit depends on that; an answer that is asked for again would not be the same to the letter.
    """
    made: NDArray[Any] = np.einsum("ij,...j->i...", np.ascontiguousarray(left), np.ascontiguousarray(right.T))
    return made
