"""The rows of the pages while events are applied: fetched when they are needed, written when the work is done.

The caller owns the transaction. Files are written once for many entries; entries a portion at a time, and before any
of them is read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import blake2b, sha1
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.names import MOST, file_of, tag_of
from tallystick.projections.pages.search import index_entry, letters_of, unindex_entry
from tallystick.projections.table_set import Pending
from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Refused
from tallystick.records.event import TIME, UNDOES, Event, origin_of
from tallystick.records.page import NOTES
from tallystick.records.policy import DEFAULT
from tallystick.records.times import later
from tallystick.state.pages import USUAL, is_about

_PER_ENTRY = 18  # tokens of a heading
_PORTION = 500  # entries written at once


class Entry(NamedTuple):
    """One entry, as it should be on its page."""

    n: int
    id: str
    path: str
    timestamp: str
    tags: str  # JSON
    content: str
    letters: str | None
    superseded: int
    superseded_by: str
    supersedes: str  # JSON: what was compacted into it
    retracted: int
    folded_into: str
    has_key: int
    seq: int
    stated: int  # the event that has its words
    shown: int
    is_due: int

    def known_by(self, user: str, about: str) -> int:
        """A number for what the ledger says of it, on that page."""
        return hash((*self[1:6], self.stated, user, about))

    @property
    def is_current(self) -> bool:
        return not (self.superseded or self.retracted or self.folded_into)

    @property
    def is_struck(self) -> bool:
        return bool(self.superseded or self.retracted)

    @property
    def tag_list(self) -> tuple[str, ...]:
        return tuple(orjson.loads(self.tags))

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(orjson.loads(self.supersedes))


@dataclass(slots=True)
class File:
    """One page, as it should be, and the state of its file when it was last read or written."""

    path: str
    user: str
    about: str
    title: str
    description: str
    tags: str  # JSON
    status: str
    created: str
    updated: str
    needs_compact: int = 0
    entry_count: int = 0
    zone: str = ""
    tokens: int = 0
    is_gone: int = 0
    front: str = "{}"  # JSON: the front matter when it was last read or written
    size: int | None = None
    mtime: int | None = None
    ctime: int | None = None
    inode: int | None = None
    digest: bytes | None = None
    is_due: int = 1  # or FROM_NOTHING

    @property
    def tag_list(self) -> tuple[str, ...]:
        return tuple(orjson.loads(self.tags))

    @property
    def stamp(self) -> tuple[int | None, ...]:
        return self.size, self.mtime, self.ctime, self.inode


FROM_NOTHING = 2  # a file that is due: what it has is of a page that is gone
_FILE_FIELDS = [field.name for field in fields(File)]
ENTRIES = f"SELECT {', '.join(Entry._fields)} FROM entries "
FILES = f"SELECT {', '.join(_FILE_FIELDS)} FROM files "
_ADD_ENTRY = f"INSERT INTO entries ({', '.join(Entry._fields)}) VALUES ({', '.join('?' * len(Entry._fields))})"
# values cost full text a third of what rows of another table cost: those it writes at once
_ADD_WORDS = "INSERT INTO entries_fts (rowid, content, tags, letters) VALUES (?, ?, ?, ?)"
_MERGE_WORDS = "INSERT INTO entries_fts (entries_fts, rank) VALUES ('merge', ?)"  # so many pages of it
_SET_FILE = f"INSERT OR REPLACE INTO files ({', '.join(_FILE_FIELDS)}) VALUES ({', '.join('?' * len(_FILE_FIELDS))})"
_values_of = attrgetter(*_FILE_FIELDS)


def digest_of_words(text: str) -> bytes:
    """A digest of words that are not kept."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def tokens_in(text: str) -> int:
    """The approximate number of tokens of a text."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // 4 + _PER_ENTRY


def path_of(user: str, about: str) -> str:
    """The file of an entity under `memory/`; another user's are in a folder of their own."""
    if user == OWNER:
        return file_of(about)
    folder = file_of(f"user-{user}").removeprefix("user-").removesuffix(".md")
    return f"@{folder}/{file_of(about)}"


def title_of(about: str) -> str:
    """The default title of a page: `user-profile` is "User Profile"."""
    prefix, _, name = about.partition("-")
    words = name if prefix in PREFIXES and prefix != "user" and name else about
    if words[:1].isdigit():
        return words
    return " ".join(word[:1].upper() + word[1:] for word in words.replace("_", "-").split("-") if word)


def description_of(about: str) -> str:
    if about == NOTES:
        return "What is about nothing in particular"
    title = title_of(about)
    return f"What happened on {title}" if about.startswith("event-") else f"What is known about {title}"


class Rows:
    """The part of the tables that is being changed; only rows, or the full text too."""

    def __init__(self, db: sqlite3.Connection, *, rows_only: bool = False) -> None:
        self.db, self.pending, self._rows_only = db, Pending(db, "page"), rows_only
        self._files: dict[tuple[str, str], File] = {}
        self._changed: dict[str, File] = {}  # by path
        self._fresh: dict[str, Entry] = {}  # entries that are not written yet, by id
        last = db.execute("SELECT max(n) FROM entries").fetchone()[0]
        self._next = 1 if last is None else last + 1

    def file(self, user: str, about: str, at: str) -> File:
        """The page of an entity, which is made if it is not there."""
        found = self._about(user, about)
        if found is None or found.is_gone:
            usual = USUAL.get(about, {})
            fresh = File(
                found.path if found else self._free_path(user, about), user, about, title_of(about),
                usual.get("description") or description_of(about), orjson.dumps(usual.get("tags", [])).decode(),
                "active", at, at,
            )  # fmt: skip
            if found:
                fresh.front, fresh.digest, fresh.is_due = found.front, found.digest, FROM_NOTHING
                fresh.size, fresh.mtime, fresh.ctime, fresh.inode = found.stamp
            found = self._files[user, about] = self._changed[fresh.path] = fresh
        return found

    def _about(self, user: str, about: str) -> File | None:
        return self._files.get((user, about)) or self._fetch("user = ? AND about = ?", user, about)

    def _fetch(self, where: str, *values: str) -> File | None:
        row = self.db.execute(f"{FILES}WHERE {where}", values).fetchone()
        return self._kept(File(*row)) if row else None

    def _kept(self, fetched: File) -> File:
        """The one object of a page."""
        return self._files.setdefault((fetched.user, fetched.about), fetched)

    def _free_path(self, user: str, about: str) -> str:
        """A path that no other page has, not even one with a name made for that."""
        path, number = path_of(user, about), 1
        while path in self._changed or self.db.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone():
            number += 1
            path = f"{path_of(user, about).removesuffix('.md')}-{number}.md"
        return path

    def touch(self, file: File, at: str) -> None:
        """Mark a file as out of date."""
        file.updated, file.is_due = max(file.updated, at), max(file.is_due, 1)
        self._changed[file.path] = file

    def rename(self, file: File, about: str, at: str) -> File:
        """Make the page that of another entity; its entries go along, to that entity's page if it has one.

        The former one is gone, until its file is.
        """
        self.flush()
        there = self._about(file.user, about)
        was, self._files = file.path, {key: each for key, each in self._files.items() if each is not file}
        gone = replace(file, is_gone=1, is_due=1, entry_count=0, tokens=0)
        self.db.execute("DELETE FROM files WHERE path = ?", (was,))
        if there is None or there.is_gone:
            self.db.execute("DELETE FROM files WHERE user = ? AND about = ?", (file.user, about))
            file.about, file.path = about, self._free_path(file.user, about)
        else:
            there.entry_count, there.tokens = there.entry_count + file.entry_count, there.tokens + file.tokens
            file = there
        self._files[file.user, about] = file
        self.db.execute("UPDATE entries SET path = ?, is_due = 1 WHERE path = ?", (file.path, was))
        if was != file.path:
            self._files[gone.user, gone.about] = self._changed[was] = gone
        self.touch(file, at)
        return file

    def redate(self, clock: str) -> None:
        """Correct the pages whose `updated` is long after `clock`, which is right."""
        self.flush()
        for row in self.db.execute(FILES + "WHERE updated > ?", (later(clock),)).fetchall():
            file = self._kept(File(*row))
            file.updated = clock
            self.touch(file, clock)

    def clean(self, user: str, at: str) -> None:
        self.flush()
        for row in self.db.execute(FILES + "WHERE user = ?", (user,)).fetchall():
            self.sweep(self._kept(File(*row)), at)

    def at(self, path: str) -> File | None:
        return self._changed.get(path) or self._fetch("path = ?", path)

    def flush(self) -> set[int]:
        """Write what is not written yet, and return what its entries are known by."""
        whose = {file.path: (file.user, file.about) for file in self._changed.values()}
        fresh = {each.known_by(*whose[each.path]) for each in self._fresh.values()}
        self._write_entries()
        self.db.executemany(_SET_FILE, map(_values_of, self._changed.values()))
        self._changed.clear()
        return fresh

    # -- entries -----------------------------------------------------------------------------------------------------

    def add(
        self, file: File, name: str, at: str, tags: Iterable[str], text: str, seq: int, stated: int, *,
        happened: str = "", superseded_by: str = "", is_retracted: bool = False, supersedes: Sequence[str] = (),
        has_key: bool = False,
    ) -> None:  # fmt: skip
        """Add an entry at the end of a page."""
        n, self._next = self._next, self._next + 1
        listed = orjson.dumps(list(tags)).decode()
        if name in self._fresh or len(self._fresh) >= _PORTION:
            self._write_entries()
        self._fresh[name] = Entry(
            n, name, file.path, happened or at, listed, text, letters_of(text, name), int(bool(superseded_by)),
            superseded_by, orjson.dumps(list(supersedes)).decode(), int(is_retracted), "", int(has_key), seq,
            stated, 0, 1,
        )  # fmt: skip
        file.entry_count += 1
        file.tokens += tokens_in(text)
        if file.status == "dormant" and not supersedes:  # what was compacted is no news
            file.status = "active"
        self.touch(file, at)

    def _write_entries(self) -> None:
        self.db.executemany(_ADD_ENTRY, self._fresh.values())
        if self._fresh and not self._rows_only:
            words = [(each.n, each.content, each.tags, each.letters) for each in self._fresh.values()]
            self.db.executemany(_ADD_WORDS, words)
            self.db.execute(_MERGE_WORDS, (2 * len(words),))
        self._fresh.clear()

    def entry(self, version: str) -> Entry | None:
        """The entry that shows a version of a belief."""
        if fresh := self._fresh.get(version):
            return fresh
        named = self.db.execute("SELECT entry FROM page_versions WHERE id = ?", (version,)).fetchone()
        name = named[0] if named else version
        row = self.db.execute(ENTRIES + "WHERE id = ?", (name,)).fetchone()
        return Entry(*row) if row else self._fresh.get(name)

    def strike(self, entry: Entry, at: str, *, superseded_by: str = "") -> None:
        """Strike an entry: something replaced it, or it was retracted."""
        struck: dict[str, object] = {"superseded": 1, "superseded_by": superseded_by}
        self.change(entry, at, **(struck if superseded_by else {"retracted": 1}))

    def change(self, entry: Entry, at: str, **columns: object) -> None:
        """Change an entry that its file does not show so yet."""
        if entry.id in self._fresh:
            self._write_entries()
        names = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE entries SET {names}, is_due = 1 WHERE n = ?", (*columns.values(), entry.n))
        if file := self.at(entry.path):
            self.touch(file, at)

    def tag(self, entry: Entry, tags: Iterable[str], at: str, stated: int) -> None:
        self._write_entries()
        unindex_entry(self.db, entry.n)
        self.change(entry, at, tags=orjson.dumps(list(tags)).decode(), stated=stated)
        index_entry(self.db, entry.n)

    def fold(self, entry: Entry, into: str, at: str) -> None:
        """Compact an entry into another; it is on no page any more."""
        self.change(entry, at, folded_into=into)
        if (file := self.at(entry.path)) and not entry.folded_into:
            file.entry_count -= 1
            file.tokens -= tokens_in(entry.content)

    def stand_at(self, name: str, others: Sequence[Entry]) -> list[Entry]:
        """Let an entry and the first of the others change places. Returns the others, as they are then."""
        self._write_entries()
        entry, first = self.entry(name), others[0]
        assert entry is not None
        for n in (entry.n, first.n):
            unindex_entry(self.db, n)
        for old, new in ((entry.n, -1), (first.n, entry.n), (-1, first.n)):
            self.db.execute("UPDATE entries SET n = ? WHERE n = ?", (new, old))
        for n in (entry.n, first.n):
            index_entry(self.db, n)
        return [first._replace(n=entry.n), *others[1:]]

    def has_entries(self, file: File) -> bool:
        self._write_entries()
        return self.db.execute("SELECT 1 FROM entries WHERE path = ? LIMIT 1", (file.path,)).fetchone() is not None

    def leave(self, path: str, at: str) -> None:
        """Remove a page from which everything was moved, if it says nothing else."""
        file = self.at(path)
        if file and not file.entry_count and not file.needs_compact and file.about not in USUAL:
            usual = title_of(file.about), description_of(file.about), "[]", "active"
            if (file.title, file.description, file.tags, file.status) == usual:
                self.sweep(file, at)

    def sweep(self, file: File, at: str) -> None:
        """Remove all entries of a page, and the page with them."""
        self._write_entries()
        for row in self.db.execute(ENTRIES + "WHERE path = ? ORDER BY n", (file.path,)).fetchall():
            entry = Entry(*row)
            unindex_entry(self.db, entry.n)
            self.db.execute("DELETE FROM entries WHERE n = ?", (entry.n,))
            self.db.execute("INSERT OR IGNORE INTO page_gone VALUES (?, ?)", (entry.id, digest_of_words(entry.content)))
        file.is_gone, file.entry_count, file.tokens = 1, 0, 0
        self.touch(file, at)


# -- the base of a saved file: the state of its page that a person edited ----------------------------------------------

_HEAD = 64 << 10  # bytes in which every front matter ends
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FIELDS = re.compile(rb"^(?:updated|entry_count):[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_OPENED = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?$", re.MULTILINE)


class Base(NamedTuple):
    """A former state of a page.

    Every time a page is written its `updated` or its `entry_count` changes, and an editor leaves both as they were. So
    they tell a file that was saved from the present page from one that was open in an editor for long: an entry that
    came later was not seen by whoever saved, and is not missing because of them. Where no state of the page has these
    two values, nothing is known, and nothing is taken for removed.
    """

    digest: bytes
    seq: int  # the last event that it can show
    front: str  # JSON: its front matter


def mark_of(data: bytes) -> bytes:
    """The `updated` and `entry_count` of a page, as they are written; empty, if it has no front matter."""
    head = data[:_HEAD]
    if found := _FRONT.match(head):
        return b" ".join(_FIELDS.findall(found[1]))
    return b"?" if _OPENED.match(head) else b""


# A page that is written is usually read next: comparing is quicker.
_last = b"", sha1(usedforsecurity=False).digest()[:16]


def digest_of(data: bytes) -> bytes:
    """A digest that tells one state of a file from another. It guards against nobody: it has to be quick."""
    global _last
    known = _last
    if known[0] != data:
        _last = known = data, sha1(data, usedforsecurity=False).digest()[:16]
    return known[1]


# -- the effect of each event on the pages -----------------------------------------------------------------------------
# Only the event and the rows decide, so pages that followed along and pages that were rebuilt are the same. A belief is
# on the page of its entity as soon as it has words. Other words strike the entry and add one; the same words on the
# same page leave it where it is. What tools and web pages say is on no page before a person approves it; what was said
# on a branch of a conversation is on none before it is merged.

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)  # as the ledger writes it


def apply(rows: Rows, event: Event) -> None:
    if event.seq == 0:
        for about in USUAL:
            rows.file(OWNER, about, event.ts)
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(rows, event, event.body)


def tags_shown(tags: Iterable[str], kind: str) -> tuple[str, ...]:
    """The tags of a belief as an entry has them: one to three valid ones."""
    found: dict[str, None] = {}
    for said in (*tags, kind, "fact"):
        if len(found) < MOST and (said in tags or not found):
            try:
                found[tag_of(said)] = None
            except Refused:
                continue
    return tuple(found)


def _state(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, new or in place of others."""
    belief, replaced = body["belief"], [*body.get("replaces", ()), *body.get("again", {}).get("ids", ())]
    if belief.get("path"):
        return
    before = [rows.pending.take(name) for name in replaced]
    gone = list({entry.n: entry for name in replaced if (entry := rows.entry(name))}.values())
    took_over = bool(gone) and not any(before) and "quarantined" not in body
    if belief.get("trust", "human") in DEFAULT.quarantined and "approved" not in body and not took_over:
        rows.pending.add(belief["id"], event, belief)
        for entry in gone if "quarantined" in body else ():
            rows.strike(entry, event.ts, superseded_by=belief["id"])
        return
    _show(rows, event, origin_of(event).at, event.seq, belief, gone)


def _show(rows: Rows, event: Event, at: str, stated: int, belief: Mapping[str, Any], gone: list[Entry]) -> None:
    text, name = belief.get("text", ""), belief["id"]
    if not gone and not text:
        return
    held = belief.get("status", "active") == "active"
    file = rows.file(belief.get("user", OWNER), is_about(belief.get("about", "")), at)
    tags = tags_shown(belief.get("tags", ()), belief.get("kind", "fact"))
    happened, superseded_by, folds = _page_fields(belief)
    may_stay = gone[:1] if folds else gone  # what was compacted is where the first was, whoever said the same
    same = next((old for old in may_stay if old.content == text and old.path == file.path and not old.is_struck), None)
    if same is not None and folds:
        rows.change(same, event.ts, supersedes=orjson.dumps(folds).decode())
    if same is not None or (not text and gone):
        kept = same or gone[0]
        rows.db.execute("INSERT OR REPLACE INTO page_versions VALUES (?, ?)", (name, kept.id))
        if not held or not text:
            rows.strike(kept, event.ts)
        elif same and tags != same.tag_list:
            rows.tag(same, tags, event.ts, stated)
        if same and happened not in ("", same.timestamp):
            rows.change(same, event.ts, timestamp=happened)
    elif text:
        rows.add(
            file, name, event.ts, tags, text, event.seq, stated, happened=happened or at,
            has_key=not is_id(belief["key"]), superseded_by=superseded_by, supersedes=folds,
            is_retracted=not held and not superseded_by,
        )  # fmt: skip
        if folds and gone and gone[0].path == file.path:  # what was compacted is where it was
            gone = rows.stand_at(name, gone)
    for old in gone:
        if old is same or not text or old.superseded:
            continue
        if origin_of(event).id and old.content == text and not old.is_struck:  # it was moved to the other page
            rows.fold(old, name, event.ts)
            rows.leave(old.path, event.ts)
        else:
            rows.strike(old, event.ts, superseded_by=same.id if same else name)


def _page_fields(belief: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """The fields of a version that was found on a page: when it happened, what replaced it, what it compacts. Any
    program may write there: anything else is ignored."""
    views = belief.get("views")
    view = views.get("entry") if isinstance(views, dict) else None
    seen = view if isinstance(view, dict) else {}
    by, folds = seen.get("superseded_by"), seen.get("folds")
    return (
        time_said(seen.get("at")), by if isinstance(by, str) and is_id(by) else "",
        [name for name in folds if isinstance(name, str) and is_id(name)] if isinstance(folds, list) else [],
    )  # fmt: skip


def time_said(said: object) -> str:
    """A time as the ledger writes it, if every page can show it; else empty."""
    try:
        at = datetime.fromisoformat(said) if isinstance(said, str) else None
        if at is None or at.tzinfo is None or not 2 < at.year < 9998:
            return ""
        return said if isinstance(said, str) and _STAMP.fullmatch(said) else stamp(at)
    except ValueError:
        return ""


def _withdraw(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    rows.pending.take(body["id"])
    entry = rows.entry(body["id"])
    if entry is not None and not entry.retracted:
        rows.strike(entry, event.ts)


def _erased(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    for name in body.get("ids", ()):
        if rows.entry(name) or rows.pending.take(name):
            raise Stale("they held words that were erased")


def _answer(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    for at, stated, belief in rows.pending.answer(body):
        _show(rows, event, at, stated, belief, [])


def _page(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    file, front = rows.file(body["user"], body["about"], event.ts), body["front"]
    is_undo, is_usual = UNDOES in body, body["about"] in USUAL
    if body.get("again") and not is_undo:  # what was said of it is about to be erased
        rows.db.execute("DELETE FROM local_renderings WHERE path = ? AND seq < ?", (file.path, event.seq))
    if body.get("again") and not front and not rows.has_entries(file) and not (is_undo and is_usual):
        rows.sweep(file, event.ts)
        return
    if body.get("again"):
        usual: dict[str, Any] = {
            "description": description_of(body["about"]), "title": title_of(body["about"]), "tags": [],
            "status": "active", "needs_compact": False,
        }  # fmt: skip
        front = {**usual, **USUAL.get(body["about"], {}), **front}
    for name in ("description", "title", "status"):
        if name in front:
            setattr(file, name, front[name])
    file.created = time_said(front.get("created")) or file.created
    if "tags" in front:
        file.tags = orjson.dumps(front["tags"]).decode()
    if "needs_compact" in front:
        file.needs_compact = int(front["needs_compact"])
    updated = file.updated
    rows.touch(file, event.ts)
    if not {"description", "title", "tags"} & set(front):  # the state of a page is no news about its entity
        file.updated = updated


def _fold(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    for name, into in body["into"].items():
        if entry := rows.entry(name):
            rows.fold(entry, into, event.ts)


def _rename(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    was, to = body["about"], body["to"]
    file = rows.rename(rows.file(body["user"], was, event.ts), to, event.ts)
    if file.title == title_of(was):
        file.title = title_of(to)
    if file.description == description_of(was):
        file.description = description_of(to)


def _take(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """The pages that every memory begins with are as old as the memory that was imported."""
    for about in USUAL if body["whole"] and body["user"] == OWNER else ():
        file = rows.file(OWNER, about, event.ts)
        file.created = file.updated = body["begun"]
        rows.touch(file, body["begun"])


_ACTS: dict[str, Callable[[Rows, Event, dict[str, Any]], None]] = {
    ops.BELIEF_PUT: _state, ops.BELIEF_SUPERSEDE: _state, ops.BELIEF_TOMBSTONE: _withdraw,
    ops.BELIEF_INVALIDATE: _withdraw, ops.ERASE: _erased, ops.REVIEW_ANSWER: _answer,
    ops.REVIEW_ASK: lambda rows, _, body: rows.pending.ask(body), ops.PAGE_PUT: _page, ops.PAGE_COMPACT: _fold,
    ops.PAGE_RENAME: _rename, ops.IMPORT_TAKE: _take,
    ops.PAGE_CLEAN: lambda rows, event, body: rows.clean(body["user"], event.ts),
    TIME: lambda rows, _, body: rows.redate(body["clock"]),
}  # fmt: skip
