"""How fast recall is, against the bare searches under it, in one run.

    python bench/recall.py [--sizes 1000,20000] [--full] [--questions 200] [--folder FOLDER]

One user's conversations in sessions of thirty turns between two people, and beliefs beside them, one in twenty. The
bare thing is full text asked for the words that say something over a plain connection to the same file, and as many
vectors of the same texts, each compared with the question's; what recall does beside the two is what is measured. Both
are asked in turns, question by question, in a process that has answered others before, but not these. `--full` goes on
to a million blocks, where recall does not compare each vector and the bare thing does. With `--folder` what was made
stays there, and is found again the next time.

Not measured here: writing, many users, slow embedders, other processes at the same folder.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import TINY, Row, at_most, options_of, per, report, seconds, sized, stated

from tallystick import Memory
from tallystick.models.registry import choose
from tallystick.text.recall_words import STOP

SIZES = (60,) if TINY else (1_000, 20_000)
MOST = 1_000_000
QUESTIONS, WARMING, AFTER_A_WRITE = sized(200, 4), sized(40, 2), sized(30, 2)
FRESH = sized(3, 1)  # processes
TOP = 100
BARE_TEXT = "SELECT rowid, rank FROM index_texts WHERE index_texts MATCH ? ORDER BY rank LIMIT 100"

_TURNS, _BELIEF = 30, 20
_SAID_AT_ONCE = 2_000
_BEGUN = datetime(2024, 1, 1, 8, tzinfo=UTC)
_ONSETS = ("b", "br", "c", "ch", "d", "f", "g", "gr", "h", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "w")
_RIMES = ("a", "an", "ar", "e", "ea", "el", "en", "i", "in", "o", "on", "or", "ou", "u", "un")
_ENDINGS = ("", "ed", "er", "ing", "ment", "s", "tion", "y")
_KINDS = sized(30_000, 500)


# -- what is remembered ----------------------------------------------------------------------------------------------


def _vocabulary() -> list[str]:
    """Words of two or three syllables with the endings that English has, no two alike."""
    draw, found = random.Random(11), dict[str, None]()
    while len(found) < _KINDS:
        stems = [draw.choice(_ONSETS) + draw.choice(_RIMES) for _ in range(draw.choice((2, 2, 3)))]
        found["".join(stems) + draw.choice(_ENDINGS)] = None
    return list(found)


class Speech:
    """Texts in which, as in speech, few words are said often: nearly half of them say nothing, the rest follow Zipf."""

    def __init__(self) -> None:
        self._words, self._small = _vocabulary(), sorted(word for word in STOP if "'" not in word)
        self._sums = list(accumulate(1 / (rank + 3) for rank in range(_KINDS)))

    def text(self, number: int) -> str:
        """What is said as number `number`: 8 to 30 words."""
        draw = random.Random(number)
        words = [self._word(draw) for _ in range(draw.randint(8, 30))]
        return " ".join(words).capitalize() + ("?" if number % 7 == 0 else ".")

    def _word(self, draw: random.Random) -> str:
        if draw.random() < 0.45:
            return self._small[int(len(self._small) * draw.random() ** 3)]
        return self._words[bisect(self._sums, draw.random() * self._sums[-1])]

    def question(self, number: int) -> str:
        """6 to 12 words of what was said as number `number`, in another order."""
        draw, words = random.Random(-number - 1), self.text(number)[:-1].lower().split()
        return " ".join(draw.sample(words, min(len(words), draw.randint(6, 12)))) + "?"


def fill(memory: Memory, speech: Speech, count: int) -> None:
    """Say `count` things; the vectors are made in one go afterwards."""
    for start in range(0, count, _SAID_AT_ONCE):
        with memory.batch():
            for number in range(start, min(start + _SAID_AT_ONCE, count)):
                say(memory, speech, number)
    memory.embed()


def say(memory: Memory, speech: Speech, number: int) -> None:
    text = speech.text(number)
    if number % _BELIEF == 0:
        memory.remember(text)
        return
    when = _BEGUN + timedelta(minutes=number)
    memory.observe(text, session=session_of(number), agent=("Ana", "Bob")[number % 2], at=when)


def session_of(number: int) -> str:
    return f"session {number // _TURNS}"


def made(folder: Path, speech: Speech, count: int) -> Path:
    """The folder with `count` blocks in it; one that was made before is taken as it is."""
    home, done = folder / str(count), folder / f"{count}.made"
    if not done.exists():
        with Memory(home) as memory:
            fill(memory, speech, count)
        done.touch()
    return home


# -- the bare searches -----------------------------------------------------------------------------------------------


class Bare:
    """Full text over a plain connection, and a matrix with a vector for each text."""

    def __init__(self, folder: Path, speech: Speech, count: int) -> None:
        embedder = choose()
        if embedder is None:
            sys.exit("this bench needs the embedder that comes with tallystick: pip install wordllama")
        self._embed = embedder.embed
        self._matrix = np.concatenate([
            self._embed([speech.text(number) for number in range(start, min(start + _SAID_AT_ONCE, count))])
            for start in range(0, count, _SAID_AT_ONCE)
        ])  # fmt: skip
        self._db = sqlite3.connect(folder / "state.db")
        self._db.execute("PRAGMA cache_size=-32000")

    def close(self) -> None:
        self._db.close()

    def prepared(self, question: str) -> tuple[str, np.ndarray]:
        """The words that say something, as full text reads them, and the question's vector."""
        words = [word for word in question.rstrip("?").split() if word not in STOP]
        return " OR ".join(f'"{word}"' for word in words) or '""', self._embed([question])[0]

    def text(self, match: str) -> object:
        return self._db.execute(BARE_TEXT, (match,)).fetchall()

    def near(self, vector: np.ndarray) -> object:
        near = self._matrix @ vector
        return np.argpartition(near, max(len(near) - TOP, 0))[-TOP:]


@dataclass(frozen=True)
class Times:
    """The same things measured again and again."""

    each: list[float]

    @classmethod
    def of(cls, work: Callable[[str], object], questions: list[str]) -> Times:
        return cls([seconds(lambda each=each: work(each)) for each in questions])

    def at(self, share: float) -> str:
        return per(sorted(self.each)[int(share * (len(self.each) - 1))], 1)

    def row(self, what: str) -> Row:
        return stated(f"  {what}: p50, p95", self.at(0.5), self.at(0.95))


# -- measuring -------------------------------------------------------------------------------------------------------


def questions_of(speech: Speech, count: int) -> Iterator[str]:
    """Questions about texts here and there, the same in every run."""
    draw = random.Random(count)
    while True:
        yield speech.question(draw.randrange(count))


def measured(home: Path, speech: Speech, count: int, questions: int) -> list[Row]:
    ask = questions_of(speech, count)

    def some(number: int) -> list[str]:
        return [next(ask) for _ in range(number)]

    with Memory(home) as memory:
        Times.of(lambda each: memory.recall(each, k=10), some(WARMING))
        with closing(Bare(home, speech, count)) as bare:
            rows = [*against_bare(memory, bare, some(questions), count), *frames(memory, some(questions), count)]
        rows += [
            Times.of(lambda each: memory.recall(each, k=10, words=True), some(questions)).row("recall by words"),
            in_a_session(memory, some(questions), count),
        ]  # fmt: skip
    rows.append(after_a_write(home, some(AFTER_A_WRITE)))
    return [*rows, *in_a_fresh_process(home, some(2), count), on_disk(home, count)]


def against_bare(memory: Memory, bare: Bare, questions: list[str], count: int) -> list[Row]:
    """Who goes first changes from question to question: the first one warms what both read."""
    whole, text, near = [], [], []
    for place, question in enumerate(questions):
        if place % 2:
            whole.append(seconds(lambda question=question: memory.recall(question, k=10)))
        match, vector = bare.prepared(question)
        text.append(seconds(lambda match=match: bare.text(match)))
        near.append(seconds(lambda vector=vector: bare.near(vector)))
        if not place % 2:
            whole.append(seconds(lambda question=question: memory.recall(question, k=10)))
    both = [one + other for one, other in zip(text, near, strict=True)]
    ratio = statistics.median(mine / raw for mine, raw in zip(whole, both, strict=True))
    again = Times.of(lambda each: memory.recall(each, k=10), questions)
    middle, mean = Times(whole).at(0.5), (per(sum(whole), len(whole)), per(sum(both), len(both)))
    return [
        at_most(f"recall of {count:,} blocks, to both bare searches", middle, Times(both).at(0.5), ratio, 2),
        stated("  the mean over all questions", *mean, sum(whole) / sum(both)),
        Times(whole).row("recall"), again.row("recall of what was asked before"),
        Times(text).row("the bare search of full text"), Times(near).row("the bare search of vectors"),
    ]  # fmt: skip


def frames(memory: Memory, questions: list[str], count: int) -> list[Row]:
    """A frame, to recall that weighs as it does. Each question is put once before either is measured."""
    framed, recalled = [], []
    for place, question in enumerate(questions):
        ways = [
            (framed, lambda question=question: memory.frame("attention", question)),
            (recalled, lambda question=question: memory.recall(question, frame="attention")),
        ]
        ways[place % 2][1]()
        for times, work in ways[:: 1 if place % 2 else -1]:
            times.append(seconds(work))
    ratio = statistics.median(mine / raw for mine, raw in zip(framed, recalled, strict=True))
    first, other = Times(framed), Times(recalled)
    return [
        at_most(f"a frame of {count:,} blocks, to its recall", first.at(0.5), other.at(0.5), ratio, 1.5),
        first.row("a frame"),
    ]


def in_a_session(memory: Memory, questions: list[str], count: int) -> Row:
    draw = random.Random(5)
    return Times.of(
        lambda each: memory.recall(each, k=10, session=session_of(draw.randrange(count))), questions
    ).row("recall in one session")  # fmt: skip


def after_a_write(home: Path, questions: list[str]) -> Row:
    """Whatever was kept between questions is gone, and there is one more text to embed. In a copy of the folder."""
    times = []
    with tempfile.TemporaryDirectory() as scratch, Memory(shutil.copytree(home, Path(scratch) / "copy")) as memory:
        memory.recall(questions[-1])
        for question in questions:
            memory.remember(f"A note about {question[:-1]}.")
            times.append(seconds(lambda question=question: memory.recall(question, k=10)))
    return Times(times).row("recall right after a write")


# -- a process that begins -------------------------------------------------------------------------------------------


def in_a_fresh_process(home: Path, questions: list[str], count: int) -> list[Row]:
    """The system's cache is warm, nothing else is: the interpreter, the packages, the index, the vectors, the words."""
    asked = orjson.dumps(questions).decode()
    order = [sys.executable, __file__, "--once", str(home), asked]
    runs = [orjson.loads(subprocess.check_output(order)) for _ in range(FRESH)]
    middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return [
        stated("  a fresh process: opening, its first recall", per(middle["open"], 1), per(middle["first"], 1)),
        stated("  a fresh process: its second recall", per(middle["second"], 1)),
        stated("  its memory by then: its own, and mapped files, per block", f"{middle['own'] / count:,.0f} B",
               f"{middle['mapped'] / count:,.0f} B"),
    ]  # fmt: skip


def once(home: Path, questions: list[str]) -> None:
    """Open and ask, and print how long each took and by how much the process grew."""
    before = resident()
    start = time.perf_counter()
    with Memory(home) as memory:
        opened = time.perf_counter() - start
        first, second = (seconds(lambda each=each: memory.recall(each, k=10)) for each in questions)
        grown = {name: now - before[name] for name, now in resident().items()}
    print(orjson.dumps({"open": opened, "first": first, "second": second, **grown}).decode())


def resident() -> dict[str, int]:
    """The bytes of memory that this process has to itself, and those of files that it has mapped."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return {
        name: int(lines[line].split()[0]) * 1024 for name, line in (("own", "RssAnon"), ("mapped", "RssFile"))
    }  # fmt: skip


def on_disk(home: Path, count: int) -> Row:
    vectors = sum(path.stat().st_size for path in (home / "vectors").rglob("*") if path.is_file())
    index = (home / "state.db").stat().st_size
    return stated("  on disk per block: state.db, vectors", f"{index / count:,.0f} B", f"{vectors / count:,.0f} B")


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--sizes", default=",".join(map(str, SIZES)), help="in blocks, with commas between")
    options.add_argument("--full", action="store_true", help="a million blocks too, which takes minutes to make")
    options.add_argument("--questions", type=int, default=QUESTIONS, help="of each kind")
    options.add_argument("--folder", type=Path, default=None, help="where to keep what is made")
    options.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.once:
        once(Path(chosen.once[0]), orjson.loads(chosen.once[1]))
        return
    sizes = [int(each) for each in chosen.sizes.split(",")] + ([MOST] if chosen.full else [])
    rows, speech = list[Row](), Speech()
    with tempfile.TemporaryDirectory() as scratch:
        for size in sizes:
            home = made(chosen.folder or Path(scratch), speech, size)
            rows += measured(home, speech, size, chosen.questions)
    report(rows)


if __name__ == "__main__":
    main()
