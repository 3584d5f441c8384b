"""Whether the index says what the ledger says: one is rebuilt aside, and the two are compared row for row.

Nobody is kept waiting: events that the index has read do not change, so this needs no lock. The live index is copied by
SQLite as of one moment, and all looking is done on the copy. Both are temporary files that have no name.

An erasure does change events, and a writer may come while a file without a journal is read: then the file is another
one afterwards, and what was found in it counts for nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from keepsake.ledger.folder import Folder
from keepsake.ledger.lift import lift
from keepsake.ledger.read import Chain
from keepsake.projections.index.compare import Difference, differences, file_trouble, text_trouble
from keepsake.projections.index.file import SHAPE, Bookmark, IndexFile
from keepsake.projections.index.fold import Stale
from keepsake.projections.index.peek import only_looking
from keepsake.records.event import Event
from keepsake.repair.findings import Finding, found

ASIDE = ""  # SQLite's word for a file without a name
SHOWN = 20
_TRIES = 5
_WRONG = (sqlite3.Error, Stale, ArithmeticError, LookupError, TypeError, ValueError)  # what rows of nobody's can do


def findings(folder: Folder) -> list[Finding]:
    """What is wrong with the index. One that is not there, or lags behind, is no finding: it grows."""
    found_so_far: list[Finding] = []
    for _ in range(_TRIES):
        before = _looks(folder)
        found_so_far = _findings(folder)
        if not found_so_far or _looks(folder) == before:
            break
    return found_so_far


def _looks(folder: Folder) -> tuple[int, int, int] | None:
    """Which file it is, and whether it was written to."""
    try:
        seen = os.stat(folder.index)
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def _findings(folder: Folder) -> list[Finding]:
    if not folder.index.exists() or Chain(folder).first > 0:
        return []
    try:
        with closing(IndexFile(ASIDE, making=True)) as copied:
            with closing(only_looking(folder.index)) as live:
                live.backup(copied.db)
            return list(_in(folder, copied))
    except _WRONG as error:
        why = "it holds words that were erased" if isinstance(error, Stale) else "its rows cannot be read"
        return [found("index-damaged", folder.index.name, why)]


def _in(folder: Folder, live: IndexFile) -> Iterator[Finding]:
    if trouble := file_trouble(live):
        yield found("index-damaged", folder.index.name, trouble)
        return
    mark = live.bookmark()
    if mark.shape != SHAPE or mark.seq < 0:
        return
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
