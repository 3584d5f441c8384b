"""What a large memory costs, against a small one: opening, commands, resident memory, the worst write, in one run.

    python bench/scale.py [--episodes 100000] [--full] [--words] [--folder FOLDER]

Two memories are made, of 1,000 episodes and of `--episodes` (`--full`: a million), by the public calls, in batches of
1,000. With `--folder` they stay there and are found again; one that was not finished is continued.

Commands are whole processes, of both memories in turns, in the processor's time: others work on this machine too.
Recall may take, besides, what the bare searches take on the same rows: full text by SQLite, and one product of all
vectors. With `--words` no vectors are made, and only recall by words is measured. Resident memory is the most that a
process has of its own at any moment, where the system tells (Linux); files that it maps are not counted.
"""

from __future__ import annotations

import copy
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import count
from pathlib import Path

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from episodes import said
from measure import TINY, Row, at_most, options_of, per, report, sized, stated

from tallystick import ChronoRecord, ChronoStore, Memory

FEW, MANY, MOST = sized(1_000, 20), sized(100_000, 60), 1_000_000
BATCH, BULK = sized(1_000, 20), sized(20_000, 40)
ROUNDS, WRITES = sized(9, 1), sized(600, 6)
RECORDS, RARE = sized(10_000, 40), sized(100, 4)
QUESTION = "who should deploy tomorrow?"

_AGENTS, _TURNS = ("planner", "writer", "critic"), 30
_COMMAND = "from tallystick.surfaces.cli import main; main()"  # what the installed script does
_OPEN = """
import sys
from tallystick import Memory
from tallystick.records.errors import NotFound
with Memory(sys.argv[1]) as memory:
    try:
        memory.show("nobody")
    except NotFound:
        pass
"""
_numbers = count()  # of what is written here, so that no text comes twice


# -- what is made ------------------------------------------------------------------------------------------------------


def observe(memory: Memory, first: int, last: int) -> None:
    """Tell these episodes, in batches."""
    for start in range(first, last, BATCH):
        with memory.batch():
            for number in range(start, min(start + BATCH, last)):
                memory.observe(said(number), session=f"session {number // _TURNS}", agent=_AGENTS[number % 3])


def made(folder: Path, episodes: int, *, words: bool) -> Path:
    """A memory of so many episodes, and their vectors. One that was made before is used as it is."""
    with Memory(folder) as memory:
        observe(memory, memory.status().episodes // BATCH * BATCH, episodes)
        if not words:
            memory.embed()
    return folder


def making(folder: Path) -> list[Row]:
    with Memory(folder) as memory:
        start = time.process_time()
        observe(memory, 0, BULK)
        took = time.process_time() - start
    bare = barely_made(folder.with_name("bare"), (folder / "events.wal").read_bytes().splitlines(keepends=True)[1:])
    return [stated(f"{BULK:,} episodes in batches of {BATCH:,}, each", per(took, BULK), per(bare, BULK), took / bare)]


def barely_made(folder: Path, lines: list[bytes]) -> float:
    """The same lines appended and synced, the same texts in full text and in a table by their digest; in batches."""
    folder.mkdir()
    texts = [orjson.loads(line)["data"]["body"]["episode"]["content"] for line in lines]
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as db, open(folder / "lines", "wb") as file:
        for statement in (
            "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "CREATE VIRTUAL TABLE words USING fts5(text)",
            "CREATE TABLE said (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID",
        ):  # fmt: skip
            db.execute(statement)
        start = time.process_time()
        for place in range(0, len(lines), BATCH):
            file.write(b"".join(lines[place : place + BATCH]))
            file.flush()
            os.fdatasync(file.fileno())
            db.execute("BEGIN IMMEDIATE")
            some = texts[place : place + BATCH]
            db.executemany("INSERT INTO words VALUES (?)", [(text,) for text in some])
            db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?)", [
                (sha256(text.encode()).hexdigest(), text) for text in some
            ])  # fmt: skip
            db.execute("COMMIT")
        return time.process_time() - start


# -- processes ---------------------------------------------------------------------------------------------------------


def started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.DEVNULL)


def worked(command: list[str]) -> float:
    """The processor's time that a process takes from its start to its end."""
    child = started(command)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command[1:])} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime


def resident(command: list[str]) -> int:
    """The most memory of its own that a process has, in KiB; mapped files apart."""
    most, child = 1, started(command)
    while child.poll() is None:
        with open(f"/proc/{child.pid}/status") as file:
            most = max([most, *(int(line.split()[1]) for line in file if line.startswith("RssAnon"))])
        time.sleep(0.001)
    return most


def commands(words: bool) -> dict[str, Callable[[Path], list[str]]]:
    """What a user types, each time with words that were not said before."""

    def command(name: str, given: Callable[[], list[str]]) -> Callable[[Path], list[str]]:
        return lambda folder: [_COMMAND, "-C", str(folder), name, *given()]

    observed, remembered = "Ana said that parcel {} has come.", "Ana keeps parcel {} in the shed."
    return {
        "opening, one read by key": lambda folder: [_OPEN, str(folder)],
        "observe": command("observe", lambda: [observed.format(f"{os.getpid()}-{next(_numbers)}")]),
        "remember": command("remember", lambda: [remembered.format(f"{os.getpid()}-{next(_numbers)}")]),
        "status": command("status", list),
        "recall --words": command("recall", lambda: ["--words", QUESTION]),
        **({} if words else {"recall": command("recall", lambda: [QUESTION])}),
    }


def starting(small: Path, large: Path, episodes: int, *, words: bool) -> Iterator[Row]:
    bare = {"recall --words": bare_words(large)}
    if not words:
        bare["recall"] = bare["recall --words"] + bare_vectors(large)
    for name, command in commands(words).items():
        for folder in () if TINY else (small, large):
            worked(command(folder))  # what the last one left to be done
        pairs = [(worked(command(large)), worked(command(small))) for _ in range(ROUNDS)]
        much, little = (min(times) for times in zip(*pairs, strict=True))
        besides = min(bare.get(name, 0.0), much)
        what = f"{name}, {episodes:,} to {FEW:,}" + (f", less bare search {besides * 1e3:.0f} ms" if besides else "")
        goal = 1.5 if name.startswith("opening") else 2.0
        yield at_most(what, f"{much * 1e3:.0f} ms", f"{little * 1e3:.0f} ms", (much - besides) / little, goal)
        if not Path("/proc/self/status").exists() or (TINY and name != "status"):
            continue
        much, little = (min(resident(command(folder)) for _ in range(sized(2, 1))) for folder in (large, small))
        yield at_most("  its memory", f"{much / 1024:.1f} MiB", f"{little / 1024:.1f} MiB", much / little, 1.5)


# -- the bare searches -------------------------------------------------------------------------------------------------


def quickest(work: Callable[[], object]) -> float:
    """In the processor's time."""
    times = []
    for _ in range(sized(5, 1)):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def bare_words(folder: Path) -> float:
    """One question to the same full text, ranked."""
    sql = "SELECT rowid, rank FROM index_texts WHERE index_texts MATCH ? ORDER BY rank LIMIT 100"
    asked = " OR ".join(f'"{word}"' for word in QUESTION.rstrip("?").split())
    with closing(sqlite3.connect(folder / "state.db")) as db:
        return quickest(lambda: db.execute(sql, (asked,)).fetchall())


def bare_vectors(folder: Path) -> float:
    """One product of all vectors, and the best hundred of it."""
    files = sorted((folder / "vectors").glob("*/*.f32"), key=lambda path: path.stat().st_size)
    rows = files[-1].with_suffix(".rows").stat().st_size // 16 if files else 0
    if not rows:
        return 0.0
    matrix = np.memmap(files[-1], dtype="<f4", mode="r").reshape(rows, -1)
    return quickest(lambda: np.argpartition(matrix @ matrix[0], -min(100, rows))[-100:])


# -- one write after another, and records ------------------------------------------------------------------------------


def writing(folder: Path, episodes: int) -> list[Row]:
    """Every write by itself. The wall clock sees the disk, and whoever else uses this machine."""
    walls, works = [], []
    with Memory(folder) as memory:
        for number in range(WRITES):
            text = said(10**8 + 1000 * os.getpid() + next(_numbers))
            wall, work = time.perf_counter(), time.process_time()
            memory.remember(text) if number % 2 else memory.observe(text)
            walls.append(time.perf_counter() - wall)
            works.append(time.process_time() - work)
    rows = []
    for name, times in (("in the processor's time", works), ("by the wall clock", walls)):
        times, first = times[2:], times[:2]  # the first two open what is needed
        worst, middle = max(times), statistics.median(times)
        what = f"the worst of {WRITES} writes at {episodes:,}, {name}, no. {times.index(worst) + 2}"
        rows.append(at_most(what, per(worst, 1), per(middle, 1), worst / middle, 10))
        rows.append(stated("  the first", per(max(first), 1)))
    return rows


def records(folder: Path) -> list[Row]:
    with ChronoStore(folder) as store:
        with store.folder.ledger.batch():
            for number in range(RECORDS):
                kind = "rare" if number % (RECORDS // RARE) == 0 else "fact"
                store.upsert(ChronoRecord(id=f"R-{number}", kind=kind, label=said(number)))
        every = store.query()
        all_of, some_of = len(every), len(store.query(kind="rare"))
        assert (all_of, some_of) == (RECORDS, RARE)
        whole, copied = quickest(store.query), quickest(lambda: [copy.copy(record) for record in every])
        few = quickest(lambda: [store.query(kind="rare") for _ in range(10)]) / 10
        kept = quickest(lambda: [[each for each in every if each.kind == "rare"] for _ in range(10)]) / 10
    return [
        at_most(f"query of {all_of:,} records, to copying them", per(whole, 1), per(copied, 1), whole / copied, 20),
        at_most(f"  {some_of} of them, to filtering the list", per(few, 1), per(kept, 1), few / kept, 3),
    ]


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--episodes", type=int, default=MANY, help="of the large memory")
    options.add_argument("--full", action="store_true", help="a million episodes, which takes a good while to make")
    options.add_argument("--words", action="store_true", help="without vectors")
    options.add_argument("--folder", type=Path, default=None, help="where to keep what is made")
    chosen = options.parse_args()
    episodes = MOST if chosen.full else chosen.episodes
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        if not chosen.tiny:
            os.environ["PYTHONPYCACHEPREFIX"] = str(scratch / "compiled")
        home = chosen.folder or scratch
        small, large = (made(home / f"episodes-{size}", size, words=chosen.words) for size in (FEW, episodes))
        rows = list(starting(small, large, episodes, words=chosen.words))
        rows += writing(large, episodes)
        rows += records(scratch / "records") + making(scratch / "made")
    report(rows)


if __name__ == "__main__":
    main()
