"""What the index costs, against the same work done barely, in one run.

    python bench/index.py [--records 100000] [--quick]

Prints one table. `ratio` is bare time / our time for rates (1 = as fast as the bare thing), and ours / bare for costs.
The largest index has ten times as many blocks as `--records` says; `--quick` is a tenth of everything.

Not measured here: other processes at the same folder, an index that has to be mended, questions about the past.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import sqlalchemy

sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import ADD_TEXT, BareIndex, Rows, Stream, event, question, rows_of, tag, text
from measure import Row, at_least, at_most, in_turns, per, report, seconds, stated

from keepsake.memory.memory import Memory
from keepsake.projections.index import prepared as sql
from keepsake.projections.index import queries
from keepsake.projections.index.engine import create_engine, prepare, url_of
from keepsake.projections.index.file import PRAGMAS, UNSAFE, IndexFile
from keepsake.projections.index.fulltext import Scope
from keepsake.projections.index.rows import blocks
from keepsake.recall.words import by_words
from keepsake.records.belief import OWNER

HELD = 1000  # beliefs that are there before single puts are measured
PUTS, ROUNDS = 100, 21

Saying = tuple[str, list[str]]


class BareAppend:
    """The same bytes, appended by hand and put on the medium the way the ledger does."""

    def __init__(self, path: Path, lines: list[bytes]) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines = lines

    def put(self, number: int) -> None:
        os.write(self._fd, self._lines[number % len(self._lines)])
        os.fdatasync(self._fd)


def sayings(start: int) -> list[list[Saying]]:
    """Texts that were not said before, with their tags: a list for each round."""
    numbers = iter(range(start, start + PUTS * ROUNDS))
    return [[(text(number), [tag(number)]) for number in islice(numbers, PUTS)] for _ in range(ROUNDS)]


def remember_all(memory: Memory, said: list[Saying]) -> None:
    for words, tags in said:
        memory.remember(words, tags=tags)


def fill(memory: Memory, count: int) -> None:
    """Put `count` beliefs into the ledger alone; the index is made in one go afterwards."""
    ledger = memory._shelf.ledger
    then, ledger.then = ledger.then, None
    for start in range(0, count, 1000):
        with memory.batch():
            remember_all(memory, [(text(n), [tag(n)]) for n in range(start, min(start + 1000, count))])
    ledger.then = then
    memory.rebuild_index()


def lines_of(folder: Path) -> list[bytes]:
    lines = (folder / "events.wal").read_bytes().splitlines(keepends=True)
    return [line for line in lines if b'"op":"belief.' in line][-300:]


def single_rows(count: int) -> Iterator[Rows]:
    """What the index writes for each belief behind the first `HELD`, row numbers and all."""
    whole = rows_of(event(number) for number in range(HELD + count))
    for at in range(HELD, HELD + count):
        yield {into: values[at : at + 1] if len(values) > 1 else values for into, values in whole.items()}


# -- writing ---------------------------------------------------------------------------------------------------------


def putting(scratch: Path) -> list[Row]:
    """One belief at a time, durable, the index following in the same call; snapshots that fall due are counted in.

    The bare thing decides nothing, links no hashes, takes no lock and looks nothing up. Texts and rows are made
    beforehand, for both. The shares are measured one after the other, so they need not add up.
    """
    bare = BareIndex(scratch / "bare-put.db", PRAGMAS)
    bare.load(rows_of(event(number) for number in range(HELD)))
    made = single_rows(2 * PUTS * ROUNDS)
    with Memory(scratch / "putting") as memory:
        fill(memory, HELD)
        append = BareAppend(scratch / "bare-append", lines_of(memory.folder))
        rows = [_whole_put(memory, bare, append, made), _ledger_share(memory, append)]
    with closing(IndexFile(scratch / "index-put.db")) as index:
        return [rows[0], _index_share(index, bare, made), rows[1]]


def _whole_put(memory: Memory, bare: BareIndex, append: BareAppend, made: Iterator[Rows]) -> Row:
    said, rounds = sayings(HELD), [list(islice(made, PUTS)) for _ in range(ROUNDS)]

    def barely(rows: list[Rows]) -> None:
        for number, each in enumerate(rows):
            append.put(number)
            bare.put(each)

    mine, raw, ratio = in_turns(
        lambda: remember_all(memory, said.pop(0)), lambda: barely(rounds.pop(0)), ROUNDS
    )  # fmt: skip
    return at_least("single put through ledger and index", per(mine, PUTS), per(raw, PUTS), ratio, 0.5)


def _index_share(index: IndexFile, bare: BareIndex, made: Iterator[Rows]) -> Row:
    mark = index.catch_up(event(number) for number in range(HELD))
    numbers = iter(range(HELD, HELD + PUTS * ROUNDS))
    events = [[event(number) for number in islice(numbers, PUTS)] for _ in range(ROUNDS)]
    rounds = [list(islice(made, PUTS)) for _ in range(ROUNDS)]

    def follow() -> None:
        nonlocal mark
        for each in events.pop(0):
            mark = index.catch_up([each], expected=mark)

    def barely() -> None:
        for rows in rounds.pop(0):
            bare.put(rows)

    mine, raw, ratio = in_turns(follow, barely, ROUNDS)
    return stated("  the index's share, to the bare transaction", per(mine, PUTS), per(raw, PUTS), ratio)


def _ledger_share(memory: Memory, append: BareAppend) -> Row:
    memory._shelf.ledger.then = None
    said = sayings(HELD + PUTS * ROUNDS)

    def barely() -> None:
        for number in range(PUTS):
            append.put(number)

    mine, raw, ratio = in_turns(lambda: remember_all(memory, said.pop(0)), barely, ROUNDS)
    return stated("  the ledger's share, to the bare append", per(mine, PUTS), per(raw, PUTS), ratio)


def loading(scratch: Path, count: int) -> list[Row]:
    """Many beliefs into a new file, events and rows in memory beforehand; the file is made, committed and closed.

    The last ratio is against less work than ours: no lives, sources or tags.
    """
    events = [event(number) for number in range(count)]
    rows = rows_of(events)
    few = {into: rows[into] for into in (sql.ADD_BLOCK, ADD_TEXT)}

    def ours() -> None:
        with closing(IndexFile(fresh(scratch), making=True)) as index:
            index.catch_up(events)

    def barely(rows: Rows) -> None:
        bare = BareIndex(fresh(scratch), UNSAFE)
        bare.load(rows)
        bare.db.close()

    mine, raw, ratio = in_turns(ours, lambda: barely(rows), 5)
    less = statistics.median(seconds(lambda: barely(few)) for _ in range(3))
    return [
        at_least(f"bulk load of {count:,} beliefs", per(mine, count), per(raw, count), ratio, 0.4),
        stated("  the same, to blocks and full text alone", per(mine, count), per(less, count), less / mine),
    ]


def fresh(scratch: Path) -> Path:
    """A path where nothing is, the same each time."""
    path = scratch / "loading.db"
    path.unlink(missing_ok=True)
    return path


def growing(path: Path, count: int) -> list[Row]:
    """Make the largest index, in the processor's time. Making the events takes some too, which is left out."""
    stream = Stream(count)
    with closing(IndexFile(path, making=True)) as index:
        index.catch_up(stream)
    each = count // 10
    late, early = stream.tenth(10), stream.tenth(2)
    size = path.stat().st_size / count
    begun, most = stream.resident[1] / 2**20, max(stream.resident) / 2**20
    return [
        at_least(f"making {count:,} blocks: last tenth, to the second", per(late, each), per(early, each),
                 early / late, 0.8),
        stated("  resident memory at its most, to after a tenth", f"{most:,.0f} MB", f"{begun:,.0f} MB", most / begun),
        stated("  index.db, bytes per block", f"{size:,.0f} B"),
    ]  # fmt: skip


# -- reading ---------------------------------------------------------------------------------------------------------


def reading(path: Path, count: int) -> list[Row]:
    """A block by its id, in no order, over connections that are held; plainly: its row of `blocks` by the same id."""
    with closing(IndexFile(path)) as index:
        names = [row[0] for row in index.db.execute("SELECT id FROM blocks ORDER BY id LIMIT 2000")]
        random.Random(7).shuffle(names)

        def ours() -> None:
            for name in names:
                index.block(name)

        def plain() -> None:
            for name in names:
                index.db.execute("SELECT * FROM blocks WHERE id = ?", (name,)).fetchone()

        mine, raw, ratio = in_turns(ours, plain, 15)
        rows = [at_most(f"a point read of {count:,}", per(mine, 2000), per(raw, 2000), 1 / ratio, 3)]
        waited = [_get_block(path, names, plain), asyncio.run(_await_block(path, names, plain))]
    for what, (mine, raw, ratio) in zip(("synchronous", "awaited"), waited, strict=True):
        rows.append(stated(f"  get_block through SQLAlchemy, {what}", per(mine, 2000), per(raw, 2000), 1 / ratio))
    return rows


def _get_block(path: Path, names: list[str], plain: Callable[[], object]) -> tuple[float, float, float]:
    engine = sqlalchemy.create_engine(url_of(path, "sqlite"))
    prepare(engine)
    with engine.connect() as conn:
        timed = in_turns(lambda: [blocks.get_block(conn, name) for name in names], plain, 5)
    engine.dispose()
    return timed


async def _await_block(path: Path, names: list[str], plain: Callable[[], object]) -> tuple[float, float, float]:
    """Measured inside one running loop, whose start is not counted."""
    engine = await create_engine(path)
    pairs = []
    async with engine.connect() as conn:
        for _ in range(5):
            start = time.perf_counter()
            for name in names:
                await queries.get_block(conn, name)
            pairs.append((time.perf_counter() - start, seconds(plain)))
    await engine.dispose()
    middle = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return (*middle, statistics.median(raw / mine for mine, raw in pairs))


def opening(large: Path, small: Path, count: int) -> Row:
    """The file and its bookmark, the system's cache warm, the interpreter running."""

    def opened(path: Path) -> None:
        with closing(IndexFile(path)) as index:
            index.bookmark()

    pairs = [(seconds(lambda: opened(large)), seconds(lambda: opened(small))) for _ in range(50)]
    mine, raw = (min(pair[place] for pair in pairs) for place in (0, 1))
    return at_most(f"opening an index of {count:,}, to one of {HELD:,}", per(mine, 1), per(raw, 1), mine / raw, 1.2)


def whole_memory(scratch: Path, count: int) -> list[Row]:
    """A memory of many beliefs: its index made anew from the ledger, which is read and checked, and opening it."""
    times = []
    for name, held in (("few", HELD), ("many", count)):
        with Memory(scratch / name) as memory:
            fill(memory, held)
            rebuilt = statistics.median(seconds(memory.rebuild_index) for _ in range(3))
        times.append(min(seconds(lambda name=name: Memory(scratch / name).close()) for _ in range(5)))
    few, many = times
    return [
        stated("  the index made anew from the ledger file", per(rebuilt, count)),
        stated(f"  opening a memory of {count:,}, to one of {HELD:,}", per(many, 1), per(few, 1), many / few),
    ]


def recalling(path: Path, count: int) -> Row:
    """Five hits for three words of some block, the words as common as in the texts. The middle, and one in twenty."""
    with closing(IndexFile(path)) as index:
        asked = [question(number * 7919 % count) for number in range(100)]
        times = sorted(seconds(lambda each=each: by_words(index, each, Scope(OWNER), 5)) for each in asked)
    return stated(f"recall by words at {count:,} blocks: p50, p95", per(times[50], 1), per(times[95], 1))


def made(path: Path, count: int) -> Path:
    with closing(IndexFile(path, making=True)) as index:
        index.catch_up(Stream(count))
    return path


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--quick", action="store_true", help="a tenth of that")
    options.add_argument("--where", type=Path, default=None, help="a folder on the disk to measure")
    chosen = options.parse_args()
    count = chosen.records // 10 if chosen.quick else chosen.records
    with tempfile.TemporaryDirectory(dir=chosen.where) as name:
        scratch = Path(name)
        small, middle, large = scratch / "small.db", scratch / "middle.db", scratch / "large.db"
        grown = growing(large, count * 10)  # first, while the process has little memory
        rows = putting(scratch) + loading(scratch, count)
        rebuilt, opened = whole_memory(scratch, count)
        rows += [rebuilt, *grown, *reading(made(middle, count), count)]
        rows += [opening(large, made(small, HELD), count * 10), opened]
        rows += [recalling(small, HELD), recalling(middle, count), recalling(large, count * 10)]
    report(rows)


if __name__ == "__main__":
    main()
