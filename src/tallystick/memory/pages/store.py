"""`m.pages`: beliefs as dated entries on one Markdown file per entity, for people to read, grep, diff and edit.

Everything is an event first; the file follows. What a person edits comes in with `sync`, and with any write to the same
page. A `path` is a page's file name, with or without `.md`, or the entity itself (`person-ana`).
"""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.decide import pages as decide
from tallystick.decide.entities import after_merges, the_one
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.schema import SCHEMA
from tallystick.memory.pages.sync import NOBODYS, Sync
from tallystick.memory.settings import Settings
from tallystick.memory.trust.filtered_calls import answering
from tallystick.projections.markdown import entity_of
from tallystick.projections.markdown.front import checked
from tallystick.projections.markdown.page import to_text
from tallystick.projections.pages import render
from tallystick.projections.pages.rows import Entry, File, path_of, tags_shown
from tallystick.projections.pages.search import Match, recent, search, span_of
from tallystick.records.belief import OWNER, Belief, texts
from tallystick.records.entity import PREFIXES, has_kind
from tallystick.records.errors import Busy, Moved, NotFound, NotWritable, Refused
from tallystick.records.operations import BELIEF_TOMBSTONE, EPISODE_RETRACT
from tallystick.records.page import NOTES, Compaction, PageEntry, PageInfo, PageText, Synced
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.page_files import NoPage

if TYPE_CHECKING:
    from tallystick.memory.pages.compact import Compactor


Moment = date | str | None


@answering
class PageStore:
    """The pages of one user."""

    def __init__(self, open_folder: OpenLedger, gate: WriteGate, at: PagesAt, user: str, settings: Settings) -> None:
        self._folder, self._gate, self._at, self._user, self._settings = open_folder, gate, at, user, settings

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._at.folder.root

    def __contains__(self, about: object) -> bool:
        """Whether there is a page on which what is about that stands."""
        file = self._at.read(lambda pages: pages.about(self._user, str(about) or NOTES))
        return file is not None and not file.is_gone

    # -- writing -----------------------------------------------------------------------------------------------------

    def create(self, path: str, description: str = "", tags: Iterable[str] = (), *, title: str = "") -> PageInfo:
        """Make a page before there is anything to put on it."""
        about = self._about(path)
        front = self._front(description=description, tags=list(texts(tags, "tags")), title=title)
        self._gate.must("page", "create", user=self._user)
        with self._at.paused():
            if (file := self._file(about)) and not file.is_gone:
                raise Refused(f"{file.path} exists already; append to it", "exists")
            self._put(about, {name: value for name, value in front.items() if value}, is_new=True)
            return _info(self._recorded(about))

    def append(
        self, /, path: str, content: str, tags: Iterable[str] = (), *, idempotency_key: str = "", **fields: Any
    ) -> PageEntry:  # fmt: skip
        """Add a statement to a page, which is made if need be. `fields` are those of `remember`.

        If it is recorded and its page cannot be written, the page follows later. What a tool or the web says is on its
        page as soon as a person approves it.
        """
        about = self._about(path)
        if not _is_text(content):
            raise Refused("nothing to append: give one to three sentences", "required")
        if given := {"id", "text", "about", "user", "path"} & fields.keys():
            raise Refused(f"the {min(given)} of an entry follows from its page and text; leave it out", "field")
        said = {
            "text": content, "about": "" if about == NOTES else about, "tags": texts(tags, "tags"), "user": self._user,
            "path": "", "trust": None, **fields,
        }  # fmt: skip
        with self._at.paused():
            events = self._gate.put(said, idempotency_key)
            name = next((event.body["belief"]["id"] for event in events if event.body and "belief" in event.body), "")
            belief = self._belief(name or said.get("key", ""), idempotency_key)
            return self._followed(about, belief)

    def supersede(
        self, path: str, old_id: str, new_content: str, reason: str = "", *, tags: Iterable[str] | None = None
    ) -> PageEntry:  # fmt: skip
        """Replace an entry: the old one is struck and names the new one, which stands at the end of the page."""
        about = self._about(path)
        with self._at.paused():
            row = self._at.read(lambda db: db.entry(old_id))
            file = self._file(about)
            if row is None or file is None or row.path != file.path:
                raise NotFound(f"no entry {old_id[:40]!r} on {self._path(about)}; run `tallystick pages`")
            changes: dict[str, Any] = {"text": new_content}
            if not _is_text(new_content):
                raise Refused("nothing to say instead; use `forget` to remove an entry", "required")
            if tags is not None:
                changes["tags"] = texts(tags, "tags")
            self._gate.revise(old_id, changes, reason=reason, user=self._user, path="")
            belief = self._belief(old_id)
            return self._followed(about, belief)

    def flag_compact(self, path: str, reason: str = "") -> PageInfo:
        """Mark a page to be compacted by the next `tallystick tidy --compact`."""
        return self._set(path, needs_compact=True, **({"reason": reason} if reason else {}))

    def archive(self, path: str) -> PageInfo:
        """Put a page away: it stays where it is, and is not listed unless asked for."""
        return self._set(path, status="archived")

    def activate(self, path: str) -> PageInfo:
        """Take a page that was put away, or lies dormant, up again."""
        return self._set(path, status="active")

    def describe(
        self, path: str, *, description: str | None = None, tags: Iterable[str] | None = None, title: str | None = None
    ) -> PageInfo:  # fmt: skip
        """Say in one line what a page is about, or tag it."""
        if title is not None and not title.strip():
            raise Refused("a page's title must not be empty; leave it out to keep the present one", "required")
        said = {"description": description, "tags": None if tags is None else list(texts(tags, "tags")), "title": title}
        return self._set(path, **{name: value for name, value in said.items() if value is not None})

    # -- compacting --------------------------------------------------------------------------------------------------

    def compactions(self, *, user: str | None = None) -> builtins.list[Compaction]:
        """What may become of the pages that are flagged or above `soft_limit_tokens`. Nothing is written."""
        return self._folds.proposals(self._user if user is None else user)

    def compact(self, path: str | Compaction, rewrite: str | None = None, *, reason: str = "") -> Compaction:
        """Compact a page: as we propose, as one of `compactions()` shows (Moved, if the page changed since), or as
        `rewrite` has it, the Markdown of the whole page. Refused, if a fact would be lost by it; then the page stays
        flagged."""
        self._must_be_writable()
        if isinstance(path, Compaction):
            file = self._at.read(lambda db: db.file(path.path))
            if file is None or file.user != path.user:
                raise Moved(f"{path.path} no longer exists; list the compactions again")
            user, about, shown = path.user, file.about, path
        else:
            user, about, shown = self._user, self._about(path), None
        self._gate.may_fold(user, about, reason, rewrite)
        return self._folds.carry_out(user, about, rewrite, reason, shown=shown)

    @cached_property
    def _folds(self) -> Compactor:
        from tallystick.memory.pages.compact import Compactor  # only where something is folded

        return Compactor(self._folder, self._at, self._settings, self._synced)

    def _set(self, path: str, **front: Any) -> PageInfo:
        about = self._about(path)
        self._gate.must("page", "describe", user=self._user)
        with self._at.paused():
            self._existing(about)
            self._put(about, self._front(**front))
            return _info(self._recorded(about))

    def _put(self, about: str, front: dict[str, Any], *, is_new: bool = False) -> None:
        known = self._folder.state
        self._folder.ledger.write(lambda: decide.put(known, self._user, about, front, is_new=is_new))

    def _front(self, **front: Any) -> dict[str, Any]:
        """What may stand in a front matter."""
        for name, value in front.items():
            if name in ("description", "tags", "status", "needs_compact"):
                made = checked(name, value, self._at.zone)
                front[name] = list(made) if isinstance(made, tuple) else value
            elif not isinstance(value, str) or "\n" in value or len(value) > 200:
                raise Refused(f"a page's {name} must be one line of up to 200 characters", "text")
        if isinstance(front.get("description"), str) and "\n" in front["description"]:
            raise Refused("a page's description must be one line", "text")
        return front

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(
        self, path: str, *, since: Moment = None, until: Moment = None, tags: Iterable[str] = (),
        tail_n: int | None = None, include_superseded: bool = False,
    ) -> PageText:  # fmt: skip
        """A page and its entries, oldest first: those of a time, with any of these tags, or the last `tail_n`."""
        about = self._about(path)
        file = self._existing(about)
        first = span_of(since, self._at.zone)[0] if since is not None else ""
        last = span_of(until, self._at.zone)[1] if until is not None else ""
        wanted = {tag.lstrip("#").casefold() for tag in texts(tags, "tags")}
        rows = [
            row for row in self._at.read(lambda db: db.entries(file.path))
            if not row.folded_into and (include_superseded or not row.is_struck)
            and (not first or row.timestamp >= first) and (not last or row.timestamp < last)
            and (not wanted or wanted & {tag.casefold() for tag in row.tag_list})
        ]  # fmt: skip
        if tail_n is not None:
            if type(tail_n) is not int or tail_n < 0:
                raise Refused(f"tail_n must be a number of entries, not {tail_n!r}")
            rows = rows[len(rows) - min(tail_n, len(rows)) :]
        return PageText(info=_info(file), entries=tuple(map(entry_of, rows)), text=self._text(file))

    def list(self, include_dormant: bool = False, include_archived: bool = False) -> list[PageInfo]:
        """The pages of this user, the last touched first."""
        hidden = {"dormant": not include_dormant, "archived": not include_archived}
        files = sorted(
            self._at.read(lambda db: db.files(self._user)), key=lambda file: (file.updated, file.path), reverse=True
        )
        return [_info(file) for file in files if not file.is_gone and not hidden.get(file.status)]

    def search(
        self, query: str, paths: Iterable[str] | None = None, since: Moment = None, until: Moment = None,
        top_k: int = 10, include_superseded: bool = False, *, tags: Iterable[str] = (),
    ) -> builtins.list[PageEntry]:  # fmt: skip
        """The entries that hold these words, the best first. See `tallystick pages --help` for what may be typed."""
        asked: dict[str, Any] = {
            "user": self._user, "paths": None if paths is None else list(texts(paths, "paths")), "since": since,
            "until": until, "tags": texts(tags, "tags"), "top_k": top_k, "include_superseded": include_superseded,
            "zone": self._at.zone,
        }  # fmt: skip
        return [_matched(match) for match in self._at.read(lambda pages: pages.found(search(pages.db, query, **asked)))]

    def recent(
        self, since: date | str | None = None, limit: int = 20, prefixes: Iterable[str] | None = None
    ) -> builtins.list[PageEntry]:  # fmt: skip
        """The current entries, the newest first; with `prefixes` (`project-`, `project`), only those on such pages."""
        if type(limit) is not int or limit < 0:
            raise Refused(f"limit must be a number of entries, not {limit!r}")
        paths = None
        if prefixes is not None:
            paths = [f"{each}-" if each in PREFIXES else each for each in texts(prefixes, "prefixes")]
        asked: dict[str, Any] = {"user": self._user, "paths": paths, "since": since, "top_k": limit}
        found = self._at.read(lambda pages: pages.found(recent(pages.db, zone=self._at.zone, **asked)))
        return [_matched(match) for match in found]

    def name_of(self, about: str) -> str:
        """The file on which what is about that stands, or would."""
        return self._path(about or NOTES)

    def get_schema(self) -> str:
        """Where something belongs, and how it is said: which page, when to append, to supersede, to say nothing."""
        return SCHEMA

    def _text(self, file: File) -> str:
        """The page as it stands in its file; as it would, if there is none, or not all of it may be read."""
        outlet, entries = self._folder.outlet, self._at.read(lambda db: db.entries(file.path))
        shown = [row for row in entries if outlet is None or not outlet.reader.withholds(row.id)]
        with suppress(NoPage):
            if len(shown) == len(entries) and (read := self._at.folder.read(file.path)) is not None:
                return to_text(read.data)
        return to_text(render.new(file, shown, self._at.zone).data)

    # -- files -------------------------------------------------------------------------------------------------------

    def sync(self, paths: Iterable[str] | None = None) -> Synced:
        """Import what was edited, of all users, and update the files. What is not understood is reported."""
        self._must_be_writable()
        only = None if paths is None else {self._path(self._about(path)) for path in texts(paths, "paths")}
        return self._synced(only)

    def rebuild(self) -> Synced:
        """Sync, and rebuild the tables from the ledger and the files. Doing it again changes nothing."""
        self._must_be_writable()
        with self._at.working():
            one = self._synced(None)
            self._at.rebuild()
            two = self._synced(None)
        return Synced(
            seen=one.seen, adopted=one.adopted + two.adopted, written=tuple(dict.fromkeys(one.written + two.written)),
            problems=tuple(dict.fromkeys(one.problems + two.problems)), reviews=one.reviews + two.reviews,
        )  # fmt: skip

    def clean(self, *, everything: bool = False, reason: str = "cleaned") -> int:
        """Forget everything of this user and remove the pages; with `everything`, also what was observed,
        and the rules. Returns how many beliefs and episodes went. They stay in history: `erase` destroys."""
        self._must_be_writable()
        self._gate.may_clean(self._user)
        state = self._folder.state
        with self._at.working():
            self._synced(None)
            ledger = self._folder.ledger
            with ledger.batch():
                events = ledger.write(lambda: decide.clean(state, self._user, reason, everything=everything))
            with suppress(OSError, Busy, sqlite3.Error):  # it is recorded; the files follow later
                self._synced(())
        gone = (BELIEF_TOMBSTONE, EPISODE_RETRACT)
        return sum(len(event.body.get("ids", [1])) for event in events if event.body and event.op in gone)

    def _must_be_writable(self) -> None:
        if not self._at.ledger.writable:
            raise NotWritable("this memory is open for reading only")

    def _about(self, path: str) -> str:
        """What the page is about that a caller names; if it is gone since a merge, what that is part of."""
        if not _is_text(path):
            raise Refused("give the name of a page, like person-ana.md", "name")
        about = self._named(path)
        if (file := self._file(about)) and not file.is_gone:
            return about
        with self._folder.ledger.reading():
            return after_merges(self._folder.state, about, self._user)

    def _named(self, path: str) -> str:
        name = path.removeprefix("memory/").removesuffix(".md")
        whole = path_of(self._user, NOTES).removesuffix(f"{NOTES}.md") + f"{name}.md"
        if (file := self._at.read(lambda db: db.file(whole))) and file.user == self._user:
            return file.about
        with self._folder.ledger.reading():
            if not has_kind(name) and (about := the_one(self._folder.state, name, self._user, "")):
                return about
        prefix, _, rest = name.partition("-")
        if prefix not in PREFIXES or not rest or "/" in name or "\\" in name or "\x00" in name:
            kinds = ", ".join(f"{prefix}-" for prefix in PREFIXES)
            raise Refused(f"{path[:60]!r} is not a page name; it must begin with one of {kinds}", "name")
        return entity_of(f"{name}.md") or name

    def _path(self, about: str) -> str:
        return file.path if (file := self._file(about)) else path_of(self._user, about)

    def _file(self, about: str) -> File | None:
        return self._at.read(lambda db: db.about(self._user, about))

    def _existing(self, about: str) -> File:
        file = self._file(about)
        if file is None or file.is_gone:
            raise NotFound(f"no page {path_of(self._user, about)}; run `tallystick pages` to list them")
        return file

    def _recorded(self, about: str) -> File:
        """The page of which something was recorded. If its file cannot be written now, it follows later."""
        with suppress(OSError, Busy, sqlite3.Error):
            return self._follow(about)
        return self._existing(about)

    def _follow(self, about: str) -> File:
        """Bring the file of a page up to date; what a person did to it meanwhile comes in first."""
        if self._at.ledger.writable:
            self._synced({self._path(about)})
        return self._existing(about)

    def _synced(self, only: Iterable[str] | None) -> Synced:
        """One run; if it finds the tables damaged, they are rebuilt, and it is done once more."""
        with self._at.working():
            try:
                return self._of_mine(Sync(self._at).run(only))
            except sqlite3.DatabaseError as error:
                self._at.fix(error)
            return self._of_mine(Sync(self._at).run(only))

    def _of_mine(self, done: Synced) -> Synced:
        """What of it is about this user's pages. What is nobody's is reported to the owner of the folder."""
        known, folder = self._folder.state.reviews, path_of(self._user, NOTES).rpartition("/")[0]
        mine = tuple(name for name in done.reviews if (asked := known.find(name)) and asked.action.user == self._user)

        def is_mine(path: str) -> bool:
            return path.rpartition("/")[0] == folder

        return replace(
            done, adopted=tuple(note for note in done.adopted if is_mine(note.path)), reviews=mine,
            written=tuple(filter(is_mine, done.written)),
            problems=tuple(
                note for note in done.problems
                if is_mine(note.path) or (note.what == NOBODYS and self._user == OWNER)
            ),
        )  # fmt: skip

    def _belief(self, name: str, idempotency_key: str = "") -> Belief:
        """What was just said, or, if it had been said before, what it is now."""
        with self._folder.known():
            state = self._folder.state
            said = state.said(self._user, self._gate.by, idempotency_key)
            return (said[0] if said else state.get(name, user=self._user)).belief()

    def _followed(self, about: str, belief: Belief) -> PageEntry:
        """The entry that shows a belief; while the page lags behind, or it needs approval, as it will be."""
        with suppress(OSError, Busy, NotFound, sqlite3.Error):
            self._follow(about)
        with suppress(OSError, Busy, sqlite3.Error):
            if row := self._at.read(lambda db: db.entry(belief.id)):
                return entry_of(row)
        path, tags = path_of(self._user, belief.about), tags_shown(belief.tags, belief.kind)
        return PageEntry(id=belief.id, path=path, at=belief.at, tags=tags, text=belief.text)


def _is_text(said: object) -> bool:
    return isinstance(said, str) and bool(said.strip())


def _matched(match: Match) -> PageEntry:
    return PageEntry(
        id=match.id, path=match.path, at=match.timestamp, tags=match.tags, text=match.content,
        superseded_by=match.superseded_by, is_retracted=match.retracted, chain=match.chain,
    )  # fmt: skip


def entry_of(row: Entry) -> PageEntry:
    return PageEntry(
        id=row.id, path=row.path, at=row.timestamp, tags=row.tag_list, text=row.content,
        superseded_by=row.superseded_by, supersedes=row.folded, is_retracted=bool(row.retracted),
    )  # fmt: skip


def _info(file: File) -> PageInfo:
    return PageInfo(
        path=file.path, about=file.about, title=file.title, description=file.description, tags=file.tag_list,
        status=file.status, created=file.created, updated=file.updated, entry_count=file.entry_count,
        needs_compact=bool(file.needs_compact), tokens=file.tokens,
    )  # fmt: skip
