"""What was read from the index since it last changed, so that the next question need not ask for it again.

It belongs to one state of the index: whoever finds that the bookmark has moved begins with an empty one. Nothing here
is ever written down, and what one scope may see is kept apart from what another may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.block import Source
from keepsake.projections.index.file import IndexFile
from keepsake.projections.index.fulltext import NOW, Scope, count_of, rarity, shown
from keepsake.recall.support import State

_MOST = 50_000  # blocks, before it is thrown away
_NONE = ("", -1)

Sides = tuple[tuple[str, int], tuple[str, int]]  # the block and the event of the turn before, and of the one after


class Seen:
    """One state of one index, as far as it was read."""

    def __init__(self, index: IndexFile) -> None:
        self.index = index
        mark = index.bookmark()
        self.hash, self.hours = mark.hash, mark.clock.hours
        self.size: int = index.db.execute(sql.LAST_ROW).fetchone()[0] or 0  # blocks, of everyone
        self.has_edges = index.db.execute(sql.ANY_EDGE).fetchone() is not None
        self._states: dict[str, State] = {}
        self._views: dict[Scope, View] = {}
        self._rarity: dict[tuple[str, int, str], float] = {}
        self._count: dict[tuple[str, int], int] = {}  # of each user's blocks
        self.names: dict[int, str] = {}  # of rows

    def still_holds(self, index: IndexFile) -> bool:
        return index is self.index and index.bookmark().hash == self.hash and len(self._states) < _MOST

    def states_of(self, blocks: Iterable[str]) -> dict[str, State]:
        """What the index holds of these blocks."""
        wanted = list(blocks)
        if unknown := [block for block in wanted if block not in self._states]:
            rows = self.index.db.execute(sql.FREE, (orjson.dumps(unknown).decode(),))
            self._states.update({row[0]: State(*row) for row in rows})
        return {block: self._states[block] for block in wanted if block in self._states}

    def rarity(self, words: Iterable[str], user: str, at: int = NOW) -> list[float]:
        """How rare each word is, among what the user had by event `at`."""
        wanted, at = list(words), min(at, NOW)
        if unknown := [word for word in wanted if (user, at, word) not in self._rarity]:
            if (user, at) not in self._count:
                self._count[user, at] = count_of(self.index, user, at)
            found = rarity(self.index, unknown, user, self._count[user, at], at)
            self._rarity.update({(user, at, word): rare for word, rare in zip(unknown, found, strict=True)})
        return [self._rarity[user, at, word] for word in wanted]

    def view(self, scope: Scope) -> View:
        """What a reader in this scope sees. What expires is looked at each time: only the clock moves it."""
        key = scope._replace(now="")
        if key not in self._views:
            if sum(len(view.looked) for view in self._views.values()) > _MOST:
                self._views.clear()
            self._views[key] = View(self.index)
        return self._views[key]


class View:
    """Who says what, in one scope."""

    def __init__(self, index: IndexFile) -> None:
        self._index = index
        self.looked: set[str] = set()
        self._sources: dict[str, list[Source]] = {}
        self._fleeting: set[str] = set()  # blocks of which a source expires
        self._beside: dict[str, Sides] = {}
        self.standing: list[str] | None = None  # what stands whatever is asked, once it was read

    def sources_of(self, blocks: Iterable[str], scope: Scope) -> dict[str, list[Source]]:
        """Who says each of these blocks, the newest first; a block that nobody says is left out."""
        wanted = list(blocks)
        if unseen := [block for block in wanted if block not in self.looked]:
            self._look(unseen, scope)
        every = self._sources
        found = {block: every[block] for block in wanted if block in every}
        for block in self._fleeting & found.keys():
            said = [source for source in found[block] if source.expires is None or source.expires > scope.now]
            if said:
                found[block] = said
            else:
                del found[block]
        return found

    def _look(self, unseen: list[str], scope: Scope) -> None:
        said = shown(self._index, unseen, scope._replace(now=""))  # whenever it may expire
        self.looked.update(unseen)
        self._sources.update(said)
        self._fleeting.update(block for block, every in said.items() for source in every if source.expires is not None)

    def is_lasting(self, blocks: Iterable[str]) -> bool:
        """Whether no source of these blocks expires, as far as they were looked at."""
        return self._fleeting.isdisjoint(blocks)

    def beside(self, turns: Sequence[Source], user: str) -> list[Sides]:
        """The turns right before and after each of some turns: their blocks, and the events that recorded them."""
        known = self._beside
        if unknown := [turn for turn in turns if turn.id not in known]:
            known.update({turn.id: (_NONE, _NONE) for turn in unknown})
            asked = orjson.dumps([[turn.id, turn.session, turn.since_seq] for turn in unknown]).decode()
            for name, side, block, seq in self._index.db.execute(sql.TURNS_BESIDE, {"wanted": asked, "user": user}):
                if block is not None:
                    before, after = known[name]
                    known[name] = ((block, seq), after) if side < 0 else (before, (block, seq))
        return [known[turn.id] for turn in turns]
