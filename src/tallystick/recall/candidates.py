"""Candidates: the memories that recall looks at more closely, and their neighbours.

One is found by its words, by its characters where a script has no spaces, by its vector, as the turn adjacent to one
that was found, by an edge from one that was found, by the time it happened, by the entity it is about, and because it
is standing memory. Each is found as a block; a block counts only if it has a source that the reader may see.

A neighbour belongs together with a memory because somebody said so, one depends on the other, or both were served
together often enough. It answers nothing by itself: it comes after all that does, and says by which hit it came and
how the two are related. What the reader may not see does not come in this way either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from tallystick.projections.index import search, statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.rows import Source, weight_of
from tallystick.projections.index.search import EVERY_ROW, Found, Scope, SourceRow
from tallystick.recall.index_cache import IndexCache, Link, View, turn_of
from tallystick.recall.question import Question
from tallystick.recall.vectors import Vectors
from tallystick.records.clock import stamp
from tallystick.records.trust import Distrust

POOL = 100  # from text, and from vectors
BESIDE = 40  # of the best of each: the turns adjacent to them are candidates too
_ROOM = 2
_MORE = 4  # times as many, if too few of them are visible
_FEW = 50  # found in any other way
_MOST_SPANS = 4

Visible = Callable[[Source], bool]


@dataclass(slots=True)
class Candidates:
    """Blocks by id, their sources, and the turns adjacent to them."""

    sources: dict[str, list[SourceRow]]
    text: dict[str, float]  # bm25 of those that were found by their words
    links: dict[str, Link]  # of those that were said in a conversation
    bonds: list[Bond]  # between the best of them and others, strongest first
    hidden: tuple[str, ...]  # blocks that were found, without a source that the reader may see

    def joined(self, more: Candidates) -> Candidates:
        """These, and those that were found otherwise."""
        bonds, hidden = dict.fromkeys([*self.bonds, *more.bonds]), (set(self.hidden) | set(more.hidden))
        sources = self.sources | more.sources
        return Candidates(
            sources, {**more.text, **self.text}, self.links | more.links, list(bonds),
            tuple(sorted(hidden - sources.keys())),
        )  # fmt: skip

    def with_beside(self) -> dict[str, None]:
        """All of them, and then the turns adjacent to them."""
        every: dict[str, None] = dict.fromkeys(self.sources)
        for link in self.links.values():
            every[link.before] = every[link.after] = None
        every.pop("", None)
        return every


@dataclass(slots=True)
class Gathering:
    """One question being put to the index."""

    seen: IndexCache
    question: Question
    scope: Scope
    visible: Visible | None  # None: whatever the scope shows
    vectors: Vectors | None
    vector: NDArray[np.float32] | None
    pool: int = POOL  # how many are taken from text, and from vectors
    _sources: dict[str, list[SourceRow]] = field(default_factory=dict)
    _looked: set[str] = field(default_factory=set)
    _reach: dict[str, int] | None = None
    index: IndexFile = field(init=False)
    _view: View = field(init=False)

    def __post_init__(self) -> None:
        self.index, self._view = self.seen.index, self.seen.view(self.scope)

    def gather(self, extra: Iterable[str] = ()) -> Candidates:
        text, near = self._by_text(), self._by_vector()
        letters = search.search_letters(self.index, self.question.asked, self.scope, self.pool, self._rows())
        order = [*text, *near, *(each.block for each in letters)]
        text.update({each.block: max(text.get(each.block, 0.0), each.rank) for each in letters})
        if self.question.about:
            order += self._run(sql.ABOUT, names=orjson.dumps(sorted(self.question.about)).decode(), limit=_FEW)
        if topic := self.question.topic:
            order += (each.block for each in search.search(self.index, topic, self.scope, _FEW, self._rows()))
        if self.question.topic and self.question.speakers:
            order += self._run(sql.SPOKEN, names=orjson.dumps(sorted(self.question.speakers)).decode(), limit=_FEW)
        for span in self.question.spans[:_MOST_SPANS]:
            order += self._run(sql.IN_TIME, first=stamp(span.start), last=stamp(span.end), limit=_FEW)
        found = self.sources_of(dict.fromkeys([*order, *extra, *self._standing()]))
        best = [*list(text)[:BESIDE], *near[:BESIDE]]
        bonds = bonds_of(self.seen, [*dict.fromkeys([*best, *list(found)[:BESIDE]])], self.scope)[:_FEW]
        found |= self.sources_of(dict.fromkeys(end for bond in bonds for end in bond[:2]))
        links = self._links(found)
        heard = [side for block in best if block in links for side in links[block][1:] if side]
        joined = self.sources_of(block for block in dict.fromkeys(heard) if block not in found)
        links |= self._links(joined)
        return Candidates(found | joined, text, links, bonds, tuple(sorted(self._looked - self._sources.keys())))

    def _links(self, said: dict[str, list[SourceRow]]) -> dict[str, Link]:
        """The turns adjacent to these blocks. Where there are filters, they must pass them too."""
        if self.visible is None:
            return self._view.links(said, self.scope)
        turns = {block: turn for block, sources in said.items() if (turn := turn_of(sources))}
        sides = self._view.beside(list(turns.values()), self.scope)
        self._see({side.block for both in sides for side in both if side.block})
        visible = {(block, source.since_seq) for block, sources in self._sources.items() for source in sources}
        return {
            block: Link(turn, *(side.block if side.block != block and side[:2] in visible else "" for side in both))
            for (block, turn), both in zip(turns.items(), sides, strict=True)
        }

    def sources_of(self, blocks: Iterable[str]) -> dict[str, list[SourceRow]]:
        """The sources of these blocks that the reader may see."""
        wanted = list(blocks)
        self._see(wanted)
        return {block: self._sources[block] for block in wanted if block in self._sources}

    def _see(self, blocks: Iterable[str]) -> None:
        unseen = [block for block in blocks if block not in self._looked]
        self._looked.update(unseen)
        said = self._view.sources_of(unseen, self.scope)
        if self.visible is None:
            self._sources.update(said)
            return
        passing = {
            source.id for sources in self._view.whole(said, self.scope).values() for source in sources
            if self.visible(source)
        }  # fmt: skip
        for block, rows in said.items():
            if heard := [source for source in rows if source.id in passing]:
                self._sources[block] = heard

    def _by_text(self) -> dict[str, float]:
        words, room = self.question.words, self.pool * _ROOM
        found: list[Found] = []
        if self.scope.is_wide():
            every = search.search_all(self.index, words, room, self.seen.names_of)
            found = self._visible_of(every)
            if len(found) < self.pool and len(every) == room:
                found = self._all_visible(words)
            else:
                found = search.in_turn(
                    found[: self.pool], self._visible_of(search.search_aside(self.index, words, self.scope, self.pool))
                )
        else:
            found = self._all_visible(words)
        limit = self.pool if self.scope.is_main() else 2 * self.pool  # as many from off the main line
        best = {each.block: each.rank for each in found[:limit]}
        if self.question.about:  # a belief about someone has the name, and few of the other words
            for each in search.search(self.index, self.question.names, self.scope, _FEW, self._rows()):
                best.setdefault(each.block, 0.0)
        return best

    def _visible_of(self, found: list[Found]) -> list[Found]:
        self._see([each.block for each in found])
        return [each for each in found if each.block in self._sources]

    def _all_visible(self, words: Sequence[str]) -> list[Found]:
        """The best that are visible and pass the filters, however many better ones are not."""
        limit, rows = self.pool, self._rows()
        while True:
            every = search.search(self.index, words, self.scope, limit, rows)
            found = self._visible_of(every)
            if len(found) >= self.pool or len(every) < limit:
                return found
            limit *= _MORE

    def _by_vector(self) -> list[str]:
        if self.vectors is None or self.vector is None:
            return []
        among = None if self.scope.is_wide() else list(self._in_scope())
        limit, before = self.pool * _ROOM, -1
        while True:
            near = [block for block, _ in self.vectors.nearest(self.vector, limit, among)]
            self._see(near)
            heard = [block for block in near if block in self._sources]
            if len(heard) >= self.pool or len(near) <= before:
                return heard[: self.pool]
            before, limit = len(near), limit * _MORE

    def _in_scope(self) -> dict[str, int]:
        """The blocks that the reader may see; of a session, with the row of each."""
        if self._reach is None and not self.scope.is_nobodys():
            values = {**self.scope.values(), "in_session": self.scope.session}
            self._reach = dict(self.index.db.execute(sql.IN_SESSION if self.scope.session else sql.IN_SCOPE, values))
        return self._reach or {}

    def _rows(self) -> tuple[int, int]:
        """The first and the last row of full text that the reader may see: a session's are few."""
        if not self.scope.session:
            return EVERY_ROW
        rows = self._in_scope().values()
        return min(rows, default=0), max(rows, default=-1)

    def _standing(self) -> list[str]:
        """Standing memory. It is kept with the view, unless one of them may expire and make room for another."""
        if self._view.standing is not None:
            return self._view.standing
        found = self._run(sql.STANDING, limit=_FEW)
        self._see(found)
        if self._view.is_lasting(found):
            self._view.standing = found
        return found

    def _run(self, statement: str, **values: object) -> list[str]:
        if self.scope.is_nobodys():
            return []
        rows = self.index.db.execute(statement, {**self.scope.values(), **values})
        return [row[0] for row in rows if row[0] is not None]


# -- neighbours --------------------------------------------------------------------------------------------------------

TOGETHER = "often served together"
DEPENDS_ON = "rests on"


class Bond(NamedTuple):
    """Two blocks that belong together, read as "one, relation, other"."""

    one: str
    other: str
    relation: str
    weight: float

    def beyond(self, block: str) -> str:
        return self.other if block == self.one else self.one

    def reason(self, name: str, block: str) -> str:
        """The relation of `block` to the hit of that name, which is the other one, in words."""
        if self.relation == TOGETHER:
            return f"{TOGETHER} with {name}"
        return f"this {self.relation} {name}" if block == self.one else f"{name} {self.relation} this"


def bonds_of(seen: IndexCache, blocks: Iterable[str], scope: Scope) -> list[Bond]:
    """The bonds of these blocks to others, strongest first; of two blocks, the stated relation goes first."""
    if scope.is_nobodys() or not (seen.has_edges or seen.has_relations):
        return []
    values = {**scope.values(), "ids": orjson.dumps(list(blocks)).decode()}
    found: dict[frozenset[str], Bond] = {}
    tied = []
    for one, other, times, rests in seen.index.db.execute(sql.TIED, values).fetchall() if seen.has_edges else ():
        first, second = (one, other) if rests != 2 else (other, one)
        tied.append(Bond(first, second, DEPENDS_ON if rests else TOGETHER, weight_of(times, bool(rests))))
    for bond in [*_related(seen, values, scope.user), *tied]:
        found.setdefault(frozenset(bond[:2]), bond)
    return sorted(found.values(), key=lambda bond: (-bond.weight, bond))


def _related(seen: IndexCache, values: dict[str, object], user: str) -> Iterator[Bond]:
    """The stated relations, without those of sources that are not trusted."""
    rows = seen.index.db.execute(sql.RELATED, values).fetchall() if seen.has_relations else []
    if not rows:
        return
    none = seen.index.db.execute(sql.DISTRUSTS)
    against = [Distrust(user=user, source=source, first=first) for whose, source, first in none if whose == user]
    for one, other, relation, turned, trust, by, seq in rows:
        if not any(each.covers(by=by, seq=seq, trust=trust) for each in against):
            first, second = (other, one) if turned else (one, other)
            yield Bond(first, second, relation, weight_of(0, True))
