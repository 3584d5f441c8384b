"""What the index costs, against the same work done barely, in one run.

    python bench/index.py [--records 100000] [--where FOLDER]

Prints one table. `ratio` is bare time / our time for rates (1 = as fast as the bare thing), and ours / bare for costs.
The bare thing is the ledger's lines appended and synced by hand, and four plain tables in a SQLite file, one of them
full text: it decides nothing, links no hashes, takes no lock and looks nothing up.

Not measured here: other processes at the same folder, a damaged index, questions about the past.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import question, tag, text
from measure import Row, at_least, at_most, in_turns, options_of, per, report, seconds, sized, stated

from tallystick import Memory
from tallystick.stores.elfmem import create_engine
from tallystick.stores.elfmem.queries import get_block

HELD = sized(1_000, 20)  # beliefs that are there before single puts are measured
RECORDS = sized(100_000, 100)
PUTS, ROUNDS = sized(100, 3), 21
READ, ASKED = sized(2_000, 10), sized(100, 5)

_PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA cache_size=-32000")
_TABLES = (
    "CREATE TABLE blocks (id TEXT PRIMARY KEY, content TEXT NOT NULL, created_at TEXT NOT NULL, confidence REAL)",
    "CREATE TABLE index_sources (id TEXT PRIMARY KEY, block_id TEXT NOT NULL, user TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX sources_block ON index_sources (block_id)",
    "CREATE TABLE tags (block_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (block_id, tag)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE index_texts USING fts5(content, content='blocks', tokenize='porter unicode61')",
)
_INSERTS = (
    "INSERT INTO blocks VALUES (?, ?, ?, ?)",
    "INSERT INTO index_sources VALUES (?, ?, ?, ?)",
    "INSERT INTO tags VALUES (?, ?)",
    "INSERT INTO index_texts (rowid, content) VALUES (?, ?)",
)

Saying = tuple[str, list[str]]
Values = tuple[tuple[object, ...], ...]  # a row for each table


class Bare:
    """Lines appended and synced by hand, and plain tables."""

    def __init__(self, path: Path, lines: list[bytes]) -> None:
        self._fd = os.open(path.with_suffix(".lines"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines = lines
        self.db = sqlite3.connect(path, isolation_level=None)
        for statement in (*_PRAGMAS, *_TABLES):
            self.db.execute(statement)

    def close(self) -> None:
        os.close(self._fd)
        self.db.close()

    def append(self, number: int) -> None:
        os.write(self._fd, self._lines[number % len(self._lines)])
        os.fdatasync(self._fd)

    def insert(self, rows: Iterable[Values]) -> None:
        """All of them in one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        for each in rows:
            for statement, values in zip(_INSERTS, each, strict=True):
                self.db.execute(statement, values)
        self.db.execute("COMMIT")


def row(number: int, words: str, tagged: str) -> Values:
    name, at = f"{number:012}", "2026-01-01T00:00:00.000000Z"
    return (name, words, at, 0.7), (name, name, "me", at), (name, tagged), (number, words)


def sayings(start: int) -> list[list[Saying]]:
    """Texts that were not said before, with their tags: a list for each round."""
    numbers = iter(range(start, start + PUTS * ROUNDS))
    return [[(text(number), [tag(number)]) for number in islice(numbers, PUTS)] for _ in range(ROUNDS)]


def remember_all(memory: Memory, said: list[Saying]) -> None:
    for words, tags in said:
        memory.remember(words, tags=tags)


def fill(memory: Memory, count: int) -> list[float]:
    """Remember so many, a tenth of them at most in a batch; the processor's seconds for each tenth."""
    tenths = []
    for tenth in range(10):
        first, last = count * tenth // 10, count * (tenth + 1) // 10
        said = [(text(number), [tag(number)]) for number in range(first, last)]
        start = time.process_time()
        for at in range(0, len(said), 1000):
            with memory.batch():
                remember_all(memory, said[at : at + 1000])
        tenths.append(time.process_time() - start)
    return tenths


def lines_of(folder: Path) -> list[bytes]:
    lines = (folder / "events.wal").read_bytes().splitlines(keepends=True)
    return [line for line in lines if b'"op":"belief.' in line]


# -- writing ---------------------------------------------------------------------------------------------------------


def putting(scratch: Path, memory: Memory) -> Row:
    """One belief at a time, durable, the index following in the same call; snapshots that fall due are counted in."""
    said, numbers = sayings(10**7), iter(range(10**9))
    rounds = [[row(next(numbers), words, tags[0]) for words, tags in each] for each in sayings(10**7)]
    with closing(Bare(scratch / "put.db", lines_of(memory.folder)[-300:])) as bare:

        def barely() -> None:
            for number, each in enumerate(rounds.pop()):
                bare.append(number)
                bare.insert([each])

        mine, raw, ratio = in_turns(lambda: remember_all(memory, said.pop()), barely, ROUNDS)
    return at_least("single put through ledger and index", per(mine, PUTS), per(raw, PUTS), ratio, 0.5)


def rebuilding(scratch: Path, memory: Memory, count: int) -> Row:
    """Every row again from the ledger, which is read and checked; barely: its lines decoded, and inserted."""

    def barely() -> None:
        path = scratch / "load.db"
        path.unlink(missing_ok=True)
        with closing(Bare(path, [])) as bare:
            said = (orjson.loads(line)["data"]["body"]["belief"] for line in lines_of(memory.folder))
            bare.insert(row(number, each["text"], each["tags"][0]) for number, each in enumerate(said))

    mine, raw, ratio = in_turns(memory.rebuild_index, barely, 3)
    return at_least(f"rebuild_index of {count:,} beliefs", per(mine, count), per(raw, count), ratio, 0.4)


def grown(tenths: list[float], folder: Path, count: int) -> list[Row]:
    each, late, early = count // 10, tenths[9], tenths[1]
    size = (folder / "state.db").stat().st_size / count
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return [
        at_least(f"remembering {count:,} in batches: last tenth, to the second", per(late, each), per(early, each),
                 early / late, 0.8),
        stated("  resident memory of this process then", f"{resident:,.0f} MB"),
        stated("  state.db, bytes per block", f"{size:,.0f} B"),
    ]  # fmt: skip


# -- reading ---------------------------------------------------------------------------------------------------------


def reading(memory: Memory, count: int) -> list[Row]:
    """A belief by its id, and a block through the index layer, in no order; plainly: its row by the same id."""
    with closing(sqlite3.connect(memory.folder / "state.db")) as db:
        blocks = [name for (name,) in db.execute("SELECT id FROM blocks ORDER BY id LIMIT ?", (READ,))]
        names = [belief.id for belief in islice(memory.beliefs, READ)]
        for each in (blocks, names):
            random.Random(7).shuffle(each)

        def plain() -> None:
            for name in blocks:
                db.execute("SELECT * FROM blocks WHERE id = ?", (name,)).fetchone()

        mine, raw, ratio = in_turns(lambda: [memory.show(name) for name in names], plain, 15)
        waited, bare, much = asyncio.run(_awaited(memory.folder / "state.db", blocks, plain))
    return [
        at_most(f"a point read of {count:,}", per(mine, len(names)), per(raw, len(blocks)), 1 / ratio, 3),
        stated("  get_block of the index layer, awaited", per(waited, len(blocks)), per(bare, len(blocks)), much),
    ]


async def _awaited(path: Path, blocks: list[str], plain: Callable[[], object]) -> tuple[float, float, float]:
    """Measured inside one running loop, whose start is not counted."""
    engine = await create_engine(path)
    pairs = []
    async with engine.connect() as conn:
        for _ in range(5):
            start = time.perf_counter()
            for name in blocks:
                await get_block(conn, name)
            pairs.append((time.perf_counter() - start, seconds(plain)))
    await engine.dispose()
    mine, raw = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return mine, raw, statistics.median(mine / raw for mine, raw in pairs)


def opening(large: Path, small: Path, count: int) -> Row:
    """The system's cache warm, the interpreter running."""
    pairs = [(seconds(lambda: Memory(large).close()), seconds(lambda: Memory(small).close())) for _ in range(9)]
    many, few = (min(pair[place] for pair in pairs) for place in (0, 1))
    return stated(f"opening a memory of {count:,}, to one of {HELD:,}", per(many, 1), per(few, 1), many / few)


def recalling(memory: Memory, count: int) -> Row:
    """Five hits for three words of some block, the words as common as in the texts. The middle, and one in twenty."""
    asked = [question(number * 7919 % count) for number in range(ASKED)]
    times = sorted(seconds(lambda each=each: memory.recall(each, words=True)) for each in asked)
    middle, slow = times[len(times) // 2], times[len(times) * 19 // 20]
    return stated(f"recall by words at {count:,} blocks: p50, p95", per(middle, 1), per(slow, 1))


def measured(scratch: Path, count: int) -> list[Row]:
    few, many = scratch / "few", scratch / "many"
    with Memory(many) as memory:  # first, while the process has little memory
        rows = grown(fill(memory, count), many, count)
        rows += [rebuilding(scratch, memory, count), *reading(memory, count), recalling(memory, count)]
    with Memory(few) as memory:
        fill(memory, HELD)
        rows += [recalling(memory, HELD)]
    rows += [opening(many, few, count)]
    with Memory(few) as memory:
        return [putting(scratch, memory), *rows]


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--records", type=int, default=RECORDS)
    options.add_argument("--where", type=Path, default=None, help="a folder on the disk to measure")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.where) as name:
        rows = measured(Path(name), chosen.records)
    report(rows)


if __name__ == "__main__":
    main()
