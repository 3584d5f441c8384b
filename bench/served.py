"""What it costs that whatever is served is compared with the ledger first.

    python bench/served.py

The same questions, reads by key and pages are put to one memory twice, in turns: as it is, and with the comparison
switched off, which no user can do. Each question finds other memories than the one before, so nothing that was compared
already helps.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_most, in_turns, options_of, per, report, sized

from tallystick import Memory
from tallystick.projections.tables.file import StateFile
from tallystick.stores.open_folder import OpenFolder

BELIEFS, QUESTIONS = sized(20_000, 60), sized(20, 2)
_WORDS = ("harbour", "bridge", "tower", "market", "garden", "station", "library", "theatre", "museum", "castle")


def fill(folder: Path) -> None:
    rng = random.Random(7)
    with Memory(folder, embedder="none") as memory:
        for start in range(0, BELIEFS, 1000):
            with memory.batch():
                for number in range(start, min(start + 1000, BELIEFS)):
                    said = " ".join(rng.sample(_WORDS, 4))
                    memory.remember(f"room{number // 10} of the {said} number {number}", key=f"k{number}")
        memory.recall("harbour")


def compared(folder: Path, ask: Callable[[Memory, int], object]) -> tuple[float, float, float]:
    """The middle time as it is, without comparing, and the middle of the ratios."""
    numbers = iter(random.Random(3).sample(range(BELIEFS), BELIEFS))

    def run(*, is_compared: bool) -> None:
        with comparing(is_compared), Memory(folder, embedder="none") as memory:
            ask(memory, -1)
            for _ in range(QUESTIONS):
                ask(memory, next(numbers))

    return in_turns(lambda: run(is_compared=True), lambda: run(is_compared=False))


@contextmanager
def comparing(is_on: bool) -> Iterator[None]:
    view, compare_with = OpenFolder.view, StateFile.compare_with
    if not is_on:
        OpenFolder.view, StateFile.compare_with = (lambda *_: None,) * 2  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        OpenFolder.view, StateFile.compare_with = view, compare_with  # type: ignore[method-assign]


def main() -> None:
    options_of(__doc__).parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "memory"
        fill(folder)
        ways: dict[str, Callable[[Memory, int], object]] = {
            "recall of ten": lambda memory, number: memory.recall(f"room{max(number, 0) // 10}", k=10),
            "read by key": lambda memory, number: memory.get(f"k{max(number, 0)}"),
        }
        for name, ask in ways.items():
            ours, bare, ratio = compared(folder, ask)
            rows.append(at_most(name, per(ours, QUESTIONS), per(bare, QUESTIONS), 1 / ratio, 1.5))
    report(rows)


if __name__ == "__main__":
    main()
