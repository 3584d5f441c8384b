"""Whether the pages say what the ledger says: their tables, made a second time aside, and their files.

A file that a person edited is no trouble: the next sync takes it in. It is told of all the same, because what stands
there counts for nothing until then. One that a sync does not take in, or that says something else than the memory after
a sync, is compared entry by entry, and wrong until the two agree. Tables that lag behind, or are not there, are no
finding: they grow.

As with the index, the live file is copied by SQLite as of one moment, and all looking is done on the copy.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from functools import partial
from pathlib import Path, PurePosixPath

from tallystick.ledger.chain import Chain
from tallystick.ledger.layout import Folder
from tallystick.ledger.upgrade import lift
from tallystick.projections.markdown import parse
from tallystick.projections.markdown.zone import zone_named
from tallystick.projections.pages.base import mark_of
from tallystick.projections.pages.compare import differences, file_trouble, text_trouble
from tallystick.projections.pages.damage import conflict_line, is_truncated, loses_most, unreadable
from tallystick.projections.pages.edits import Known, compare
from tallystick.projections.pages.fold import Stale
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.rows import File
from tallystick.projections.pages.schema import SHAPE, digest_of
from tallystick.repair.compare import steadily
from tallystick.repair.findings import Finding, found
from tallystick.repair.readonly_copy import looking_at

_ASIDE = ""  # SQLite's word for a file without a name
_SHOWN = 20
_MOST = 64 << 20  # bytes of a page that is read
_WRONG = (sqlite3.Error, Stale, ArithmeticError, LookupError, TypeError, ValueError)  # what rows of nobody's can do


def findings(folder: Folder) -> list[Finding]:
    """What is wrong with the pages and their tables."""
    return steadily(folder.pages_index, lambda: _findings(folder))


def _findings(folder: Folder) -> list[Finding]:
    if not folder.pages_index.is_file():
        return []
    try:
        with closing(PagesFile(_ASIDE)) as copied:
            with looking_at(folder.pages_index) as live:
                live.backup(copied.db)
            if not copied.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return []  # somebody is making it
            wrong = list(_in_tables(folder, copied))
            return [*wrong, *_in_files(folder, copied, is_sound=not wrong)]
    except _WRONG:
        return [found("pages-damaged", folder.pages_index.name, "its rows cannot be read")]


def _in_tables(folder: Folder, live: PagesFile) -> Iterator[Finding]:
    if trouble := file_trouble(live):
        yield found("pages-damaged", folder.pages_index.name, trouble)
        return
    mark = live.bookmark()
    if mark.shape != SHAPE or mark.seq < 0 or Chain(folder).first > 0:
        return
    with closing(PagesFile(_ASIDE)) as again:
        again.catch_up(lift(line.event()) for line in Chain(folder).lines(0, mark.seq + 1))
        others = sorted(set(differences(live, again)))
    for table in dict.fromkeys(table for table, _ in others):
        rows = [name[:64] for each, name in others if each == table]
        more = " and more" if len(rows) > _SHOWN else ""
        text = f"rows that are not as the ledger gives them: {', '.join(rows[:_SHOWN])}{more}"
        yield found("pages-differ", f"{folder.pages_index.name}, {table}", text)
    if not others and (trouble := text_trouble(live)):
        yield found("pages-differ", f"{folder.pages_index.name}, entries_fts", f"full text does not belong: {trouble}")


def _in_files(folder: Folder, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """What is wrong with the files; whether they say what the tables say, only if those are sound."""
    if folder.pages.is_symlink() or not folder.pages.is_dir():
        return
    known = {file.path: file for file in live.files()}
    for path, file in known.items():
        if file.digest is not None and not file.is_gone and _is_inside(path):
            yield from _in_file(folder.pages / path, f"memory/{path}", file, live, is_sound=is_sound)
    for path in sorted(_there(folder.pages) - known.keys()):
        yield found("page-unsynced", f"memory/{path}", "it is new")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return 0 < len(parts) <= 2 and not PurePosixPath(path).is_absolute() and ".." not in parts


def _in_file(page: Path, place: str, file: File, live: PagesFile, *, is_sound: bool) -> Iterator[Finding]:
    """How a file differs from what was last seen there, and from what the memory says; nothing if it does not, or is no
    file that would be read."""
    try:
        seen = os.lstat(page)
        if not stat.S_ISREG(seen.st_mode) or page.parent.is_symlink() or seen.st_size > _MOST:
            return
        data = page.read_bytes()
    except FileNotFoundError:
        yield found("page-unsynced", place, "it is not there; the next sync writes it anew")
        return
    if is_sound and (wrong := _wrong(data, file, live)):
        yield found("page-differs", place, wrong)
    elif digest_of(data) == file.digest:
        return
    elif live.was_rendered(file.path, digest_of(data)):
        yield found("page-unsynced", place, "it is an earlier state; the next sync brings it up to date")
    else:
        yield found("page-unsynced", place, "it was edited")


def _wrong(data: bytes, file: File, live: PagesFile) -> str:
    """What a page says that the memory does not, and a sync does not take in."""
    if why := unreadable(data):
        return why
    page, rows = parse(data, zone_named(file.zone) or UTC), live.entries(file.path)
    if line := conflict_line(page, {row.id: row for row in rows}):
        return f"line {line}: a merge left its marks here"
    mark = mark_of(data)
    base = live.base(file.path, mark)
    if digest_of(data) != file.digest:
        if is_truncated(page, rows, base, partial(live.ends, file.path, mark)):
            return "it ends in the middle of what was written there"
        gone = compare(page, file, rows, _KNOWN, base).removed
        return f"it lacks {len(gone)} entries, most of what it had" if loses_most(gone, rows, base) else ""
    if file.is_due:  # what is new is not written there yet
        return ""
    told = compare(page, file, rows, _KNOWN, base)
    notes = [f"line {note.line}: {note.what}" if note.line else note.what for note in told.notes]
    notes += [f"line {each.line}: {each.kind}, and not as the memory has it" for each in told.changes]
    more = f", and {len(notes) - 1} more" if len(notes) > 1 else ""
    return f"{notes[0]}{more}" if notes else ""


_KNOWN = Known(lambda _: False, lambda *_: False, lambda _: True, lambda _: -1)  # as far as the tables say


def _there(pages: Path) -> set[str]:
    """The files that a sync would take for pages."""
    found = {path.name for path in pages.glob("*.md")}
    for folder in pages.glob("@*/"):
        if not folder.is_symlink():
            found |= {f"{folder.name}/{path.name}" for path in folder.glob("*.md")}
    return {name for name in found if not PurePosixPath(name).name.startswith(".")}
