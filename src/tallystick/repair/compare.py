"""Whether the index says what the ledger says: one is rebuilt aside, and the two are compared row for row.

Nobody is kept waiting: events that the index has read do not change, so this needs no lock. The live index is copied by
SQLite as of one moment, and all looking is done on the copy. Both are temporary files that have no name.

An erasure does change events, and a writer may come while a file without a journal is read: then the file is another
one afterwards, and what was found in it counts for nothing.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from tallystick.ledger.chain import Chain
from tallystick.ledger.layout import Folder
from tallystick.ledger.upgrade import lift
from tallystick.projections.index.compare import Difference, differences, file_trouble, text_trouble
from tallystick.projections.index.file import SHAPE, Bookmark, IndexFile
from tallystick.projections.index.fold import Stale
from tallystick.records.event import Event
from tallystick.repair.findings import Finding, found
from tallystick.repair.readonly_copy import looking_at
from tallystick.repair.scan import Survey

ASIDE = ""  # SQLite's word for a file without a name
SHOWN = 20
_TRIES = 5
_PAUSE = 0.05  # seconds
_HANGING = (  # table, which rows of it hang in the air, and what is wrong with them
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM sources WHERE block_id IS NOT NULL)",
     "blocks that come from nothing"),
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM lives)", "blocks that are nobody's"),
    ("sources", "SELECT id FROM sources WHERE block_id IS NOT NULL AND block_id NOT IN (SELECT id FROM blocks)",
     "sources whose block is not there"),
    ("lives", "SELECT block_id FROM lives WHERE block_id NOT IN (SELECT id FROM blocks)",
     "lives of blocks that are not there"),
)  # fmt: skip
_WRONG = (sqlite3.Error, Stale, ArithmeticError, LookupError, TypeError, ValueError)  # what rows of nobody's can do


def findings(folder: Folder, seen: Survey) -> list[Finding]:
    """What is wrong with the index. One that is not there, or lags behind, is no finding: it grows."""
    return steadily(folder.index, lambda: _findings(folder, seen))


def steadily(path: Path, look: Callable[[], list[Finding]]) -> list[Finding]:
    """What is found in a file that nobody wrote to meanwhile, nor right after. Of one that never rests, nothing.

    Nor of one that is not there: whoever makes it anew has removed it, and may take a while to go on.
    """
    for again in range(1, _TRIES + 1):
        before = _looks(path)
        found_there = look()
        if not found_there:
            return []
        time.sleep(_PAUSE * again)  # whoever is at work on it goes on in that time
        if before and _looks(path) == before:
            return found_there
    return []


def _looks(path: Path) -> list[tuple[int, int, int]]:
    """Which file it is, and whether it or its journal was written to; nothing, if it is not there."""
    found_there = list[tuple[int, int, int]]()
    with suppress(OSError):
        for each in (f"{path}", f"{path}-wal"):
            seen = os.stat(each)
            found_there.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return found_there


def _findings(folder: Folder, seen: Survey) -> list[Finding]:
    if not folder.index.exists():
        return []
    try:
        with closing(IndexFile(ASIDE, making=True)) as copied:
            with looking_at(folder.index) as live:
                live.backup(copied.db)
            return list(_in(folder, copied, seen))
    except _WRONG as error:
        why = "it holds words that were erased" if isinstance(error, Stale) else "its rows cannot be read"
        return [found("index-damaged", folder.index.name, why)]


def _in(folder: Folder, live: IndexFile, seen: Survey) -> Iterator[Finding]:
    if trouble := file_trouble(live):
        yield found("index-damaged", folder.index.name, trouble)
        return
    mark = live.bookmark()
    if mark.shape != SHAPE or mark.seq < 0:
        return
    if loose := list(_loose(folder, live)):
        yield from loose
        return
    if (folder.root / "vectors").is_dir() and mark.seq == seen.last:
        from tallystick.repair import vectors  # NumPy: not for whoever has none

        yield from vectors.findings(folder.root / "vectors", live)
    if Chain(folder).first == 0:
        yield from _compared(folder, live, mark)


def _loose(folder: Folder, live: IndexFile) -> Iterator[Finding]:
    """What hangs in the air: it can be told from the index alone, also where earlier events were moved away."""
    for table, statement, what in _HANGING:
        rows = [str(row[0])[:64] for row in live.db.execute(statement).fetchmany(SHOWN + 1)]
        if rows:
            more = " and more" if len(rows) > SHOWN else ""
            yield found("block-loose", f"{folder.index.name}, {table}", f"{what}: {', '.join(rows[:SHOWN])}{more}")


def _compared(folder: Folder, live: IndexFile, mark: Bookmark) -> Iterator[Finding]:
    with closing(IndexFile(ASIDE, making=True)) as again:
        again.catch_up(_events(folder, mark))
        others = list(islice(differences(live, again), SHOWN + 1))
    for table, rows in _by_table(others[:SHOWN]).items():
        more = " and more" if len(others) > SHOWN else ""
        text = f"rows that are not as the ledger gives them: {', '.join(rows)}{more}"
        yield found("index-differs", f"{folder.index.name}, {table}", text)
    if not others and (trouble := text_trouble(live)):
        yield found("index-differs", f"{folder.index.name}, texts", f"full text does not belong to the rows: {trouble}")


def _events(folder: Folder, mark: Bookmark) -> Iterator[Event]:
    for line in Chain(folder).lines(0, mark.seq + 1):
        yield lift(line.event())


def _by_table(others: list[Difference]) -> dict[str, list[str]]:
    """The rows by what names them, never by their words: findings are shown to whoever may look at the folder."""
    named: dict[str, dict[str, None]] = {}
    for each in others:
        named.setdefault(each.table, {})[str(each.row[0])[:64]] = None
    return {table: list(rows) for table, rows in named.items()}
