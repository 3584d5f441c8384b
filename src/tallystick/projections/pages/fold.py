"""The effect of each event on the pages. Only the event and the rows decide, so pages that followed along and pages
that were rebuilt are the same.

A belief is on the page of its entity as soon as it has words. Other words strike the entry and add one; the same words
on the same page leave it where it is. What tools and web pages say is on no page before a person approves it; what was
said on a branch of a conversation is on none before it is merged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.names import MOST, tag_of
from tallystick.projections.pages.rows import Entry, Rows, description_of, title_of
from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused
from tallystick.records.event import TIME, Event
from tallystick.records.policy import DEFAULT
from tallystick.state.pages import USUAL, is_about

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)  # as the ledger writes it


def apply(rows: Rows, event: Event) -> None:
    """Apply one event."""
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
    belief, replaced = body["belief"], list(body.get("replaces", ()))
    if belief.get("path"):
        return
    before = [rows.pending.take(name) for name in replaced]
    gone = list({entry.n: entry for name in replaced if (entry := rows.entry(name))}.values())
    took_over = bool(gone) and not any(before)
    if belief.get("trust", "human") in DEFAULT.quarantined and "approved" not in body and not took_over:
        rows.pending.add(belief["id"], event, belief)
        return
    _show(rows, event, event.ts, event.seq, belief, gone)


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
        if old is not same and text and not old.superseded:
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
    """A belief is withdrawn."""
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
    if body.get("again"):  # what was said of it is about to be erased
        rows.forget_states(file, event.seq)
    if body.get("again") and not front:  # no belief is about it
        rows.sweep(file, event.ts)
        return
    if body.get("again"):
        usual = {"description": description_of(body["about"]), "title": title_of(body["about"]), "tags": []}
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


def _clean(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    for file in rows.files_of(body["user"]):
        rows.sweep(file, event.ts)


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
    ops.PAGE_RENAME: _rename, ops.PAGE_CLEAN: _clean, ops.IMPORT_TAKE: _take,
    TIME: lambda rows, _, body: rows.redate(body["clock"]),
}  # fmt: skip
