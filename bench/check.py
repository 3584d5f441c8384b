"""What `check` costs, against a plain verification of the same ledger, in one run; and the memory that it needs.

    python bench/check.py [--events 100000] [--folder FOLDER]

Half of the events are episodes and half are beliefs, which are about five hundred things. `check` folds all of them
again, rebuilds the index, and compares every row; `verify` only computes the hashes. Both are measured in the
processor's time, in turns. The memory is that of a process that does nothing else, at its most, with a tenth of the
events and with all of them. With `--folder` the memories that were made stay there, and are found again the next time.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import text
from measure import Row, at_most, options_of, per, report, sized, stated

from tallystick import Memory
from tallystick.ledger.folder.verify import verify
from tallystick.memory.maintenance.check import check

EVENTS = sized(100_000, 200)
ROUNDS = sized(3, 1)
THINGS = 500
BATCH = 500


def filled(folder: Path, events: int) -> Path:
    """A memory with so many events, which is made unless it is there."""
    if not folder.exists():
        with Memory(folder) as memory:
            for start in range(0, events // 2, BATCH):
                with memory.batch():
                    for number in range(start, min(start + BATCH, events // 2)):
                        memory.observe(text(number), session=f"session {number // 30}")
                        memory.remember(f"{text(events + number)} ({number})", about=f"thing {number % THINGS}")
    return folder


def worked(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(folder: Path, events: int) -> Row:
    assert check(folder) == []
    pairs = [(worked(lambda: check(folder)), worked(lambda: verify(folder))) for _ in range(ROUNDS)]
    ours, bare = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    ratio = statistics.median(mine / plain for mine, plain in pairs)
    return at_most(f"check of {events:,} events, to a plain verify", per(ours, events), per(bare, events), ratio, 20)


def memory_of(large: Path, small: Path, events: int) -> list[Row]:
    most, least = peak("check", large), peak("check", small)
    bare = peak("verify", large)
    what = f"memory of check at {events:,} events, to {events // 10:,}"
    return [
        at_most(what, in_mb(most), in_mb(least), most / least, 1.5),
        stated("  to that of a plain verify", in_mb(most), in_mb(bare), most / bare),
    ]


def in_mb(count: float) -> str:
    return f"{count / 2**20:,.1f} MB"


def peak(what: str, folder: Path) -> int:
    """The memory of a process that does only that, at its most."""
    return int(subprocess.check_output([sys.executable, __file__, "--alone", what, str(folder)]))


def alone(what: str, folder: Path) -> None:
    {"check": check, "verify": verify}[what](folder)
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    print(int(lines["VmHWM"].split()[0]) * 1024)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--events", type=int, default=EVENTS)
    options.add_argument("--folder", type=Path, default=None, help="where to keep what is made")
    options.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.alone:
        alone(chosen.alone[0], Path(chosen.alone[1]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.folder or Path(scratch)
        small, large = (filled(home / f"check-{count}", count) for count in (chosen.events // 10, chosen.events))
        report([costs(large, chosen.events), *memory_of(large, small, chosen.events)])


if __name__ == "__main__":
    main()
