"""What episodes and facts cost, against a plain `sqlite3` table on one connection, in one run.

    python bench/episodes.py [--episodes 100000] [--facts 20000] [--full] [--folder FOLDER]

Ana's episodes are spread over sessions of thirty turns and three agents. Bob's are made to hurt: one session has all of
them, they all happened at one moment, and one agent told only the ten oldest. Each of the two has `--episodes`; in a
memory, 20,000 at most.

The plain table is the documented one, with its key and its index, and the rows that it is given are made beforehand.
Ours and the plain thing are measured in turns. `--full` is a million episodes in the stand-alone store and 50,000
facts. With `--folder` the episodes that were made stay there, and are found again the next time.

Not measured here: other processes at the same file, slow extractors, columns that plans added.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from index_data import text
from measure import Row, at_least, at_most, in_turns, options_of, per, report, seconds, sized, stated

from tallystick import Memory
from tallystick.consolidate.classify import Deltas, classify
from tallystick.consolidate.english import EnglishExtractor
from tallystick.consolidate.filter import Row as Seen, parse
from tallystick.records.delta import Delta
from tallystick.records.episode import Episode, Scope
from tallystick.records.rule import ConsolidationRule
from tallystick.stores.memorystore import memory_store as sqlite_episodes
from tallystick.stores.memorystore.fact_store import SQLiteFactStore
from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore
from tallystick.stores.sqlite_file import PRAGMAS

FEW, MANY, MOST = sized(1_000, 10), sized(100_000, 120), 1_000_000
OVER_LEDGER = sized(20_000, 40)  # at most; of each of two users
FACTS, MORE_FACTS = sized(20_000, 20), 50_000
PUTS, ROUNDS = sized(50, 3), 21
ASKED, LIMIT = sized(40, 2), 10
SUBJECTS = sized(500, 5)
TURNS, TOLD_AGAIN = sized(10, 2), sized(300, 20)
READ = sized(10_000, 20)

FILTER = "timestamp >= '2026-01-01T00:30:00Z' AND metadata.intent != 'noop' AND content LIKE '%deploy%'"
PLAIN_FILTER = (  # the same by hand
    "timestamp >= '2026-01-01T00:30:00.000000Z' AND json_extract(CAST(metadata AS TEXT), '$.intent') != 'noop' "
    "AND json_extract(CAST(content AS TEXT), '$.content') LIKE '%deploy%'"
)
ALL, TYPICAL = ConsolidationRule(id="all"), ConsolidationRule(id="typical", when_filter=FILTER)

_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_NOW = datetime(2026, 6, 1, tzinfo=UTC)
_TURNS, _AGENTS, _RARE = 30, ("planner", "writer", "critic"), 10
_CLAIMS = (
    "I work at {}.", "I moved to {} last week.", "My sister Eva likes {}.", "I don't like {} any more.",
    "We should deploy {} tomorrow.", "Is {} still open?", "Not {} but Rome is where I live.", "I prefer {} to tea.",
)  # fmt: skip
_PLAIN_TABLE = (
    "CREATE TABLE episodes (id TEXT PRIMARY KEY, scope_key TEXT NOT NULL, content BLOB NOT NULL, "
    "timestamp TEXT NOT NULL, metadata BLOB NOT NULL)",
    "CREATE INDEX idx_episodes_scope_ts ON episodes(scope_key, timestamp DESC)",
)
_PLAIN_ROWS = "SELECT id, scope_key, content, timestamp, metadata FROM episodes"
_PLAIN_PUT = "INSERT INTO episodes VALUES (?, ?, ?, ?, ?)"

_loop = asyncio.Runner()


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    return _loop.run(work)


# -- what is told ----------------------------------------------------------------------------------------------------


def said(number: int) -> str:
    """A dozen words that claim nothing, and a sentence that may."""
    name = text(number * 31 + 7).split()[1].capitalize()
    return f"{text(number)} {_CLAIMS[number % len(_CLAIMS)].format(name)}"


def metadata(number: int, subjects: int) -> dict[str, Any]:
    """One in ten is marked as nothing new; the others say something of one of so many subjects."""
    if number % 10 == 0:
        return {"intent": "noop", "turn": number % _TURNS}
    claim = {"subject": f"person {number % subjects}", "predicate": "works_at", "object": f"company {number % 97}"}
    return {"intent": "add", "turn": number % _TURNS, **claim}


def of_ana(number: int, subjects: int = SUBJECTS) -> Episode:
    return Episode(
        id=f"ana-{number}", content=said(number), timestamp=_BEGUN + timedelta(minutes=number), user="Ana",
        session=f"session {number // _TURNS}", agent=_AGENTS[number % 3], metadata=metadata(number, subjects),
    )  # fmt: skip


def of_bob(number: int) -> Episode:
    agent = "rare" if number < _RARE else "busy"
    return Episode(
        id=f"bob-{number}", content=said(number), timestamp=_BEGUN, user="Bob", session="all", agent=agent,
        metadata=metadata(number, SUBJECTS),
    )  # fmt: skip


def of_both(count: int) -> Iterator[Episode]:
    for number in range(count):
        yield of_ana(number)
        yield of_bob(number)


Where = tuple[str, str | None, str | None]

WIDTHS: dict[str, Where] = {
    "user": ("Ana", None, None),
    "user, session": ("Ana", "session 5", None),
    "user, agent": ("Ana", None, "planner"),
    "user, session, agent": ("Ana", "session 5", "planner"),
    "user, of one moment": ("Bob", None, None),
    "user, a session that has all": ("Bob", "all", None),
    "user, a rare agent": ("Bob", None, "rare"),
    "user, all, a rare agent": ("Bob", "all", "rare"),
}


# -- where it is kept ------------------------------------------------------------------------------------------------


def written(episode: Episode) -> sqlite_episodes.Row:
    return sqlite_episodes.Row.of(episode, Scope(episode.user, episode.session, episode.agent))


@contextmanager
def store_at(path: Path) -> Iterator[SQLiteMemoryStore]:
    store = SQLiteMemoryStore(path)
    wait(store.bootstrap())
    try:
        yield store
    finally:
        wait(store.close())


def stored(path: Path, episodes: Iterator[Episode]) -> Path:
    """A stand-alone file with these episodes, put in one transaction. One that was made before is taken as it is."""
    done = path.with_suffix(".made")
    if not done.exists():
        with store_at(path), closing(connected(path)) as conn:
            conn.execute("BEGIN")
            for episode in episodes:
                sqlite_episodes.insert(conn, written(episode), ())
            conn.execute("COMMIT")
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        done.touch()
    return path


def told(folder: Path, episodes: Iterator[Episode]) -> Path:
    """A memory with these episodes. One that was made before is taken as it is."""
    done = folder.with_suffix(".made")
    if not done.exists():
        with Memory(folder) as memory:
            while some := list(islice(episodes, 1000)):
                tell(memory, some)
        done.touch()
    return folder


def tell(memory: Memory, episodes: list[Episode]) -> None:
    with memory.batch():
        for each in episodes:
            memory.episodes.put(each, user=each.user, session=each.session, agent=each.agent)


def connected(path: Path, *statements: str) -> sqlite3.Connection:
    """A plain connection, with the pragmas that the store sets."""
    conn = sqlite3.connect(path, isolation_level=None)
    for statement in (*PRAGMAS, *statements):
        conn.execute(statement)
    return conn


def plain_table(path: Path) -> sqlite3.Connection:
    return connected(path, *_PLAIN_TABLE)


def load(plain: sqlite3.Connection, episodes: Iterator[Episode]) -> None:
    plain.execute("BEGIN")
    plain.executemany(_PLAIN_PUT, (written(each)[:5] for each in episodes))
    plain.execute("COMMIT")


# -- putting ---------------------------------------------------------------------------------------------------------


def putting(scratch: Path) -> list[Row]:
    """One episode at a time, committed and synced each, by both in the same way. The plain rows are made beforehand."""
    numbers = iter(range(10**9))
    with store_at(scratch / "put.db") as store:
        return [_to_the_plain_insert(store, scratch / "plain.db", numbers), _ledger_to(store, scratch / "put", numbers)]


def rounds(numbers: Iterator[int]) -> list[list[Episode]]:
    """Episodes that were not told before, for each round."""
    return [[of_ana(number) for number in islice(numbers, PUTS)] for _ in range(ROUNDS)]


def _to_the_plain_insert(store: SQLiteMemoryStore, path: Path, numbers: Iterator[int]) -> Row:
    ours, theirs = rounds(numbers), [[written(each)[:5] for each in some] for some in rounds(numbers)]
    with closing(plain_table(path)) as plain:
        mine, raw, ratio = in_turns(
            lambda: wait(put_all(store, ours.pop())), lambda: [plain.execute(_PLAIN_PUT, row) for row in theirs.pop()],
            ROUNDS,
        )  # fmt: skip
    return at_least("put, stand-alone, to the plain insert", per(mine, PUTS), per(raw, PUTS), ratio, 0.3)


def _ledger_to(store: SQLiteMemoryStore, folder: Path, numbers: Iterator[int]) -> Row:
    ours, theirs = rounds(numbers), rounds(numbers)
    with Memory(folder) as memory:
        tell(memory, [of_bob(number) for number in range(FEW)])
        mine, raw, ratio = in_turns(
            lambda: put_each(memory, ours.pop()), lambda: wait(put_all(store, theirs.pop())), ROUNDS
        )  # fmt: skip
    return stated("  put over the ledger, to the stand-alone", per(mine, PUTS), per(raw, PUTS), ratio)


async def put_all(store: SQLiteMemoryStore, episodes: list[Episode]) -> None:
    for each in episodes:
        await store.put(each, user=each.user, session=each.session, agent=each.agent)


def put_each(memory: Memory, episodes: list[Episode]) -> None:
    for each in episodes:
        memory.episodes.put(each, user=each.user, session=each.session, agent=each.agent)


# -- the newest ------------------------------------------------------------------------------------------------------

Asking = Callable[[Where, int], object]  # so many times


def newest(what: str, many: Asking, few: Asking, count: int) -> list[Row]:
    """The ten newest of many, to the ten newest of few, for every width."""
    rows = [stated(f"recent of {count:,}, to {FEW:,}, {what}", "")]
    for width, scope in WIDTHS.items():
        mine, raw, ratio = in_turns(lambda scope=scope: many(scope, ASKED), lambda scope=scope: few(scope, ASKED), 15)
        rows.append(at_most(f"  by {width}", per(mine, ASKED), per(raw, ASKED), 1 / ratio, 2))
    return rows


def newest_alone(large: Path, small: Path, count: int) -> list[Row]:
    """The thread that the store works on is part of it; the plain select has none."""
    with store_at(large) as many, store_at(small) as few, closing(connected(large)) as conn:
        rows = newest("stand-alone", asking(many), asking(few), count)
        scope = WIDTHS["user, session, agent"]
        sql = f"{_PLAIN_ROWS} WHERE scope_key = ? ORDER BY timestamp DESC LIMIT 10"
        key = Scope(*map(str, scope)).key
        mine, raw, ratio = in_turns(
            lambda: asking(many)(scope, ASKED), lambda: [decoded(conn, sql, key) for _ in range(ASKED)], 15
        )  # fmt: skip
    return [*rows, stated("  the fourth, to the plain select and decode", per(mine, ASKED), per(raw, ASKED), 1 / ratio)]


def asking(store: SQLiteMemoryStore) -> Asking:
    async def ask(scope: Where, times: int) -> None:
        for _ in range(times):
            await store.recent(*scope, limit=LIMIT)

    return lambda scope, times: wait(ask(scope, times))


def newest_told(large: Path, small: Path, count: int) -> list[Row]:
    def asking(memory: Memory) -> Asking:
        return lambda scope, times: [memory.episodes.recent(*scope, limit=LIMIT) for _ in range(times)]

    with Memory(large) as many, Memory(small) as few:
        return newest("over the ledger", asking(many), asking(few), count)


# -- consolidating ---------------------------------------------------------------------------------------------------


def decoded(conn: sqlite3.Connection, sql: str, *values: object) -> int:
    """How many rows there were. Each is decoded, both its JSON and its time, and let go."""
    count = 0
    for _, _, content, timestamp, metadata in conn.execute(sql, values):
        orjson.loads(content)
        orjson.loads(metadata)
        datetime.fromisoformat(timestamp)
        count += 1
    return count


def worked(work: Callable[[], object]) -> float:
    """In the processor's time, of all threads: a second of work is long, and others work here too."""
    start = time.process_time()
    work()
    return time.process_time() - start


def consolidating(path: Path, count: int) -> list[Row]:
    """Deltas of all that fits, to a loop over a plain connection that selects and decodes the same rows.

    The plain loop lets go of each row; `consolidate` returns all of its deltas, and Python's collector looks at them
    again and again. `stream` lets go of them too.
    """
    rows = []
    with store_at(path) as store, closing(connected(path)) as conn:
        for rule, where in ((ALL, "1"), (TYPICAL, PLAIN_FILTER)):
            sql = f"{_PLAIN_ROWS} WHERE {where} ORDER BY timestamp, rowid"
            fitting = decoded(conn, sql)
            assert fitting == len(wait(store.consolidate(rule)))
            ways = {"consolidate": lambda rule=rule: wait(store.consolidate(rule)),
                    "stream": lambda rule=rule: wait(drained(store, rule))}  # fmt: skip
            for name, ours in ways.items():
                pairs = [(worked(ours), worked(lambda sql=sql: decoded(conn, sql))) for _ in range(sized(5, 1))]
                mine, raw = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
                ratio = statistics.median(raw / mine for mine, raw in pairs)
                what = f"{name}, {rule.id}: {fitting:,} of {count:,}"
                rows.append(at_least(what, per(mine, fitting), per(raw, fitting), ratio, 0.3))
    return rows


async def drained(store: SQLiteMemoryStore, rule: ConsolidationRule) -> int:
    count = 0
    async for _ in store.stream(rule):
        count += 1
    return count


def remembering(paths: dict[int, Path], own: Path) -> list[Row]:
    """By how much more a process grows at its most, when it streams the larger file: to what the difference weighs.

    A stream that kept its rows would have a ratio above 1. SQLite's cache is 8 MB, and a part of it. What is kept is an
    entry for each subject and predicate: `own` has as many episodes as the smaller file, each with its own subject.
    """
    (few, small), (many, large) = sorted(paths.items())
    weight, rows = large.stat().st_size - small.stat().st_size, []
    for rule in (TYPICAL, ALL)[-sized(2, 1) :]:
        least, peak = grown(small, rule), grown(large, rule)
        more = peak - least
        what = f"memory of stream, {rule.id}: {many - few:,} more, to their size"
        rows.append(at_most(what, in_mb(more), in_mb(weight), max(more, 0) / weight, 0.1))
        rows.append(stated("  at its most, of all", in_mb(peak), in_mb(large.stat().st_size)))
    each = max(grown(own, ALL) - least, 0) / (few - SUBJECTS)
    return [*rows, stated("  for each further subject", f"{each:,.0f} B")]


def in_mb(count: float) -> str:
    return f"{count / 2**20:,.1f} MB"


def grown(path: Path, rule: ConsolidationRule) -> float:
    """The middle of three processes."""
    command = [sys.executable, __file__, "--stream", str(path), rule.id]
    return statistics.median(int(subprocess.check_output(command)) for _ in range(sized(3, 1)))


def stream(path: Path, rule: ConsolidationRule) -> None:
    """Stream it, and print by how many bytes the process grew at its most."""
    with store_at(path) as store:
        wait(store.recent("Ana", limit=1))
        wait(drained(store, ConsolidationRule(id="none", when_filter="id = ''")))  # all that is imported later is here
        Path("/proc/self/clear_refs").write_text("5")  # what was its most so far is forgotten
        before = status("VmRSS")
        wait(drained(store, rule))
        print(status("VmHWM") - before)


def status(name: str) -> int:
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(lines[name].split()[0]) * 1024


def consolidating_told(folder: Path, count: int) -> list[Row]:
    """Over the ledger: what is proposed, and what is applied, recorded and indexed; to the same plain loop."""
    episodes = [of_ana(number) for number in range(count)]
    told(folder / "told", iter(episodes))
    with Memory(folder / "told", user="Ana") as memory, closing(plain_table(folder / "loop.db")) as conn:
        load(conn, iter(episodes))
        sql = f"{_PLAIN_ROWS} ORDER BY timestamp, rowid"
        mine, raw, ratio = in_turns(lambda: memory.episodes.consolidate(ALL), lambda: decoded(conn, sql), 5)
        applied, plain = seconds(lambda: memory.consolidate(ALL)), seconds(lambda: decoded(conn, sql))
        again = seconds(lambda: memory.consolidate(ALL, since_last=False))
        return [
            stated(f"m.episodes.consolidate of {count:,}", per(mine, count), per(raw, count), ratio),
            stated(f"m.consolidate of {count:,}", per(applied, count), per(plain, count), plain / applied),
            stated("  again, of everything", per(again, count), per(plain, count), plain / again),
        ]


# -- applying --------------------------------------------------------------------------------------------------------


class Applying(Protocol):
    """Something that facts are made in."""

    def grow(self, count: int) -> None: ...

    def prepare(self, count: int) -> None: ...

    def apply(self) -> None:
        """What was prepared last."""

    def close(self) -> None: ...


Claim = Callable[[int], tuple[str, str]]  # a subject, and an object


def many_facts(number: int) -> tuple[str, str]:
    """Every second one takes the place of the one before it."""
    return f"person {number // 2}", f"company {number}"


def said_again(_: int) -> tuple[str, str]:
    return "Eva", "Acme"


def said_otherwise(number: int) -> tuple[str, str]:
    return "Eva", f"company {number}"


def of_facts(claim: Claim, numbers: Iterator[int], count: int) -> list[Episode]:
    found = []
    for number in islice(numbers, count):
        subject, value = claim(number)
        found.append(Episode(
            id=f"e{number}", content=f"{subject} works at {value}.", user="Ana", session=f"session {number // _TURNS}",
            agent="planner", timestamp=_BEGUN + timedelta(minutes=number),
            metadata={"subject": subject, "predicate": "works_at", "object": value},
        ))  # fmt: skip
    return found


class Alone:
    """`SQLiteFactStore.apply_delta`: a transaction each, synced."""

    def __init__(self, path: Path, claim: Claim) -> None:
        self._store, self._claim = SQLiteFactStore(path.with_suffix(".db")), claim
        self._numbers, self._deltas = iter(range(10**9)), list[Delta]()
        wait(self._store.bootstrap())

    def grow(self, count: int) -> None:
        self.prepare(count)
        self.apply()

    def prepare(self, count: int) -> None:
        self._deltas = Deltas(classify(ALL, of_facts(self._claim, self._numbers, count), now=_NOW))

    def apply(self) -> None:
        async def one_by_one() -> None:
            for delta in self._deltas:
                await self._store.apply_delta(delta)

        wait(one_by_one())

    def close(self) -> None:
        wait(self._store.close())


class Portions:
    """`m.consolidate`: the ledger and the index, hundreds at a time."""

    def __init__(self, path: Path, claim: Claim) -> None:
        self.memory, self._claim, self._numbers = Memory(path, user="Ana"), claim, iter(range(10**9))

    def grow(self, count: int) -> None:
        self.prepare(count)
        self.memory.consolidate(ALL)

    def prepare(self, count: int) -> None:
        tell(self.memory, of_facts(self._claim, self._numbers, count))

    def apply(self) -> None:
        self.memory.consolidate(ALL)

    def close(self) -> None:
        self.memory.close()


class Singly(Portions):
    """`m.facts.apply_delta`: the ledger and the index, synced each."""

    def prepare(self, count: int) -> None:
        episodes = of_facts(self._claim, self._numbers, count)
        tell(self.memory, episodes)
        self._deltas = Deltas(classify(ALL, episodes, now=_NOW))

    def apply(self) -> None:
        for delta in self._deltas:
            self.memory.facts.apply_delta(delta)


def growing(what: str, make: Callable[[Path, Claim], Applying], claim: Claim, scratch: Path, count: int) -> Row:
    """The last tenth of so many, to the second: one has nine tenths already and another has one, in turns."""
    late, early = (make(scratch / f"{make.__name__}-{claim.__name__}-{when}", claim) for when in ("late", "early"))
    late.grow(count * 9 // 10)
    early.grow(count // 10)
    each, pairs = count // 10 // TURNS, []
    for _ in range(TURNS):
        late.prepare(each)
        early.prepare(each)
        pairs.append((seconds(late.apply), seconds(early.apply)))
    late.close()
    early.close()
    ratio = statistics.median(raw / mine for mine, raw in pairs)
    mine, raw = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return at_least(f"{what}: last tenth of {count:,}, to the second", per(mine, each), per(raw, each), ratio, 0.8)


def applying(scratch: Path, count: int) -> list[Row]:
    """Facts of many, and one fact of which something is told again and again."""
    rows = []
    for what, make in (("apply_delta", Alone), ("m.facts.apply_delta", Singly), ("m.consolidate", Portions)):
        rows.append(growing(what, make, many_facts, scratch, count))
        rows.append(growing("  one fact, told anew", make, said_otherwise, scratch, TOLD_AGAIN))
        rows.append(growing("  one fact, told again", make, said_again, scratch, TOLD_AGAIN))
    return rows


# -- stated ----------------------------------------------------------------------------------------------------------


def reading(count: int = READ) -> list[Row]:
    """A filter that is compiled, over rows that are at hand; and the extractor, over episodes that are."""
    episodes = [of_ana(number) for number in range(count)]
    rows = [Seen(each.id, "", each.content, each.timestamp, each.metadata, {}) for each in episodes]
    fits = parse(FILTER).fits
    fit = statistics.median(seconds(lambda: [fits(row) for row in rows]) for _ in range(5))
    read = EnglishExtractor().extract
    few = episodes[: READ // 10]
    extract = statistics.median(seconds(lambda: [read(each) for each in few]) for _ in range(3))
    parsing = statistics.median(seconds(lambda: parse(FILTER)) for _ in range(50))
    return [
        stated("a filter fits an episode", per(fit, count), f"{count / fit:,.0f}/s"),
        stated("a filter is read", per(parsing, 1)),
        stated("the English extractor reads an episode", per(extract, len(few)), f"{len(few) / extract:,.0f}/s"),
    ]


def sizes(alone: Path, folder: Path, scratch: Path, count: int, held: int) -> list[Row]:
    """On disk, with two users of `count` episodes each."""
    with closing(plain_table(scratch / "size.db")) as plain:
        load(plain, of_both(FEW))
    bare = (scratch / "size.db").stat().st_size / (2 * FEW)
    ours = alone.stat().st_size / (2 * count)
    index = (folder / "state.db").stat().st_size / (2 * held)
    whole = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / (2 * held)
    return [
        stated("bytes per episode, stand-alone, to the plain table", f"{ours:,.0f} B", f"{bare:,.0f} B", ours / bare),
        stated("  the memory folder, and its index alone", f"{whole:,.0f} B", f"{index:,.0f} B"),
    ]


def measured(folder: Path, scratch: Path, episodes: int, facts: int) -> Iterator[list[Row]]:
    """A part of the table at a time; what needs a small process, first."""
    held, recorded = min(episodes, MANY), min(episodes, OVER_LEDGER)  # what is streamed, and what a memory has
    alone = {count: stored(folder / f"alone-{count}.db", of_both(count)) for count in (FEW, episodes)}
    streamed = {count: stored(folder / f"ana-{count}.db", map(of_ana, range(count))) for count in (held // 10, held)}
    own = stored(folder / f"own-{held // 10}.db", (of_ana(number, 10**9) for number in range(held // 10)))
    yield putting(scratch)
    yield newest_alone(alone[episodes], alone[FEW], episodes)
    yield consolidating(streamed[held], held)
    yield remembering(streamed, own)
    yield applying(scratch, facts)
    yield consolidating_told(scratch, held // 20)
    ledger = {count: told(folder / f"told-{count}", of_both(count)) for count in (FEW, recorded)}
    yield newest_told(ledger[recorded], ledger[FEW], recorded)
    yield reading()
    yield sizes(alone[episodes], ledger[recorded], scratch, episodes, recorded)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--episodes", type=int, default=MANY, help="of each of two users")
    options.add_argument("--facts", type=int, default=FACTS)
    options.add_argument("--full", action="store_true", help="a million episodes, which takes minutes to make")
    options.add_argument("--folder", type=Path, default=None, help="where to keep what is made")
    options.add_argument("--stream", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.stream:
        stream(Path(chosen.stream[0]), {"all": ALL, "typical": TYPICAL}[chosen.stream[1]])
        return
    episodes, facts = (MOST, MORE_FACTS) if chosen.full else (chosen.episodes, chosen.facts)
    rows = list[Row]()
    with tempfile.TemporaryDirectory() as scratch:
        for some in measured(chosen.folder or Path(scratch), Path(scratch), episodes, facts):
            rows += some
    report(rows)


if __name__ == "__main__":
    main()
