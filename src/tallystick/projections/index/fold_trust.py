"""Who sees a source while somebody is not trusted, and what events about trust do.

    plain      as its own row says: nobody ever touched it
    as usual   the same again, after somebody was distrusted and is trusted again
    withheld   it is held, and recall leaves it out
    back       it was replaced or ended by somebody who is not trusted, and is shown again

The versions of a belief are followed as if those who are not trusted had said nothing: what they replaced stands until
somebody else replaces it. Each change is kept with the events between which it holds, so a question about an earlier
moment is answered as it was then. Where nobody is distrusted, none of this costs more than one look at an empty table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tallystick.projections.index import statements as sql
from tallystick.projections.index.batch import WriteBatch
from tallystick.projections.index.rows import AS_USUAL, BACK, PLAIN, WITHHELD, Source
from tallystick.records.event import Event
from tallystick.records.trust import NONE, Distrust
from tallystick.state.sources import distrust_of


def is_withheld(batch: WriteBatch, source: Source) -> bool:
    """Whether whoever said this is not trusted."""
    return _is_from(batch.distrusts(source.user), source)


def look_again(batch: WriteBatch, refs: Iterable[str], user: str, seq: int, *, always: bool = False) -> list[Source]:
    """See who may see the versions of some beliefs after event `seq`; the sources of which that changed.

    `always` is for when a source has just been trusted again: then nobody may be left who is not.
    """
    against = batch.distrusts(user)
    if not against and not always:
        return []
    changed = []
    for ref in refs:
        versions = batch.versions(ref)
        for source in versions.values():
            if _see(batch, source, _sight(batch, against, source, versions), seq):
                changed.append(source)
    return changed


def _sight(batch: WriteBatch, against: list[Distrust], source: Source, versions: Mapping[str, Source]) -> int:
    if _is_from(against, source):
        return WITHHELD if source.until_seq is None else PLAIN
    if source.until_seq is None or source.since_seq == source.until_seq:  # held; or never was
        return PLAIN
    return BACK if _was_ended_by_them(batch, against, source, versions) else PLAIN


def _was_ended_by_them(
    batch: WriteBatch, against: list[Distrust], source: Source, versions: Mapping[str, Source]
) -> bool:  # fmt: skip
    """Whether nobody but those who are not trusted has replaced or ended a version since."""
    last, seen = source, {source.id}
    while last.until_seq is not None:
        after, seq = versions.get(last.after or ""), last.until_seq
        if after is None or after.since_seq > seq:  # it ended, and nothing took its place, or only later
            ends = dict(batch.ends.get(last.id, {}))
            if last.since_seq != seq:  # else it was never held
                ends[seq] = last.closed_by or ""
            if not all(any(each.covers(by=by, seq=at) for each in against) for at, by in ends.items()):
                return False
        if after is None:
            return True
        if after.id in seen or not _is_from(against, after):
            return False
        seen.add(after.id)
        last = after
    return True


def _is_from(against: list[Distrust], source: Source) -> bool:
    said = {"by": source.by, "agent": source.agent, "session": source.session, "trust": source.trust}
    return any(each.covers(seq=source.since_seq, **said) for each in against) if against else False


def _see(batch: WriteBatch, source: Source, wanted: int, seq: int) -> bool:
    """Let a source be seen so from event `seq` on; whether that is news."""
    before = source.sight
    if wanted == PLAIN and before != PLAIN:
        wanted = AS_USUAL
    if wanted == before:
        return False
    if before in (WITHHELD, BACK):
        batch.later(sql.END_SIGHT, seq, source.id)
    if wanted in (WITHHELD, BACK):
        batch.later(sql.ADD_SIGHT, source.id, seq, None, int(wanted == BACK))
    source.sight = wanted
    batch.touch(source)
    return True


# -- what events do ---------------------------------------------------------------------------------------------------


def settle(batch: WriteBatch, seq: int, touched: Iterable[Source], reason: str) -> None:
    """See how the blocks of these sources stand now."""
    by_block: dict[str, list[Source]] = {}
    for source in touched:
        if source.block_id:
            by_block.setdefault(source.block_id, []).append(source)
    for name, sources in by_block.items():
        block = batch.block(name)
        for source in sources:
            if source.is_open:
                block.open[source.id] = source
            else:
                block.open.pop(source.id, None)
        if block.settle(seq, reason):
            batch.cut_ties(name)
        batch.touch(block)


def see_again(batch: WriteBatch, seq: int, source: Source) -> None:
    """Somebody may not be trusted: then others see, or do not see, the versions of this belief."""
    settle(batch, seq, look_again(batch, [source.ref], source.user, seq), "superseded")


def set_trust(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """A source is not relied on any more, or is again: all that it said, and what it put an end to."""
    distrust = distrust_of(event)
    batch.set_distrust(distrust, is_on=body["trust"] == NONE)
    changed = look_again(batch, batch.refs_from(distrust), distrust.user, event.seq, always=True)
    batch.fetch_blocks(dict.fromkeys(source.block_id for source in changed if source.block_id))
    settle(batch, event.seq, changed, "superseded")


def corroborate(batch: WriteBatch, event: Event, body: dict[str, Any]) -> None:
    """Others say the same, who are trusted: its words count from now on, as surely as theirs. Nothing else of it does:
    how it is tagged, and that it be always served, nobody has confirmed."""
    for name in body["ids"]:
        source = batch.source(name)
        if source is None or not source.quarantined:
            continue
        source.quarantined, source.approved_seq, source.borne_out = 0, event.seq, 1
        source.standing, source.tags = 0, None
        if source.block_id:
            others = [each for each in batch.block(source.block_id).open.values() if each is not source]
            sure = [each.confidence for each in others if not each.is_kept_out]
            source.confidence = min([source.confidence, *sure])
        batch.touch(source)
        settle(batch, event.seq, [source] if source.until_seq is None else [], "")


def mark_served(batch: WriteBatch, receipt: dict[str, Any]) -> None:
    """Whatever was served is known when it is fed in again, what waits for a yes no less."""
    found = (source for name, *_ in receipt["hits"] if (source := batch.source(name)))
    for source in found:
        for mark in batch.marks_to_keep(source):
            batch.later(sql.ADD_SERVED, source.user, mark, source.block_id)
