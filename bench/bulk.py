"""What a large import costs, and the first question after it.

    python bench/bulk.py [--episodes 20000] [--rounds 5]

Episodes in batches of a thousand, to the same episodes one by one (of which there are fewer: each is synced). Then the
first question, which is answered by words while vectors are made, to the second; and to the time that all the vectors
take, which it does not wait for. The embedder is the one that comes with tallystick, loaded before.

Not measured here: reading a foreign format, slow embedders.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import text
from measure import Row, at_least, at_most, options_of, per, report, seconds, sized, stated

from tallystick import Memory

AT_ONCE = 1_000
SINGLE = sized(200, 5)


def observe(memory: Memory, numbers: range) -> None:
    for start in range(numbers.start, numbers.stop, AT_ONCE):
        with memory.batch():
            for number in range(start, min(start + AT_ONCE, numbers.stop)):
                memory.observe(text(number))


def singly(memory: Memory, numbers: range) -> None:
    for number in numbers:
        memory.observe(text(number))


def writing(folder: Path, count: int) -> list[Row]:
    with Memory(folder) as memory:
        together = seconds(lambda: observe(memory, range(count))) / count
        alone = seconds(lambda: singly(memory, range(count, count + SINGLE))) / SINGLE
    what = f"an episode of {count:,}, in batches, to one by itself"
    return [at_least(what, per(together, 1), per(alone, 1), alone / together, 3)]


def asking(scratch: Path, count: int, rounds: int) -> list[Row]:
    """Each round imports into a new memory, so that there is a first question."""
    firsts, seconds_, making = list[float](), list[float](), list[float]()
    for round_ in range(rounds):
        with Memory(scratch / str(round_)) as memory:
            observe(memory, range(count))
            firsts.append(seconds(lambda: memory.recall("what is deployed tomorrow?")))
            seconds_.append(seconds(lambda: memory.recall("who moved last week?")))
            making.append(seconds(memory.embed))
    first, second, made = (statistics.median(each) for each in (firsts, seconds_, making))
    ratio = statistics.median(one / other for one, other in zip(firsts, seconds_, strict=True))
    return [
        at_most(f"the first question after {count:,}, to the second", per(first, 1), per(second, 1), ratio, 3),
        stated("  to the vectors that it does not wait for", per(first, 1), per(made, 1), first / made),
    ]


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--episodes", type=int, default=sized(20_000, 1_200))
    options.add_argument("--rounds", type=int, default=sized(5, 1))
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        with Memory(Path(scratch) / "loaded") as memory:
            memory.remember("tea")
            memory.recall("tea")
        rows = writing(Path(scratch) / "written", chosen.episodes)
        report(rows + asking(Path(scratch), chosen.episodes, chosen.rounds))


if __name__ == "__main__":
    main()
