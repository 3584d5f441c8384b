"""What pages cost, against the same work done barely, in one run.

    python bench/pages.py [--files 2000] [--entries 10000] [--quick]

Prints one table. `ratio` is bare time / our time for rates (1 = as fast as the bare thing), and ours / bare for costs.
The folder has `--files` pages of 25 entries, which nobody knows at first: taking them in makes the memory that the rest
is measured on. The longest page has `--entries`. `--quick` is a tenth of both.

Not measured here: other processes at the same folder, pages of other users, races.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import WORDS, text
from measure import Row, at_least, at_most, in_turns, options_of, per, report, seconds, sized, stated
from page_data import PRAGMAS, change_plainly, only_word, page, read_and_insert, said, walk, write_pages, write_whole

from tallystick import Memory
from tallystick.projections.markdown import parse

FILES, EACH, LONG = sized(2_000, 8), 25, sized(10_000, 40)
SHORTER = sized(100, 10), sized(2_000, 20)  # pages that the long one is compared with
ROUNDS, TURNS = sized(15, 2), sized(4, 1)
PROCESSES, WORKS = sized(3, 1), ("walk", "open", "sync", "rebuild")
ASKED = sized(12, 2)  # questions of each kind
REMEMBERED, SUBJECTS = sized(400, 10), sized(40, 5)

_BARE_QUERY = "SELECT id, path, tags, content FROM entries_fts WHERE entries_fts MATCH ? ORDER BY rank LIMIT 10"

Middle = tuple[float, float, float]


def middle(rounds: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.median(column) for column in zip(*rounds, strict=True))


# -- writing ---------------------------------------------------------------------------------------------------------


def appending(scratch: Path, sizes: Sequence[int]) -> list[Row]:
    """One statement at a time, durable, the page written in the same call; and the same done plainly: the file read,
    changed as text and written.

    A long page is a long file, and writing that is paid by whoever writes it: what is left is compared.
    """
    folder, plain = scratch / "append" / "memory", scratch / "plain"
    folder.mkdir(parents=True)
    plain.mkdir()
    for number, count in enumerate(sizes):
        for each in (folder, plain):
            (each / f"topic-n{count}.md").write_text(page(f"topic-n{count}", sum(sizes[:number]), count))
    with Memory(folder.parent) as memory:
        memory.pages.sync()
        for count in sizes:
            memory.pages.append(f"topic-n{count}", "It is flagged by now, if it is long.", ["bench"])
        return [*_append(memory, plain, sizes), *_supersede(memory, plain, sizes)]


def _append(memory: Memory, plain: Path, sizes: Sequence[int]) -> list[Row]:
    numbers = itertools.count(10**7)

    def ours(about: str) -> None:
        memory.pages.append(about, said(next(numbers)), ["bench"])

    def plainly(about: str) -> None:
        change_plainly(plain / f"{about}.md", next(numbers))

    return _compared("append to a page of", ours, plainly, plain, sizes)


def _supersede(memory: Memory, plain: Path, sizes: Sequence[int]) -> list[Row]:
    numbers = itertools.count(10**8)
    held = {f"topic-n{count}": [entry.id for entry in memory.pages.read(f"topic-n{count}").entries] for count in sizes}
    mine, theirs = ({about: iter(names) for about, names in held.items()} for _ in range(2))

    def ours(about: str) -> None:
        memory.pages.supersede(about, next(mine[about]), said(next(numbers)), "measured")

    def plainly(about: str) -> None:
        change_plainly(plain / f"{about}.md", next(numbers), instead_of=next(theirs[about]))

    return _compared("supersede on a page of", ours, plainly, plain, sizes)


def _compared(
    what: str, ours: Callable[[str], None], plainly: Callable[[str], None], plain: Path, sizes: Sequence[int]
) -> list[Row]:
    """Each size to doing it plainly, in turns; and the largest to the smallest, each less writing its file."""
    rounds: dict[int, list[tuple[float, ...]]] = {count: [] for count in sizes}
    for _, count in itertools.product(range(ROUNDS), sizes):
        mine, bare = (_timed(work, f"topic-n{count}") for work in (ours, plainly))
        data = (plain / f"topic-n{count}.md").read_bytes()
        write = seconds(lambda data=data: [write_whole(plain / "written", data) for _ in range(TURNS)])
        rounds[count].append((mine, bare, mine / bare, mine - write))
    found = {count: middle(each) for count, each in rounds.items()}
    rows = [
        stated(f"{what} {count:,}, to doing it plainly", per(mine, TURNS), per(bare, TURNS), ratio)
        for count, (mine, bare, ratio, _) in found.items()
    ]
    few, many = (max(found[count][3], 1e-9) for count in (sizes[0], sizes[-1]))
    title = f"{what} {sizes[-1]:,} less writing it, to {sizes[0]:,}"
    return [*rows, at_most(title, per(many, TURNS), per(few, TURNS), many / few, 2)]


def _timed(work: Callable[[str], None], about: str) -> float:
    return seconds(lambda: [work(about) for _ in range(TURNS)])


def following(scratch: Path) -> list[Row]:
    """Many `remember`, one by one and in one batch, with the pages following and without; closing is counted in."""
    return [_following(scratch, "one by one", False), _following(scratch, "in one batch", True)]


def _following(scratch: Path, how: str, is_batch: bool) -> Row:
    rounds = iter(range(1000))

    def run(is_on: bool) -> None:
        folder = scratch / "follow"
        folder.mkdir()
        (folder / "tallystick.toml").write_text(f"[pages]\nfollow = {str(is_on).lower()}\n")
        first = next(rounds) * REMEMBERED
        with Memory(folder) as memory:
            if is_batch:
                with memory.batch():
                    remember(memory, first)
            else:
                remember(memory, first)
        shutil.rmtree(folder)

    mine, raw, ratio = in_turns(lambda: run(True), lambda: run(False), 5)
    what = f"{REMEMBERED} remembered {how}, pages following, to not"
    return stated(what, per(mine, REMEMBERED), per(raw, REMEMBERED), 1 / ratio)


def remember(memory: Memory, first: int) -> None:
    for number in range(first, first + REMEMBERED):
        memory.remember(text(number), about=f"topic-r{number % SUBJECTS}", tags=["bench"])


# -- searching -------------------------------------------------------------------------------------------------------


def questions(count: int) -> dict[str, list[str]]:
    """Rare and common words, words that often stand together, and words of one text."""
    some = [number * 7919 % count for number in range(ASKED)]
    together = [f"{WORDS[number]} {WORDS[number + 1]}" for number in range(ASKED)]
    texts = [said(number).rstrip(".").lower().split() for number in some]
    return {
        "a rare word": WORDS[-ASKED:],
        "a common word": WORDS[:ASKED],
        "two words that often stand together": together,
        "three words of one text": [f"{words[1]} {words[4]} {words[7]}" for words in texts],
        "a whole text": [" ".join(words[:9]) for words in texts],
    }


def searching(memory: Memory, count: int) -> list[Row]:
    """Ten hits for what is typed; barely: the same words given to full text, which hides nothing and spells nothing.

    If hardly an entry has all the words, those that have some are sought too, which the bare query is given as well.
    What is found at once, a word of a single entry, tells what a search costs besides.
    """
    rows, every = [stated(f"search at {count:,} entries, to the bare query", "")], list[float]()
    with closing(sqlite3.connect(memory.folder / "state.db")) as db:
        for pragma in PRAGMAS:
            db.execute(pragma)
        for kind, asked in questions(count).items():
            timed = [_asked(memory, db, each) for each in asked]
            mine, raw = (statistics.median(each[place] for each in timed) for place in (0, 1))
            ratios = [1 / each[2] for each in timed]
            every += ratios
            rows.append(at_most(f"  {kind}", per(mine, 1), per(raw, 1), statistics.median(ratios), 2))
        single = [_asked(memory, db, only_word(number * 790 % count)) for number in range(ASKED)]
    mine, raw, ratio = middle(single)
    rows.append(at_most("  all of them", "", "", statistics.median(every), 2))
    rows.append(at_most("  the worst of all", "", "", max(every), 2))
    rows.append(stated("  a word of a single entry", per(mine, 1), per(raw, 1), 1 / ratio))
    return rows


def _asked(memory: Memory, db: sqlite3.Connection, asked: str) -> Middle:
    found = memory.pages.search(asked)
    words = [f'"{word}"' for word in asked.split()]
    queries = [" ".join(words)]
    if len(words) > 1 and len(db.execute(_BARE_QUERY, queries).fetchall()) < 3:
        queries.append(" OR ".join(words))
    assert found, asked

    def barely() -> None:
        for query in queries:
            db.execute(_BARE_QUERY, (query,)).fetchall()

    return in_turns(lambda: memory.pages.search(asked), barely, ROUNDS)


# -- files -----------------------------------------------------------------------------------------------------------


def adopting(folder: Path, files: int) -> list[Row]:
    """A folder that somebody brought, with no ledger: every entry becomes a belief. Once, for it is the data."""
    count = files * EACH
    bare = seconds(lambda: read_and_insert(folder / "memory", folder.parent / "bare.db"))
    with Memory(folder) as memory:
        mine = seconds(memory.pages.sync)
        assert len(memory.pages.list()) >= files
    return [stated(f"adopting {files:,} files of {EACH}, to reading them", per(mine, count), per(bare, count),
                   mine / bare)]  # fmt: skip


def syncing(memory: Memory, files: int) -> list[Row]:
    """Nothing was changed; then one page was. The memory is open."""
    root = memory.pages.folder
    memory.pages.sync()
    mine, raw, ratio = in_turns(memory.pages.sync, lambda: walk(root), 2 * ROUNDS)
    rows = [at_most(f"sync of {files:,} unchanged files, to a stat of each", per(mine, 1), per(raw, 1), 1 / ratio, 3)]
    paths = iter(sorted(root.glob("topic-*.md")))

    def edited() -> float:
        path = next(paths)
        path.write_text(path.read_text(encoding="utf-8") + "And more.\n", encoding="utf-8")
        return seconds(memory.pages.sync)

    one, none = middle([(edited(), seconds(memory.pages.sync)) for _ in range(ROUNDS)])
    return [*rows, stated(f"  one of {files:,} was edited, to none", per(one, 1), per(none, 1), one / none)]


def in_a_process(folder: Path, files: int) -> list[Row]:
    """A process of its own: all of it is measured, and the memory that it took at its most."""
    done = {work: middle([_process(work, folder) for _ in range(PROCESSES)]) for work in WORKS}
    order, home = [sys.executable, "-m", "tallystick", "sync"], {**os.environ, "TALLYSTICK_HOME": str(folder)}
    told = statistics.median(
        seconds(lambda: subprocess.run(order, check=True, capture_output=True, env=home)) for _ in range(PROCESSES)
    )
    bare = done["walk"][0]
    rows = [stated(f"  `tallystick sync` of {files:,} files, to a process that walks", per(told, 1), per(bare, 1),
                   told / bare)]  # fmt: skip
    for work, bare in (("sync", "walk"), ("open", "walk"), ("rebuild", "open")):
        (mine, size), (raw, least) = done[work], done[bare]
        rows.append(stated(f"  a process to {work} {files:,} files, to {bare}", per(mine, 1), per(raw, 1), mine / raw))
        rows.append(stated("    its memory", f"{size:,.0f} MB", f"{least:,.0f} MB", size / least))
    return rows


def _process(work: str, folder: Path) -> tuple[float, float]:
    size = ""

    def run() -> None:
        nonlocal size
        order = [sys.executable, __file__, "--process", work, str(folder)]
        size = subprocess.run(order, check=True, capture_output=True, text=True).stdout

    return seconds(run), float(size)


def process(work: str, folder: Path) -> None:
    if work == "walk":
        walk(folder / "memory")
    else:
        with Memory(folder) as memory:
            if work != "open":
                getattr(memory.pages, work)()
    print(_most_memory())


def _most_memory() -> float:
    """What this process had at its most, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def rebuilding(memory: Memory, scratch: Path, files: int) -> list[Row]:
    """Every row again from the ledger, every file read and compared; barely: every file read, split and inserted."""
    count, path = files * EACH, scratch / "bare.db"
    mine, raw, ratio = in_turns(memory.pages.rebuild, lambda: read_and_insert(memory.pages.folder, path), 5)
    what = f"rebuild of {count:,} entries, to read and insert"
    return [at_least(what, per(mine, count), per(raw, count), ratio, 0.3)]


def parsing(count: int) -> list[Row]:
    """A long page that is at hand as bytes."""
    data = page("topic-long", 0, count).encode()
    took = statistics.median(seconds(lambda: parse(data)) for _ in range(7))
    return [stated("parsing a page, an entry", per(took, count), f"{len(data) / took / 1e6:,.1f} MB/s")]


def sizes(folder: Path, files: int) -> list[Row]:
    """On disk, for each entry."""
    count = files * EACH
    written = sum(path.stat().st_size for path in (folder / "memory").glob("*.md")) / count
    rows = (folder / "state.db").stat().st_size / count
    return [stated("state.db, for each entry, to its Markdown", f"{rows:,.0f} B", f"{written:,.0f} B", rows / written)]


def measured(scratch: Path, files: int, entries: int) -> Iterator[list[Row]]:
    folder = scratch / "many"
    write_pages(folder / "memory", files, EACH)
    yield appending(scratch, sorted({*SHORTER, entries}))
    yield adopting(folder, files)
    with Memory(folder) as memory:
        yield searching(memory, files * EACH)
        yield syncing(memory, files)
        yield rebuilding(memory, scratch, files)
    yield in_a_process(folder, files)
    yield parsing(entries)
    yield sizes(folder, files)
    yield following(scratch)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--files", type=int, default=FILES)
    options.add_argument("--entries", type=int, default=LONG, help="of the long page")
    options.add_argument("--quick", action="store_true", help="a tenth of that")
    options.add_argument("--where", type=Path, default=None, help="a folder on the disk to measure")
    options.add_argument("--process", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.process:
        process(chosen.process[0], Path(chosen.process[1]))
        return
    part = 10 if chosen.quick else 1
    rows = list[Row]()
    with tempfile.TemporaryDirectory(dir=chosen.where) as name:
        for some in measured(Path(name), chosen.files // part, chosen.entries // part):
            rows += some
    report(rows)


if __name__ == "__main__":
    main()
