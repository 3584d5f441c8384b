"""How long a command takes from nothing, against a bare script that imports the same packages, in one run.

    python bench/start.py [--blocks 10000] [--folder FOLDER]

`tallystick --help` is set against a script that imports click and orjson. `tallystick recall` is set against one that
imports SQLAlchemy and NumPy and opens the same index; ours uses no SQLAlchemy, because its statements are plain SQL,
and spends the time on the tokenizer, the ledger's tail and the answer. Both are whole processes, run in turns, from
compiled files, as an installed program is. "Cold" is the process: the files are in the system's cache.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_most, options_of, report, sized

from tallystick import Memory

BLOCKS, ROUNDS, WARMING = sized(10_000, 20), sized(15, 1), sized(1, 0)
_OURS = "from tallystick.surfaces.cli import main; main()"  # what the installed script does
_WHO = ("Ana", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
_DID = ("painted", "bought", "fixed", "lost", "sold", "described", "found")
_WHAT = ("the red bicycle", "an old map", "the harbour", "a violin", "the garden", "a camera", "the bridge", "a lamp")


def filled(folder: Path, blocks: int) -> None:
    """A memory with so many different texts, and their vectors."""
    with Memory(folder) as memory:
        for start in range(0, blocks, 1000):
            with memory.batch():
                for number in range(start, min(start + 1000, blocks)):
                    text = f"{_WHO[number % 8]} {_DID[number % 7]} {_WHAT[number // 7 % 8]} on trip {number}"
                    memory.remember(text, key=f"trip-{number}")
        memory.embed()


def run(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def against(what: str, ours: list[str], bare: str, goal: float) -> Row:
    """Both in turns; the first rounds fill the caches and are not counted."""
    pairs = [(run("-c", _OURS, *ours), run("-c", bare)) for _ in range(ROUNDS + WARMING)][WARMING:]
    ratio = statistics.median(our_time / bare_time for our_time, bare_time in pairs)
    mine, theirs = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    return at_most(what, f"{mine:.0f} ms", f"{theirs:.0f} ms", ratio, goal)


def rows(folder: Path, blocks: int) -> list[Row]:
    opens = (
        "import numpy, sqlalchemy\n"
        f"engine = sqlalchemy.create_engine('sqlite:///{folder / 'state.db'}')\n"
        "with engine.connect() as c: c.exec_driver_sql('SELECT count(*) FROM blocks').scalar()"
    )
    asked = ["-C", str(folder), "recall", "who painted the harbour?"]
    return [
        against("tallystick --help, to importing click and orjson", ["--help"], "import click, orjson", 1.5),
        against(f"recall on {blocks:,} blocks, to opening them with SQLAlchemy and NumPy", asked, opens, 1.5),
    ]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--folder", type=Path, help="keep the memory here, and use the one that is")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as place:
        if not given.tiny:
            os.environ["PYTHONPYCACHEPREFIX"] = str(Path(place) / "compiled")
        folder = given.folder or Path(place) / "memory"
        if not folder.exists():
            filled(folder, given.blocks)
        report(rows(folder, given.blocks))


if __name__ == "__main__":
    main()
