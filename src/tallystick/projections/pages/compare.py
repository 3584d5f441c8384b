"""Comparing two databases of pages, as far as they follow from the ledger: what each page should show.

How the files were last seen is left out: that follows from the files. So is the number of an entry, which depends on
how often reading was interrupted, and a page that is gone, whose row stays until its file is removed too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from tallystick.projections.pages.open_database import PagesFile

_EVERYTHING = {
    "files": (
        "SELECT user, about, title, description, tags, status, created, updated, needs_compact, entry_count, tokens"
        " FROM files WHERE NOT is_gone"
    ),
    "entries": (
        "SELECT entries.id, files.user, files.about, timestamp, entries.tags, content, letters, superseded,"
        " superseded_by, supersedes, retracted, folded_into, has_key, seq"
        " FROM entries LEFT JOIN files ON files.path = entries.path"
    ),
    "versions": "SELECT id, entry FROM versions",
    "waiting": "SELECT id, at, belief FROM waiting",
    "asked": "SELECT review, id FROM asked",
    "gone": "SELECT id, words FROM gone",
}  # fmt: skip


def differences(one: PagesFile, other: PagesFile) -> Iterator[tuple[str, str]]:
    """The rows that only one of them has: the table, and what names the row."""
    for table, statement in _EVERYTHING.items():
        mine, theirs = set(one.db.execute(statement)), set(other.db.execute(statement))
        for row in mine ^ theirs:
            yield table, str(row[1] if table == "files" else row[0])


def file_trouble(pages: PagesFile) -> str:
    """SQLite's own finding about its file; empty if it is sound."""
    is_sound = pages.db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    return "" if is_sound else "its pages do not belong together"


def text_trouble(pages: PagesFile) -> str:
    """SQLite's finding about the full text; empty if it belongs to the entries."""
    try:
        with pages.writing():
            pages.db.execute("INSERT INTO entries_fts (entries_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""
