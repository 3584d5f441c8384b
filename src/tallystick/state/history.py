"""What was held when: the same fold, stopped earlier.

A moment is a place in the ledger: the seq of an event, or a time (see `Shelf.seq_at` for its place). When a thing was
true in the world is another question (`valid_from`, `valid_to`) and never answered by this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from tallystick.records.belief import OWNER
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.history import Change, Moment, Version
from tallystick.state.beliefs import Beliefs
from tallystick.state.paths import Paths
from tallystick.state.version import CurrentVersion

_FEW = 32  # names that are looked for in the bytes of a line
_ESCAPED = frozenset('"\\/')
class Then(Beliefs):
    """What was held, and how the paths stood."""

    def __init__(self) -> None:
        self.paths = Paths()
        super().__init__()

    def apply(self, event: Event) -> None:
        super().apply(event)
        self.paths.apply(event)

    def sight(self, user: str, path: str) -> tuple[str, ...]:
        return self.paths.lineage(user, path)


def as_written(moment: Moment) -> int | str:
    """An event's number, or a time as the ledger writes it. Refused, if it is neither."""
    if isinstance(moment, bool):
        raise Refused("a moment is an event's number or a time", "time")
    if isinstance(moment, int):
        return moment
    return stamp(moment) if isinstance(moment, datetime) else parse_moment(moment)


def beliefs_at(events: Iterable[Event], last: int) -> Beliefs:
    """What was held after event `last`. Groups are whole or absent in any ledger, so an event's number may cut one."""
    known = Then()
    for event in events:
        if event.seq > last:
            break
        known.apply(event)
    return known


def history(events: Iterable[Event], names: Iterable[str]) -> Iterator[Version]:
    """The versions of the belief that has those version ids, oldest first. Erased ones leave nothing to show."""
    wanted, known = set(names), Beliefs()
    for event in events:
        if event.body is None or not _speaks_of(event.body, wanted):
            continue
        known.apply(event)
        for held in known.held.values():
            if held.seq == event.seq:
                yield Version(event.seq, event.ts, event.op, event.by, held.belief())


def naming(names: Sequence[str]) -> list[bytes]:
    """Bytes of which every line that speaks of one of these versions holds at least one, so that the others need not be
    read. Empty, if looking for them would not pay, or one of them may be written in more ways than one."""
    is_plain = all(name.isascii() and name.isprintable() and not _ESCAPED.intersection(name) for name in names)
    return [f'"{name}"'.encode() for name in names] if is_plain and len(names) <= _FEW else []


def _speaks_of(body: dict[str, Any], wanted: set[str]) -> bool:
    named = (body.get("belief", {}).get("id"), body.get("id"), *body.get("replaces", ()))
    return any(name in wanted for name in named)


def begun(known: Beliefs, held: CurrentVersion) -> tuple[int, list[str]]:
    """Where a belief's history begins, and its versions there: a branch's own begins with the ancestor's."""
    names, seen = list[str](), {held.ref}
    while (base := known.version(next(iter(known.over(held.ref)), ""))) and base.ref not in seen:
        ids, name = known.ids_of(base), known.over(held.ref)[0]
        names, held = [*ids[: ids.index(name) + 1], *names], base
        seen.add(base.ref)
    return held.first, names


def diff(before: Beliefs, after: Beliefs, *, user: str = OWNER, path: str = "") -> list[Change]:
    """What came to be held, ceased to be held, or changed, between two states of one ledger, as a path sees it."""
    old, new = _held_by(before, user, path), _held_by(after, user, path)
    changes = []
    for ref in dict.fromkeys([*old, *new]):
        left, right = old.get(ref), new.get(ref)
        if left is None or right is None or left.line != right.line:
            belief = [held.belief() if held else None for held in (left, right)]
            changes.append(Change((right or left or _NEVER).key, belief[0], belief[1]))
    return changes


def _held_by(known: Beliefs, user: str, path: str) -> dict[str, CurrentVersion]:
    return {known.origin(held).ref: held for held in known.query(user=user, path=path)}


_NEVER = CurrentVersion("", b"", "", "", "", "", "", 0.0, 0, 0, "", 0)
