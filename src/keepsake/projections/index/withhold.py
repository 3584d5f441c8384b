"""Who sees a source while somebody is not trusted.

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

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.block import AGAIN, AS_USUAL, BACK, PLAIN, WITHHELD, Source
from keepsake.projections.index.desk import Desk
from keepsake.records.trust import Distrust


def is_withheld(desk: Desk, source: Source) -> bool:
    """Whether whoever said this is not trusted."""
    return _is_from(desk.distrusts(source.user), source)


def look_again(desk: Desk, refs: Iterable[str], user: str, seq: int, *, always: bool = False) -> list[Source]:
    """See who may see the versions of some beliefs after event `seq`; the sources of which that changed.

    `always` is for when a source has just been trusted again: then nobody may be left who is not.
    """
    against = desk.distrusts(user)
    if not against and not always:
        return []
    changed = []
    for ref in refs:
        versions = desk.versions(ref)
        for source in versions.values():
            if _see(desk, source, _sight(against, source, versions), seq):
                changed.append(source)
    return changed


def _sight(against: list[Distrust], source: Source, versions: Mapping[str, Source]) -> int:
    if _is_from(against, source):
        return WITHHELD if source.until_seq is None else PLAIN
    if source.until_seq is None or source.since_seq == source.until_seq:  # held; or never was
        return PLAIN
    return BACK if _was_ended_by_them(against, source, versions) else PLAIN


def _was_ended_by_them(against: list[Distrust], source: Source, versions: Mapping[str, Source]) -> bool:
    """Whether nobody but those who are not trusted has replaced or ended a version since."""
    last, seen = source, {source.id}
    while last.until_seq is not None:
        after = versions.get(last.after or "")
        if after is None:
            by, seq = last.closed_by or "", last.until_seq
            later = (each for each in versions.values() if each.since_seq > seq)
            was_never = last.since_seq == seq and last.after != AGAIN
            by_them = was_never or any(each.covers(by=by, seq=seq) for each in against)
            return by_them and all(_is_from(against, version) for version in later)
        if after.id in seen or not _is_from(against, after):
            return False
        seen.add(after.id)
        last = after
    return True


def _is_from(against: list[Distrust], source: Source) -> bool:
    said = {"by": source.by, "agent": source.agent, "session": source.session, "trust": source.trust}
    return any(each.covers(seq=source.since_seq, **said) for each in against) if against else False


def _see(desk: Desk, source: Source, wanted: int, seq: int) -> bool:
    """Let a source be seen so from event `seq` on; whether that is news."""
    before = source.sight
    if wanted == PLAIN and before != PLAIN:
        wanted = AS_USUAL
    if wanted == before:
        return False
    if before in (WITHHELD, BACK):
        desk.later(sql.END_SIGHT, seq, source.id)
    if wanted in (WITHHELD, BACK):
        desk.later(sql.ADD_SIGHT, source.id, seq, None, int(wanted == BACK))
    source.sight = wanted
    desk.touch(source)
    return True
