"""Pairing the entries of a rewritten page with those of the page before.

An entry has as sources the one with its own id, and those it names in `supersedes` that are no longer there. Ids may
repeat on a page that was edited by hand: the second of a kind belongs to the second, and is never compacted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from tallystick.projections.markdown.compact.notes import Statement

_Name = tuple[str, int]  # an id, and how many of the same come before it


class Pairs:
    """Two pages side by side. Places are positions in `before` and in `after`."""

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self.before, self.after = before, after
        names, self._own = list(_named(before)), {name: at for at, name in enumerate(_named(after))}
        self.by_name = {name: at for at, (name, count) in enumerate(names) if count == 0}
        heirs: dict[str, int] = {}
        for place, statement in enumerate(after):
            for name in statement.supersedes:
                heirs.setdefault(name, place)
        self._heirs = heirs
        self._names: dict[int, frozenset[str]] = {}
        self.is_own = [name in self._own for name in names]
        self.holders = [
            self._own[name] if name in self._own else heirs.get(name[0]) if name[1] == 0 and name[0] else None
            for name in names
        ]
        self.sources: list[list[int]] = [[] for _ in after]
        for at, holder in enumerate(self.holders):
            if holder is not None:
                self.sources[holder].append(at)

    def is_there(self, name: str) -> bool:
        return (name, 0) in self._own

    def name_now(self, name: str) -> str:
        """The id of the entry that this one is in now."""
        place = self._heirs.get(name)
        return name if self.is_there(name) or place is None else self.after[place].id

    def is_named(self, name: str, place: int) -> bool:
        """True if an id is still there, or named by the entry at that place."""
        if self.is_there(name):
            return True
        if place not in self._names:
            self._names[place] = frozenset((self.after[place].id, *self.after[place].supersedes))
        return name in self._names[place]

    @cached_property
    def ends(self) -> list[int | None]:
        """For each entry before, the place of what is current in its stead; None where the chain leads nowhere."""
        return ends(self.before)


def ends(page: Sequence[Statement]) -> list[int | None]:
    """For each statement the place of the one that is current in its stead: its own where it was not superseded.

    None where the chain leaves the page, runs in a circle, or ends at what was retracted.
    """
    by_name: dict[str, int] = {}
    for place, statement in enumerate(page):
        by_name.setdefault(statement.id, place)
    found: dict[int, int | None] = {}
    for start in range(len(page)):
        trail: list[int] = []
        at: int | None = start
        while at is not None and at not in found:
            found[at] = None  # for good, if the chain leads back here
            trail.append(at)
            if not page[at].superseded_by:
                found[at] = None if page[at].retracted else at
                break
            at = by_name.get(page[at].superseded_by)
        end = None if at is None else found[at]
        found.update(dict.fromkeys(trail, end))
    return [found[at] for at in range(len(page))]


def _named(page: Sequence[Statement]) -> Iterator[_Name]:
    seen: dict[str, int] = {}
    for statement in page:
        count = seen.get(statement.id, 0)
        seen[statement.id] = count + 1
        yield statement.id, count
