"""The tables of `pages.db`: the pages, their entries, and the state of each file when it was last read or written.

`files` and `entries` say what the pages should show; it follows from the ledger alone. The other columns say how far
the files have followed: the stamp of a file as it was last written or read (`size` to `digest`), `is_due` while it is
out of date, and how each entry was last seen there (`shown`). `entries_fts` is the full text of `entries`, without a
copy of the words.

An entry's `shown`: 0 was never on the page, 1 was there, 2 was there struck.

`renderings` are all states in which a page was written or read: its bytes by their digest, its `mark` (see `base`), how
far the ledger was, and its front matter. By its mark a saved page is recognised as coming from one of them.
"""

from __future__ import annotations

from hashlib import sha1

from tallystick.projections.follower import BOOKMARK_TABLE, PENDING_TABLES

SHAPE = 4  # of what the fold writes; raise it when the same events give other rows

TABLES = (
    BOOKMARK_TABLE,
    *PENDING_TABLES,
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
        has_key INTEGER NOT NULL, seq INTEGER NOT NULL, shown INTEGER NOT NULL, is_due INTEGER NOT NULL
    )""",
    "CREATE INDEX entries_path ON entries (path, n)",
    "CREATE INDEX entries_time ON entries (timestamp)",
    "CREATE INDEX entries_due ON entries (path) WHERE is_due",
    """CREATE VIRTUAL TABLE entries_fts USING fts5 (
        content, tags, letters, id UNINDEXED, path UNINDEXED, superseded UNINDEXED,
        content='entries', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2'
    )""",
    # a version that changed no words is on the page as the entry that has them
    "CREATE TABLE versions (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID",
    # what was cleaned, and a digest of its words: a file that still has it is out of date
    "CREATE TABLE gone (id TEXT PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID",
    # every state in which a page was ever written: a file that is in an earlier one was restored, not edited
    """CREATE TABLE renderings (
        path TEXT NOT NULL, digest BLOB NOT NULL, mark BLOB NOT NULL, seq INTEGER NOT NULL, front TEXT NOT NULL,
        PRIMARY KEY (path, digest)
    ) WITHOUT ROWID""",
    # the pages that contradict the memory: they are read every time, until they do not
    "CREATE TABLE unclear (path TEXT PRIMARY KEY) WITHOUT ROWID",
)

# A page that is written is usually read next: comparing is quicker.
_last = b"", sha1(usedforsecurity=False).digest()[:16]


def digest_of(data: bytes) -> bytes:
    """A digest that tells one state of a file from another. It guards against nobody: it has to be quick."""
    global _last
    known = _last
    if known[0] != data:
        _last = known = data, sha1(data, usedforsecurity=False).digest()[:16]
    return known[1]
