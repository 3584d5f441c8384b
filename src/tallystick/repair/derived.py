"""Comparing derived files with the ledger: the index, the vectors, the pages and their tables, and the audit.

The index and the tables of the pages are built a second time in a temporary file without a name, and compared row by
row. This needs no lock: events that were read do not change. The live file is copied by SQLite as of one moment, and
all reading is done on the copy. An erasure does change events, and another process may write a file without a journal
while it is read: then the file has changed afterwards, and what was found in it is dropped.

A file that is missing or lags behind is not a finding: it is updated with the next use. An audit whose last line is not
one of the ledger's, as after a restore, is none either: the next write makes a new one.

Vectors are computed from the index, and again if they are missing; so missing ones are not a finding. One too many is:
an erased text can be guessed from its vector. Those of an embedder that is not used any more are kept for its next use,
and count like the others.

A page that a person edited is a note: the next sync imports it, and until then the edits do not count. One that a sync
does not import, or that differs from the memory after a sync, is compared entry by entry, and wrong until they agree.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

import orjson

from tallystick.ledger.chain import Chain
from tallystick.ledger.layout import Folder
from tallystick.ledger.load import lift
from tallystick.projections.database import Stale
from tallystick.projections.index import file as index_file, statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.markdown import parse
from tallystick.projections.markdown.zone import zone_named
from tallystick.projections.pages import open_database as page_rows
from tallystick.projections.pages.base import digest_of, mark_of
from tallystick.projections.pages.edits import Known, compare, conflict_line, is_truncated, loses_most, unreadable
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.rows import File
from tallystick.records.audit import NAME, AuditLine, Auditor
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.repair.findings import Finding, found
from tallystick.repair.scan import Survey
from tallystick.repair.witness import readonly

_ASIDE = ""  # SQLite's name for a file without a name
_SHOWN = 20
_TRIES = 5
_PAUSE = 0.05  # seconds
_MAX_PAGE = 64 << 20  # bytes of a page that is read
_WRONG = (sqlite3.Error, Stale, ArithmeticError, LookupError, TypeError, ValueError)  # of bad rows
_HEAD = re.compile(r"[0-9a-f]{24}\.json\Z")  # of the vectors of one user
_HANGING = (  # table, rows of it that refer to nothing, and what is wrong with them
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM sources WHERE block_id IS NOT NULL)",
     "blocks without a source"),
    ("blocks", "SELECT id FROM blocks WHERE id NOT IN (SELECT block_id FROM lives)", "blocks without a user"),
    ("sources", "SELECT id FROM sources WHERE block_id IS NOT NULL AND block_id NOT IN (SELECT id FROM blocks)",
     "sources whose block is missing"),
    ("lives", "SELECT block_id FROM lives WHERE block_id NOT IN (SELECT id FROM blocks)",
     "lives of missing blocks"),
)  # fmt: skip


def steadily(path: Path, look: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings in a file that nobody wrote to meanwhile, nor right after; none if it changes all the time.

    None either if it is missing: whoever rebuilds it has removed it, and may take a while.
    """
    for attempt in range(1, _TRIES + 1):
        before = _file_state(path)
        found_there = look()
        if not found_there:
            return []
        time.sleep(_PAUSE * attempt)  # time for a process that is writing it to go on
        if before and _file_state(path) == before:
            return found_there
    return []


def _file_state(path: Path) -> list[tuple[int, int, int]]:
    """Inode, size and time of a file and its journal; empty if it is missing."""
    found_there = list[tuple[int, int, int]]()
    with suppress(OSError):
        for each in (f"{path}", f"{path}-wal"):
            info = os.stat(each)
            found_there.append((info.st_ino, info.st_size, info.st_mtime_ns))
    return found_there


def _events(folder: Folder, last: int) -> Iterator[Event]:
    return (lift(line.event()) for line in Chain(folder).lines(0, last + 1))


def _listed(rows: list[str]) -> str:
    return ", ".join(row[:64] for row in rows[:_SHOWN]) + (" and more" if len(rows) > _SHOWN else "")


# -- the index ---------------------------------------------------------------------------------------------------------


def index_findings(folder: Folder, survey: Survey) -> list[Finding]:
    """Compare the index with the ledger."""

    def look() -> list[Finding]:
        if not folder.index.exists():
            return []
        try:
            with closing(IndexFile(_ASIDE, making=True)) as copied:
                with readonly(folder.index) as live:
                    live.backup(copied.db)
                return list(_in_index(folder, copied, survey))
        except _WRONG as error:
            why = "it holds data that was erased" if isinstance(error, Stale) else "its rows cannot be read"
            return [found("index-damaged", folder.index.name, why)]

    return steadily(folder.index, look)


def _in_index(folder: Folder, live: IndexFile, survey: Survey) -> Iterator[Finding]:
    name, is_sound = folder.index.name, True
    if trouble := live.file_trouble():
        yield found("index-damaged", name, trouble)
        return
    mark = live.bookmark()
    if mark.shape != index_file.SHAPE or mark.seq < 0:
        return
    for table, statement, what in _HANGING:  # the index alone shows it, also if earlier events were moved away
        rows = [str(row[0]) for row in live.db.execute(statement).fetchmany(_SHOWN + 1)]
        if rows:
            is_sound = False
            yield found("block-loose", f"{name}, {table}", f"{what}: {_listed(rows)}")
    if not is_sound:
        return
    if (folder.root / "vectors").is_dir() and mark.seq == survey.last:
        yield from _vectors(folder.root / "vectors", live)
    if Chain(folder).first > 0:
        return
    with closing(IndexFile(_ASIDE, making=True)) as again:
        again.catch_up(_events(folder, mark.seq))
        others = list(islice(index_file.differences(live, again), _SHOWN + 1))
    named: dict[str, dict[str, None]] = {}  # rows by id, never by their texts: anyone may see a finding
    for each in others[:_SHOWN]:
        named.setdefault(each.table, {})[str(each.row[0])[:64]] = None
    for table, ids in named.items():
        more = " and more" if len(others) > _SHOWN else ""
        yield found("index-differs", f"{name}, {table}", f"rows that differ from the ledger: {', '.join(ids)}{more}")
    if not others and (trouble := live.text_trouble()):
        yield found("index-differs", f"{name}, texts", f"the full text does not match the rows: {trouble}")


def _vectors(folder: Path, index: IndexFile) -> Iterator[Finding]:
    """The findings in the vectors, given an index that has read everything."""
    import numpy as np  # only if there are vectors

    from tallystick.projections.vectors.file import blocks_of
    from tallystick.projections.vectors.names import file_name, read_head
    from tallystick.projections.vectors.rows import ROW

    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    for path in sorted(folder.glob("*/*.json")):
        if not _HEAD.match(path.name):
            continue
        place, head, user = f"vectors/{path.parent.name}/{path.name}", read_head(path), users.get(path.stem)
        if head is None:
            yield found("vectors-damaged", place, "it does not say which vectors count")
            continue
        rows = path.with_name(f"{path.stem}-{head['generation']}.rows")
        try:
            blocks = np.fromfile(rows, dtype=ROW, count=rows.stat().st_size // ROW.itemsize)["block"]
        except (OSError, ValueError):
            yield found("vectors-damaged", place, "the vectors that it names are missing")
            continue
        known = np.zeros(0, dtype=np.uint64) if user is None else blocks_of(index, user)
        loose = np.unique(blocks[~np.isin(blocks, known)])
        if len(loose):
            yield found("vectors-loose", place, f"vectors of {len(loose)} blocks that the index does not have")


# -- the pages ---------------------------------------------------------------------------------------------------------


def page_findings(folder: Folder) -> list[Finding]:
    """Compare the pages and their tables with the ledger."""

    def look() -> list[Finding]:
        if not folder.pages_index.is_file():
            return []
        try:
            with closing(PagesFile(_ASIDE)) as copied:
                with readonly(folder.pages_index) as live:
                    live.backup(copied.db)
                if not copied.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    return []  # another process is creating it
                wrong = list(_in_tables(folder, copied))
                return [*wrong, *_in_files(folder, copied, is_sound=not wrong)]
        except _WRONG:
            return [found("pages-damaged", folder.pages_index.name, "its rows cannot be read")]

    return steadily(folder.pages_index, look)


def _in_tables(folder: Folder, live: PagesFile) -> Iterator[Finding]:
    name = folder.pages_index.name
    if trouble := live.file_trouble():
        yield found("pages-damaged", name, trouble)
        return
    mark = live.bookmark()
    if mark.shape != page_rows.SHAPE or mark.seq < 0 or Chain(folder).first > 0:
        return
    with closing(PagesFile(_ASIDE)) as again:
        again.catch_up(_events(folder, mark.seq))
        others = sorted(set(page_rows.differences(live, again)))
    for table in dict.fromkeys(table for table, _ in others):
        rows = [row for each, row in others if each == table]
        yield found("pages-differ", f"{name}, {table}", f"rows that differ from the ledger: {_listed(rows)}")
    if not others and (trouble := live.text_trouble()):
        yield found("pages-differ", f"{name}, entries_fts", f"the full text does not match the rows: {trouble}")


def _in_files(folder: Folder, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """Compare the files with what was last read, and with the tables if those are sound."""
    if folder.pages.is_symlink() or not folder.pages.is_dir():
        return
    known = {file.path: file for file in live.files()}
    for path, file in known.items():
        parts = PurePosixPath(path).parts
        is_inside = 0 < len(parts) <= 2 and not PurePosixPath(path).is_absolute() and ".." not in parts
        if file.digest is not None and not file.is_gone and is_inside:
            yield from _in_file(folder.pages / path, f"memory/{path}", file, live, is_sound=is_sound)
    for path in sorted(_pages_in(folder.pages) - known.keys()):
        yield found("page-unsynced", f"memory/{path}", "it is new")


def _pages_in(pages: Path) -> set[str]:
    """The files that a sync would import."""
    folders = [pages, *(folder for folder in pages.glob("@*/") if not folder.is_symlink())]
    found = [path for folder in folders for path in folder.glob("*.md") if not path.name.startswith(".")]
    return {path.relative_to(pages).as_posix() for path in found}


def _in_file(page: Path, place: str, file: File, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """Compare one file, if a sync would read it."""
    try:
        info = os.lstat(page)
        if not stat.S_ISREG(info.st_mode) or page.parent.is_symlink() or info.st_size > _MAX_PAGE:
            return
        data = page.read_bytes()
    except FileNotFoundError:
        yield found("page-unsynced", place, "it is missing; the next sync writes it again")
        return
    if is_sound and (wrong := _wrong_in(data, file, live)):
        yield found("page-differs", place, wrong)
    elif digest_of(data) == file.digest:
        return
    elif live.was_rendered(file.path, digest_of(data)):
        yield found("page-unsynced", place, "it is an earlier version; the next sync updates it")
    else:
        yield found("page-unsynced", place, "it was edited")


def _wrong_in(data: bytes, file: File, live: PagesFile) -> str:
    """The first difference between a page and the memory that a sync does not import."""
    if why := unreadable(data):
        return why
    page, rows = parse(data, zone_named(file.zone) or UTC), live.entries(file.path)
    if line := conflict_line(page, {row.id: row for row in rows}):
        return f"line {line}: a merge left conflict markers here"
    mark = mark_of(data)
    base = live.base(file.path, mark)
    if digest_of(data) != file.digest:
        if is_truncated(page, rows, base, partial(live.ends, file.path, mark)):
            return "it is truncated"
        gone = compare(page, file, rows, _KNOWN, base).removed
        return f"{len(gone)} entries are missing, most of what it had" if loses_most(gone, rows, base) else ""
    if file.is_due:  # what is new is not written there yet
        return ""
    edits = compare(page, file, rows, _KNOWN, base)
    notes = [f"line {note.line}: {note.what}" if note.line else note.what for note in edits.notes]
    notes += [f"line {each.line}: {each.kind}, and not as the memory has it" for each in edits.changes]
    more = f", and {len(notes) - 1} more" if len(notes) > 1 else ""
    return f"{notes[0]}{more}" if notes else ""


_KNOWN = Known(lambda _: False, lambda *_: False, lambda _: True, lambda _: -1)  # as far as the tables show


# -- the audit ---------------------------------------------------------------------------------------------------------


def audit_findings(folder: Folder) -> list[Finding]:
    """The first line of the audit that differs from the ledger."""
    try:
        lines = folder.audit.read_bytes().split(b"\n")[:-1]  # what has no end is being written, or torn
    except FileNotFoundError:
        return []
    chain, last = Chain(folder), _audit_line(lines[-1]) if lines else None
    if last is None or chain.hash_at(last.seq) != last.hash:
        return []
    expected = _expected(chain)
    for number, raw in enumerate(lines, 1):
        line = _audit_line(raw)
        if line is not None and line.seq < chain.first:
            continue
        should, has_data = next(expected, (None, False))
        if line is None or should is None or not _agree(line, should, has_data):
            return [found("audit-differs", f"{NAME}, line {number}", "it differs from the ledger")]
    return []


def _audit_line(raw: bytes) -> AuditLine | None:
    try:
        return AuditLine.from_dict(orjson.loads(raw))
    except (ValueError, Refused):
        return None


def _expected(chain: Chain) -> Iterator[tuple[AuditLine, bool]]:
    auditor = Auditor(lambda _: None)
    for line in chain.lines(chain.first):
        event = lift(line.event())
        act = auditor.line(event, "")
        if act is not None:
            yield act, event.body is not None


def _agree(line: AuditLine, should: AuditLine, has_data: bool) -> bool:
    names = ("seq", "at", "by", "op", "hash", *(("action", "outcome", "subject", "trust") if has_data else ()))
    if any(getattr(line, name) != getattr(should, name) for name in names):
        return False
    review = (should.approval or {}).get("review")
    return review is None or (line.approval or {}).get("review") == review
