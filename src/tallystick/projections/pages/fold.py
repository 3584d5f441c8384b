"""What each event does to the pages. Only the event and the rows decide, so pages that followed along and pages made
anew are the same.

A belief stands on the page of its entity as soon as it has words. Other words strike the entry and add one; the same
words on the same page leave it where it is. What tools and web pages told is on no page before a person says yes;
what was said on a branch of a conversation is on none before it is merged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson

from tallystick.projections.markdown.heading import is_id
from tallystick.projections.markdown.tag import MOST, tag_of
from tallystick.projections.pages.rows import Entry, Rows, description_of, title_of
from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.errors import Refused
from tallystick.records.event import TIME, Event
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    ERASE,
    IMPORT_TAKE,
    PAGE_CLEAN,
    PAGE_COMPACT,
    PAGE_PUT,
    PAGE_RENAME,
    REVIEW_ANSWER,
    REVIEW_ASK,
)
from tallystick.records.policy import DEFAULT
from tallystick.state.pages import USUAL, is_about

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)  # as the ledger writes it


class Stale(Exception):
    """The rows hold words that were erased; only a new file is free of them."""


def apply(rows: Rows, event: Event) -> None:
    """Take in one event."""
    if event.seq == 0:
        for about in USUAL:
            rows.file(OWNER, about, event.ts)
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(rows, event, event.body)


def tags_shown(tags: Iterable[str], kind: str) -> tuple[str, ...]:
    """The tags of a belief as an entry has them: one to three, such as can stand there."""
    found: dict[str, None] = {}
    for said in (*tags, kind, "fact"):
        if len(found) < MOST and (said in tags or not found):
            try:
                found[tag_of(said)] = None
            except Refused:
                continue
    return tuple(found)


def _state(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, be it new or in place of others."""
    belief, replaced = body["belief"], list(body.get("replaces", ()))
    if belief.get("path"):
        return
    before = [rows.waiting(name) for name in replaced]
    gone = list({entry.n: entry for name in replaced if (entry := rows.entry(name))}.values())
    took_over = bool(gone) and not any(before)
    if belief.get("trust", "human") in DEFAULT.quarantined and "approved" not in body and not took_over:
        rows.wait(belief["id"], event.ts, belief)
        return
    _show(rows, event, event.ts, belief, gone)


def _show(rows: Rows, event: Event, at: str, belief: Mapping[str, Any], gone: list[Entry]) -> None:
    text, name = belief.get("text", ""), belief["id"]
    if not gone and not text:
        return
    held = belief.get("status", "active") == "active"
    file = rows.file(belief.get("user", OWNER), is_about(belief.get("about", "")), at)
    tags = tags_shown(belief.get("tags", ()), belief.get("kind", "fact"))
    happened, superseded_by, folds = _seen(belief)
    may_stay = gone[:1] if folds else gone  # what was folded stands where the first stood, whoever said the same
    same = next((old for old in may_stay if old.content == text and old.path == file.path and not old.is_struck), None)
    if same is not None and folds:
        rows.join_into(same, folds, event.ts)
    if same is not None or (not text and gone):
        kept = same or gone[0]
        rows.carry_on(name, kept)
        if not held or not text:
            rows.strike(kept, event.ts)
        elif same and tags != same.tag_list:
            rows.tag(same, tags, event.ts)
        if same and happened not in ("", same.timestamp):
            rows.date(same, happened, event.ts)
    elif text:
        rows.add(
            file, name, event.ts, tags, text, event.seq, happened=happened or at, has_key=not is_id(belief["key"]),
            superseded_by=superseded_by, supersedes=folds, is_retracted=not held and not superseded_by,
        )  # fmt: skip
        if folds and gone and gone[0].path == file.path:  # what was folded stands where it stood
            gone = rows.stand_at(name, gone)
    for old in gone:
        if old is not same and text and not old.superseded:
            rows.strike(old, event.ts, superseded_by=same.id if same else name)


def _seen(belief: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """How a version stood on the page it was found on: when it says it happened, what took its place, what it tells of
    others. Any program may write there: what is none of that is passed over."""
    views = belief.get("views")
    view = views.get("entry") if isinstance(views, dict) else None
    seen = view if isinstance(view, dict) else {}
    by, folds = seen.get("superseded_by"), seen.get("folds")
    return (
        time_said(seen.get("at")), by if isinstance(by, str) and is_id(by) else "",
        [name for name in folds if isinstance(name, str) and is_id(name)] if isinstance(folds, list) else [],
    )  # fmt: skip


def time_said(said: object) -> str:
    """A time as the ledger writes it, if it is one that every page can show."""
    try:
        at = datetime.fromisoformat(said) if isinstance(said, str) else None
        if at is None or at.tzinfo is None or not 2 < at.year < 9998:
            return ""
        return said if isinstance(said, str) and _STAMP.fullmatch(said) else stamp(at)
    except ValueError:
        return ""


def _withdraw(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is no longer held."""
    rows.waiting(body["id"])
    entry = rows.entry(body["id"])
    if entry is not None and not entry.retracted:
        rows.strike(entry, event.ts)


def _erased(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    for name in body.get("ids", ()):
        if rows.entry(name) or rows.waiting(name):
            raise Stale("they held words that were erased")


def _ask(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    if body["action"]["kind"] == "trust":
        for name in body["action"]["target"]:
            rows.ask(body["review"], name)


def _answer(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A yes puts what waited on its page."""
    for name in rows.asked(body["review"]):
        if body["answer"] == "approve" and (said := rows.waiting(name)):
            _show(rows, event, said[0], said[1], [])


def _page(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    file, front = rows.file(body["user"], body["about"], event.ts), body["front"]
    if body.get("again") and not front:  # nothing is held about it, and what was said of it is about to be erased
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
    if not {"description", "title", "tags"} & set(front):  # how a page stands is no news about its entity
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
    """The pages that every memory begins with are as old as the memory that this one goes on from."""
    for about in USUAL if body["whole"] and body["user"] == OWNER else ():
        file = rows.file(OWNER, about, event.ts)
        file.created = file.updated = body["begun"]
        rows.touch(file, body["begun"])


def _time(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    rows.redate(body["clock"])


_ACTS: dict[str, Callable[[Rows, Event, dict[str, Any]], None]] = {
    BELIEF_PUT: _state, BELIEF_SUPERSEDE: _state, BELIEF_TOMBSTONE: _withdraw, BELIEF_INVALIDATE: _withdraw,
    ERASE: _erased, REVIEW_ASK: _ask,
    REVIEW_ANSWER: _answer, PAGE_PUT: _page, PAGE_COMPACT: _fold, PAGE_RENAME: _rename, PAGE_CLEAN: _clean,
    IMPORT_TAKE: _take, TIME: _time,
}  # fmt: skip
