"""What the bench of the index is fed with: the same events, and the same rows, on every machine and in every run.

A text is a dozen words out of five thousand, the early ones commoner than the late ones, so that some words stand in
one text of six and most in one of a hundred or more. The rows for the bare thing are not made up: they are what the
index itself writes for those events, read back, in the order of the events.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from keepsake.projections.database import IN_MEMORY
from keepsake.projections.index import prepared as sql
from keepsake.projections.index.file import IndexFile
from keepsake.records.event import Event

Rows = dict[str, list[tuple[object, ...]]]

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
_ODD = 0x9E3779B1  # times a number, the last digits of it: each once, in no order
_CHUNK = 2000

ADD_TEXT = "INSERT INTO texts (rowid, content) VALUES (?, ?)"
_BLOCKS = (
    "SELECT id, content, category, source, created_at, status, archive_reason, confidence, reinforcement_count,"
    " decay_lambda, last_reinforced_at, last_session_id FROM blocks ORDER BY rowid"
)
WRITTEN = {  # statement that writes the rows → statement that reads them back
    sql.ADD_BLOCK: _BLOCKS,
    sql.ADD_LIFE: "SELECT lives.* FROM lives JOIN blocks ON block_id = id ORDER BY blocks.rowid",
    ADD_TEXT: "SELECT rowid, content FROM blocks ORDER BY rowid",
    sql.ADD_TAG: "SELECT block_tags.* FROM block_tags JOIN blocks ON block_id = id ORDER BY blocks.rowid, tag",
    sql.ADD_SOURCE: "SELECT * FROM sources ORDER BY since_seq",
    sql.SET_BOOKMARK: "SELECT * FROM bookmark",
}


def _word(number: int) -> str:
    first, second = _SYLLABLES[number % 70], _SYLLABLES[number // 70 % 70]
    return first + second + _SYLLABLES[number * 13 % 70] + "n"  # an ending that stemming leaves alone


WORDS = [_word(number) for number in range(4900)]


def text(number: int) -> str:
    """The text of one belief: 9 to 15 words."""
    draw = random.Random(number)
    words = [WORDS[int(len(WORDS) * draw.random() ** 2)] for _ in range(draw.randint(9, 15))]
    return " ".join(words).capitalize() + "."


def tag(number: int) -> str:
    return f"topic-{number % 97}"


def question(number: int) -> str:
    """Three words of the text of one belief."""
    words = text(number).rstrip(".").split()
    return " ".join(words[place] for place in (1, 4, 7))


def event(number: int) -> Event:
    """The event that states belief `number`, a hundred in a minute, as the ledger would give it."""
    minute = number // 100
    hour, day = minute // 60, minute // 1440
    when = f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}T{hour % 24:02d}:{minute % 60:02d}"
    name = f"{when[0:4]}{when[5:7]}{when[8:10]}-{when[11:13]}{when[14:16]}-{number * _ODD % (1 << 24):06x}"
    belief = {"id": name, "key": name, "confidence": 0.7, "text": text(number), "tags": [tag(number)]}
    ts = f"{when}:{number % 60:02d}.000000Z"
    return Event(number, ts, "belief.put/1", f"{number:026d}", "python:local", f"{number:064x}", {"belief": belief})


class Stream:
    """The first `count` events, made as they are asked for, with the time that making them took left out.

    At each tenth it notes how long the reader has worked so far, and what memory the process has. It takes minutes, and
    nothing runs in turns with it: so time here is the processor's, which others on the machine disturb least.
    """

    def __init__(self, count: int) -> None:
        self._count, self._making = count, 0.0
        self.worked: list[float] = []
        self.resident: list[int] = []

    def __iter__(self) -> Iterator[Event]:
        start = time.process_time()
        for first in range(0, self._count, _CHUNK):
            if first % (self._count // 10) < _CHUNK:
                self._note(start)
            before = time.process_time()
            chunk = [event(number) for number in range(first, min(first + _CHUNK, self._count))]
            self._making += time.process_time() - before
            yield from chunk
        self._note(start)

    def _note(self, start: float) -> None:
        self.worked.append(time.process_time() - start - self._making)
        self.resident.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)

    def tenth(self, number: int) -> float:
        """The seconds that the reader spent on one tenth, counted from 1."""
        return self.worked[number] - self.worked[number - 1]


def rows_of(events: Iterable[Event]) -> Rows:
    """Statement → the rows that the index writes with it for `events`."""
    index = IndexFile(IN_MEMORY)
    try:
        index.catch_up(events)
        return {into: index.db.execute(reading).fetchall() for into, reading in WRITTEN.items()}
    finally:
        index.close()


class BareIndex:
    """The same tables and pragmas, written to by hand."""

    def __init__(self, path: Path, pragmas: Iterable[str]) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        for pragma in pragmas:
            self.db.execute(pragma)
        self.db.execute("BEGIN")
        for statement in sql.SCHEMA:
            self.db.execute(statement)
        self.db.execute("COMMIT")

    def load(self, rows: Rows) -> None:
        """Every table in one go, all of it one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        for statement, values in rows.items():
            self.db.executemany(statement, values)
        self.db.execute("COMMIT")

    def put(self, rows: Rows) -> None:
        """One belief, one transaction, one row for each table; nothing is looked up first."""
        execute = self.db.execute
        execute("BEGIN IMMEDIATE")
        for statement, (values,) in rows.items():
            execute(statement, values)
        execute("COMMIT")
