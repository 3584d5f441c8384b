"""What writes cost here, against another checkout of this project, in one run.

    python bench/against.py [--checkout FOLDER] [--episodes 100000] [--written 2000] [--stored 20000] [--rounds 3]

Episodes in batches of a thousand; then, each by itself and on disk before the next, what is observed and remembered, in
an empty memory and in one with `--stored` episodes; and records that a `ChronoStore` upserts. Every measurement is a
process of its own, of the two checkouts in turns, in the processor's time: snapshots, rows and pages are in it, waiting
for the disk is not. Without a checkout this one is measured against itself, which shows the noise.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_least, at_most, options_of, per, report, sized

HERE = Path(__file__).resolve().parent
_WRITE = """
import sys, tempfile, time
from importlib import import_module
what, name, count, stored, bench = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
package = import_module(name)
sys.path.insert(0, bench)
from episodes import said
texts = [said(number) for number in range(stored + count)]

def observe(memory, first, last):
    for start in range(first, last, 1000):
        with memory.batch():
            for number in range(start, min(start + 1000, last)):
                memory.observe(texts[number], session=f"session {number // 30}", agent="planner")

def upsert(store, number):
    store.upsert(package.ChronoRecord(id=f"R-{number}", kind="fact", label=texts[number]))

with tempfile.TemporaryDirectory() as folder:
    made = package.ChronoStore if what == "upsert" else package.Memory
    with made(folder) as memory:
        if what == "upsert":
            write = lambda number: upsert(memory, number)
        else:
            memory.observe("warm"), memory.remember("warmer")
            observe(memory, 0, stored)
            each = memory.observe if what == "observe" else memory.remember
            write = lambda number: each(texts[number])
        start = time.process_time()
        if what == "batches":
            observe(memory, 0, count)
        else:
            for number in range(stored, stored + count):
                write(number)
        print(time.process_time() - start)
"""


def took(checkout: Path, what: str, count: int, stored: int) -> float:
    """The processor's seconds of so many writes by the program in a checkout."""
    (package,) = [path.name for path in (checkout / "src").iterdir() if (path / "__init__.py").exists()]
    order = [sys.executable, "-c", _WRITE, what, package, str(count), str(stored), str(HERE)]
    env = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return float(json.loads(subprocess.run(order, env=env, check=True, capture_output=True, text=True).stdout))


def compared(what: str, other: Path, count: int, rounds: int, stored: int = 0) -> tuple[str, str, float]:
    """What one write costs here and there, and the middle of the ratios of ours to theirs."""
    pairs = [(took(HERE.parent, what, count, stored), took(other, what, count, stored)) for _ in range(rounds)]
    ours, theirs = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return per(ours, count), per(theirs, count), statistics.median(mine / its for mine, its in pairs)


def rows(other: Path, episodes: int, written: int, stored: int, rounds: int) -> list[Row]:
    ours, theirs, ratio = compared("batches", other, episodes, rounds)
    found = [at_least(f"{episodes:,} episodes in batches of 1,000: times faster", ours, theirs, 1 / ratio, 3)]
    for what in ("observe", "remember"):
        for already in (0, stored):
            found.append(at_most(f"{what}, after {already:,}", *compared(what, other, written, rounds, already), 1))
    return [*found, at_most("ChronoStore.upsert", *compared("upsert", other, written, rounds), 1.3)]


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--checkout", type=Path, default=HERE.parent)
    options.add_argument("--episodes", type=int, default=sized(100_000, 20))
    options.add_argument("--written", type=int, default=sized(2_000, 5))
    options.add_argument("--stored", type=int, default=sized(20_000, 10))
    options.add_argument("--rounds", type=int, default=sized(3, 1))
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        report(rows(chosen.checkout.resolve(), chosen.episodes, chosen.written, chosen.stored, chosen.rounds))


if __name__ == "__main__":
    main()
