"""From rows to the bytes of a page: a page from nothing, or what has to change in one that is there.

Whatever is not named by a row stays as it is, to the byte. If nothing has to change, nothing does, not even a counter
that is wrong; the next change sets it right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

import orjson

from keepsake.projections import markdown
from keepsake.projections.markdown import Draft, Edit, Page, grown, new_page
from keepsake.projections.markdown.fields import Value
from keepsake.projections.markdown.page import to_bytes
from keepsake.projections.markdown.zone import zone_named
from keepsake.projections.pages.rows import Entry, File

FRONT = ("description", "tags", "status", "needs_compact")

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
        file.description, file.tag_list, file.title, moment(file.created), zone_named(file.zone) or zone,
        entity="" if markdown.is_plain(file.about) else file.about, updated=moment(file.updated), status=file.status,
        needs_compact=bool(file.needs_compact), entries=map(draft_of, shown),
    )  # fmt: skip
    return Rendering(to_bytes(text), [(each.n, how(each)) for each in shown], _front(file, file.title, len(shown)))


def longer(data: bytes, file: File, due: Sequence[Entry], zone: tzinfo) -> Rendering | None:
    """The page with more at its end, without reading all of it; None, if more than that has to change."""
    seen = orjson.loads(file.front)
    if not due or any(each.shown or each.is_struck or each.folded_into for each in due):
        return None
    if "count" not in seen or any(seen.get(name) != _said(file, name) for name in FRONT):
        return None
    drafts = [draft_of(each) for each in due]
    text = grown(
        data, *drafts, entry_count=seen["count"], now=moment(file.updated), zone=zone_named(file.zone) or zone
    )  # fmt: skip
    front = orjson.dumps({**seen, "count": seen["count"] + len(due)}).decode()
    return Rendering(text, [(each.n, 1) for each in due], front)


def changed(
    page: Page, file: File, due: Sequence[Entry], *, completions: Sequence[Completion] = (), drops: Iterable[str] = ()
) -> Rendering:
    """The page with what has to change in it. What stands there under `drops` is removed."""
    edit, there, is_any = Edit(page), {entry.id: entry for entry in page.entries if entry.id}, bool(completions)
    completed = {each.id for each in completions}
    for each in completions:
        edit.complete(each.entry, each.id, each.at, each.tags)
    for name in drops:
        if name in there:
            edit.remove(name)
            is_any = True
    drafts = []
    for row in due:
        if row.id in there:
            is_any = _level(edit, there[row.id], row) or is_any
        elif row.id not in completed and not row.folded_into:
            drafts.append(draft_of(row))
    fields = _fields(page, file)
    is_any = is_any or bool(drafts) or bool(fields)
    shown = [(row.n, how(row)) for row in due]
    if not is_any:
        return Rendering(page.data, shown, seen_front(page))
    if not page.front.fault:
        edit.front(**fields)
    text = edit.append(*drafts).stamp(moment(file.updated)).text if drafts else edit.stamp(moment(file.updated)).text
    count = len(page.entries) + len(drafts) - sum(name in there for name in drops)
    count -= sum(row.id in there for row in due if row.folded_into)
    title = page.title or file.title
    front = seen_front(page) if page.front.fault else _front(file, title, count)
    return Rendering(to_bytes(text), shown, front)


def _level(edit: Edit, there: markdown.Entry, row: Entry) -> bool:
    """Bring one entry to what its row says. False, if it says so already."""
    if row.folded_into:
        edit.remove(row.id)
        return True
    is_any = False
    if there.body != row.content:
        edit.rebody(row.id, row.content)
        is_any = True
    if row.superseded_by and there.superseded_by != row.superseded_by and not there.superseded_by:
        edit.supersede(row.id, row.superseded_by)
        is_any = True
    elif row.retracted and not row.superseded_by and not there.is_retracted:
        edit.retract(row.id)
        is_any = True
    if row.tag_list != there.tags and there.tags:
        edit.retag(row.id, row.tag_list)
        is_any = True
    return is_any


def _fields(page: Page, file: File) -> dict[str, Value]:
    """What the front matter has to say and does not."""
    front, wanted = page.front, dict[str, Value]()
    said: Mapping[str, Value] = {
        "description": front.description, "tags": front.tags, "status": front.status,
        "needs_compact": front.needs_compact,
    }  # fmt: skip
    for name in FRONT:
        value = _said(file, name)
        if (tuple(value) if name == "tags" else value) != said[name]:
            wanted[name] = value
    return wanted


def _said(file: File, name: str) -> Any:
    if name == "tags":
        return list(file.tag_list)
    return bool(file.needs_compact) if name == "needs_compact" else getattr(file, name)


def _front(file: File, title: str, count: int) -> str:
    said = {name: _said(file, name) for name in FRONT}
    return orjson.dumps({**said, "title": title, "count": count}).decode()


def seen_front(page: Page) -> str:
    """What a page says of itself, to be compared with what it says the next time."""
    front = page.front
    return orjson.dumps({
        "description": front.description, "tags": list(front.tags), "status": front.status,
        "needs_compact": front.needs_compact, "title": page.title, "count": len(page.entries),
    }).decode()  # fmt: skip
