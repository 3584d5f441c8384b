"""From rows to the bytes of a page: a page from nothing, or what has to change in one that is there.

Whatever is not named by a row stays as it is, to the byte. If nothing has to change, nothing does, not even a counter
that is wrong; the next change sets it right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

import orjson

from keepsake.projections import markdown
from keepsake.projections.markdown import Draft, Edit, Page, grown, new_page, parse
from keepsake.projections.markdown.escape import escaped
from keepsake.projections.markdown.fields import Value, checked
from keepsake.projections.markdown.page import to_bytes
from keepsake.projections.markdown.zone import on_the_clock, zone_named
from keepsake.projections.pages.fold import tags_shown
from keepsake.projections.pages.rows import Entry, File
from keepsake.records.errors import Refused

FRONT = ("description", "tags", "status", "needs_compact")

_BLANK = " \t\r\n"
_TITLE = re.compile(r"^ {0,3}#[ \t]([^\r\n]*)", re.MULTILINE)
_LONGEST, _MOST_TAGS = 1_000, 32  # characters of a description, and tags of a page

Shown = list[tuple[int, int]]  # (n of an entry, 1 as it is or 2 struck; 0 not on the page)


class Rendering(NamedTuple):
    """A page as it is to be written; the same bytes as before, if nothing has to change."""

    data: bytes
    shown: Shown
    front: str  # JSON: what its front matter says, see `seen_front`


class Completion(NamedTuple):
    """A heading that a person wrote, and what it lacks."""

    entry: markdown.Entry
    id: str
    at: datetime
    tags: tuple[str, ...]


def moment(ts: str) -> datetime:
    return datetime.fromisoformat(ts)


def draft_of(entry: Entry) -> Draft:
    return Draft(
        entry.id, moment(entry.timestamp), entry.tag_list, entry.content, entry.folded, entry.superseded_by,
        bool(entry.retracted and not entry.superseded_by),
    )  # fmt: skip


def how(entry: Entry) -> int:
    """How an entry is shown once its page is level."""
    return 0 if entry.folded_into else 2 if entry.is_struck else 1


def new(file: File, entries: Iterable[Entry], zone: tzinfo) -> Rendering:
    """The page from nothing."""
    shown = [entry for entry in entries if not entry.folded_into]
    text = new_page(
        legal(file, "description"), legal(file, "tags"), file.title, moment(file.created),
        zone_named(file.zone) or zone, entity="" if markdown.is_plain(file.about) else file.about,
        updated=moment(file.updated), status=file.status, needs_compact=bool(file.needs_compact),
        entries=map(draft_of, shown),
    )  # fmt: skip
    front = {**{name: legal(file, name) for name in FRONT}, "title": one_line(file.title), "count": len(shown)}
    return Rendering(to_bytes(text), [(each.n, how(each)) for each in shown], orjson.dumps(front).decode())


def longer(data: bytes, file: File, due: Sequence[Entry], zone: tzinfo) -> Rendering | None:
    """The page with more at its end, without reading all of it; None, if more than that has to change."""
    seen = orjson.loads(file.front)
    if not due or any(each.shown or each.is_struck or each.folded_into for each in due):
        return None
    if "count" not in seen or any(_is_wanting(file, name, seen.get(name)) for name in FRONT):
        return None
    if seen.get("title") and seen["title"] != one_line(file.title):
        return None
    drafts = [draft_of(each) for each in due]
    text = grown(
        data, *drafts, entry_count=seen["count"], now=moment(file.updated), zone=zone_named(file.zone) or zone
    )  # fmt: skip
    front = orjson.dumps({**seen, "count": seen["count"] + len(due)}).decode()
    return Rendering(text, [(each.n, 1) for each in due], front)


def changed(
    page: Page, file: File, due: Sequence[Entry], *, completions: Sequence[Completion] = (), drops: Iterable[str] = (),
    recorded: Collection[str] = (), is_seen: bool = True,
) -> Rendering:  # fmt: skip
    """The page with what has to change in it. What stands there under `drops` is removed.

    Other words than its row has are taken off an entry only if they are `recorded` elsewhere. What the front matter of
    a page does not say that nobody has seen yet is said with the next change.
    """
    as_read, page = page, _completed(page, completions)
    if any(row.supersedes != "[]" for row in due):
        page = _folded(page, due)
    edit, there, is_any, drafts = Edit(page), _first(page), page is not as_read, list[Draft]()
    for row in due:
        if row.id in there:
            is_any = _level(edit, there[row.id], row, may_reword=row.id in recorded) or is_any
        elif not row.folded_into:
            drafts.append(draft_of(row))
    fields = _fields(page, file)
    is_any = is_any or bool(drafts) or any(is_seen or name in page.front.fields for name in fields)
    shown, gone, title = [(row.n, how(row)) for row in due], there.keys() & set(drops), _title(page, file)
    if not is_any and not gone and not title:
        return Rendering(page.data, shown, seen_front(page))
    if page.front.fault:
        fields = {}
    edit = edit.append(*drafts) if drafts else edit
    text = (edit.front(**fields) if fields else edit).stamp(moment(file.updated)).text
    if gone or title:
        made = _retitled(without(parse(text, page.zone), gone), title)
        return Rendering(made.data, shown, seen_front(made))
    told = [row for row in due if row.id in there and _is_told(there[row.id], row, row.id in recorded)]
    count = len(page.entries) + len(drafts) - len(told)
    return Rendering(to_bytes(text), shown, seen_front(page, fields, count))


def _completed(page: Page, completions: Sequence[Completion]) -> Page:
    """The page with whole headings, as if the person had written them so."""
    edit = Edit(page)
    for each in completions:
        edit.complete(each.entry, each.id, each.at, each.tags)
    return parse(edit.text, page.zone) if completions else page


def _folded(page: Page, due: Sequence[Entry]) -> Page:
    """The page with what was folded in the place of the first entry that it names."""
    there, made = _first(page), dict[str, Entry]()
    into = {row.id: row.folded_into for row in due if row.id in there and there[row.id].body == row.content}
    for row in due:
        is_there = row.id in there
        place = row.id if is_there else next((name for name in row.folded if into.get(name) == row.id), "")
        if place and not row.folded_into and not (is_there and row.folded == there[row.id].supersedes):
            made[place] = row
    return parse(rewritten(page, made), page.zone) if made else page


def rewritten(page: Page, made: Mapping[str, Entry], gone: Collection[str] = ()) -> str:
    """The page with other entries in the place of some, and without others. All else stays to the byte."""
    text, at, parts, there = page.text, 0, list[str](), _first(page)
    for entry in page.entries:
        if entry is not there.get(entry.id) or (entry.id not in made and entry.id not in gone):
            continue
        start, end = entry.span
        parts.append(text[at:start])
        at = end
        if entry.id in made:
            draft, raw = draft_of(made[entry.id]), text[start:end]
            is_clear = page.front.zone is not None or on_the_clock(draft.at, page.zone) == entry.time
            words = draft.text(page.zone if is_clear else None, page.newline).removesuffix(page.newline)
            parts += (words, raw[len(raw.rstrip(_BLANK)) :])
    return "".join([*parts, text[at:]])


def _first(page: Page) -> dict[str, markdown.Entry]:
    """The entries by id; of two with the same id, the first."""
    return {entry.id: entry for entry in reversed(page.entries) if entry.id}


def without(page: Page, names: Collection[str]) -> Page:
    """The page without the entries of these ids, however often they stand there, and its count set right."""
    while found := {entry.id for entry in page.entries if entry.id in names}:
        edit = Edit(page)
        for name in found:
            edit.remove(name)
        if page.front.entry_count is not None:
            edit.front(entry_count=max(0, page.front.entry_count - len(found)))
        page = parse(edit.text, page.zone)
    return page


def _level(edit: Edit, there: markdown.Entry, row: Entry, *, may_reword: bool) -> bool:
    """Bring one entry to what its row says. False, if it says so already."""
    if row.folded_into:
        if is_told := _is_told(there, row, may_reword):
            edit.remove(row.id)
        return is_told
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
    """Whether an entry does not show that it holds no longer."""
    return not there.superseded_by if row.superseded_by else bool(row.retracted) and not there.is_retracted


def _is_told(there: markdown.Entry, row: Entry, is_recorded: bool) -> bool:
    """Whether another entry tells what stands there, so that it may leave the page."""
    return bool(row.folded_into) and (is_recorded or there.body == row.content)


def _fields(page: Page, file: File) -> dict[str, Value]:
    """What the front matter has to say and does not."""
    said = orjson.loads(seen_front(page))
    return {name: legal(file, name) for name in FRONT if _is_wanting(file, name, said[name])}


def _is_wanting(file: File, name: str, said: Any) -> bool:
    return said not in (_said(file, name), legal(file, name))


def _said(file: File, name: str) -> Any:
    if name == "tags":
        return list(file.tag_list)
    return bool(file.needs_compact) if name == "needs_compact" else getattr(file, name)


def legal(file: File, name: str) -> Any:
    """What a front matter says in a field, as it can be written anew: a person may have written what we may not."""
    said = _said(file, name)
    if name == "description":
        return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
    if name != "tags":
        return said
    found: list[str] = []
    for tag in said:
        try:
            found += checked("tags", [tag], UTC)
        except Refused:
            continue
    return list(dict.fromkeys(found))[:_MOST_TAGS]


def one_line(title: str) -> str:
    return " ".join(title.split())


def _title(page: Page, file: File) -> str:
    """What stands in the place of the title, if that is another. A page without one gets none."""
    title = one_line(file.title)
    return escaped(title) if page.title and title and one_line(page.title) != title else ""


def _retitled(page: Page, title: str) -> Page:
    start = page.front.span.end if page.front.span else 0
    found = _TITLE.search(page.text, start, page.entries[0].span.start if page.entries else len(page.text))
    if not title or found is None:
        return page
    return parse(page.text[: found.start(1)] + title + page.text[found.end(1) :], page.zone)


def seen_front(page: Page, written: Mapping[str, Any] | None = None, count: int | None = None) -> str:
    """What a page says of itself, to be compared with what it says the next time; or, if fields were written and
    entries added, what it says then."""
    front = page.front
    return orjson.dumps({
        "description": front.description, "tags": list(front.tags), "status": front.status,
        "needs_compact": front.needs_compact, "title": page.title, **(written or {}),
        "count": len(page.entries) if count is None else count,
    }).decode()  # fmt: skip
