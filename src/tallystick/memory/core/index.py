"""The index of an open memory, kept up to date with its ledger (see `follower`)."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from tallystick.ledger import format as fmt
from tallystick.memory.core.follower import Follower, events_from
from tallystick.projections.index.file import SHAPE, IndexFile, held_now, related_now
from tallystick.projections.table_set import Bookmark
from tallystick.records import operations as ops

_REMOVE_IT = (fmt.RESTORE, fmt.REPAIR)
_JUST = 20  # events ago
_OF_EPISODES = (
    ops.EPISODE_PUT, ops.OUTCOME_PUT, ops.EPISODE_FADE, ops.EPISODE_RETRACT, ops.EPISODE_RESTORE, ops.PATH_MERGE,
    ops.TRUST_CORROBORATE,
)  # fmt: skip


class IndexService(Follower[IndexFile]):
    name, called = "index", "the index"

    def grow_back(self) -> None:
        """Fill the index that was emptied with the words in it. If that fails, the next reader does."""
        self._attempt(self._leveled, self.ledger.reading())

    def _why_none(self, rows: IndexFile) -> str:
        """Empty too, if a restore or a repair has just removed them."""
        ledger = self.ledger
        if self.open_folder.lost_rows():
            return "it was not usable"
        recent = ledger.lines(max(ledger.head.seq - _JUST, ledger.first)) if rows.is_lost() else ()
        is_removed = any(line.op in _REMOVE_IT for line in recent)
        return "it was not there" if rows.is_lost() and not is_removed else ""

    def _made(self, path: Path | str, *, writable: bool = True) -> IndexFile:
        return IndexFile(path, writable=writable)

    def _serve(self, rows: IndexFile, *, compared: bool) -> None:
        rows.times, rows.ledger = self.ledger.standing.times, self.open_folder.view() if compared else None

    def _begin_in_the_middle(self, rows: IndexFile) -> None:
        """The current state, and the episodes that are here."""
        first, end = self.ledger.first, self.ledger.head
        since = (each for each in events_from(self.ledger, first, stop=end.seq + 1) if each.op in _OF_EPISODES)
        mark = Bookmark(end.seq, end.hash, SHAPE, self.state.work.clock, end.seq)
        rows.plant(chain(held_now(self.state), since, related_now(self.state)), mark, self.ledger.standing.begun)
