"""Syncing pages: import what people edited, then update the files.

First every file is compared, then edits become events, a page at a time, and at last the files follow. An edit is
recorded with a person's trust: whoever can write into the folder can write into the ledger. What changed on both sides
becomes a review: nothing of either is lost.

What a person did is what differs from the state that the file was saved from. A file with conflict markers, one that is
not text or truncated, or one without most of its entries is left alone, and reported every time, until that is resolved
(see `Holds`). A page that says something else than the memory is reported every time too.

A file is known by what stands on it: if a page's file is gone, and a new one has at least half of its entries, that is
the same page under another name. Its beliefs are about the other entity then, its history goes along, and nothing is
stated twice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tallystick.decide import beliefs, pages, review_request as asking, reviews as decide
from tallystick.memory.pages.apply_edits import Adopted, EditApplier
from tallystick.memory.pages.files import PagesAt, is_blank
from tallystick.projections.database import Stale, has_no_room
from tallystick.projections.markdown import Page, Span, entity_of
from tallystick.projections.markdown.parse import same_words
from tallystick.projections.pages import edits
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.render import Completion, is_on_another_clock
from tallystick.projections.pages.rows import Base, Entry, File, mark_of, path_of
from tallystick.projections.table_set import Bookmark
from tallystick.records.belief import OWNER
from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Busy, Moved, NotFound, Refused, TallystickError
from tallystick.records.event import Event
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.page import NOTES, Synced, SyncNote
from tallystick.records.review import Action, Review
from tallystick.state.pages import PAGE_EDIT
from tallystick.stores.page_files import NoPage, Raced, Read

Whose = Callable[[PagesFile, str, Page], tuple[str, str] | None]

NOBODYS = "its folder is not the folder of a user"
_TRIES = 5
_PORTION = 50  # pages that are looked at in one transaction
_PAUSE = 0.5  # seconds between two tries, where somebody is saving a page
_BACK = "this is an earlier state of the page; it was brought up to date"
_CONFLICT = "a merge left conflict markers here; the page is neither imported nor written until they are gone"


@dataclass(slots=True)
class _Seen:
    """A page that was looked at, because its file is not as it was."""

    path: str
    user: str
    about: str
    file: File | None
    read: Read
    page: Page
    found: edits.Compared
    rows: Sequence[Entry] = ()  # as they were at that moment
    base: Base | None = None  # what it was saved from
    trouble: str = ""  # why it is not to be taken in before somebody decided
    asked: Review | None = None  # what was asked of it, where its state of then is not known any more
    is_put_back: bool = False
    is_rewritten: bool = False  # whether all of it is to be written again
    adopted: Adopted = field(default_factory=Adopted)

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to record."""
        return self.file is not None and not self.found.changes and not self.found.front and not self.is_in_doubt

    @property
    def is_in_doubt(self) -> bool:
        return bool(self.trouble or self.asked)

    @property
    def missing(self) -> list[Entry]:
        """What holds and stood there, and does not."""
        seen = [row for row in self.rows if row.shown and row.is_current and row.id not in self.found.there]
        return [row for row in seen if self.base is None or row.seq <= self.base.seq]

    @property
    def cut(self) -> edits.Change | None:
        """What a page that is cut short says of the entry that it ends in."""
        known = [change for change in self.found.changes if change.entry and change.row]
        last = max(known, key=lambda change: change.line, default=None) if self.trouble else None
        return last if last and last.kind in (edits.CHANGED, edits.STRUCK) else None


class Sync:
    """One run."""

    def __init__(self, at: PagesAt) -> None:
        self._at = at
        self._seen_files = self._count = 0
        self._adopted: list[SyncNote] = []
        self._written: dict[str, None] = {}
        self._problems: list[SyncNote] = []
        self._reviews: list[str] = []
        self._folders: dict[str, str] | None = None  # → whose each is
        self._raced: set[str] = set()  # of this pass
        self._failed: set[str] = set()
        self._is_saving = False  # whether somebody is, in this pass
        self._held: set[str] = set()  # pages that stay as they are, in this pass
        self._holds = Holds(at)
        self._looked: dict[str, None] = {}  # pages that were compared
        self._unclear = set[str]()
        self._last: tuple[str, Read] | None = None  # the page that lags behind and was looked at last

    def run(self, only: Iterable[str] | None = None) -> Synced:
        """Sync every page, or those that are named and those that lag behind. Whoever names none does not wait."""
        wanted, raced = None if only is None else set(only), set[str]()
        waits = wanted is None or bool(wanted)
        for tried in range(_TRIES):
            if tried and waits and self._is_saving:
                time.sleep(_PAUSE)
            try:
                raced = self._once(wanted)
            except sqlite3.Error as error:
                if has_no_room(error) or isinstance(error, Stale):
                    self._at.fix(error, tried)
                if tried == _TRIES - 1:
                    raise Busy(f"the tables of pages could not be read ({error}); try again") from error
                if not isinstance(error, Stale):
                    raise
                continue
            if not raced:
                break
            wanted = raced
        later = "it keeps changing; it is imported the next time"
        self._problems += [SyncNote(path, 0, later) for path in sorted(raced)]
        self._remember_problems()
        return Synced(
            seen=self._seen_files, adopted=tuple(self._adopted), written=tuple(self._written),
            problems=tuple(dict.fromkeys(self._problems)), reviews=(*self._reviews, *self._holds.asked),
        )  # fmt: skip

    def _remember_problems(self) -> None:
        """A page with a problem is compared again the next time, though nobody touched it."""
        unclear = {problem.path for problem in self._problems}
        fresh = [path for path in self._looked if path in unclear and path not in self._unclear]
        clear = [path for path in self._looked if path not in unclear and path in self._unclear]
        if fresh or clear:
            db = self._at.level()
            for file in filter(None, map(db.file, clear)):
                self._holds.settle(file.path, file.user)
            with db.writing():
                for path in (*fresh, *clear):
                    db.mark_unclear(path, is_so=path in unclear)

    def _once(self, wanted: set[str] | None) -> set[str]:
        """One pass. Returns the pages that changed under our hands."""
        db = self._at.level()
        self._raced, self._failed, self._held, self._last, self._is_saving = set(), set(), set(), None, False
        self._unclear = db.unclear()
        seen = self._look(db, wanted)
        self._leave_what_moved(seen)
        for each in seen:
            self._adopt(each)
        db, by_path = self._at.level() if seen else db, {each.path: each for each in seen}
        for path in dict.fromkeys([*by_path, *(file.path for file in db.due())]):
            if path not in self._raced | self._failed | self._held:
                self._bring(db, path, by_path.get(path), db.bookmark())
        return self._raced

    # -- looking -----------------------------------------------------------------------------------------------------

    def _look(self, db: PagesFile, wanted: set[str] | None) -> list[_Seen]:
        """The pages with something to be recorded. The others are brought up to date on the way, and let go."""
        paths = self._all(db) if wanted is None else self._named(db, wanted)
        self._seen_files = max(self._seen_files, self._count)
        found = list[_Seen]()
        for start in range(0, len(paths), _PORTION):
            some = paths[start : start + _PORTION]
            with db.writing() if len(some) > 1 else nullcontext():
                for path in some:
                    mark, each = db.bookmark(), self._read(db, path)
                    if each is not None and each.is_quiet:
                        self._bring(db, path, each, mark, each.rows)
                    elif each is not None:
                        found.append(each)
        return found

    def _all(self, db: PagesFile) -> list[str]:
        """The files that changed since they were last seen; those that are gone are to be written again."""
        known = set(db.db.execute("SELECT path, size, mtime, ctime, inode FROM files"))
        there = [
            (path, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
            for path, seen in self._at.folder.walk()
        ]  # fmt: skip
        self._count = len(there)
        changed = [each[0] for each in there if each not in known or each[0] in self._unclear]
        if len(there) - len(changed) < len(known):
            paths, named = {each[0] for each in there}, {each[0] for each in known}
            lost = [path for path, size, *_ in known if size is not None and path not in paths]
            self._lost(*self._but_renamed(db, lost, sorted(paths - named)))
        return sorted(changed)

    def _named(self, db: PagesFile, wanted: set[str]) -> list[str]:
        wanted = wanted | {file.path for file in db.due()}
        self._count = len(wanted)
        there = {path for path in wanted if self._at.folder.stamp(path) is not None}
        lost = [path for path in wanted - there if (file := db.file(path)) and file.size is not None]
        fresh = sorted(path for path, _ in self._at.folder.walk() if db.file(path) is None) if lost else []
        self._lost(*self._but_renamed(db, lost, fresh))
        return sorted(there)

    def _but_renamed(self, db: PagesFile, lost: Sequence[str], fresh: Sequence[str]) -> tuple[PagesFile, list[str]]:
        """The pages that are lost, but those whose files have another name: so have their entities then."""
        notes = list(renamed(self._at, db, sorted(lost), fresh, self._whose)) if lost and fresh else []
        self._adopted += notes
        db = self._at.level() if notes else db
        return db, [path for path in lost if db.file(path) is not None]

    def _lost(self, db: PagesFile, paths: Sequence[str]) -> None:
        self._looked.update(dict.fromkeys(paths))
        if paths:
            with db.writing():
                for path in paths:
                    db.lost(path)

    def _read(self, db: PagesFile, path: str) -> _Seen | None:
        """A file that a person may have changed; None if nobody did, or it cannot be a page."""
        file = db.file(path)
        try:
            read = self._at.folder.read(path)
        except NoPage as error:
            self._problems.append(SyncNote(path, 0, str(error)))
            return None
        if read is None or (file and is_blank(read.data)):
            if read is not None and self._is_being_saved(read):
                self._raced.add(path)
            else:
                self._lost(db, [path] if file else [])
            return None
        if file and read.digest == file.digest and path not in self._unclear:
            if file.is_due:
                self._last = path, read
            elif file.stamp != read.stamp:
                file.size, file.mtime, file.ctime, file.inode = read.stamp.settled(time.time_ns())
                db.restamp(file)
            return None
        if file and file.is_gone and db.was_rendered(path, read.digest):  # nobody changed it since: it is to go
            return None
        self._looked[path] = None
        page = self._at.parsed(file, read)
        whose = (file.user, file.about) if file else self._whose(db, path, page)
        if whose is None:
            return None
        return self._compared(db, path, *whose, file, read, page)

    def _compared(
        self, db: PagesFile, path: str, user: str, about: str, file: File | None, read: Read, page: Page
    ) -> _Seen | None:  # fmt: skip
        if file and file.digest not in (None, read.digest) and db.was_rendered(path, read.digest):
            return _Seen(path, user, about, file, read, page, edits.Compared(), db.entries(path), is_put_back=True)
        rows = db.entries(path) if file else []
        if line := edits.conflict_line(page, {row.id: row for row in rows}):
            self._problems.append(SyncNote(path, line, _CONFLICT))
            self._held.add(path)
            return None
        mark = mark_of(read.data)
        base = db.base(path, mark) if file else None
        state, is_whole = self._at.state, self._at.ledger.first == 0

        def is_past(name: str) -> bool:
            """Whether it was moved away with the first segments of the ledger: then it has no row any more."""
            return not is_whole and state.owner(name) == user and db.entry(name) is None

        def last_event(name: str) -> int:
            """The event that last changed what an entry shows."""
            held = state.find(name, user=user, short=False)
            return held.seq if held else -1

        known = edits.Known(state.pages.is_erased, db.is_gone, is_past, last_event)
        trouble = edits.unreadable(read.data)
        found = edits.Compared() if trouble else edits.compare(page, file, rows, known, base)
        if not trouble and file and edits.is_truncated(page, rows, base, partial(db.ends, path, mark)):
            trouble = "it is truncated"
        asked = self._holds.known(path, user, read.digest) if file and base is None else None
        each = _Seen(path, user, about, file, read, page, found, rows, base, trouble, asked)
        if not each.is_in_doubt:
            self._problems += [SyncNote(path, note.line, note.what) for note in found.notes]
        return each

    def _whose(self, db: PagesFile, path: str, page: Page) -> tuple[str, str] | None:
        """Whose page a file is that nobody knows, and what it is about."""
        folder, _, name = path.rpartition("/")
        about, user = entity_of(name, page.front.entity), OWNER
        if folder:
            named = entity_of(f"user-{folder[1:]}.md")
            user = self._users(db).get(folder) or (named.removeprefix("user-") if named else "")
            user = user if path_of(user, "topic-x").startswith(f"{folder}/") else ""
        if about is None or not user:
            kinds = ", ".join(f"{prefix}-" for prefix in PREFIXES)
            why = f"its name is no page's; a page is called {kinds} and a name in lowercase letters"
            self._problems.append(SyncNote(path, 0, why if user else NOBODYS))
            return None
        return user, about

    def _users(self, db: PagesFile) -> dict[str, str]:
        """The folders of all users that are known, gathered once: a name need not be read off its folder."""
        if self._folders is None:
            users = {*self._at.state.users()} | {file.user for file in db.files()}
            self._folders = {path_of(user, "topic-x").rpartition("/")[0]: user for user in users}
        return self._folders

    def _leave_what_moved(self, seen: Sequence[_Seen]) -> None:
        """An entry that is gone from one page and stands on another was moved: it is not taken back."""
        removed = {
            (each.user, change.row.id): (each, change)
            for each in seen for change in each.found.changes if change.kind == edits.REMOVED and change.row
        }  # fmt: skip
        for each in seen:
            for change in each.found.changes:
                moved = (each.user, change.entry.id) if change.kind == edits.NEW and change.entry else None
                if moved and (found := removed.pop(moved, None)):
                    each.adopted.moved.add(moved[1])
                    found[0].found.changes.remove(found[1])

    # -- importing ---------------------------------------------------------------------------------------------------

    def _adopt(self, each: _Seen) -> None:
        if not self._may_be_taken(each):
            self._held.add(each.path)
            return
        digest = each.file.digest if each.file and each.file.digest else b""
        base = each.base or Base(digest, self._at.ledger.head.seq, "")
        adopter = EditApplier(self._at, each.path, each.user, each.about, base, each.rows, each.adopted)
        if each.found.changes or each.found.front:
            adopter.run(each.found, is_new=each.file is None)
        self._adopted += each.adopted.notes
        self._problems += each.adopted.problems
        self._reviews += each.adopted.reviews

    def _may_be_taken(self, each: _Seen) -> bool:
        """Whether a page is what a person meant to save; where that is in doubt, a person is asked."""
        trouble = each.trouble
        if not trouble and edits.loses_most(each.found.removed, each.rows, each.base):
            trouble = f"it lacks {len(each.found.removed)} entries that stood there, most of what it had"
        if not trouble and each.asked is not None:
            trouble = each.asked.why.removeprefix(f"{each.path}: ")
            each.trouble = "" if each.page.text.endswith("\n") else trouble
        if not trouble:
            return True
        is_text, cut, changes = not edits.unreadable(each.read.data), each.cut, dict[str, Any]()
        missing = each.missing if each.trouble else each.found.removed
        if cut and cut.row and cut.entry and not cut.entry.body.strip():
            missing.append(cut.row)
        elif cut and cut.row and cut.entry and not missing:
            missing, changes = [cut.row], {"text": cut.entry.body, "trust": "human"}
        held = [self._at.state.find(row.id, user=each.user, short=False) for row in missing]
        target = [one.belief().id for one in held if one is not None and one.status == "active"]
        why = f"{each.path}: {trouble}"
        review = each.asked or self._holds.answer(each.path, each.user, each.read.digest, target, changes, why)
        if is_text and (review is None or review.status in (APPROVED, REJECTED)):
            notes = each.found.notes if each.is_in_doubt else ()
            self._problems += [SyncNote(each.path, note.line, note.what) for note in notes]
            each.is_rewritten = each.page.front.span is None and bool(each.page.front.fault) and not each.page.entries
            if review is not None and review.status == REJECTED:
                self._put_back(each)
            return True
        ask = f", or answer `tallystick review {review.id[-6:]}`" if review and review.is_open else ""
        what = f"{trouble}; nothing of it is imported: fix it, remove the file to have it written again{ask}"
        self._problems.append(SyncNote(each.path, 0, what))
        return False

    def _put_back(self, each: _Seen) -> None:
        """A person rejected the removal of what is missing."""
        gone = [change for change in each.found.changes if change.kind == edits.REMOVED or change is each.cut]
        each.found.changes = [change for change in each.found.changes if not any(change is one for one in gone)]
        each.adopted.recorded |= {change.row.id for change in gone if change.row}
        last = each.page.entries[-1] if each.page.entries else None
        if each.trouble and last and not last.body and last.id not in each.found.there:  # half a heading
            nothing = last._replace(heading=Span(last.span.start, last.span.start))
            each.adopted.completions.append(Completion(nothing, "", datetime.now(UTC), ()))

    # -- bringing the files up to date -------------------------------------------------------------------------------

    def _bring(
        self, db: PagesFile, path: str, each: _Seen | None, mark: Bookmark, rows: Sequence[Entry] | None = None
    ) -> None:
        """Update one file; what prevents that is reported."""
        try:
            self._write_one(db, path, each, mark, rows)
        except Raced:
            self._raced.add(path)
        except (NoPage, OSError) as error:
            self._failed.add(path)
            why = f"it could not be written: {error.strerror}; nothing is lost" if isinstance(error, OSError) else error
            self._problems.append(SyncNote(path, 0, str(why)))

    def _write_one(
        self, db: PagesFile, path: str, each: _Seen | None, mark: Bookmark, rows: Sequence[Entry] | None
    ) -> None:
        file = db.file(path)
        if file is None:
            return
        if each is None:
            is_new = self._at.bring(db, file, self._as_it_was(db, path, file), mark=mark)
        else:
            rows = db.entries(path) if rows is None else rows
            there = {entry.id for entry in each.page.entries} | each.found.garbled
            lost = {row.id for row in rows if row.id not in there and not row.folded_into}
            moved = ((row, each.found.there.get(row.id)) for row in rows if row.folded_into)  # another tells them now
            each.adopted.recorded |= {row.id for row, entry in moved if entry and same_words(entry.body, row.content)}
            more = lost | each.found.again | each.adopted.recorded
            if is_on_another_clock(each.page, file):
                more |= {row.id for row in rows if not row.folded_into}
            due = [row for row in rows if row.is_due or each.is_put_back or row.id in more]
            due = [row for row in due if row.id not in each.found.garbled]
            is_new = self._at.bring(
                db, file, each.read, each.page, due=due, completions=each.adopted.completions, drops=each.found.drops,
                recorded=each.adopted.recorded, from_nothing=each.is_rewritten, mark=mark,
            )  # fmt: skip
        if is_new:
            self._written[path] = None
            self._problems += [SyncNote(path, 0, _BACK)] if each is not None and each.is_put_back else []

    def _as_it_was(self, db: PagesFile, path: str, file: File) -> Read | None:
        """The file, in which nobody but us wrote. Raced, if somebody did."""
        last, self._last = self._last, None
        if last is not None and last[0] == path:
            return last[1]
        read = self._at.folder.read(path)
        if read is None or read.digest == file.digest or (file.is_gone and db.was_rendered(path, read.digest)):
            return read
        if not is_blank(read.data) or self._is_being_saved(read):
            raise Raced
        return read

    def _is_being_saved(self, blank: Read) -> bool:
        """Whether a page has only just been emptied: some editors do that first, and write it then."""
        is_fresh = 0 <= time.time_ns() - blank.stamp.mtime < (_TRIES - 1) * _PAUSE * 1e9
        self._is_saving |= is_fresh
        return is_fresh


# -- a page whose file has another name: its entity has that name from now on ------------------------------------------


def renamed(at: PagesAt, db: PagesFile, lost: Iterable[str], new: Iterable[str], whose: Whose) -> Iterator[SyncNote]:
    """Find the pages among those that are lost that have another name now, and record it."""
    gone = {path: file for path in lost if (file := db.file(path)) and not file.is_gone}
    for path in new:
        page = _page_in(at, path) if gone else None
        named = whose(db, path, page) if page else None
        there = db.about(*named) if named else None
        if page is None or named is None or (there and not there.is_gone):
            continue
        ids = {entry.id for entry in page.entries if entry.id}
        for was, file in gone.items():
            shown = [row.id for row in db.entries(was) if row.shown and not row.folded_into]
            if shown and file.user == named[0] and 2 * len(ids.intersection(shown)) >= len(shown):
                del gone[was]
                _rename(at, db, file, named[1])
                yield SyncNote(path, 0, f"{was} has this name now: {file.about} is {named[1]}")
                break


def _page_in(at: PagesAt, path: str) -> Page | None:
    """A file that could be a page; None, if it is to be left alone."""
    try:
        read = at.folder.read(path)
    except NoPage:
        return None
    if read is None or edits.unreadable(read.data):
        return None
    page = at.parsed(None, read)
    return None if edits.conflict_line(page, {}) else page


def _rename(at: PagesAt, db: PagesFile, file: File, to: str) -> None:
    """The page first, so that the beliefs about the other entity stay where they are."""
    rows, about, draw = db.entries(file.path), "" if to == NOTES else to, at.draw()
    said = {"reason": "its page was renamed", "user": file.user}
    with at.ledger.batch():
        at.ledger.write(lambda: pages.rename(file.user, file.about, to), by=PAGE_EDIT)
        for row in rows:
            if row.is_current:
                with suppress(Refused, NotFound, Moved):  # what cannot be recorded of one entry stops no other
                    revise = partial(beliefs.revise, at.state, row.id, {"about": about}, draw, **said)
                    at.ledger.write(revise, by=PAGE_EDIT)
    after = at.level()
    if (now := after.about(file.user, to)) is not None:
        with after.writing():
            after.moved(file.path, now.path)
            after.drop(file.path)


# -- pages that are not imported before a person decided: truncated, unreadable, or without most of their entries ------

WAITING, APPROVED, REJECTED = "waiting", "approved", "rejected"


class Holds:
    """The questions about pages as a whole."""

    def __init__(self, at: PagesAt) -> None:
        self._at, self._ledger, self._state = at, at.ledger, at.state
        self.asked: list[str] = []  # reviews that are new

    def answer(
        self, path: str, user: str, digest: bytes, target: Sequence[str], changes: dict[str, Any], why: str
    ) -> Review | None:  # fmt: skip
        """The question whether to take a page as it was saved, and so to forget, or to revise, what it names; it is put
        if it was not yet. None, if there is nothing to ask."""
        asked, known = self._about(path, user), self.known(path, user, digest)
        if not target or (known is not None and known.status in (APPROVED, REJECTED)):
            return known
        reason = _reason(path, digest)
        action = Action(
            kind="revise" if changes else "forget", user=user, target=tuple(target), changes=changes, reason=reason,
            by=PAGE_EDIT, trust="human",
        )  # fmt: skip
        for review in asked:
            if review.status == WAITING and review.digest == action.digest:
                return review
            self._take_back(review)
        events = self._ledger.write(lambda: asking.ask(self._state, action, why, self._at.draw()), by=PAGE_EDIT)
        self.asked += [event.body["review"] for event in events if event.op == REVIEW_ASK and event.body]
        return self._state.reviews.get(self.asked[-1], user=user)

    def known(self, path: str, user: str, digest: bytes) -> Review | None:
        """What was asked of this very file, answered or not."""
        asked = [each for each in self._about(path, user) if each.action.reason == _reason(path, digest)]
        return next((each for each in asked if each.status in (APPROVED, REJECTED)), asked[0] if asked else None)

    def settle(self, path: str, user: str) -> None:
        """The page is whole: nobody need answer any more."""
        for review in self._about(path, user):
            self._take_back(review)

    def _about(self, path: str, user: str) -> list[Review]:
        """What was asked of a page, the last first, but what became stale."""
        found = (each for each in reversed(self._state.reviews.all(user)) if each.action.by == PAGE_EDIT)
        return [each for each in found if each.action.reason.startswith(_place(path)) and each.status != "stale"]

    def _take_back(self, review: Review) -> None:
        if review.status == WAITING:
            why, user = "the page was saved again since", review.action.user
            self._ledger.write(
                lambda: decide.withdraw(self._state, review.id, PAGE_EDIT, user=user, reason=why), by=PAGE_EDIT
            )


def _place(path: str) -> str:
    return f"{path}, as it was saved ("


def _reason(path: str, digest: bytes) -> str:
    return f"{_place(path)}{digest.hex()[:8]})"


# -- pages that follow what is remembered, as long as that holds nobody up ---------------------------------------------
# A single remember has its page written in the same call. In a run of them, writing pages takes at most a small part of
# the time; what is left is written when the memory is closed, or by whoever asks for the pages next. If very much is
# left, only by the latter.

FAR = 5_000  # events behind; nobody waits for more than that
_MANY = 10  # events that the rows take at once
_SHARE = 0.1  # of the time
_AT_ONCE = 0.1  # seconds that are there for it after a pause; a long pause saves up no more
_OF_PAGES = ("belief.", "page.", "review.")


class PageWriter:
    """Writes pages for one open memory. It never fails: what it did not do, the next one does."""

    def __init__(self, files: PagesAt, *, is_on: bool) -> None:
        self.files, self._is_on = files, is_on
        self._looked, self._spare, self._is_behind = time.monotonic(), _AT_ONCE, False
        self._waiting: list[Event] = []  # what the rows were not given yet

    def follow(self, events: Sequence[Event]) -> None:
        """Something was written: these events, or, if none are given, whatever is new."""
        if not self._is_on:
            return
        self._waiting += events
        if len(self._waiting) >= _MANY:  # whatever they are about: no write has to fold many, none is too far behind
            with self._spent():
                self._lead_rows()
        if events and not any(event.op.startswith(_OF_PAGES) for event in events):
            return
        self._is_behind = True
        now = time.monotonic()
        self._spare, self._looked = min(_AT_ONCE, self._spare + _SHARE * (now - self._looked)), now
        if not self.files.is_paused and self._spare > 0:
            self._go_on()

    def finish(self) -> None:
        """Write what is left, before the memory is closed."""
        if self._is_on and self._is_behind and not self.files.is_paused:
            self._go_on()

    def look_at_all(self) -> None:
        """Words are erased: what people wrote on pages comes in before, and what was written at that very moment is
        looked at after."""
        self._waiting = []
        if self.files.folder.is_there():
            self._go_on(everything=True)

    def _go_on(self, *, everything: bool = False) -> None:
        with self._spent(), suppress(OSError, TallystickError, sqlite3.Error):
            if self.files.ledger.writable and (everything or self.files.behind() <= FAR):
                self._lead_rows()
                with self.files.working():
                    Sync(self.files).run(None if everything else ())
        self._is_behind = False

    def _lead_rows(self) -> None:
        """Give the rows what they were not given yet, so that they need not read it in the ledger."""
        events, self._waiting = sorted(self._waiting), []
        if events:
            self.files.follow(events)

    @contextmanager
    def _spent(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._spare -= time.monotonic() - began
