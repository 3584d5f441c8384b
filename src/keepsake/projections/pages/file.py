"""`pages.db`, open: one connection, its bookmark, and reading on from there.

The bookmark is saved in the same transaction as the rows. Whatever a crash leaves is an earlier bookmark with the rows
that belong to it, or a file that SQLite refuses; both grow back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from keepsake.projections.database import IN_MEMORY, Database
from keepsake.projections.pages import fold
from keepsake.projections.pages.rows import ENTRIES, FILES, Entry, File, Rows, digest_of_words
from keepsake.projections.pages.tables import NAMES, SHAPE, TABLES
from keepsake.records.event import Event

_PRAGMAS = (
    "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA cache_size=-16000", "PRAGMA temp_store=MEMORY",
)  # fmt: skip


class Bookmark(NamedTuple):
    """How far the pages have read."""

    seq: int = -1
    hash: str = ""
    shape: int = SHAPE


class PagesFile(Database):
    """The rows of all pages of a folder."""

    def __init__(self, path: Path | str) -> None:
        if path and path != IN_MEMORY:  # without a name it is a temporary file
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # SQLite would let others read it
        super().__init__(path, _PRAGMAS, TABLES)

    def bookmark(self) -> Bookmark:
        row = self.db.execute("SELECT seq, hash, shape FROM bookmark").fetchone()
        return Bookmark(*row) if row else Bookmark()

    def catch_up(self, events: Iterable[Event], *, mark: Bookmark | None = None) -> Bookmark:
        """Take in the events behind the bookmark, all or none. `mark` is where they lead, if they do not say."""
        with self.writing():
            before = last = self.bookmark()
            rows = Rows(self.db)
            for event in events:
                if mark is None and event.seq <= last.seq:
                    continue
                if mark is None and event.seq != last.seq + 1:
                    break
                fold.apply(rows, event)
                last = Bookmark(event.seq, event.hash)
            rows.flush()
            last = mark or last
            if last != before:
                self.db.execute("INSERT OR REPLACE INTO bookmark VALUES (1, ?, ?, ?)", (SHAPE, last.seq, last.hash))
        return last

    def empty(self, *, but_renderings: bool = False) -> None:
        """Nothing is in it, as if it had just been made; but, if wanted, in which states pages were written."""
        with self.writing():
            kept = self.db.execute("SELECT path, digest FROM renderings").fetchall() if but_renderings else []
            for name in NAMES:
                self.db.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in TABLES:
                self.db.execute(statement)
            self.db.executemany("INSERT INTO renderings VALUES (?, ?)", kept)

    # -- asking ------------------------------------------------------------------------------------------------------

    def file(self, path: str) -> File | None:
        row = self.db.execute(FILES + "WHERE path = ?", (path,)).fetchone()
        return File(*row) if row else None

    def about(self, user: str, about: str) -> File | None:
        """The page of an entity."""
        row = self.db.execute(FILES + "WHERE user = ? AND about = ?", (user, about)).fetchone()
        return File(*row) if row else None

    def files(self, user: str | None = None) -> list[File]:
        """The pages of that user, or of all, in the order of their names."""
        where, values = ("", ()) if user is None else ("WHERE user = ? ", (user,))
        return [File(*row) for row in self.db.execute(f"{FILES}{where}ORDER BY path", values)]

    def due(self) -> list[File]:
        """The pages whose files lag behind."""
        return [File(*row) for row in self.db.execute(FILES + "WHERE is_due ORDER BY path")]

    def entries(self, path: str, *, due: bool = False) -> list[Entry]:
        """What stands on a page, in its order; only what its file does not show yet, if `due`."""
        more = "AND is_due " if due else ""
        return list(map(Entry._make, self.db.execute(f"{ENTRIES}WHERE path = ? {more}ORDER BY n", (path,))))

    def entry(self, name: str) -> Entry | None:
        """The entry of that id, or the one that shows that version."""
        return Rows(self.db).entry(name)

    def is_gone(self, name: str, words: str) -> bool:
        """Whether an entry was cleaned away that said just that."""
        row = self.db.execute("SELECT words FROM gone WHERE id = ?", (name,)).fetchone()
        return row is not None and row[0] == digest_of_words(words)

    def was_rendered(self, path: str, digest: bytes) -> bool:
        """Whether that is a state in which the page was written before."""
        found = self.db.execute("SELECT 1 FROM renderings WHERE path = ? AND digest = ?", (path, digest)).fetchone()
        return found is not None

    # -- how far the files have followed -----------------------------------------------------------------------------

    def saw(self, file: File, shown: Iterable[tuple[int, int]]) -> None:
        """A file was written or read as `file` says now, with these entries on it: (its n, 1 as it is or 2 struck)."""
        self.db.execute(
            "UPDATE files SET zone = ?, front = ?, size = ?, mtime = ?, ctime = ?, inode = ?, digest = ?, is_due = ?"
            " WHERE path = ?",
            (file.zone, file.front, *file.stamp, file.digest, file.is_due, file.path),
        )
        self.db.executemany("UPDATE entries SET shown = ?, is_due = 0 WHERE n = ?", [(how, n) for n, how in shown])
        if file.digest is not None:
            self.db.execute("INSERT OR IGNORE INTO renderings VALUES (?, ?)", (file.path, file.digest))

    def restamp(self, file: File) -> None:
        """The file was touched, and is as it was."""
        self.db.execute(
            "UPDATE files SET size = ?, mtime = ?, ctime = ?, inode = ? WHERE path = ?", (*file.stamp, file.path)
        )

    def lost(self, path: str) -> None:
        """The file is not there: all of the page is to be written."""
        self.db.execute("UPDATE entries SET shown = 0, is_due = 1 WHERE path = ? AND folded_into = ''", (path,))
        self.db.execute(
            "UPDATE files SET is_due = 1, size = NULL, mtime = NULL, ctime = NULL, inode = NULL, digest = NULL"
            " WHERE path = ?", (path,),
        )  # fmt: skip

    def drop(self, path: str) -> None:
        """The page is no more, and its file is removed."""
        self.db.execute("DELETE FROM files WHERE path = ?", (path,))
        self.db.execute("DELETE FROM renderings WHERE path = ?", (path,))
