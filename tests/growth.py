"""How time grows with size: a ratio of two sizes in one run, never so many seconds."""

from collections.abc import Callable

from tests.conftest import SOAK


def assert_linear(took: Callable[[int], float], small: int, large: int) -> None:
    """Fail if what `took` times grows much faster than its size. A square grows by `large / small` once more.

    By day both sizes are a quarter of what they are in `make soak`: mark such a test as `longer`. Python clears up when
    it likes, and machines are noisy: the large size has three tries.
    """
    if not SOAK:
        small, large = small // 4, large // 4
    limit = large / small * 4
    assert limit * 2 <= (large / small) ** 2, "a square must be well beyond the limit"
    short = min(took(small) for _ in range(3))
    tries = []
    for _ in range(3):
        tries.append(took(large))
        if tries[-1] < limit * short + 0.02:
            return
    raise AssertionError(f"{large / small:g} times the size took {min(tries) / short:.0f} times as long")
