"""What a server holds of the machine's memory while many clients of every kind use it for a while.

    python bench/mixed.py [--seconds 300] [--clients 50] [--blocks 1000]

`tallystick serve` as people start it, but for its limit of requests a second, which is lifted. The clients are in one
process of their own (`bench/mixed_clients.py`) and each does one thing over and over: look at pages, read or write
through the API, recall, use tools over MCP with and without a handshake, open and close streams. What the server holds
after a fifth of the time is compared with what it holds at the end; every answer is looked at.

The memory grows meanwhile, by as many writes as are told, and a part of what is held is what was written.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_most, options_of, report, sized, stated
from recall import Speech, made
from serve import held_by, started
from serve_http import served

SECONDS, CLIENTS, BLOCKS = 300, 50, 1_000
PARTS, FIRST = 10, 2  # looks at the server, and how many of them are a fifth of the time
FLAT = 1.2
SCRIPT = Path(__file__).resolve().parent / "mixed_clients.py"


def measured(folder: Path, home: Path, seconds: float, clients: int) -> Iterator[Row]:
    with served(folder, home) as server:
        order = (sys.executable, str(SCRIPT), server.port, str(clients))
        with started(*order, home=home, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(f"{server.token}\n{server.cookie}\n")
            begun, held, done = held_by(server.process), [], {"requests": 0, "writes": 0, "wrong": 0}
            for part in range(PARTS):
                process.stdin.write(f"{seconds / PARTS}\n")
                process.stdin.flush()
                found = orjson.loads(process.stdout.readline())
                done = {name: count + found[name] for name, count in done.items()}
                held.append(held_by(server.process))
                told = f"{done['requests']:,} requests, {done['writes']:,} of them writes: {held[-1] / 1e6:,.1f} MB"
                print(f"  {(part + 1) * seconds / PARTS:5.0f} s, {told}", file=sys.stderr)
    first, last = held[FIRST - 1], held[-1]
    yield stated("requests that were answered", f"{done['requests']:,}")
    yield stated("of them writes", f"{done['writes']:,}")
    yield stated("memory of the server before the first", f"{begun / 1e6:,.1f} MB")
    what = f"memory of the server with {clients} clients, to a fifth of the time"
    yield at_most(what, f"{last / 1e6:,.1f} MB", f"{first / 1e6:,.1f} MB", last / first, FLAT)
    yield at_most("answers that were wrong", f"{done['wrong']}", "0", float(done["wrong"]), 0)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--seconds", type=float, default=sized(SECONDS, 1))
    options.add_argument("--clients", type=int, default=sized(CLIENTS, 6))
    options.add_argument("--blocks", type=int, default=sized(BLOCKS, 50))
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = made(Path(scratch), Speech(), chosen.blocks)
        rows = list(measured(folder, Path(scratch), chosen.seconds, chosen.clients))
    print(f"{chosen.clients} mixed clients for {chosen.seconds:g} s, {chosen.blocks:,} blocks; {os.cpu_count()} cores")
    report(rows)


if __name__ == "__main__":
    main()
