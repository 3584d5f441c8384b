"""What the ledger costs, against the same work done barely, in one run.

    python bench/ledger.py [--records 100000]

Prints one table. `ratio` is bare time / our time for rates (1 = as fast as the bare thing), and ours / bare for costs.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_least, at_most, in_turns, options_of, per, report, seconds, sized, stated

from tallystick import ChronoRecord, ChronoStore
from tallystick.ledger.folder.verify import verify

RECORDS = sized(100_000, 200)
SINGLE, GROUP, GROWN = sized(200, 5), sized(100, 10), sized(400, 5)  # writes in a round


def record(number: int, kind: str = "fact") -> ChronoRecord:
    return ChronoRecord(
        id=f"FACT-{number:07d}",
        kind=kind,
        label=f"Observation {number}: the pressure in vessel {number % 97} was within bounds at the time of reading",
        confidence=(number % 100) / 100,
        evidence=["sensor-12", f"reading-{number}"],
        data={"vessel": number % 97, "unit": "bar"},
    )


class Bare:
    """The same bytes, appended by hand."""

    def __init__(self, path: Path, lines: list[bytes]) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lines, self.at = lines, 0

    def take(self, count: int) -> list[bytes]:
        taken = [self.lines[(self.at + n) % len(self.lines)] for n in range(count)]
        self.at += count
        return taken

    def one_by_one(self, count: int) -> None:
        for line in self.take(count):
            os.write(self.fd, line)
            os.fsync(self.fd)

    def grouped(self, count: int) -> None:
        for line in self.take(count):
            os.write(self.fd, line)
        os.fsync(self.fd)


class Writes:
    """Upserts of records that were not there before."""

    ever = 10_000_000  # so that no two of these write the same record

    def __init__(self, store: ChronoStore) -> None:
        self.store = store

    def fresh(self, count: int) -> list[ChronoRecord]:
        Writes.ever += count
        return [record(Writes.ever + n) for n in range(count)]

    def one_by_one(self, records: list[ChronoRecord]) -> None:
        for item in records:
            self.store.upsert(item)

    def grouped(self, records: list[ChronoRecord]) -> None:
        with self.store.folder.ledger.batch():
            for item in records:
                self.store.upsert(item)


def lines_of(folder: Path) -> list[bytes]:
    lines = (folder / "events.wal").read_bytes().splitlines(keepends=True)
    return [line for line in lines if b'"op":"belief.' in line]


def fill(store: ChronoStore, count: int) -> None:
    for start in range(0, count, 1000):
        with store.folder.ledger.batch():
            for number in range(start, min(start + 1000, count)):
                store.upsert(record(number, "rare" if number % 10_000 == 0 else "fact"))


def writing(scratch: Path, store: ChronoStore, note: str) -> list[Row]:
    writes = Writes(store)
    writes.one_by_one(writes.fresh(SINGLE))
    bare = Bare(scratch / f"bare{note}", lines_of(store.root)[-SINGLE:])
    rows = []
    batches = [writes.fresh(SINGLE) for _ in range(9)]
    ours, raw, ratio = in_turns(lambda: writes.one_by_one(batches.pop()), lambda: bare.one_by_one(SINGLE))
    rows.append(at_least(f"durable single upsert{note}", per(ours, SINGLE), per(raw, SINGLE), ratio, 0.5))
    batches = [writes.fresh(GROUP) for _ in range(31)]
    grouped, raw, ratio = in_turns(lambda: writes.grouped(batches.pop()), lambda: bare.grouped(GROUP), 31)
    rows.append(at_least(f"upserts in groups of {GROUP}{note}", per(grouped, GROUP), per(raw, GROUP), ratio, 0.5))
    return rows


def growth(small: ChronoStore, large: ChronoStore) -> Row:
    """Single upserts into a store of nothing and a store of many, in turns; snapshots that fall due are counted in."""
    few, many = Writes(small), Writes(large)
    rounds = [(many.fresh(GROWN), few.fresh(GROWN)) for _ in range(15)]
    more = [pair[0] for pair in rounds]
    less = [pair[1] for pair in rounds]
    ours, bare, ratio = in_turns(lambda: many.one_by_one(more.pop()), lambda: few.one_by_one(less.pop()), 15)
    count = large.record_count()
    return at_most(f"an upsert at {count:,} stored, to one at 0", per(ours, GROWN), per(bare, GROWN), 1 / ratio, 1.2)


def checking(store: ChronoStore) -> list[Row]:
    path, events = store.root / "events.wal", store.wal_seq() + 1

    def bare() -> None:
        with open(path, "rb") as file:
            for line in file:
                hashlib.sha256(line).hexdigest()

    one, raw, ratio = in_turns(lambda: verify(store.root), bare, 5)
    two, _, faster = in_turns(lambda: verify(store.root, processes=2), lambda: verify(store.root), 5)

    def scan() -> None:
        with open(path, "rb") as file:
            for line in file:
                orjson.loads(line)

    def replay() -> None:
        for _ in store.replay():
            pass

    again, parsed, rate = in_turns(replay, scan, 3)
    return [
        at_least("verify, against a read-and-SHA-256 loop", per(one, events), per(raw, events), ratio, 0.5),
        at_least("verify with two processes, against one", per(two, events), per(one, events), faster, 1.8),
        stated("replay, against an orjson scan", per(again, events), per(parsed, events), rate),
    ]


def opening(store: ChronoStore) -> list[Row]:
    """Opening with a snapshot reads only the tail of the ledger; without one, all of it."""
    project, size = store.project_dir, (store.root / "events.wal").stat().st_size
    store.close()

    def reopen() -> None:
        with ChronoStore(project):
            pass

    with_state = min(seconds(reopen) for _ in range(3))
    tail = size_after_state(store.root)
    for path in store.root.glob("state.db*"):
        path.unlink()
    without = seconds(reopen)
    store.open()
    return [
        at_most("what opening reads of the ledger", f"{tail:,} B", f"{size:,} B", tail / size, 0.11),
        stated("opening, against from the first line", per(with_state, 1), per(without, 1), without / with_state),
    ]


def size_after_state(root: Path) -> int:
    with closing(sqlite3.connect(root / "state.db")) as db:
        [[saved]] = db.execute("SELECT saved FROM positions WHERE name = 'state'")
    offset: int = orjson.loads(saved)["offset"]
    return (root / "events.wal").stat().st_size - offset


def asking(large: ChronoStore) -> list[Row]:
    """A question with few answers costs what its answers cost, not what the store holds."""
    hits, count = len(large.query(kind="rare")), large.record_count()
    few = min(seconds(lambda: [large.query(kind="rare") for _ in range(20)]) / 20 for _ in range(5))
    sure = min(seconds(lambda: [large.query(kind="rare", rag_filter=True) for _ in range(20)]) / 20 for _ in range(5))
    one = min(seconds(lambda: [large.get("FACT-0000007") for _ in range(20)]) / 20 for _ in range(5))
    every = seconds(large.query)
    return [
        at_most(f"query with {hits} hits of {count:,}, to all of them", per(few, 1), per(every, 1), few / every, 0.01),
        stated("  the same with the confidence filter", per(sure, 1), per(every, 1), sure / every),
        stated("  get of one record", per(one, 1), per(every, 1), one / every),
    ]


def memory_per_belief(scratch: Path, count: int) -> Row:
    """Resident memory of a process that opens the store, less one that opens an empty one, per belief."""
    code = (
        "import resource,sys\nfrom tallystick import ChronoStore\n"
        "with ChronoStore(sys.argv[1]) as s:\n    s.wal_seq()\n"
        "    print(open('/proc/self/statm').read().split()[1])\n"
    )
    (scratch / "empty").mkdir(exist_ok=True)
    pages = [
        int(subprocess.run([sys.executable, "-c", code, str(scratch / name)], capture_output=True, check=True).stdout)
        for name in ("large", "empty")
    ]
    each = (pages[0] - pages[1]) * resource.getpagesize() / count
    return stated("memory per belief, resident", f"{each:,.0f} B")


def run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def starting(scratch: Path) -> list[Row]:
    """How long the command takes to start, against a script that imports click and orjson."""
    tiny = scratch / "tiny"
    with ChronoStore(tiny) as store:
        store.upsert(record(1))
    bare = [sys.executable, "-c", "import click, orjson"]
    rows = []
    folder = str(tiny / ".chronomemory")
    for words in (["--help"], ["ledger", "verify"]):
        installed = "from tallystick.surfaces.cli import main; main()"  # what the installed script does
        command = [sys.executable, "-c", installed, "--folder", folder, *words]
        ours, raw, ratio = in_turns(lambda command=command: run(command), lambda: run(bare), 15)
        rows.append(at_most(f"start of tallystick {' '.join(words)}", per(ours, 1), per(raw, 1), 1 / ratio, 1.5))
    return rows


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--records", type=int, default=RECORDS)
    options.add_argument("--where", type=Path, default=None, help="a folder on the disk to measure")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.where) as name:
        scratch = Path(name)
        with ChronoStore(scratch / "small") as small, ChronoStore(scratch / "large") as large:
            rows = writing(scratch, small, "")
            fill(large, chosen.records)
            at_size = writing(scratch, large, f" at {chosen.records:,}")
            with ChronoStore(scratch / "fresh") as fresh:
                rows += [*at_size, growth(fresh, large)]
            rows += checking(large) + opening(large) + asking(large)
            count = large.record_count()
        rows += [memory_per_belief(scratch, count), *starting(scratch)]
    report(rows)


if __name__ == "__main__":
    main()
