"""Pages, their entries, and the state of each file when it was last used, as tables that follow the ledger.

`files` and `entries` say what the pages should show; it follows from the ledger alone. The other columns say how far
the files have followed: the stamp of a file as it was last written or read (`size` to `digest`), `is_due` while it is
out of date, and how each entry was last seen there (`shown`). `entries_fts` is the full text of `entries`, without a
copy of the words.

An entry's `shown`: 0 was never on the page, 1 was there, 2 was there struck.

`renderings` are all states in which a page was written or read: its bytes by their digest, its `mark` (`mark_of`), how
far the ledger was, and its front matter. By its mark a saved page is recognised as coming from one of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tallystick.projections.database import ATTACHED, Difference, Stale, are_made_alike, have_same_rows, in_step
from tallystick.projections.pages.rows import (
    ENTRIES,
    FILES,
    Base,
    Entry,
    File,
    Rows,
    apply,
    description_of,
    digest_of_words,
    path_of,
    tags_shown,
    title_of,
)
from tallystick.projections.pages.search import Match
from tallystick.projections.recorded import NO_EVENT, LedgerView
from tallystick.projections.table_set import TableSet, pending_tables
from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.state.episodes import EpisodeRef
from tallystick.state.pages import USUAL, is_about

SHAPE = 7  # of what the fold writes; raise it when the same events give other rows

TABLES = (
    *pending_tables("page"),
    """CREATE TABLE files (
        path TEXT PRIMARY KEY, user TEXT NOT NULL, about TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
        tags TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL,
        needs_compact INTEGER NOT NULL, entry_count INTEGER NOT NULL, zone TEXT NOT NULL, tokens INTEGER NOT NULL,
        is_gone INTEGER NOT NULL, front TEXT NOT NULL, size INTEGER, mtime INTEGER, ctime INTEGER, inode INTEGER,
        digest BLOB, is_due INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE UNIQUE INDEX files_about ON files (user, about)",
    "CREATE INDEX files_due ON files (path) WHERE is_due",
    """CREATE TABLE entries (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL, timestamp TEXT NOT NULL,
        tags TEXT NOT NULL, content TEXT NOT NULL, letters TEXT, superseded INTEGER NOT NULL,
        superseded_by TEXT NOT NULL, supersedes TEXT NOT NULL, retracted INTEGER NOT NULL, folded_into TEXT NOT NULL,
        has_key INTEGER NOT NULL, seq INTEGER NOT NULL, stated INTEGER NOT NULL, shown INTEGER NOT NULL,
        is_due INTEGER NOT NULL
    )""",
    "CREATE INDEX entries_path ON entries (path, n)",
    "CREATE INDEX entries_time ON entries (timestamp)",
    "CREATE INDEX entries_due ON entries (path) WHERE is_due",
    """CREATE VIRTUAL TABLE entries_fts USING fts5 (
        content, tags, letters, id UNINDEXED, path UNINDEXED, superseded UNINDEXED,
        content='entries', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2'
    )""",
    "INSERT INTO entries_fts (entries_fts, rank) VALUES ('automerge', 0)",  # `Rows` merges a little with each write
    "INSERT INTO entries_fts (entries_fts, rank) VALUES ('crisismerge', 64)",
    # a version that changed no words is on the page as the entry that has them
    "CREATE TABLE page_versions (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID",
    # what was cleaned, and a digest of its words: a file that still has it is out of date
    "CREATE TABLE page_gone (id TEXT PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID",
    # every state in which a page was ever written: a file that is in an earlier one was restored, not edited
    """CREATE TABLE IF NOT EXISTS local_renderings (
        path TEXT NOT NULL, digest BLOB NOT NULL, mark BLOB NOT NULL, seq INTEGER NOT NULL, front TEXT NOT NULL,
        PRIMARY KEY (path, digest)
    ) WITHOUT ROWID""",
    # the pages that contradict the memory: they are read every time, until they do not
    "CREATE TABLE IF NOT EXISTS local_unclear (path TEXT PRIMARY KEY) WITHOUT ROWID",
)

# The same for one that is only to be compared: words that are put into its full text go nowhere.
_ROWS = (
    *(each for each in TABLES if "entries_fts" not in each),
    "CREATE VIEW entries_fts AS SELECT '' AS entries_fts, 0 AS rowid, 0 AS rank, '' AS content, '' AS tags,"
    " '' AS letters",
    "CREATE TRIGGER nowhere INSTEAD OF INSERT ON entries_fts BEGIN SELECT 0; END",
)

_MANY = 100_000  # rows that are known to be in the ledger
_WHOSE = "SELECT user, about FROM files WHERE path = ?"

_SET_SEEN = """UPDATE files SET zone = ?, front = ?, size = ?, mtime = ?, ctime = ?, inode = ?, digest = ?, is_due = ?
    WHERE path = ?"""
_UNCLEAR = "WHERE path IN (SELECT path FROM local_unclear)"

# How the files of unclear pages were last seen, while the tables are filled again. An entry that differs then is due.
# The others are read again by the next sync.
_KEEP_SEEN = (
    f"""CREATE TABLE IF NOT EXISTS local_seen AS
        SELECT path, zone, front, size, mtime, ctime, inode, digest, is_due FROM files {_UNCLEAR}""",
    f"""CREATE TABLE IF NOT EXISTS local_shown AS
        SELECT path, id, timestamp, tags, superseded_by, retracted, folded_into, shown, is_due
        FROM entries {_UNCLEAR}""",
)
_PUT_BACK = (
    """UPDATE files SET zone = s.zone, front = s.front, size = s.size, mtime = s.mtime, ctime = s.ctime,
        inode = s.inode, digest = s.digest, is_due = s.is_due FROM local_seen AS s WHERE s.path = files.path""",
    "UPDATE entries SET shown = s.shown FROM local_shown AS s WHERE s.id = entries.id",
    """UPDATE entries SET is_due = s.is_due FROM local_shown AS s WHERE s.id = entries.id
        AND (s.timestamp, s.tags, s.superseded_by, s.retracted, s.folded_into) =
        (entries.timestamp, entries.tags, entries.superseded_by, entries.retracted, entries.folded_into)""",
    "DROP TABLE local_seen",
    "DROP TABLE local_shown",
)
_LOCAL = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'local_*'"
_UNTOUCHED = """SELECT path FROM files WHERE NOT is_gone
    AND path NOT IN (SELECT path FROM entries WHERE id IN (SELECT value FROM json_each(?)))"""


class PagesFile(TableSet):
    """The rows of all pages of a folder."""

    name, shape, full_texts = "pages", SHAPE, ("entries_fts",)
    tables: Sequence[str] = TABLES

    def __init__(
        self, path: Path | str | sqlite3.Connection, hard_limit: int | None = None, *, rows_only: bool = False,
        writable: bool = True,
    ) -> None:  # fmt: skip
        """A page above `hard_limit` tokens is flagged, whoever wrote its entries. `rows_only`: as in the index."""
        self._rows_only = rows_only
        if rows_only:
            self.tables = _ROWS
        super().__init__(path, writable=writable)
        self._hard_limit = hard_limit
        self.ledger: LedgerView | None = None  # what is read is compared with this; None: with nothing
        self._checked: set[int] = set()  # rows that were compared, by their hash

    def take(self, events: Iterable[Event]) -> None:
        rows = Rows(self.db, rows_only=self._rows_only)
        for event in events:
            apply(rows, event)
        fresh = rows.flush()
        if len(self._checked) < _MANY:
            self._checked |= fresh  # they are what the ledger says

    def empty(self) -> None:
        """The same. How the files of unclear pages were last seen is kept for `put_back`."""
        with self.writing():
            with suppress(sqlite3.DatabaseError):  # they are damaged
                for statement in _KEEP_SEEN:
                    self.db.execute(statement)
            super().empty()

    def put_back(self) -> None:
        """Restore that in tables that are filled again."""
        if self.db.execute(f"{_LOCAL} AND name = 'local_seen'").fetchone():
            with self.writing():
                for statement in _PUT_BACK:
                    self.db.execute(statement)

    def forget(self, names: Collection[str], seq: int) -> None:
        """Remove what is local of the pages that have entries of these ids, which are erased; of all pages, if the
        rows lack events before `seq`. A page whose front matter is erased was forgotten when that was recorded."""
        mark = self.bookmark()
        kept = _UNTOUCHED if mark.shape == SHAPE and mark.seq >= seq - 1 else "SELECT ?1 WHERE 0"
        for (table,) in self.db.execute(_LOCAL).fetchall():
            self.db.execute(f"DELETE FROM {table} WHERE path NOT IN ({kept})", (orjson.dumps(list(names)).decode(),))

    # -- reading -----------------------------------------------------------------------------------------------------

    def file(self, path: str) -> File | None:
        row = self.db.execute(FILES + "WHERE path = ?", (path,)).fetchone()
        return self._flagged(row) if row else None

    def about(self, user: str, about: str) -> File | None:
        row = self.db.execute(FILES + "WHERE user = ? AND about = ?", (user, about)).fetchone()
        return self._flagged(row) if row else None

    def files(self, user: str | None = None) -> list[File]:
        """The pages of that user, or of all, by name."""
        where, values = ("", ()) if user is None else ("WHERE user = ? ", (user,))
        return list(map(self._flagged, self.db.execute(f"{FILES}{where}ORDER BY path", values)))

    def due(self) -> list[File]:
        """The pages whose files are out of date."""
        return list(map(self._flagged, self.db.execute(FILES + "WHERE is_due ORDER BY path")))

    def _flagged(self, row: tuple[Any, ...]) -> File:
        file = File(*row)
        if self.ledger is not None:
            self._must_be_page(self.ledger, file)
        file.needs_compact |= self._hard_limit is not None and file.tokens > self._hard_limit
        return file

    def entries(self, path: str, *, due: bool = False) -> list[Entry]:
        """The entries of a page, in its order; only those that its file does not show yet, if `due`."""
        more = "AND is_due " if due else ""
        found = list(map(Entry._make, self.db.execute(f"{ENTRIES}WHERE path = ? {more}ORDER BY n", (path,))))
        self.must_be_recorded(found)
        return found

    def entry(self, name: str) -> Entry | None:
        """The entry of that id, or the one that shows that version."""
        found = Rows(self.db).entry(name)
        self.must_be_recorded([found] if found else [])
        return found

    def found(self, matches: list[Match]) -> list[Match]:
        """What a search has found, compared with the ledger."""
        for match in matches if self.ledger is not None else ():
            entry = self.entry(match.id)
            if entry is None or (entry.content, entry.path, entry.tag_list) != (match.content, match.path, match.tags):
                raise Stale(f"the entry {match.id} was not what the ledger says")
        return matches

    # -- comparing with the ledger -----------------------------------------------------------------------------------

    def must_be_recorded(self, entries: Sequence[Entry]) -> None:
        """Raise Stale, unless the ledger has these entries, with these words, of the users whose pages they are on."""
        if self.ledger is None:
            return
        pages = {path: self.db.execute(_WHOSE, (path,)).fetchone() or ("", "") for path in {e.path for e in entries}}
        known = self._checked
        fresh = {key: each for each in entries if (key := each.known_by(*pages[each.path])) not in known}
        events = self.ledger.recorded([entry.stated for entry in fresh.values()]) if fresh else {}
        for entry in fresh.values():
            event = events.get(entry.stated, NO_EVENT)
            user, about = pages[entry.path]
            is_so = self._is_held(self.ledger, entry, user) if event is None else None
            if is_so is False or (event is not None and not self._agrees(self.ledger, entry, event, user, about)):
                raise Stale(f"the entry {entry.id} was not what the ledger says")
        if len(known) > _MANY:
            known.clear()
        known.update(fresh)

    def _is_held(self, ledger: LedgerView, entry: Entry, user: str) -> bool:
        """True if the state says this of an entry whose event was moved away. It has no words that were replaced."""
        held = ledger.held(entry.id)
        if held is None or isinstance(held, EpisodeRef):
            return False
        body = held.body()
        return held.user == user and (body["id"] != entry.id or body.get("text", "") == entry.content)

    def _agrees(self, ledger: LedgerView, entry: Entry, event: Event, user: str, about: str) -> bool:
        belief = (event.body or {}).get("belief")
        if belief is None or belief.get("text", "") != entry.content or belief.get("user", OWNER) != user:
            return False
        shown = self.db.execute("SELECT entry FROM page_versions WHERE id = ?", (belief["id"],)).fetchone()
        is_its = belief["id"] == entry.id or shown == (entry.id,)
        tags = tags_shown(belief.get("tags", ()), belief.get("kind", "fact"))
        is_here = is_about(belief.get("about", "")) in ledger.names(user, about)
        return is_its and is_here and tags == entry.tag_list and ledger.is_released(event)

    def _must_be_page(self, ledger: LedgerView, file: File) -> None:
        """Raise Stale, unless what is said of a page is in the ledger, and something is on it."""
        key = hash((file.path, file.user, file.about, file.title, file.description, file.tags, file.status, ledger.end))
        if key in self._checked or file.is_gone:
            return
        front = ledger.front(file.user, file.about)
        usual = [USUAL[name] for name in ledger.names(file.user, file.about) if name in USUAL]  # it may be renamed

        def is_one_of(field: str, value: object, default: object) -> bool:
            return value in (front.get(field), default, *(each.get(field) for each in usual))

        is_said = (
            file.title in (front.get("title"), title_of(file.about))
            and is_one_of("description", file.description, description_of(file.about))
            and is_one_of("tags", list(file.tag_list), [])
            and file.status in (front.get("status"), "active")
            and file.path.startswith(path_of(file.user, file.about).removesuffix(".md"))
        )
        entry = self.db.execute(ENTRIES + "WHERE path = ? LIMIT 1", (file.path,)).fetchone()
        if not is_said or not (front or usual or entry):
            raise Stale(f"the page {file.path} was not what the ledger says")
        self.must_be_recorded([Entry._make(entry)] if entry else [])
        self._checked.add(key)

    def is_gone(self, name: str, words: str) -> bool:
        """True if an entry was cleaned that said just that."""
        row = self.db.execute("SELECT words FROM page_gone WHERE id = ?", (name,)).fetchone()
        return row is not None and row[0] == digest_of_words(words)

    def was_rendered(self, path: str, digest: bytes) -> bool:
        """True if the page was written in that state before."""
        statement = "SELECT 1 FROM local_renderings WHERE path = ? AND digest = ?"
        return self.db.execute(statement, (path, digest)).fetchone() is not None

    def base(self, path: str, mark: bytes) -> Base | None:
        """The state of a page that has this mark; of several, the first: it may lack what came later."""
        statement = "SELECT digest, seq, front FROM local_renderings WHERE path = ? AND mark = ? ORDER BY seq LIMIT 1"
        row = self.db.execute(statement, (path, mark)).fetchone()
        return Base(*row) if row else None

    def ends(self, path: str, mark: bytes) -> set[str]:
        """The last entries of the states of a page that have this mark."""
        statement = "SELECT DISTINCT json_extract(front, '$.last') FROM local_renderings WHERE path = ? AND mark = ?"
        return {row[0] for row in self.db.execute(statement, (path, mark))}

    def unclear(self) -> set[str]:
        """The pages that contradicted the memory when they were last read."""
        return {row[0] for row in self.db.execute("SELECT path FROM local_unclear")}

    # -- how far the files have followed -----------------------------------------------------------------------------

    def saw(self, file: File, shown: Iterable[tuple[int, int]], mark: bytes, seq: int) -> None:
        """Record that a file was written or read as `file` says now, with these entries on it: (its n, 1 as it is or
        2 struck). It has this mark, and all that the ledger had by `seq`."""
        seen = (file.zone, file.front, *file.stamp, file.digest, file.is_due, file.path)
        self.db.execute(_SET_SEEN, seen)
        self.db.executemany("UPDATE entries SET shown = ?, is_due = 0 WHERE n = ?", [(how, n) for n, how in shown])
        if file.digest is not None:
            state = (file.path, file.digest, mark, seq, file.front)
            self.db.execute("INSERT OR IGNORE INTO local_renderings VALUES (?, ?, ?, ?, ?)", state)

    def restamp(self, file: File) -> None:
        """Record that a file was touched, and is as it was."""
        self.db.execute(
            "UPDATE files SET size = ?, mtime = ?, ctime = ?, inode = ? WHERE path = ?", (*file.stamp, file.path)
        )

    def mark_unclear(self, path: str, *, is_so: bool) -> None:
        """Record whether a page contradicts the memory, so that it is read again."""
        if is_so:
            self.db.execute("INSERT OR IGNORE INTO local_unclear VALUES (?)", (path,))
        else:
            self.db.execute("DELETE FROM local_unclear WHERE path = ?", (path,))

    def lost(self, path: str) -> None:
        """Record that a file is missing: all of the page has to be written."""
        self.db.execute("UPDATE entries SET shown = 0, is_due = 1 WHERE path = ? AND folded_into = ''", (path,))
        self.db.execute(
            "UPDATE files SET is_due = 1, size = NULL, mtime = NULL, ctime = NULL, inode = NULL, digest = NULL"
            " WHERE path = ?", (path,),
        )  # fmt: skip

    def moved(self, path: str, to: str) -> None:
        """Record that a page has another name, and its file too: its states are those of the new one."""
        self.db.execute("UPDATE OR IGNORE local_renderings SET path = ? WHERE path = ?", (to, path))

    def drop(self, path: str) -> None:
        """Remove a page whose file was removed."""
        self.db.execute("DELETE FROM files WHERE path = ?", (path,))
        self.db.execute("DELETE FROM local_renderings WHERE path = ?", (path,))


# What follows from the ledger. How the files were last seen does not, nor does the number of an entry, which depends on
# how often reading was interrupted, nor a page that is gone, whose row stays until its file is removed too.
_EVERYTHING = {  # by table: what names a row, and all of it; of which database is left open
    "files": (
        "user about", "SELECT user, about, title, description, tags, status, created, updated, needs_compact,"
        " entry_count, tokens FROM {0}.files WHERE NOT is_gone",
    ),
    "entries": (
        "id", "SELECT entries.id AS id, files.user AS user, files.about AS about, timestamp, entries.tags AS tags,"
        " content, letters, superseded, superseded_by, supersedes, retracted, folded_into, has_key, seq, stated"
        " FROM {0}.entries LEFT JOIN {0}.files ON files.path = entries.path",
    ),
    "page_versions": ("id", "SELECT id, entry FROM {0}.page_versions"),
    "page_waiting": ("id", "SELECT id, at, seq, belief FROM {0}.page_waiting"),
    "page_asked": ("review id", "SELECT review, id FROM {0}.page_asked"),
    "page_gone": ("id", "SELECT id, words FROM {0}.page_gone"),
}  # fmt: skip


def differences(one: PagesFile, other: PagesFile) -> Iterator[Difference]:
    """The rows that only one of them has. It takes a fraction of the time if the first is attached to the second."""
    is_attached = are_made_alike(other.db, *_EVERYTHING)
    for table, (keys, query) in _EVERYTHING.items():
        mine = query.format("main")
        columns = [column[0] for column in other.db.execute(f"{mine} LIMIT 0").description]
        if is_attached and have_same_rows(other.db, mine, query.format(ATTACHED), keys.split(), columns):
            continue
        in_order = f"{mine} ORDER BY {', '.join(columns)}"
        yield from in_step(table.removeprefix("page_"), one.db.execute(in_order), other.db.execute(in_order))
