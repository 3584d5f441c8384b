"""The tables of `pages.db`: which pages there are, what stands on them, and as what each file was last seen.

`files` and `entries` say what the pages should show; it follows from the ledger alone. Beside that stands how far the
files have followed: the stamp of a file as it was last written or read (`size` to `digest`), `is_due` while it lags
behind, and of each entry how it was last seen there (`shown`). `entries_fts` is the full text of `entries`, without a
copy of the words.

An entry's `shown`: 0 was never on the page, 1 stood there, 2 stood there struck.

`renderings` are all states in which a page was written or read: its bytes by their digest, its `mark` (see `base`), how
far the ledger was, and what its front matter said. By its mark a saved page is known to come from one of them.
"""

from __future__ import annotations

from hashlib import sha1

SHAPE = 4  # of what the fold writes; raise it when the same events give other rows

TABLES = (
    """CREATE TABLE bookmark (
        only INTEGER PRIMARY KEY CHECK (only = 1), shape INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL
    )""",
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
    # a version that changed no words stands on the page under the entry that has them
    "CREATE TABLE versions (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID",
    # what tools and web pages told is on no page before a person says yes
    "CREATE TABLE waiting (id TEXT PRIMARY KEY, at TEXT NOT NULL, belief TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE asked (review TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (review, id)) WITHOUT ROWID",
    # what was cleaned away, and a digest of its words: a file that still has it lags behind
    "CREATE TABLE gone (id TEXT PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID",
    # every state in which a page was ever written: a file that is in an earlier one was put back, not edited
    """CREATE TABLE renderings (
        path TEXT NOT NULL, digest BLOB NOT NULL, mark BLOB NOT NULL, seq INTEGER NOT NULL, front TEXT NOT NULL,
        PRIMARY KEY (path, digest)
    ) WITHOUT ROWID""",
    # the pages that say something else than the memory: they are looked at every time, until they do not
    "CREATE TABLE unclear (path TEXT PRIMARY KEY) WITHOUT ROWID",
)

NAMES = ("entries_fts", "entries", "files", "versions", "waiting", "asked", "gone", "renderings", "unclear", "bookmark")


# A page that is written is read next, if anything is: to compare is quicker.
_last = b"", sha1(usedforsecurity=False).digest()[:16]


def digest_of(data: bytes) -> bytes:
    """What tells one state of a file from another. Nobody is kept out by it: what counts is that it is quick."""
    global _last
    known = _last
    if known[0] != data:
        _last = known = data, sha1(data, usedforsecurity=False).digest()[:16]
    return known[1]
