"""Whether the pages say what the ledger says: their tables, made a second time aside, and their files.

A file that a person edited is no trouble: the next sync takes it in. It is told of all the same, because what stands
there counts for nothing until then. Tables that lag behind, or are not there, are no finding: they grow.

As with the index, the live file is copied by SQLite as of one moment, and all looking is done on the copy.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

from keepsake.ledger.folder import Folder
from keepsake.ledger.lift import lift
from keepsake.ledger.read import Chain
from keepsake.projections.pages.compare import differences, file_trouble, text_trouble
from keepsake.projections.pages.file import PagesFile
from keepsake.projections.pages.fold import Stale
from keepsake.projections.pages.rows import File
from keepsake.projections.pages.tables import SHAPE, digest_of
from keepsake.repair.aside import looking_at
from keepsake.repair.compare import steadily
from keepsake.repair.findings import Finding, found

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
            return [*_in_tables(folder, copied), *_in_files(folder, copied)]
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


def _in_files(folder: Folder, live: PagesFile) -> Iterator[Finding]:
    if folder.pages.is_symlink() or not folder.pages.is_dir():
        return
    known = {file.path: file for file in live.files()}
    for path, file in known.items():
        seen = file.digest is not None and not file.is_gone and _is_inside(path)
        if seen and (why := _why_not(folder.pages / path, file, live)):
            yield found("page-unsynced", f"memory/{path}", why)
    for path in sorted(_there(folder.pages) - known.keys()):
        yield found("page-unsynced", f"memory/{path}", "it is new")


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return 0 < len(parts) <= 2 and not PurePosixPath(path).is_absolute() and ".." not in parts


def _why_not(page: Path, file: File, live: PagesFile) -> str:
    """How a file differs from what was last seen there; nothing if it does not, or is no file that would be read."""
    try:
        seen = os.lstat(page)
        if not stat.S_ISREG(seen.st_mode) or page.parent.is_symlink():
            return ""
        if (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino) == file.stamp:
            return ""
        data = page.read_bytes() if seen.st_size <= _MOST else b""
    except FileNotFoundError:
        return "it is not there; the next sync writes it anew"
    if digest_of(data) == file.digest:
        return ""
    earlier = live.was_rendered(file.path, digest_of(data))
    return "it is an earlier state; the next sync brings it up to date" if earlier else "it was edited"


def _there(pages: Path) -> set[str]:
    """The files that a sync would take for pages."""
    found = {path.name for path in pages.glob("*.md")}
    for folder in pages.glob("@*/"):
        if not folder.is_symlink():
            found |= {f"{folder.name}/{path.name}" for path in folder.glob("*.md")}
    return {name for name in found if not PurePosixPath(name).name.startswith(".")}
