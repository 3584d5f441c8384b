"""How memories stand after they were said and used, and on which path they were; and which belong together.

What a path beside the main line uses of what it has from above counts there alone: it lies beside the rows of the
blocks and sources, and not in them. If the path is merged, it comes to where that was merged into.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from tallystick.projections.index import statements as sql
from tallystick.projections.index.batch import WriteBatch
from tallystick.projections.index.fold_trust import mark_served, settle
from tallystick.projections.index.rows import QUARANTINED, Source
from tallystick.records.event import Event
from tallystick.records.schema import WRITER_TRUST

_TOGETHER = 8  # of what was served at once, the best so many count as served together


def served(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """What was used is reinforced, once for each time it was served. What waits for a yes is not.

    A path that used what it has from above reinforces it for itself alone. What is served together often enough is
    tied together, if it stands on the path that asked.
    """
    for receipt in body["receipts"]:
        mark_served(batch, receipt)
        path = receipt.get("asked", {}).get("path", "")
        found = (source for name, *_ in receipt["hits"] if (source := batch.source(name)) and _counts(source))
        blocks = list(dict.fromkeys(source.block_id for source in found if source.block_id))
        here = [name for name in blocks[:_TOGETHER] if batch.block(name).path == path]
        for tie in batch.ties(combinations(here, 2)):
            tie.times += 1
            tie.settle(event.seq, event.ts)
        for name in sorted(blocks):
            block = batch.block(name)
            if path and block.path != path:
                batch.later(sql.ADD_PATH_USE, block.user, path, name, 1, batch.clock.hours)
                continue
            block.reinforcement_count += 1
            block.last_reinforced_at, block.last_session_id = batch.clock.hours, batch.clock.session or None
            batch.touch(block)


def _counts(source: Source) -> bool:
    return source.is_open and not source.is_kept_out


def outcome(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """What came of using some memories: evidence for and against them. Of what a path has from above, there alone."""
    if body.get("again"):
        _said_again(batch, body["ids"])
        return
    for name in body["ids"]:
        good, bad = body["signal"] * body["weight"], (1 - body["signal"]) * body["weight"]
        _proved(batch, event, body.get("path", ""), name, good, bad)


def _said_again(batch: WriteBatch, ids: Iterable[str]) -> None:
    """What was said again, where it was held, is used more and fresh; nothing speaks for it that did not before."""
    for source in filter(None, map(batch.source, ids)):
        if source.block_id and _counts(source):
            _use(batch, source.block_id, 1, batch.clock.hours)


def _proved(batch: WriteBatch, event: Event, path: str, name: str, good: float, bad: float) -> None:
    source = batch.source(name)
    if source is None:
        return
    if path and source.path != path:
        batch.later(sql.ADD_PATH_PROOF, source.user, path, name, good, bad)
        return
    source.good, source.bad = source.good + good, source.bad + bad
    batch.touch(source)
    if source.until_seq is None:
        settle(batch, event.seq, [source], "")


def relate(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """How two memories are related, in words; without words, that they are not any more.

    Nothing comes of it if its writer is kept out of recall, or if one of the two is not there.
    """
    trust, path = body.get(WRITER_TRUST, "human"), body.get("path", "")
    found = [source for name in body["ids"] if (source := batch.source(name)) and source.user == body["user"]]
    refs = [ref for source in found if (ref := batch.ref_of(source.id))]
    if trust in QUARANTINED or len(set(refs)) != 2:
        return
    one, other = sorted(refs)
    if words := body.get("relation", ""):
        said = body["user"], words, int(refs[0] != one), trust, event.by, event.seq
        batch.later(sql.SET_RELATION, one, other, path, *said)
    else:
        batch.later(sql.DROP_RELATION, one, other, path)
    ends = [source.block_id for ref in refs if (source := batch.current(ref)) and source.block_id]
    if len(ends) == 2 and all(batch.block(name).path == path for name in ends):
        for tie in batch.ties([(ends[0], ends[1])]):
            tie.related = int(bool(words))
            tie.settle(event.seq, event.ts)


def rests(batch: WriteBatch, event: Event, source: Source, below: str) -> None:
    """What rests on another is associated with it, as long as neither is archived."""
    ref = batch.ref_of(below)
    other = batch.current(ref) if ref else None
    if other is None or not (source.block_id and other.block_id) or source.until_seq is not None:
        return
    for tie in batch.ties([(source.block_id, other.block_id)]):
        tie.rests |= 1 if source.block_id == tie.from_id else 2
        tie.settle(event.seq, event.ts)


def bring_over(batch: WriteBatch, source: Source, merged: Iterable[str]) -> None:
    """How the versions that a merge brought were used, and what came of it, counts for the one that is here now."""
    for brought in filter(None, map(batch.source, merged)):
        source.good, source.bad = source.good + brought.good, source.bad + brought.bad
        if source.block_id and brought.block_id and source.block_id != brought.block_id:
            from_there = batch.block(brought.block_id)
            _use(batch, source.block_id, from_there.reinforcement_count, from_there.last_reinforced_at)


def _use(batch: WriteBatch, name: str, times: int, last: float) -> None:
    block = batch.block(name)
    block.reinforcement_count += times
    block.last_reinforced_at = max(block.last_reinforced_at, last)
    batch.touch(block)


def merge(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """How a path used what it had from above counts where it was merged into."""
    user, path, into = body["user"], body["path"], body["into"]
    for name, times, last in batch.used_on(user, path):
        if not into or batch.block(name).path == into:
            _use(batch, name, times, last)
        else:
            batch.later(sql.ADD_PATH_USE, user, into, name, times, last)
    batch.later(sql.DROP_PATH_USE, user, path)
    for name, good, bad in batch.proved_on(user, path):
        _proved(batch, event, into, name, good, bad)
    batch.later(sql.DROP_PATH_PROOF, user, path)
