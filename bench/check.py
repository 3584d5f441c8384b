"""What `check` costs, against a plain verification of the same ledger, in one run; and the memory that it needs.

    python bench/check.py [--events 100000] [--folder FOLDER]

Half of the events are episodes and half are beliefs, which are about five hundred things. `check` folds all of them
again, rebuilds the index, and compares every row; `verify` only computes the hashes, in one process. The goal is about
the time that passes: where there are two processors a check uses both, so on a machine that has other work to do the
figure is too high. What it takes of the processors, with its helper, is stated beside it. Both are measured in turns.
The memory is that of a process that does nothing else, at its most, with that of its helper; with a tenth of the events
and with all of them. With `--folder` the memories that were made stay there, and are found again the next time.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

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


class Times(NamedTuple):
    """How long something took, and how much time of processors, with those of its children."""

    passed: float
    worked: float


def timed(work: Callable[[], object]) -> Times:
    start, before = time.perf_counter(), processors()
    work()
    return Times(time.perf_counter() - start, processors() - before)


def processors() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def costs(folder: Path, events: int) -> list[Row]:
    assert check(folder) == []
    pairs = [(timed(lambda: check(folder)), timed(lambda: verify(folder))) for _ in range(ROUNDS)]
    rows = list[Row]()
    for what, judge in (("passed", partial(at_most, goal=20)), ("worked", stated)):
        ours, bare = (statistics.median(getattr(pair[place], what) for pair in pairs) for place in (0, 1))
        ratio = statistics.median(getattr(mine, what) / getattr(plain, what) for mine, plain in pairs)
        name = f"check of {events:,} events, to a plain verify" if what == "passed" else "  in time of processors"
        rows.append(judge(name, per(ours, events), per(bare, events), ratio))
    return rows


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
    """The memory of a process that does only that, at its most, with those that it starts."""
    return int(subprocess.check_output([sys.executable, __file__, "--alone", what, str(folder)]))


def alone(what: str, folder: Path) -> None:
    """Do only that, and print the memory that it took, with that of its helper."""
    most, is_done = {os.getpid(): 0}, Event()

    def look() -> None:
        while not is_done.wait(0.05):
            helpers = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            most.update({int(pid): held_by(int(pid)) or most.get(int(pid), 0) for pid in helpers})

    looking = Thread(target=look)
    looking.start()
    {"check": check, "verify": verify}[what](folder)
    is_done.set()
    looking.join()
    print(sum(most.values()) + held_by(os.getpid()))


def held_by(pid: int) -> int:
    """The memory of a process, at its most; 0, if it has ended."""
    try:
        lines = dict(line.split(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


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
        report([*costs(large, chosen.events), *memory_of(large, small, chosen.events)])


if __name__ == "__main__":
    main()
