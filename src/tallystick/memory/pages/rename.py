"""A page whose file was given another name: its entity is called that from now on.

A file is known by what stands on it: if a page's file is gone, and a new one has at least half of its entries, that is
the same page. What is held on it is about the other entity, its history goes along, and nothing is stated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tallystick.decide import beliefs as decide, pages as decide_page
from tallystick.memory.pages.files import PagesAt
from tallystick.projections.markdown import Page
from tallystick.projections.pages.edits import conflict_line, unreadable
from tallystick.projections.pages.open_database import PagesFile
from tallystick.projections.pages.rows import File
from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.page import NOTES, SyncNote
from tallystick.state.pages import PAGE_EDIT
from tallystick.stores.page_files import NoPage

Whose = Callable[[PagesFile, str, Page], tuple[str, str] | None]


def renamed(at: PagesAt, db: PagesFile, lost: Iterable[str], new: Iterable[str], whose: Whose) -> Iterator[SyncNote]:
    """Find the pages among those that are lost that have another name now, and record it."""
    gone = {path: file for path in lost if (file := db.file(path)) and not file.is_gone}
    for path in new:
        page = _read(at, path) if gone else None
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


def _read(at: PagesAt, path: str) -> Page | None:
    """A file that could be a page; None, if it is to be left alone."""
    try:
        read = at.folder.read(path)
    except NoPage:
        return None
    if read is None or unreadable(read.data):
        return None
    page = at.parsed(None, read)
    return None if conflict_line(page, {}) else page


def _rename(at: PagesAt, db: PagesFile, file: File, to: str) -> None:
    """The page first, so that what is held about the other entity stays where it stands."""
    rows, about, draw = db.entries(file.path), "" if to == NOTES else to, at.draw()
    said = {"reason": "its page was renamed", "user": file.user}
    with at.ledger.batch():
        at.ledger.write(lambda: decide_page.rename(file.user, file.about, to), by=PAGE_EDIT)
        for row in rows:
            if row.is_current:
                _revise(at, partial(decide.revise, at.state, row.id, {"about": about}, draw, **said))
    after = at.level()
    if (now := after.about(file.user, to)) is not None:
        with after.writing():
            after.moved(file.path, now.path)


def _revise(at: PagesAt, decision: Callable[[], list[Draft]]) -> None:
    """What cannot be said of one entry keeps the others from nothing."""
    try:
        at.ledger.write(decision, by=PAGE_EDIT)
    except (Refused, NotFound, Moved):
        return
