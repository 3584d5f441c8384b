"""The pages of an open memory: their rows kept level with the ledger, their files level with the rows.

A file is written after its events are on disk; if that fails, the write stands all the same, the page is marked as
lagging, and the next one who writes or asks goes on from there.

Whoever writes pages holds `pages.lock`, so that two processes do not write one file from two states.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path

from tallystick.memory.core.context import Context
from tallystick.memory.core.follower import Follower
from tallystick.projections.database import wait_for_lock
from tallystick.projections.index.file import held_now
from tallystick.projections.markdown import Page, parse
from tallystick.projections.markdown.zone import zone_name, zone_named
from tallystick.projections.pages import render
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.render import Completion, Rendering
from tallystick.projections.pages.rows import FROM_NOTHING, Entry, File, digest_of, mark_of
from tallystick.projections.table_set import Bookmark
from tallystick.records.belief import OWNER
from tallystick.records.errors import Busy, NotWritten, Refused
from tallystick.records.event import Event
from tallystick.records.operations import PAGE_PUT
from tallystick.records.progress import Progress
from tallystick.stores.open_folder import in_folder
from tallystick.stores.page_files import NoPage, PageFolder, Read

_PATIENCE = 30.0


class PagesAt(Follower[PagesFile]):
    """The pages of one folder."""

    name, called = "pages", "the table of pages"

    def __init__(self, context: Context) -> None:
        folder = in_folder(context.folder, "a page")
        super().__init__(folder)
        self.draw, self.masks, self._context = folder.draw, context.masks, context
        self.folder, self._lock_path = PageFolder(folder.files.pages, folder.disk), folder.files.pages_lock
        self._paused, self._is_working = 0, False

    @property
    def zone(self) -> tzinfo:
        """The clock on which this user reads."""
        return self._context.zone

    @contextmanager
    def working(self) -> Iterator[None]:
        """Nobody else writes pages meanwhile, in this process or another."""
        with self.paused():
            if self._is_working:
                yield
                return
            fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if not wait_for_lock(fd, _PATIENCE):
                    raise Busy("another program is writing pages; try again")
                self._is_working = True
                yield
            finally:
                self._is_working = False
                os.close(fd)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nobody writes pages on the way: whoever does this writes them once, when all is said.

        The ledger's turn comes first, here and everywhere: whoever has it may want the pages, and nobody waits for it
        who has them. A batch keeps other programs out of the ledger, so nobody waits for the pages in one either.
        """
        if self.ledger.in_batch():
            raise Refused("pages cannot be written inside a batch; end it first, or use remember(about=…)", "batch")
        with self.ledger.turn(), self._lock:
            self._paused += 1
            try:
                yield
            finally:
                self._paused -= 1

    @property
    def is_paused(self) -> bool:
        return self._paused > 0 or self.ledger.in_batch()

    def behind(self) -> int:
        """The number of events that the rows lack."""
        with self.ledger.turn(), self._lock:
            return self.ledger.head.seq - self._open().bookmark().seq

    def _made(self, path: Path | str, *, writable: bool = True) -> PagesFile:
        return PagesFile(path, self._context.settings.hard_limit_tokens, writable=writable)

    def level(self, on_progress: Progress | None = None) -> PagesFile:
        """The rows, in the file: what is done to pages is noted in them."""
        with self.ledger.reading(), self._lock:
            db = self._leveled(on_progress)
            if db.is_temporary and self.ledger.writable:
                raise NotWritten(f"{self.place} could not be written; make room and try again")
            self._serve(db, compared=True)
            return db

    def _serve(self, rows: PagesFile, *, compared: bool) -> None:
        rows.ledger = self.open_folder.view() if compared else None

    def _begin_in_the_middle(self, rows: PagesFile) -> None:
        """The current state."""
        end = self.ledger.head
        rows.catch_up(self._current(), mark=Bookmark(end.seq, end.hash))

    def _current(self) -> Iterator[Event]:
        """The fronts of pages, and the last version of each belief, unless its user has cleaned everything away."""
        if self.state.pages.cleaned(OWNER) < 0:  # the pages that every memory begins with, as old as it is
            begun = self.state.taken_in.zone.begun or self.ledger.standing.begun
            yield Event(0, begun, "", "", "ledger:snapshot", "", None)
        for (user, about), front in self.state.pages.fronts():
            body = {"user": user, "about": about, "front": dict(front)}
            yield Event(1, front["created"], PAGE_PUT, "", "ledger:snapshot", "", body)
        for event in held_now(self.state):
            belief = (event.body or {}).get("belief")
            if not belief or event.seq >= self.state.pages.cleaned(belief.get("user", OWNER)):
                yield event

    def _catch_up(
        self, rows: PagesFile, on_progress: Progress | None = None, *, mark: Bookmark | None = None
    ) -> None:  # fmt: skip
        super()._catch_up(rows, on_progress, mark=mark)
        rows.put_back()

    def parsed(self, file: File | None, read: Read) -> Page:
        return parse(read.data, (zone_named(file.zone) if file else None) or self.zone)

    def bring(
        self, db: PagesFile, file: File, read: Read | None, page: Page | None = None, *,
        due: Sequence[Entry] | None = None, completions: Sequence[Completion] = (), drops: Sequence[str] = (),
        recorded: Collection[str] = (), from_nothing: bool = False, mark: Bookmark,
    ) -> bool:  # fmt: skip
        """Bring one file up to what its rows say; True if it was written. Raced, if it changed since it was read.

        `mark` is where the rows were when they were read: if another process has led them on since, the file stays due.
        """
        if file.is_gone:
            is_removed = self.folder.remove(file.path)
            with db.writing():
                db.drop(file.path)
            return is_removed
        due = db.entries(file.path, due=True) if due is None else due
        try:
            is_former = file.is_due == FROM_NOTHING and read is not None and read.digest == file.digest
            there = None if from_nothing or is_former else read
            rendering = self._rendering(db, file, there, page, due, completions, drops, recorded)
        except Refused as error:
            raise NoPage(str(error)) from None
        is_new = read is None or rendering.data != read.data
        if is_new:
            stamp = self.folder.write(file.path, rendering.data, read)
            file.digest = digest_of(rendering.data)
        elif read is not None:
            stamp, file.digest = read.stamp.settled(time.time_ns()), read.digest
        file.size, file.mtime, file.ctime, file.inode = stamp
        file.front, file.zone = rendering.front, self._zone_in(file, page)
        with db.writing():
            file.is_due = int(db.bookmark() != mark)
            db.saw(file, rendering.shown, mark_of(rendering.data), self._left.seq)
        return is_new

    def render_again(self, user: str, about: str) -> None:
        """Write the file of a page from nothing: what a person wrote there beside its entries is gone."""
        if not self.folder.is_there():
            return
        with self.working():
            db = self.level()
            mark = db.bookmark()
            file = db.about(user, about)
            if file and (read := self.folder.read(file.path)):
                self.bring(db, file, read, from_nothing=True, mark=mark)

    def _rendering(
        self, db: PagesFile, file: File, read: Read | None, page: Page | None, due: Sequence[Entry],
        completions: Sequence[Completion], drops: Sequence[str], recorded: Collection[str],
    ) -> Rendering:  # fmt: skip
        if read is None or is_blank(read.data):
            return render.new(file, db.entries(file.path), self.zone)
        is_plain = page is None and not completions and not drops
        if is_plain and (patched := render.patched(read.data, file, due, self.zone)):
            return patched
        page, is_seen = page or self.parsed(file, read), file.digest is not None
        return render.changed(page, file, due, completions=completions, drops=drops, recorded=recorded, is_seen=is_seen)

    def _zone_in(self, file: File, page: Page | None) -> str:
        try:
            return zone_name(page.zone) if page else file.zone or zone_name(self.zone)
        except Refused:
            return file.zone


def is_blank(data: bytes) -> bool:
    """Whether there is nothing to read in a file."""
    return not data or data.isspace()
