"""What was read from the index since it last changed, so that the next question need not ask for it again.

It belongs to one state of the index: whoever finds that the bookmark has moved begins with an empty one. Nothing here
is ever written down, and what one scope may see is kept apart from what another may.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.block import Source
from keepsake.projections.index.file import IndexFile
from keepsake.projections.index.fulltext import Scope, rarity, shown
from keepsake.recall.support import State

_MOST = 50_000  # blocks, before it is thrown away


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
        self._rarity: dict[tuple[str, str], float] = {}

    def still_holds(self, index: IndexFile) -> bool:
        return index is self.index and index.bookmark().hash == self.hash and len(self._states) < _MOST

    def states_of(self, blocks: Iterable[str]) -> dict[str, State]:
        """What the index holds of these blocks."""
        wanted = list(blocks)
        if unknown := [block for block in wanted if block not in self._states]:
            rows = self.index.db.execute(sql.FREE, (orjson.dumps(unknown).decode(),))
            self._states.update({row[0]: State(*row) for row in rows})
        return {block: self._states[block] for block in wanted if block in self._states}

    def rarity(self, words: Iterable[str], user: str) -> list[float]:
        """How rare each word is."""
        wanted = list(words)
        if unknown := [word for word in wanted if (user, word) not in self._rarity]:
            found = rarity(self.index, unknown, user)
            self._rarity.update({(user, word): rare for word, rare in zip(unknown, found, strict=True)})
        return [self._rarity[user, word] for word in wanted]

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
        self._beside: dict[tuple[str, int], dict[int, tuple[str, int]]] = {}

    def sources_of(self, blocks: Iterable[str], scope: Scope) -> dict[str, list[Source]]:
        """Who says each of these blocks, the newest first; a block that nobody says is left out."""
        wanted = list(blocks)
        if unseen := [block for block in wanted if block not in self.looked]:
            self.looked.update(unseen)
            self._sources.update(shown(self._index, unseen, scope))
        found = {}
        for block in wanted:
            said = self._sources.get(block)
            if said and any(source.expires is not None for source in said):
                said = [source for source in said if source.expires is None or source.expires > scope.now]
            if said:
                found[block] = said
        return found

    def beside(self, turns: Iterable[Source], user: str) -> dict[str, dict[int, tuple[str, int]]]:
        """The turns right before (-1) and after (1) some turns: their blocks, and the events that recorded them."""
        wanted = list(turns)
        places = {t.id: place for t in wanted if (place := (t.session, t.since_seq)) not in self._beside}
        if places:
            self._beside.update({place: {} for place in places.values()})
            asked = [[name, *place] for name, place in places.items()]
            values = {"wanted": orjson.dumps(asked).decode(), "user": user}
            for name, side, block, seq in self._index.db.execute(sql.TURNS_BESIDE, values):
                if block is not None:
                    self._beside[places[name]][side] = (block, seq)
        return {t.id: self._beside[t.session, t.since_seq] for t in wanted}
