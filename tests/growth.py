"""How long work takes: against its own at another size, or against other work in the same run, never in seconds."""

import time
from collections.abc import Callable

from tests.conftest import SOAK

SLACK = 0.02  # seconds: below that a clock says little
TRIES = 5  # Python clears up when it likes, and machines are noisy: the best of them counts


def seconds(work: Callable[[], object]) -> float:
    """Of the processor, in this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def assert_linear(took: Callable[[int], float], small: int, large: int, *, deeper: int = 1) -> None:
    """Fail if what `took` times grows much faster than its size. A square grows by `large / small` once more.

    In `make soak`, both sizes are `deeper` times as large: mark such a test as `longer`.
    """
    if SOAK:
        small, large = small * deeper, large * deeper
    limit = large / small * 4
    assert limit * 2 <= (large / small) ** 2, "a square must be well beyond the limit"
    short = min(took(small) for _ in range(3))
    best = _best(lambda: took(large), limit * short)
    assert best < limit * short + SLACK, f"{large / small:g} times the size took {best / short:.0f} times as long"


def assert_text_linear(read: Callable[[str], object], piece: str, letters: int = 100_000, *, deeper: int = 1) -> None:
    """The same, for whatever reads a text: the piece over and over, up to so many letters, and a tenth of them."""

    def took(size: int) -> float:
        text = piece * (size // len(piece) + 1)
        return seconds(lambda: read(text))

    assert_linear(took, letters // 10, letters, deeper=deeper)


def assert_no_slower(work: Callable[[], object], other: Callable[[], object], times: float) -> None:
    """Fail if the work takes more than so many times as long as the other."""
    least = min(seconds(other) for _ in range(3))
    best = _best(lambda: seconds(work), times * least)
    assert best < times * least + SLACK, f"it took {best / least:.0f} times as long; {times:g} is the most"


def _best(took: Callable[[], float], limit: float) -> float:
    """The first that is within the limit; else the best of them all."""
    best = took()
    for _ in range(TRIES - 1):
        if best < limit + SLACK:
            break
        best = min(best, took())
    return best
