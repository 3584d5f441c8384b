"""How benches measure: ours and the bare thing in turns, in one run, and the middle of the ratios.

Machines are shared and noisy. A figure here is always a ratio against the same work done barely, measured within a
moment of it; a goal that is missed is printed as missed, and the run still ends well: a bench reports, a test judges.

Every bench takes `--tiny`: the smallest of everything, to see that it runs. The figures then say nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

TINY = "--tiny" in sys.argv


def sized(count: int, tiny: int) -> int:
    """How many, and how many in a tiny run."""
    return tiny if TINY else count


def options_of(doc: str | None) -> argparse.ArgumentParser:
    """The options of a bench, whose docstring this is."""
    options = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    options.add_argument("--tiny", action="store_true", help="the smallest of everything, to see that it runs")
    return options


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    ours: str
    bare: str
    ratio: float
    goal: str
    met: bool | None  # None: stated, not judged


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(ours: Callable[[], object], bare: Callable[[], object], rounds: int = 9) -> tuple[float, float, float]:
    """Middle time of ours, of the bare thing, and the middle of (bare time / our time), round by round."""
    pairs = [(seconds(ours), seconds(bare)) for _ in range(min(rounds, sized(rounds, 2)))]
    ratio = statistics.median(bare_time / our_time for our_time, bare_time in pairs)
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), ratio


def at_least(what: str, ours: str, bare: str, ratio: float, goal: float) -> Row:
    return Row(what, ours, bare, ratio, f"≥ {goal:g}", ratio >= goal)


def at_most(what: str, ours: str, bare: str, ratio: float, goal: float) -> Row:
    return Row(what, ours, bare, ratio, f"≤ {goal:g}", ratio <= goal)


def stated(what: str, ours: str, bare: str = "", ratio: float = 0.0) -> Row:
    return Row(what, ours, bare, ratio, "stated", None)


def per(total: float, count: int) -> str:
    each = total / count
    return f"{each * 1e6:,.1f} µs" if each < 1e-3 else f"{each * 1e3:,.2f} ms"


def report(rows: list[Row]) -> None:
    """Print what was measured, and how many goals were missed."""
    print(table(rows))
    missed = sum(row.met is False for row in rows)
    print(f"\n{missed} of {sum(row.met is not None for row in rows)} goals missed" if missed else "\nall goals met")
    print(f"load of this machine: {', '.join(f'{load:.2f}' for load in os.getloadavg())}")


def table(rows: list[Row]) -> str:
    lines = [f"{'what':<58} {'ours':>14} {'bare':>14} {'ratio':>7}  {'goal':<8} "]
    for row in rows:
        mark = {True: "met", False: "MISSED", None: ""}[row.met]
        ratio = f"{row.ratio:7.2f}" if row.ratio else " " * 7
        lines.append(f"{row.what:<58} {row.ours:>14} {row.bare:>14} {ratio}  {row.goal:<8} {mark}")
    return "\n".join(lines)
