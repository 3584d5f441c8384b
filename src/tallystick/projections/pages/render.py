"""Rendering rows as a page: a new page, or the changes to one that is there.

Whatever is not named by a row stays as it is, to the byte. If nothing has to change, nothing does, not even a counter
that is wrong; the next change corrects it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

import orjson

from tallystick.projections import markdown
from tallystick.projections.markdown import Draft, Edit, Page, grown, new_page, parse
from tallystick.projections.markdown.escape import escaped
from tallystick.projections.markdown.front import LONGEST_TEXT, MOST_TAGS, Splice, Value, checked, spliced
from tallystick.projections.markdown.heading import SUPERSEDED, marks, read_heading
from tallystick.projections.markdown.page import to_bytes, to_text
from tallystick.projections.markdown.parse import parted
from tallystick.projections.markdown.zone import on_the_clock, zone_named
from tallystick.projections.pages.rows import Entry, File, tags_shown
from tallystick.records.errors import Refused

FRONT = ("description", "tags", "status", "needs_compact")

_BLANK = " \t\r\n"
_TITLE = re.compile(r"^ {0,3}#[ \t]([^\r\n]*)", re.MULTILINE)
_FOLLOWED = re.compile(rb"[ \t]*(?:\n[ \t]*)*(?:\Z|(?<=\n)## \[\d[^]\n]*\] \{id: )")  # by the next entry, or by nothing
_NAMED = f"#{SUPERSEDED}".encode()
_FEW = 16  # entries that are searched for; parsing the page takes as long as some hundreds

moment = datetime.fromisoformat
Shown = list[tuple[int, int]]  # (n of an entry, 1 as it is or 2 struck; 0 not on the page)


class Rendering(NamedTuple):
    """A page as it is to be written; the same bytes as before, if nothing has to change."""

    data: bytes
    shown: Shown
    front: str  # JSON: its front matter, see `seen_front`


class Completion(NamedTuple):
    """A heading that a person wrote, and what it lacks."""

    entry: markdown.Entry
    id: str
    at: datetime
    tags: tuple[str, ...]


def draft_of(entry: Entry) -> Draft:
    return Draft(
        entry.id, moment(entry.timestamp), entry.tag_list, entry.content, entry.folded, entry.superseded_by,
        bool(entry.retracted and not entry.superseded_by),
    )  # fmt: skip


def how(entry: Entry) -> int:
    """0, 1 or 2: not on its page, as it is, or struck, once the page is up to date."""
    return 0 if entry.folded_into else 2 if entry.is_struck else 1


def new(file: File, entries: Iterable[Entry], zone: tzinfo) -> Rendering:
    shown = [entry for entry in entries if not entry.folded_into]
    text = new_page(
        legal(file, "description"), legal(file, "tags"), file.title, moment(file.created),
        zone_named(file.zone) or zone, entity="" if markdown.is_plain(file.about) else file.about,
        updated=moment(file.updated), status=file.status, needs_compact=bool(file.needs_compact),
        entries=map(draft_of, shown),
    )  # fmt: skip
    front = {
        **{name: legal(file, name) for name in FRONT}, "title": one_line(file.title), "count": len(shown),
        "last": shown[-1].id if shown else "",
    }  # fmt: skip
    return Rendering(to_bytes(text), [(each.n, how(each)) for each in shown], orjson.dumps(front).decode())


def patched(data: bytes, file: File, due: Sequence[Entry], zone: tzinfo) -> Rendering | None:
    """The page with a few entries struck and more at its end, without parsing it; None, if more than that has to
    change. `data` is the page as it was last read or written."""
    seen, struck = orjson.loads(file.front), [each for each in due if each.shown]
    if not due or any(each.folded_into for each in due) or len(struck) > _FEW:
        return None
    if "count" not in seen or (seen.get("title") and seen["title"] != one_line(file.title)):
        return None
    own = zone_named(file.zone) or zone
    strikes = [_strike(data, each, own) for each in struck]
    if None in strikes:
        return None
    drafts = [draft_of(each) for each in due if not each.shown]
    fields = {name: legal(file, name) for name in FRONT if _is_wanting(file, name, seen.get(name))}
    text = grown(
        spliced(data, filter(None, strikes)), *drafts, entry_count=seen["count"], now=moment(file.updated), zone=own,
        fields=fields,
    )  # fmt: skip
    more = {"count": seen["count"] + len(drafts), "last": drafts[-1].id} if drafts else {}
    front = orjson.dumps({**seen, **fields, **more}).decode()
    return None if text is None else Rendering(text, [(each.n, how(each)) for each in due], front)


def _strike(data: bytes, row: Entry, zone: tzinfo) -> Splice[bytes] | None:
    """The strike of an entry that is on the page as it was: from the end of its heading to the end of its words. None,
    unless it is plain: its id is there once, except for the entries that it replaced, its heading is one line, its
    words are as we write them, and the next entry follows. Code blocks need the whole page to be parsed."""
    name, words = row.id.encode(), to_bytes(escaped(row.content))
    if row.shown != 1 or not row.is_struck or row.supersedes != "[]" or b"```" in words or data.find(b"\r") >= 0:
        return None
    at = _only(data, name)
    start, end = data.rfind(b"\n", 0, max(at, 0)) + 1, data.find(b"\n", max(at, 0))
    heading = read_heading(to_text(data[start:end]), zone) if 0 <= at < end else None
    if heading is None or heading.id != row.id or heading.problems or heading.supersedes:
        return None
    is_marked = heading.superseded_by or heading.is_retracted
    if is_marked or heading.at != moment(row.timestamp).replace(microsecond=0):
        return None
    last = end + 1 + len(words)
    if not data.startswith(words, end + 1) or not _FOLLOWED.match(data, last):
        return None
    draft = draft_of(row)
    text = marks(draft.superseded_by, draft.is_retracted) + "\n" + escaped(row.content, is_struck=True)
    return Splice(start + len(data[start:end].rstrip(_BLANK.encode())), last, to_bytes(text))


def _only(data: bytes, name: bytes) -> int:
    """The place of the heading with that id; -1, if the id occurs elsewhere too. What it replaced names it as well."""
    found, at = -1, data.find(name)
    while at >= 0:
        if not data.endswith(_NAMED, 0, at):
            if found >= 0:
                return -1
            found = at
        at = data.find(name, at + 1)
    return found


def changed(
    page: Page, file: File, due: Sequence[Entry], *, completions: Sequence[Completion] = (), drops: Iterable[str] = (),
    recorded: Collection[str] = (), is_seen: bool = True,
) -> Rendering:  # fmt: skip
    """The page with its changes. The entries in `drops` are removed.

    On a page with a new zone, the headings of `due` say the same moments in that zone. Words that differ from its row
    are removed from an entry only if they are `recorded` elsewhere. Fields that the front matter never had are added
    with the next change.
    """
    as_read = page
    if completions:  # as if the person had written complete headings
        edit = Edit(page)
        for each in completions:
            edit.complete(each.entry, each.id, each.at, each.tags)
        page = parse(edit.text, page.zone)
    if any(row.supersedes != "[]" for row in due):
        page = _folded(page, due)
    is_any, drafts, page = page is not as_read, list[Draft](), _narrowed(page, due)
    edit, there = Edit(page), _first(page)
    is_moved = is_on_another_clock(page, file)
    for row in due:
        if row.id in there:
            is_any = _level(edit, there[row.id], row, may_reword=row.id in recorded) or is_any
            if is_moved and there[row.id].at not in (None, at := moment(row.timestamp).replace(microsecond=0)):
                edit.redate(row.id, at)
                is_any = True
        elif not row.folded_into:
            drafts.append(draft_of(row))
    fields, seen, said = _fields(as_read, file), orjson.loads(file.front), orjson.loads(seen_front(page))
    lost = {name for name in fields if is_seen and (file.is_due or seen.get(name) != said.get(name))}
    is_any = is_any or bool(drafts) or any(name in lost or name in page.front.fields for name in fields)
    shown, gone, title = [(row.n, how(row)) for row in due], there.keys() & set(drops), one_line(file.title)
    title = escaped(title) if page.title and title != one_line(page.title) else ""  # a page without one gets none
    if not is_any and not gone and not title:
        return Rendering(page.data, shown, seen_front(page))
    if page.front.fault:
        fields = {}
    edit = edit.append(*drafts) if drafts else edit
    text = (edit.front(**fields) if fields else edit).stamp(moment(file.updated)).text
    if gone or title:
        made = without(parse(text, page.zone), gone)
        start = made.front.span.end if made.front.span else 0
        place = _TITLE.search(made.text, start, made.entries[0].span.start if made.entries else len(made.text))
        if title and place:
            made = parse(spliced(made.text, [Splice(*place.span(1), title)]), made.zone)
        return Rendering(made.data, shown, seen_front(made))
    compacted = {row.id for row in due if row.id in there and _is_compacted(there[row.id], row, row.id in recorded)}
    left = [entry.id for entry in page.entries if entry is not there.get(entry.id) or entry.id not in compacted]
    said = {name: value for name, value in fields.items() if name in FRONT}
    return Rendering(to_bytes(text), shown, seen_front(page, said, [*left, *(draft.id for draft in drafts)]))


def is_on_another_clock(page: Page, file: File) -> bool:
    """True if a person changed the zone of a page since it was last read or written."""
    return bool(file.zone) and zone_named(file.zone) not in (None, page.zone)


def _folded(page: Page, due: Sequence[Entry]) -> Page:
    """The page with compacted entries in the place of the first entry that each names."""
    there, made = _first(page), dict[str, Entry]()
    into = {row.id: row.folded_into for row in due if row.id in there and there[row.id].body == row.content}
    for row in due:
        is_there = row.id in there
        place = row.id if is_there else next((name for name in row.folded if into.get(name) == row.id), "")
        if place and not row.folded_into and not (is_there and row.folded == there[row.id].supersedes):
            made[place] = row
    return parse(rewritten(page, made), page.zone) if made else page


def _narrowed(page: Page, due: Sequence[Entry]) -> Page:
    """The page with those entries without what was typed below their words: that is none of them, and stays."""
    words = {row.id: row.content for row in due}
    if not any(each.id in words for each in page.entries):
        return page
    return replace(page, entries=tuple(
        parted(page, each, words[each.id])[0] if each.id in words else each for each in page.entries
    ))  # fmt: skip


def rewritten(page: Page, made: Mapping[str, Entry], gone: Collection[str] = ()) -> str:
    """The page with some entries replaced, and others removed. All else stays to the byte."""
    splices = [Splice(*entry.span, "") for name, entry in _first(page).items() if name in gone and name not in made]
    for name, entry in _first(page).items():
        if name in made:
            draft, raw = draft_of(made[name]), page.text[entry.span.start : entry.span.end]
            is_clear = page.front.zone is not None or on_the_clock(draft.at, page.zone) == entry.time
            words = draft.text(page.zone if is_clear else None, page.newline).removesuffix(page.newline)
            splices.append(Splice(*entry.span, words + raw[len(raw.rstrip(_BLANK)) :]))
    return spliced(page.text, splices)


def _first(page: Page) -> dict[str, markdown.Entry]:
    """The entries by id; of two with the same id, the first."""
    return {entry.id: entry for entry in reversed(page.entries) if entry.id}


def without(page: Page, names: Collection[str]) -> Page:
    """The page without the entries of these ids, however often they occur, and its count corrected."""
    while found := {entry.id for entry in page.entries if entry.id in names}:
        edit = Edit(page)
        for name in found:
            edit.remove(name)
        if page.front.entry_count is not None:
            edit.front(entry_count=max(0, page.front.entry_count - len(found)))
        page = parse(edit.text, page.zone)
    return page


def _level(edit: Edit, there: markdown.Entry, row: Entry, *, may_reword: bool) -> bool:
    """Change one entry to what its row says. False, if it says so already."""
    if row.folded_into:
        if is_compacted := _is_compacted(there, row, may_reword):
            edit.remove(row.id)
        return is_compacted
    is_any = False
    if there.body != row.content and may_reword:
        edit.rebody(row.id, row.content)
        is_any = True
    if is_unmarked(there, row):
        edit.supersede(row.id, row.superseded_by) if row.superseded_by else edit.retract(row.id)
        is_any = True
    if row.is_struck or not there.tags:
        return is_any
    if (tags := row.tag_list) != there.tags and tags != tags_shown(there.tags, ""):
        edit.retag(row.id, tags)
        is_any = True
    return is_any


def is_unmarked(there: markdown.Entry, row: Entry) -> bool:
    """True if an entry does not show that it is no longer current."""
    return not there.superseded_by if row.superseded_by else bool(row.retracted) and not there.is_retracted


def _is_compacted(there: markdown.Entry, row: Entry, is_recorded: bool) -> bool:
    """True if another entry says what this one says, so that it may be removed."""
    return bool(row.folded_into) and (is_recorded or there.body == row.content)


def _fields(page: Page, file: File) -> dict[str, Value]:
    """The fields that the front matter has to say and does not."""
    said = orjson.loads(seen_front(page))
    if page.front.span is None:  # all of it is written
        entity = {} if markdown.is_plain(file.about) else {"entity": file.about}
        return {**{name: legal(file, name) for name in FRONT}, "created": moment(file.created), **entity}
    return {name: legal(file, name) for name in FRONT if _is_wanting(file, name, said[name])}


def _is_wanting(file: File, name: str, said: Any) -> bool:
    return said not in (_said(file, name), legal(file, name))


def _said(file: File, name: str) -> Any:
    if name == "tags":
        return list(file.tag_list)
    return bool(file.needs_compact) if name == "needs_compact" else getattr(file, name)


def legal(file: File, name: str) -> Any:
    """The value of a front matter field, as we may write it: a person may have written what is not valid."""
    said = _said(file, name)
    if name == "description":
        return said if len(said) <= LONGEST_TEXT else said[: LONGEST_TEXT - 1] + "…"
    if name != "tags":
        return said
    found: list[str] = []
    for tag in said:
        try:
            found += checked("tags", [tag], UTC)
        except Refused:
            continue
    return list(dict.fromkeys(found))[:MOST_TAGS]


def one_line(title: str) -> str:
    return " ".join(title.split())


def seen_front(page: Page, written: Mapping[str, Any] | None = None, ids: Sequence[str] | None = None) -> str:
    """The front matter of a page, its number of entries and its last one, as JSON, to compare with the next time.
    `written` are fields that were changed, `ids` the entries after a change."""
    front, ids = page.front, [entry.id for entry in page.entries] if ids is None else ids
    return orjson.dumps({
        "description": front.description, "tags": list(front.tags), "status": front.status,
        "needs_compact": front.needs_compact, "title": page.title, **(written or {}),
        "count": len(ids), "last": next(filter(None, reversed(ids)), ""),
    }).decode()  # fmt: skip
