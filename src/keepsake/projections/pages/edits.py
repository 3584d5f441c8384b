"""What a person did to a page: the file as it is now, held against what it showed when it was last seen.

An entry's words belong to its id and never change, so other words under a known id are an edit. A row that says how the
entry was last shown tells an edit of what holds from one of what holds no longer, and both from one that raced a write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from keepsake.projections.markdown import Entry as Written
from keepsake.projections.markdown import Page
from keepsake.projections.pages.fold import tags_shown
from keepsake.projections.pages.render import FRONT, is_unmarked, legal, one_line
from keepsake.projections.pages.rows import Entry, File

NEW = "new"  # an entry that nobody knows
CHANGED = "changed"  # other words in an entry that holds
TAGGED = "tagged"
TAGGED_LATE = "tagged late"  # other tags, by hand or because the page lags behind
STRUCK = "struck"  # a person struck it
SUPERSEDED = "superseded"  # a person struck it and named what took its place
REVIVED = "revived"  # a person took the strike of a retraction away
REMOVED = "removed"
RACED = "raced"  # changed by hand while it was changed elsewhere
RACED_REMOVAL = "raced removal"


class Change(NamedTuple):
    """One thing that a person did."""

    kind: str
    line: int
    entry: Written | None  # as it stands in the file
    row: Entry | None  # as it should


class Note(NamedTuple):
    """Something to tell the person, and where."""

    line: int
    what: str


@dataclass(slots=True)
class Compared:
    """What became of a page."""

    changes: list[Change] = field(default_factory=list)
    front: dict[str, Any] = field(default_factory=dict)  # the fields that a person changed
    notes: list[Note] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)  # ids that are to leave the file: their words were erased
    there: dict[str, Written] = field(default_factory=dict)  # the entries that are known, by id
    again: set[str] = field(default_factory=set)  # ids that do not show, or not wholly, that they hold no longer


class Known(NamedTuple):
    """What is known beyond the page itself, by an entry's id."""

    is_erased: Callable[[str], bool]
    is_gone: Callable[[str, str], bool]  # was cleaned away, with these words
    is_past: Callable[[str], bool]  # was told before the ledger that is here begins


def compare(page: Page, file: File | None, rows: Sequence[Entry], known: Known) -> Compared:
    """What a person did to the page since it was last seen."""
    found, by_id = Compared(), {row.id: row for row in rows}
    found.notes += [Note(problem.line, problem.reason) for problem in page.problems]
    for entry in page.entries:
        _look(found, entry, by_id, known)
    for row in rows:
        is_missing = row.shown and row.id not in found.there and not row.folded_into
        if is_missing and not any(name in found.there for name in row.folded):  # else the page is older than the fold
            found.changes += _missing(found, row)
    found.front = _front(page, file)
    return found


def _look(found: Compared, entry: Written, rows: Mapping[str, Entry], known: Known) -> None:
    row = rows.get(entry.id) if entry.id and entry.id not in found.there else None
    if row is not None:
        found.there[entry.id] = entry
        found.changes += _compared(found, entry, row)
    elif entry.id and known.is_erased(entry.id):
        found.drops.append(entry.id)
        found.notes.append(Note(entry.line, f"{entry.id} was erased; it is taken off the page"))
    elif entry.id and known.is_gone(entry.id, entry.body):
        found.drops.append(entry.id)
    elif entry.id and known.is_past(entry.id):
        return
    elif not entry.body.strip():
        found.notes.append(Note(entry.line, "this entry has no words yet; it is taken in when it has"))
    else:
        found.changes.append(Change(NEW, entry.line, entry, None))


def _compared(found: Compared, entry: Written, row: Entry) -> Iterator[Change]:
    """What was done to an entry that is known."""
    if row.folded_into:
        yield from _of_what_was_folded(found, entry, row)
        return
    if not row.is_struck:
        yield from _of_what_holds(entry, row)
        return
    if not entry.is_current and is_unmarked(entry, row):
        found.again.add(row.id)
    if entry.is_current and entry.body != row.content:
        yield Change(RACED, entry.line, entry, row)
    elif entry.is_current and row.shown != 2:  # it held when the page was last seen, as far as that is known
        return
    elif entry.body != row.content:
        what = f"{row.id} holds no longer: these words count for nothing; change {row.superseded_by or 'another'}"
        found.notes.append(Note(entry.line, what))
    elif entry.is_current and row.retracted and not row.superseded:
        yield Change(REVIVED, entry.line, entry, row)
    elif entry.is_current:
        found.again.add(row.id)
        found.notes.append(Note(entry.line, f"{row.superseded_by} took the place of {row.id}; it is struck again"))


def _of_what_was_folded(found: Compared, entry: Written, row: Entry) -> Iterator[Change]:
    """The page is older than the folding: what stands there is told by another entry, unless it was edited."""
    if entry.body != row.content and not entry.is_current:
        what = f"{row.id} is told by {row.folded_into} now: these words count for nothing; change that one"
        found.notes.append(Note(entry.line, what))
        return
    found.again.add(row.id)
    if entry.body != row.content:
        yield Change(RACED, entry.line, entry, row)


def _of_what_holds(entry: Written, row: Entry) -> Iterator[Change]:
    if entry.superseded_by and entry.superseded_by != row.id:
        yield Change(SUPERSEDED, entry.line, entry, row)
    elif entry.is_retracted or entry.is_struck or not entry.body.strip():
        yield Change(STRUCK, entry.line, entry, row)
    elif entry.body != row.content:
        yield Change(CHANGED, entry.line, entry, row)
    elif entry.tags and (tags := row.tag_list) != entry.tags and tags != tags_shown(entry.tags, ""):
        yield Change(TAGGED if row.shown and not row.is_due else TAGGED_LATE, entry.line, entry, row)


def _missing(found: Compared, row: Entry) -> Iterator[Change]:
    """An entry that stood there when the page was last seen, and does not."""
    if not row.is_struck:
        yield Change(REMOVED, 0, None, row)
    elif row.shown == 1:
        yield Change(RACED_REMOVAL, 0, None, row)
    else:
        found.notes.append(Note(0, f"{row.id} is history and stays on the page; `keepsake tidy --compact` folds it"))


def _front(page: Page, file: File | None) -> dict[str, Any]:
    """The fields that a person changed, or all, of a page that was never seen."""
    front = page.front
    said: dict[str, Any] = {"title": page.title} if page.title else {}
    for name in ("description", "tags", "status", "needs_compact"):
        if name in front.fields and front.fields[name].value is not None:
            said[name] = list(front.tags) if name == "tags" else getattr(front, name)
    if front.created is not None:
        said["created"] = front.created
    if file is None:
        return said
    now = {
        "title": file.title, "description": file.description, "tags": list(file.tag_list), "status": file.status,
        "needs_compact": bool(file.needs_compact),
        "created": datetime.fromisoformat(file.created).replace(microsecond=0),
    }  # fmt: skip
    seen = {**now, **orjson.loads(file.front)} if file.digest is not None else now
    ours = {**now, **{name: legal(file, name) for name in FRONT}, "title": one_line(file.title)}  # as we write it
    return {name: value for name, value in said.items() if value not in (seen.get(name, value), now[name], ours[name])}
