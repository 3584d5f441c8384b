"""The graph of an open memory: its rows, kept up to date with the ledger.

The file is made when the graph is first used, and from then on follows every write.

Where the first segments of the ledger were pruned, the rows of beliefs are made of the current state; but what was
saved in those segments is only there, and they are asked for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

from tallystick.memory.core.event_stream import events_from
from tallystick.memory.core.follower import Follower
from tallystick.projections.database import Stale
from tallystick.projections.follower import Bookmark
from tallystick.projections.graph.open_database import GraphFile
from tallystick.projections.index.from_snapshot import held_now
from tallystick.records.errors import Missing
from tallystick.records.event import Event
from tallystick.records.operations import GRAPH

Answer = TypeVar("Answer")

_TRIES = 3
_WRONG = (sqlite3.DatabaseError, Stale, LookupError, TypeError, ValueError)  # what a file that is not ours can do


class GraphAt(Follower[GraphFile]):
    """The rows of the graphs of one folder."""

    called = "the graph is"
    wrong = _WRONG

    @property
    def place(self) -> Path:
        return self.ledger.folder.graph_index

    @property
    def ledger_id(self) -> str:
        """The name that derived records carry: where a memory goes on from another, they are the same as there."""
        return self.state.taken_in.zone.ledger or self.ledger.standing.ledger

    def read(self, question: Callable[[GraphFile], Answer]) -> Answer:
        """Ask the rows a question, up to date with the ledger. Damaged rows are rebuilt."""
        with self.ledger.reading(), self._lock:
            self.ledger.must_be_whole()
            return self._answered(lambda: self._ask(question), question)

    def _ask(self, question: Callable[[GraphFile], Answer]) -> Answer:
        for tried in range(_TRIES):
            try:
                return question(self._leveled())
            except sqlite3.DatabaseError as error:
                self.fix(error, is_last=tried == _TRIES - 1)
            except OSError as error:
                raise self._in_the_way(error) from error
        raise AssertionError("unreachable")

    def _leveled(self) -> GraphFile:
        try:
            return self._level()
        except _WRONG as error:
            self.fix(error, is_last=False)
        return self._level()

    def follow(self, events: Sequence[Event]) -> None:
        """Follow what was just written, if the graph is open."""
        if self._db is not None:
            super().follow(events)

    def rebuild(self) -> None:
        """Rebuild the rows from the ledger, if there are any. Readers in other processes keep theirs until then."""
        if self.ledger.writable and self.place.exists():
            with self.ledger.reading(), self._lock:
                self._throw_away()
                self._ask(GraphFile.bookmark)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _made(self, path: Path | str) -> GraphFile:
        return GraphFile(path, self.ledger_id)

    def _is_mine(self, db: GraphFile) -> bool:
        return db.ledger == self.ledger_id and super()._is_mine(db)

    def _level_with(self, db: GraphFile) -> GraphFile:
        db.distrust(self.state.distrusts.all())
        return super()._level_with(db)

    def _read_on(self, db: GraphFile, mark: Bookmark) -> Bookmark:
        """From the bookmark on; where that was pruned, the current state."""
        end, first, needed = self.ledger.end, self.ledger.chain().first, self.state.graph.first()
        if mark.seq + 1 >= first:
            return db.catch_up(events_from(self.ledger, mark.seq + 1))
        if 0 <= needed < first:
            raise Missing(
                f"the graph needs events from {needed} on, and those before {first} were moved away;"
                " put their files back into sealed/"
            )
        db.empty()
        told = (event for event in events_from(self.ledger, first) if event.op.startswith(GRAPH))
        return db.catch_up(chain(held_now(self.state), told), mark=Bookmark(end.seq, end.hash))
