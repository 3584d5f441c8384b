"""What the bench of pages is fed with: a folder of Markdown, the same on every machine; and the bare things.

A page has so many entries of a dozen words. One in ten was superseded by the one behind it. The words are those of the
bench of the index; each entry has one that no other has.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

import orjson
from index_data import tag, text

_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_ODD = 0x9E3779B1
_FRONT = """---
description: What is known about {about}
tags: [bench]
status: active
created: {created:%Y-%m-%dT%H:%M:%S}+00:00
updated: {updated:%Y-%m-%dT%H:%M:%S}+00:00
entry_count: {count}
needs_compact: false
---

# {about}
"""

_ENTRY = re.compile(r"^## \[([^]]+)\] \{id: ([^}]+)\}(.*)\n", re.MULTILINE)
_STRUCK = re.compile(r"~~(.*)~~ #superseded-by:(\S+)\s*\Z", re.DOTALL)
_FIELD = re.compile(r"^(\w+): (.*)$", re.MULTILINE)
PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA temp_store=MEMORY")
_TABLES = (
    """CREATE TABLE files (
        path TEXT PRIMARY KEY, description TEXT, tags TEXT, status TEXT, created TEXT, updated TEXT,
        needs_compact INTEGER, entry_count INTEGER, size INTEGER, mtime INTEGER, inode INTEGER, digest BLOB
    ) WITHOUT ROWID""",
    """CREATE TABLE entries (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL, timestamp TEXT NOT NULL, tags TEXT NOT NULL,
        content TEXT NOT NULL, superseded INTEGER NOT NULL, superseded_by TEXT NOT NULL
    )""",
    "CREATE INDEX entries_path ON entries (path, n)",
    "CREATE INDEX entries_time ON entries (timestamp)",
    """CREATE VIRTUAL TABLE entries_fts USING fts5 (
        content, tags, content='entries', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2'
    )""",
)
_ADD_FILE = f"INSERT INTO files VALUES ({', '.join('?' * 12)})"
_ADD_ENTRY = f"INSERT INTO entries VALUES ({', '.join('?' * 8)})"
_ADD_TEXT = "INSERT INTO entries_fts (rowid, content, tags) VALUES (?, ?, ?)"


def at(number: int) -> datetime:
    return _BEGUN + timedelta(seconds=number)


def name(number: int) -> str:
    return f"{at(number):%Y%m%d-%H%M}-{number * _ODD % (1 << 24):06x}"


def only_word(number: int) -> str:
    """A word that stands in one entry alone."""
    return f"only{number}n"


def said(number: int) -> str:
    return f"{text(number)} It is {only_word(number)}."


def entry(number: int, last: int) -> str:
    body = said(number)
    if number % 10 == 3 and number < last:
        body = f"~~{body}~~ #superseded-by:{name(number + 1)}"
    return f"\n## [{at(number):%Y-%m-%dT%H:%M:%S}] {{id: {name(number)}}} #{tag(number)}\n{body}\n"


def page(about: str, first: int, count: int) -> str:
    last = first + count - 1
    front = _FRONT.format(about=about, created=at(first), updated=at(last), count=count)
    return front + "".join(entry(number, last) for number in range(first, last + 1))


def write_pages(folder: Path, files: int, each: int) -> None:
    """Files of `each` entries, numbered from 0 across all of them."""
    folder.mkdir(parents=True)
    for number in range(files):
        about = f"topic-t{number}"
        (folder / f"{about}.md").write_text(page(about, number * each, each), encoding="utf-8")


# -- the bare things -------------------------------------------------------------------------------------------------


def walk(folder: Path) -> int:
    """One `stat` for each file."""
    with os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)


def write_whole(path: Path, data: bytes) -> None:
    """Beside itself, synced, renamed, and the folder synced."""
    beside = path.with_suffix(".new")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(beside, path)
    fd = os.open(path.parent, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def change_plainly(path: Path, number: int, *, instead_of: str = "") -> None:
    """An entry more, and one that it replaces struck: the file read, changed as text, and written whole."""
    text = path.read_text(encoding="utf-8")
    if instead_of:
        end = text.index("\n", text.index(f"{{id: {instead_of}}}"))
        last = text.find("\n\n## [", end)
        body = text[end:last] if last >= 0 else text[end:]
        struck = f" #superseded-by:{name(number)}\n~~{body.strip()}~~"
        text = text[:end] + struck + text[end + len(body.rstrip()) :]
    head, front, rest = text.split("---\n", 2)
    front = re.sub(r"(?<=^entry_count: )\d+", lambda found: str(int(found[0]) + 1), front, flags=re.MULTILINE)
    front = re.sub(r"(?<=^updated: )\S+", f"{at(number):%Y-%m-%dT%H:%M:%S}+00:00", front, flags=re.MULTILINE)
    write_whole(path, "---\n".join([head, front, rest + entry(number, number)]).encode())


def read_and_insert(folder: Path, path: Path) -> None:
    """Every file read, split at its headings and put into plain tables with full text, all of it one transaction."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in (*PRAGMAS, "BEGIN", *_TABLES):
            db.execute(statement)
        number = 0
        for file in sorted(folder.glob("*.md")):
            data = file.read_bytes()
            front, *found = _ENTRY.split(data.decode())
            db.execute(_ADD_FILE, _file_row(file, data, front, len(found) // 4))
            for row in _entry_rows(file.name, found, number):
                db.execute(_ADD_ENTRY, row)
                db.execute(_ADD_TEXT, (row[0], row[5], row[4]))
            number += len(found) // 4
        db.execute("COMMIT")


def _file_row(file: Path, data: bytes, front: str, count: int) -> tuple[object, ...]:
    fields, seen = dict(_FIELD.findall(front)), file.stat()
    return (
        file.name, fields["description"], fields["tags"], fields["status"], fields["created"], fields["updated"],
        fields["needs_compact"] == "true", count, seen.st_size, seen.st_mtime_ns, seen.st_ino,
        blake2b(data, digest_size=16).digest(),
    )  # fmt: skip


def _entry_rows(path: str, found: list[str], number: int) -> Iterator[tuple[object, ...]]:
    for when, named, tags, body in zip(*[iter(found)] * 4, strict=True):
        number += 1
        struck = _STRUCK.match(body)
        content, by = struck.groups() if struck else (body.strip(), "")
        listed = orjson.dumps(tags.replace("#", "").split()).decode()
        yield number, named, path, f"{when}.000000Z", listed, content, bool(struck), by
