"""A cache of what was read from the index since it last changed.

It belongs to one state of the index: once the bookmark has moved, an empty one takes its place. Nothing here is ever
written to disk, and what one scope may see is kept apart from what another may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from tallystick.projections.index import search, statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.rows import Source
from tallystick.projections.index.search import NOW, Scope, SourceRow
from tallystick.projections.recorded import LedgerView
from tallystick.recall.support import State
from tallystick.text.dates.find import Span
from tallystick.text.values import Statement

_MOST = 50_000  # blocks, or words, before it is thrown away


class Side(NamedTuple):
    """A turn adjacent to another."""

    block: str = ""  # empty: there is none
    seq: int = -1  # the event that recorded it
    is_heard: bool = False  # visible in the scope that asks


class Link(NamedTuple):
    """The newest turn that says something, and the visible turns right before and after it."""

    turn: SourceRow
    before: str  # a block; empty: there is none
    after: str


_ALONE = Side()
Sides = tuple[Side, Side]  # before, and after


class IndexCache:
    """One state of one index, as far as it was read."""

    def __init__(self, index: IndexFile) -> None:
        self.index = index
        mark = index.bookmark()
        self.hash, self.hours, self._number = mark.hash, mark.clock.hours, index.number()
        self.has_edges, self.has_relations, self.has_proofs = (
            index.db.execute(any_of).fetchone() is not None
            for any_of in (sql.ANY_EDGE, sql.ANY_RELATION, sql.ANY_PROVED)
        )
        self.asides = search.count_aside(index)  # blocks off the main line, of everyone
        self._states: dict[str, State] = {}
        self._views: dict[Scope, View] = {}
        self._rarity: dict[tuple[str, int, str, str], float] = {}
        self._count: dict[tuple[str, int], int] = {}  # of each user's blocks
        self._names: dict[int, str] = {}  # of rows
        self.unseen: dict[tuple[str, str, int], int] = {}  # vectors that some readers do not see
        self.statements: dict[str, Statement] = {}  # what was read of blocks, to compare them
        self.days: dict[str, list[Span]] = {}  # that texts name, by the source
        self._out: dict[str, frozenset[int]] = {}  # what is quarantined, by user

    def still_holds(self, index: IndexFile) -> bool:
        sizes = len(self._states), len(self._rarity), len(self.days)  # words that were asked for have no end
        is_full = max(sizes) >= _MOST
        is_same = index is self.index and index.number() == self._number and index.bookmark().hash == self.hash
        return is_same and not is_full

    def states_of(self, blocks: Iterable[str]) -> dict[str, State]:
        wanted = list(blocks)
        if unknown := [block for block in wanted if block not in self._states]:
            rows = self.index.db.execute(sql.FREE, (orjson.dumps(unknown).decode(),))
            self._states.update({row[0]: State(*row) for row in rows})
        return {block: self._states[block] for block in wanted if block in self._states}

    def names_of(self, rows: Iterable[int]) -> dict[int, str]:
        """The ids of the blocks in some rows, and maybe of others. A new row is read with its state."""
        if unknown := [row for row in rows if row not in self._names]:
            for row, *state in self.index.db.execute(sql.FREE_ROWS, (orjson.dumps(unknown).decode(),)):
                self._names[row] = state[0]
                self._states[state[0]] = State(*state)
        return self._names

    def rarity(self, words: Iterable[str], scope: Scope) -> list[float]:
        """The rarity of each word, among what the user had then on the paths of the reader."""
        user, at, paths = scope.user, min(scope.at, NOW), scope.paths
        wanted, known = list(words), self._rarity
        if unknown := [word for word in wanted if (user, at, paths, word) not in known]:
            if (user, at) not in self._count:
                self._count[user, at] = search.count_of(self.index, user, at)
            out = self.kept_out(user, at)
            found = search.rarity(self.index, unknown, user, self._count[user, at], at, out, on=scope)
            known.update({(user, at, paths, word): rare for word, rare in zip(unknown, found, strict=True)})
        return [known[user, at, paths, word] for word in wanted]

    def kept_out(self, user: str, at: int = NOW) -> frozenset[int]:
        """The rows of what recall hides now. For the past, that is not kept."""
        if at < NOW:
            return frozenset()
        if user not in self._out:
            self._out[user] = search.kept_out(self.index, user)
        return self._out[user]

    def view(self, scope: Scope) -> View:
        """The view of a reader in this scope. What expires is checked each time: only the clock moves it."""
        key = scope._replace(now="")
        if key not in self._views:
            if sum(len(view.looked) for view in self._views.values()) > _MOST:
                self._views.clear()
            self._views[key] = View(self.index)
        return self._views[key]


class View:
    """The sources that are visible in one scope."""

    def __init__(self, index: IndexFile) -> None:
        self._index = index
        self.looked: set[str] = set()
        self.checked: set[str] = set()  # blocks of which all visible sources were compared with the ledger
        self._sources: dict[str, list[SourceRow]] = {}
        self._whole: dict[str, list[Source]] = {}  # with all that they hold
        self._fleeting: set[str] = set()  # blocks of which a source expires
        self._beside: dict[str, Sides] = {}  # of turns
        self._links: dict[str, Link | None] = {}  # of blocks
        self.standing: list[str] | None = None  # standing memory, once it was read

    @property
    def ledger(self) -> LedgerView | None:
        return self._index.ledger

    def sources_of(self, blocks: Iterable[str], scope: Scope) -> dict[str, list[SourceRow]]:
        """The sources of each of these blocks, newest first; a block without any is left out."""
        wanted = list(blocks)
        if unseen := [block for block in wanted if block not in self.looked]:
            fresh = search.source_rows(self._index, unseen, scope._replace(now=""))  # whenever it may expire
            self.looked.update(unseen)
            self._sources.update(fresh)
            self._fleeting.update(block for block, rows in fresh.items() if any(row.expires for row in rows))
        every = self._sources
        found = {block: every[block] for block in wanted if block in every}
        for block in self._fleeting & found.keys():
            said = [source for source in found[block] if source.expires is None or source.expires > scope.now]
            if said:
                found[block] = said
            else:
                del found[block]
        return found

    def whole(self, said: Mapping[str, Sequence[SourceRow]], scope: Scope) -> dict[str, list[Source]]:
        """The same sources, with all their columns."""
        if unknown := [block for block in said if block not in self._whole]:
            self._whole.update(search.sources_of(self._index, unknown, scope._replace(now="")))
        found = {}
        for block, sources in said.items():
            wanted = {source.id for source in sources}
            found[block] = [source for source in self._whole.get(block, ()) if source.id in wanted]
        return found

    def is_lasting(self, blocks: Iterable[str]) -> bool:
        """True if no source of these blocks expires, as far as they were read."""
        return self._fleeting.isdisjoint(blocks)

    def links(self, blocks: Iterable[str], scope: Scope) -> dict[str, Link]:
        """The places of these blocks in their conversations, where they were said in one. All were read before."""
        wanted, known = list(blocks), self._links
        if unknown := [block for block in wanted if block not in known]:
            known.update(dict.fromkeys(unknown))
            turns = {block: turn for block in unknown if (turn := turn_of(self._sources[block]))}
            for (block, turn), sides in zip(turns.items(), self.beside(list(turns.values()), scope), strict=True):
                before, after = (side.block if side.is_heard and side.block != block else "" for side in sides)
                known[block] = Link(turn, before, after)
        return {block: link for block in wanted if (link := known[block])}

    def beside(self, turns: Sequence[SourceRow], scope: Scope) -> list[Sides]:
        """The turns right before and after each of some turns."""
        known = self._beside
        if unknown := [turn for turn in turns if turn.id not in known]:
            asked = orjson.dumps([[turn.id, turn.session, turn.since_seq] for turn in unknown]).decode()
            values = {**scope._replace(now="").values(), "wanted": asked}
            for name, before, seq, heard, after, later, heard_too in self._index.db.execute(sql.ADJACENT_TURNS, values):
                first = Side(before, seq, bool(heard)) if before is not None else _ALONE
                known[name] = first, Side(after, later, bool(heard_too)) if after is not None else _ALONE
        return [known[turn.id] for turn in turns]


def turn_of(sources: Iterable[SourceRow]) -> SourceRow | None:
    """The newest source in a conversation. It is an episode, and these do not expire."""
    return next((source for source in sources if source.what == "episode" and source.session), None)


def edges_of(seen: IndexCache, blocks: Sequence[str], scope: Scope) -> list[tuple[str, str, float]]:
    """The edges of some blocks: both ends, and the weight. None leads to a path that the reader does not see."""
    ids = orjson.dumps(list(blocks)).decode()
    if not seen.asides:
        return seen.index.db.execute(sql.EDGES, (ids, ids)).fetchall()
    return seen.index.db.execute(sql.VISIBLE_EDGES, {"ids": ids, "paths": scope.values()["paths"]}).fetchall()
