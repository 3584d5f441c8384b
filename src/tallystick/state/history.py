"""Beliefs at an earlier moment, the history of one, the difference of two moments, and the reasons for a belief.

A moment is a place in the ledger: the seq of an event, or a time. When a thing was true in the world is another
question (`valid_from`, `valid_to`) and never answered by this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from tallystick.records.belief import OWNER, Change, Moment, Version, Why
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.state.beliefs import Beliefs, CurrentVersion

_FEW = 32  # names that are looked for in the bytes of a line
_ESCAPED = frozenset('"\\/')
_DEEPEST = 100  # levels of reasons; nobody reads further down
_STATUS = {"tombstone": "forgotten", "invalidated": "no longer believed", "superseded": "replaced"}


def as_written(moment: Moment) -> int | str:
    """An event's number, or a time as the ledger writes it. Refused, if it is neither."""
    if isinstance(moment, bool):
        raise Refused("a moment must be an event's number or a time", "time")
    if isinstance(moment, int):
        return moment
    return stamp(moment) if isinstance(moment, datetime) else parse_moment(moment)


def history(events: Iterable[Event], names: Iterable[str]) -> Iterator[Version]:
    """The versions of the belief that has those version ids, oldest first, without erased ones."""
    wanted, known = set(names), Beliefs()
    for event in events:
        body = event.body or {}
        if wanted.isdisjoint((body.get("belief", {}).get("id"), body.get("id"), *body.get("replaces", ()))):
            continue
        known.apply(event)
        held = known.version(body.get("belief", body)["id"])
        if held and held.seq == event.seq:
            yield Version(event.seq, event.ts, event.op, event.by, held.belief())


def naming(names: Sequence[str]) -> list[bytes]:
    """Bytes of which every line about one of these versions has at least one, so that others need not be read. Empty,
    if they are too many, or one of them may be written in more ways than one."""
    is_plain = all(name.isascii() and name.isprintable() and not _ESCAPED.intersection(name) for name in names)
    return [f'"{name}"'.encode() for name in names] if is_plain and len(names) <= _FEW else []


def begun(known: Beliefs, held: CurrentVersion) -> tuple[int, list[str]]:
    """The first event of a belief's history, and its versions there: a branch's own begins with the ancestor's."""
    names, seen = list[str](), {held.ref}
    while (over := known.over(held.ref)) and (base := known.version(over[0])) and base.ref not in seen:
        ids, name = known.ids_of(base), over[0]
        names, held = [*ids[: ids.index(name) + 1], *names], base
        seen.add(base.ref)
    return held.first, names


def diff(before: Beliefs, after: Beliefs, *, user: str = OWNER, path: str = "") -> list[Change]:
    """The beliefs that were added, withdrawn or changed between two states of one ledger, as a path sees them.

    What was changed and undone in between is no change.
    """
    states = ({state.origin(held).ref: held for held in state.query(user=user, path=path)} for state in (before, after))
    (old, new), changes = states, list[Change]()
    for ref in dict.fromkeys([*old, *new]):
        left, right = old.get(ref), new.get(ref)
        if left is None or right is None or (left.line != right.line and left.said() != right.said()):
            was, will = (held.belief() if held else None for held in (left, right))
            last = after.version(ref) or right or left
            assert last is not None, ref
            reason = str(last.body().get("reason", ""))
            changes.append(Change(next(held.key for held in (right, left) if held), was, will, reason, last.seq))
    return changes


def why(known: Beliefs, held: CurrentVersion, *, path: str = "") -> Why:
    """The reasons for a belief, as they are seen from a path. Each belief is named once, so that a cycle ends."""
    return _why(known, held, {held.ref}, 1, path)


def _why(known: Beliefs, held: CurrentVersion, seen: set[str], depth: int, path: str) -> Why:
    belief, below = held.belief(), list[CurrentVersion]()
    for ref in belief.rests_on if depth < _DEEPEST else ():
        found = known.find(ref, user=held.user, path=path)
        if found and found.ref not in seen:
            seen.add(found.ref)
            below.append(found)
    because = [_weakened(known, held.user, path, cause, via) for cause, via in belief.weakened]
    if belief.reason:
        because.insert(0, f"{_STATUS.get(belief.status, 'revised')}: {belief.reason}")
    return Why(belief, tuple(because), tuple(_why(known, found, seen, depth + 1, path) for found in below))


def _weakened(known: Beliefs, user: str, path: str, cause: str, via: str) -> str:
    fallen, between = (known.find(name, user=user, path=path) for name in (cause, via))
    if fallen is None:
        return "weakened: something it depends on was invalidated and has been erased since"
    through = f", through {between.key}" if between and between.ref != fallen.ref else ""
    reason = fallen.belief().reason
    return f"weakened: {fallen.key} is no longer believed{f' ({reason})' if reason else ''}{through}"


def dependents(known: Beliefs, held: CurrentVersion, *, path: str = "") -> list[CurrentVersion]:
    """Everything that depends on a belief, directly or through others, nearest first, as far as a path sees it."""
    seen, queue, found = {held.ref}, [held], []
    while queue:
        for above in known.resting_on(queue.pop(0)):
            if above.ref not in seen and known.sees(above, path):
                seen.add(above.ref)
                queue.append(above)
                found.append(above)
    return found
