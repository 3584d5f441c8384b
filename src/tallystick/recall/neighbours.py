"""Neighbours: what belongs together with a memory, because somebody said so, one rests on the other, or both were
served together often enough.

A neighbour answers nothing by itself. It comes behind all that does, and says by which hit it came and how the two are
related. What the reader may not hear does not come in this way either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.rows import weight_of
from tallystick.projections.index.search import Scope
from tallystick.recall.index_cache import IndexCache
from tallystick.records.trust import Distrust

TOGETHER = "often served together"
RESTS_ON = "rests on"


class Bond(NamedTuple):
    """Two blocks that belong together. "One, relation, other" is how it is read."""

    one: str
    other: str
    relation: str
    weight: float

    def beyond(self, block: str) -> str:
        return self.other if block == self.one else self.one

    def told(self, name: str, block: str) -> str:
        """How `block` is related to the hit of that name, which is the other one."""
        if self.relation == TOGETHER:
            return f"{TOGETHER} with {name}"
        return f"this {self.relation} {name}" if block == self.one else f"{name} {self.relation} this"


def bonds_of(seen: IndexCache, blocks: Iterable[str], scope: Scope) -> list[Bond]:
    """What binds these blocks to others, the strongest first; of two blocks, how they are related in so many words."""
    if scope.is_nobodys() or not (seen.has_edges or seen.has_relations):
        return []
    values = {**scope.values(), "ids": orjson.dumps(list(blocks)).decode()}
    found: dict[frozenset[str], Bond] = {}
    for bond in [*_related(seen, values, scope.user), *_tied(seen, values)]:
        found.setdefault(frozenset(bond[:2]), bond)
    return sorted(found.values(), key=lambda bond: (-bond.weight, bond))


def _related(seen: IndexCache, values: dict[str, object], user: str) -> Iterator[Bond]:
    """What was said, but for what was said by those who are not trusted."""
    rows = seen.index.db.execute(sql.RELATED, values).fetchall() if seen.has_relations else []
    if not rows:
        return
    none = seen.index.db.execute(sql.DISTRUSTS)
    against = [Distrust(user=user, source=source, first=first) for whose, source, first in none if whose == user]
    for one, other, relation, turned, trust, by, seq in rows:
        if not any(each.covers(by=by, seq=seq, trust=trust) for each in against):
            first, second = (other, one) if turned else (one, other)
            yield Bond(first, second, relation, weight_of(0, True))


def _tied(seen: IndexCache, values: dict[str, object]) -> Iterator[Bond]:
    for one, other, times, rests in seen.index.db.execute(sql.TIED, values).fetchall() if seen.has_edges else ():
        first, second = (one, other) if rests != 2 else (other, one)
        yield Bond(first, second, RESTS_ON if rests else TOGETHER, weight_of(times, bool(rests)))
