"""Edits of a page by a person: the file as it is now, compared with what it showed when it was last read or written.

An entry's words belong to its id and never change, so other words under a known id are an edit; white space is none.
How the entry was last shown tells an edit of a current entry from one of a former entry, and both from one that raced
a write. The `base` that the page was saved from tells what was removed from what was never seen: an entry that is newer
is not missing, and neither is anything where the base is not known.

What is typed without a heading, before the first entry or below one and apart from its words, is new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from tallystick.projections.markdown import Entry as Written, Page
from tallystick.projections.markdown.heading import is_like_an_entry
from tallystick.projections.markdown.page import Span, to_text
from tallystick.projections.markdown.parse import Line, conflicts, lines_of, parted, same_words
from tallystick.projections.markdown.zone import moment, zone_named
from tallystick.projections.pages.render import FRONT, is_unmarked, legal, one_line
from tallystick.projections.pages.rows import Base, Entry, File, tags_shown, time_said
from tallystick.records.clock import stamp

NEW = "new"  # an entry that nobody knows
CHANGED = "changed"  # other words in a current entry
TAGGED = "tagged"
TAGGED_LATE = "tagged late"  # other tags, by hand or because the page is out of date
DATED = "dated"  # another time in its heading
STRUCK = "struck"  # a person struck it
SUPERSEDED = "superseded"  # a person struck it and named its replacement
REVIVED = "revived"  # a person removed the strike of a retraction
REMOVED = "removed"
RACED = "raced"  # changed by hand while it was changed elsewhere
RACED_REMOVAL = "raced removal"

_NAMED = re.compile(r"\{[ \t]*id:[ \t]*([^}\s]*)")
_SECONDS = 19  # characters of a time, up to its seconds


class Change(NamedTuple):
    """One thing that a person did."""

    kind: str
    line: int
    entry: Written | None  # as it is in the file
    row: Entry | None  # as it should


class Note(NamedTuple):
    """A message for the person, and its line."""

    line: int
    what: str


@dataclass(slots=True)
class Compared:
    """The edits of a page."""

    changes: list[Change] = field(default_factory=list)
    front: dict[str, Any] = field(default_factory=dict)  # the fields that a person changed
    notes: list[Note] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)  # ids to remove from the file: their words were erased
    there: dict[str, Written] = field(default_factory=dict)  # the entries that are known, by id
    again: set[str] = field(default_factory=set)  # ids that do not show completely that they are no longer current
    garbled: set[str] = field(default_factory=set)  # ids in the text that begin no entry

    @property
    def removed(self) -> list[Entry]:
        return [each.row for each in self.changes if each.kind == REMOVED and each.row]


class Known(NamedTuple):
    """What is known beyond the page itself, by an entry's id."""

    is_erased: Callable[[str], bool]
    is_gone: Callable[[str, str], bool]  # was cleaned, with these words
    is_past: Callable[[str], bool]  # is older than the ledger that is here
    last: Callable[[str], int]  # the event that last changed it


class _Look(NamedTuple):
    """A comparison of a page with its rows, and its result."""

    page: Page
    file: File | None
    rows: Mapping[str, Entry]
    known: Known
    base: Base | None
    found: Compared

    def is_late(self, row: Entry) -> bool:
        """True if it was changed after the state that the page was saved from, or that is not known."""
        return self.base is None or self.known.last(row.id) > self.base.seq


def compare(page: Page, file: File | None, rows: Sequence[Entry], known: Known, base: Base | None) -> Compared:
    """The edits of a page since the state of `base`; None, if that is not known."""
    look = _Look(page, file, {row.id: row for row in rows}, known, base, Compared())
    found = look.found
    found.notes += [Note(problem.line, problem.reason) for problem in page.problems]
    if page.front.span or not page.front.fault:  # else what is before the first entry is a front matter, not closed
        start = page.front.span.end if page.front.span else int(page.text.startswith("\ufeff"))
        end = page.entries[0].span.start if page.entries else len(page.text)
        found.changes += [Change(NEW, each.line, each, None) for each in loose_in(page, start, end)]
    for entry in page.entries:
        _compare_one(look, entry)
    missing = [row for row in rows if row.shown and row.id not in found.there and not row.folded_into]
    named = {name[1]: name.start() for name in reversed(list(_NAMED.finditer(page.text)))} if missing else {}
    undone = {row.superseded_by for row in rows if (old := found.there.get(row.id)) and old.is_current}
    for row in missing:
        if row.id in named:
            found.garbled.add(row.id)
            what = f"the heading of {row.id} begins no entry; put it at the start of a line, with ## and a space"
            found.notes.append(Note(page.text.count("\n", 0, named[row.id]) + 1, what))
        elif row.id in undone and not row.is_struck:  # what it replaced is there: the statement was not removed
            found.notes.append(Note(0, f"restored {row.id}: what it replaced is on the page again and does not count"))
        elif not any(name in found.there for name in row.folded):  # else the page is older than the compaction
            found.changes += _missing(look, row)
    found.front = _front(page, file, base)
    return found


def _compare_one(look: _Look, entry: Written) -> None:
    found, known = look.found, look.known
    row = look.rows.get(entry.id) if entry.id and entry.id not in found.there else None
    if row is not None:
        entry, end = parted(look.page, entry, row.content)
        below = loose_in(look.page, end, entry.span.end)
        found.there[entry.id] = entry
        if _holds_others(look, entry):
            return
        found.changes += _compared(look, entry, row)
        found.changes += [Change(NEW, each.line, each, None) for each in below]
    elif entry.id and known.is_erased(entry.id):
        found.drops.append(entry.id)
        found.notes.append(Note(entry.line, f"{entry.id} was erased; it is removed from the page"))
    elif entry.id and known.is_gone(entry.id, entry.body):
        found.drops.append(entry.id)
    elif entry.id and known.is_past(entry.id):
        return
    elif not entry.body.strip():
        found.notes.append(Note(entry.line, "this entry has no words yet; it is imported once it has"))
    else:
        found.changes.append(Change(NEW, entry.line, entry, None))


def _holds_others(look: _Look, entry: Written) -> bool:
    """True if the heading of another known entry is in the words of this one, and begins none."""
    if "{id:" not in entry.body:
        return False
    inside = look.page.text[entry.heading.end : entry.span.end]
    ids = {entry.id for entry in look.page.entries}
    others = (name for name, row in look.rows.items() if row.shown and name not in ids)
    return any(f"{{id: {name}}}" in inside for name in others)


def _compared(look: _Look, entry: Written, row: Entry) -> Iterator[Change]:
    """The edits of a known entry."""
    found, is_same = look.found, same_words(entry.body, row.content)
    if row.folded_into:
        yield from _of_compacted(found, entry, row)
        return
    if not row.is_struck:
        yield from _of_current(look, entry, row)
        return
    if not entry.is_current and is_unmarked(entry, row):
        found.again.add(row.id)
    if entry.is_current and not is_same:
        yield Change(RACED, entry.line, entry, row)
    elif entry.is_current and (row.shown != 2 or look.is_late(row)):  # it was current in the known state of the page
        found.again.add(row.id)
    elif not is_same:
        what = f"{row.id} is no longer current, so these words do not count; change {row.superseded_by or 'another'}"
        found.notes.append(Note(entry.line, what))
    elif entry.is_current and row.retracted and not row.superseded:
        yield Change(REVIVED, entry.line, entry, row)
    elif entry.is_current:
        found.again.add(row.id)
        found.notes.append(Note(entry.line, f"{row.superseded_by} replaced {row.id}; it is struck again"))
    elif _is_dated(look, entry, row):
        what = f"{row.id} is no longer current, so this time does not count; it was {row.timestamp}"
        found.notes.append(Note(entry.line, what))


def _of_compacted(found: Compared, entry: Written, row: Entry) -> Iterator[Change]:
    """The edits of an entry on a page that is older than its compaction: another entry has its words now."""
    is_same = same_words(entry.body, row.content)
    if not is_same and not entry.is_current:
        what = f"{row.id} is compacted into {row.folded_into}, so these words do not count; change that one"
        found.notes.append(Note(entry.line, what))
        return
    found.again.add(row.id)
    if not is_same:
        yield Change(RACED, entry.line, entry, row)


def _of_current(look: _Look, entry: Written, row: Entry) -> Iterator[Change]:
    if entry.superseded_by and entry.superseded_by != row.id:
        yield Change(SUPERSEDED, entry.line, entry, row)
    elif entry.is_retracted or entry.is_struck or not entry.body.strip():
        yield Change(STRUCK, entry.line, entry, row)
    elif not same_words(entry.body, row.content):
        yield Change(CHANGED, entry.line, entry, row)
    else:
        if entry.tags and (tags := row.tag_list) != entry.tags and tags != tags_shown(entry.tags, ""):
            is_late = not row.shown or row.is_due or look.is_late(row)
            yield Change(TAGGED_LATE if is_late else TAGGED, entry.line, entry, row)
        if _is_dated(look, entry, row):
            yield Change(DATED, entry.line, entry, row)


def _is_dated(look: _Look, entry: Written, row: Entry) -> bool:
    """True if a heading says another time than it was written with. Another zone alone changes none of them."""
    said = time_said(stamp(entry.at)) if row.shown and entry.at is not None else ""
    if not said or said[:_SECONDS] == row.timestamp[:_SECONDS]:
        return False
    zone = zone_named(look.file.zone) if look.file else None
    seen = moment(entry.time, zone) if zone else None
    return seen is None or stamp(seen)[:_SECONDS] != row.timestamp[:_SECONDS]


def _missing(look: _Look, row: Entry) -> Iterator[Change]:
    """An entry that was on the page when it was last read or written, and is not."""
    found = look.found
    if look.base is None:
        if not row.is_struck:
            what = f"restored {row.id}: `updated` and `entry_count` do not show that you removed it; strike it instead"
            found.notes.append(Note(0, what))
    elif row.seq > look.base.seq:  # whoever saved the page has not seen it
        return
    elif not row.is_struck:
        yield Change(REMOVED, 0, None, row)
    elif row.shown == 1 or look.is_late(row):
        yield Change(RACED_REMOVAL, 0, None, row)
    else:
        what = f"{row.id} is history and stays on the page; run `tallystick tidy --compact` to compact it"
        found.notes.append(Note(0, what))


def _front(page: Page, file: File | None, base: Base | None) -> dict[str, Any]:
    """The fields that a person changed, or all, of a page that was never seen."""
    front = page.front
    said: dict[str, Any] = {"title": page.title} if page.title else {}
    for name in ("description", "tags", "status", "needs_compact"):
        if name in front.fields and front.fields[name].value is not None:
            said[name] = list(front.tags) if name == "tags" else getattr(front, name)
    is_ours = file is not None and file.digest is None and base is not None  # its rows may know less than it says
    if front.created is not None and not is_ours:
        said["created"] = front.created
    if file is None:
        return said
    now = {
        "title": file.title, "description": file.description, "tags": list(file.tag_list), "status": file.status,
        "needs_compact": bool(file.needs_compact),
        "created": datetime.fromisoformat(file.created).replace(microsecond=0),
    }  # fmt: skip
    seen = {**now, **orjson.loads(base.front if base else file.front)} if file.digest is not None else now
    ours = {**now, **{name: legal(file, name) for name in FRONT}, "title": one_line(file.title)}  # as we write it
    return {name: value for name, value in said.items() if value not in (seen.get(name, value), now[name], ours[name])}


# -- statements on a page without a heading ----------------------------------------------------------------------------
# A paragraph is one, and so is each bullet of a list that begins after an empty line; lines below a bullet that are
# indented belong to it, and bullets right below a line of text belong to that. Headings, comments and rules are none,
# and nothing is below a heading that was meant to begin an entry.

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)$")
_BULLET = re.compile(r"( {0,3})(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_DEEPER = ("  ", "\t")


def loose_in(page: Page, start: int, end: int) -> Iterator[Written]:
    """The statements between two places of a page, each as an entry without a heading."""
    for lines in _statements(page.text, start, end):
        body = _said(lines)
        if body:
            place = lines[0].span.start
            yield Written(
                "", "", None, (), body, "", (), False, False, page.text.count("\n", 0, place) + 1,
                Span(place, lines[-1].span.end), Span(place, place), Span(place, lines[-1].span.end),
            )  # fmt: skip


def _statements(text: str, start: int, end: int) -> Iterator[list[Line]]:
    """The lines of each statement, with the empty lines after it."""
    found, is_list, is_comment = list[Line](), False, False
    for line in lines_of(text, start, end):
        bullet = None if line.is_code else _BULLET.match(line.text)
        is_apart = bool(found) and found[-1].is_blank
        if line.is_blank:
            if found:
                found.append(line)
            continue
        if is_comment or (not line.is_code and line.text.lstrip().startswith("<!--") and (is_apart or not found)):
            is_comment = "-->" not in line.text
        elif not line.is_code and is_like_an_entry(line.text):
            break
        elif not line.is_code and (_HEADING.match(line.text) or _RULE.match(line.text)):
            is_list = False
        else:
            is_below = line.text.startswith(_DEEPER) and is_list
            is_next = bullet is not None and is_list and not is_below
            if found and (is_next or (is_apart and not is_below)):
                yield found
                found = []
            is_list = bullet is not None if not found else is_list
            found.append(line)
            continue
        if found:  # something else ended it
            yield found
        found = []
    if found:
        yield found


def _said(lines: list[Line]) -> str:
    """The words of a statement, without its bullet and the indent of that."""
    words = [line.text for line in lines]
    if bullet := _BULLET.match(words[0]):
        deep = bullet.end()
        words = [words[0][deep:], *(line[min(deep, len(line) - len(line.lstrip())) :] for line in words[1:])]
    return "\n".join(line.rstrip() for line in words).strip()


# -- damaged files, from which nothing is imported: half merged, not text, or truncated --------------------------------

_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 and UTF-32 begin
_SHARE = 10  # one byte in so many that is not UTF-8, and it is another encoding


def conflict_line(page: Page, rows: Mapping[str, Entry]) -> int:
    """The first line with a conflict mark of a merge; 0, if there is none. The words of an entry have none."""
    for place in conflicts(page.text):
        inside = next((entry for entry in page.entries if entry.span.start <= place < entry.span.end), None)
        row = rows.get(inside.id) if inside else None
        if inside is None or row is None or not same_words(inside.body, row.content):
            return page.text.count("\n", 0, place) + 1
    return 0


def unreadable(data: bytes) -> str:
    """The reason why a file is not readable text; empty, if it is. A few bytes that are not UTF-8 do no harm."""
    if data.startswith(_WIDE) or b"\0" in data:
        return "it is not UTF-8 but UTF-16 or binary"
    if not data.isascii():
        text = to_text(data)
        if sum("\ud800" <= char <= "\udfff" for char in text) * _SHARE > len(text):
            return "it is not UTF-8"
    return ""


def is_truncated(page: Page, rows: Sequence[Entry], base: Base | None, ends: Callable[[], set[str]]) -> bool:
    """True if a file ends in the middle of what was written: without the end of its last line, and without the page's
    last entry (one of `ends`), or with only the beginning of its last entry."""
    text = page.text
    if text.endswith(("\n", "\r")):
        return False
    if page.front.span is None and page.front.fault:
        return not page.entries
    end = page.entries[-1] if page.entries else None
    row = next((row for row in rows if end and row.id == end.id and not row.folded_into), None)
    body = end.body.removeprefix("~~") if end else ""
    if row is not None and body != row.content and row.content.startswith(body):
        return True
    if base is None:
        return False
    shown = [row for row in rows if row.shown and not row.folded_into and row.seq <= base.seq]
    last = (ends() & {row.id for row in shown}) or {row.id for row in shown[-1:]}
    return bool(last - {entry.id for entry in page.entries})


def loses_most(removed: Sequence[Entry], rows: Sequence[Entry], base: Base | None) -> bool:
    """True if more than one entry is missing, and more than half of what the page showed."""
    shown = [row for row in rows if row.shown and row.is_current and base and row.seq <= base.seq]
    return len(removed) > 1 and 2 * len(removed) > len(shown)
