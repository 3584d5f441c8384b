"""The product of two arrays of finite numbers, without the false warning that some machines raise.

BLAS works on whole registers and also multiplies what is in them beyond the array. On some processors that sets the
flag for an invalid operation although every number of the result is right, and NumPy turns the flag into a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def product(left: Floats, right: Floats, out: Floats | None = None) -> NDArray[Any]:
    """`left @ right`. Neither has a NaN or an infinity: what is stored was checked before."""
    with np.errstate(invalid="ignore"):
        return np.dot(left, right, out=out)


def steady(left: Floats, right: Floats) -> NDArray[Any]:
    """`product`, where `right` may be a vector, with each number summed in one way wherever its row or column is.

    In `product` the last bit depends on that; the same question would not give the same answer to the last digit.
    """
    made: NDArray[Any] = np.einsum("ij,...j->i...", np.ascontiguousarray(left), np.ascontiguousarray(right.T))
    return made
