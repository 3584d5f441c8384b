"""The graph of an open memory, kept up to date with the ledger (see `follower`).

Its tables are made when the graph is first used, and from then on follow every write of this process.

Where the first segments of the ledger were pruned, the rows of beliefs are made of the current state; but what was
saved in those segments is only there, and they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from tallystick.memory.core.event_stream import events_from
from tallystick.memory.core.follower import Follower
from tallystick.projections.graph.open_database import GraphFile
from tallystick.projections.index.from_snapshot import held_now
from tallystick.projections.index.read_bookmark import has_followed
from tallystick.projections.table_set import Bookmark
from tallystick.records.errors import Missing
from tallystick.records.event import Event
from tallystick.records.operations import GRAPH
from tallystick.records.progress import Progress


class GraphAt(Follower[GraphFile]):
    """The rows of the graphs of one folder."""

    name, called = "graph", "the graph"

    @property
    def ledger_id(self) -> str:
        """The name that derived records carry: where a memory goes on from another, they are the same as there."""
        return self.state.taken_in.zone.ledger or self.ledger.standing.ledger

    def follow(self, events: Sequence[Event]) -> None:
        """Follow what was just written, if the graph is open."""
        if self._rows is not None:
            super().follow(events)

    def rebuild(self, on_progress: Progress | None = None) -> Bookmark:
        """Fill the tables again, if the graph was ever used."""
        is_used = self.ledger.writable and has_followed(self.place, self.name)
        return super().rebuild(on_progress) if is_used else Bookmark()

    def _made(self, path: Path | str, *, writable: bool = True) -> GraphFile:
        return GraphFile(path, self.ledger_id, writable=writable)

    def _open(self) -> GraphFile:
        if self._rows is not None and self._rows.ledger != self.ledger_id:
            self.close()
        return super()._open()

    def _why_not(self, rows: GraphFile, mark: Bookmark) -> str:
        is_made_so = rows.is_made_under(self.state.distrusts.all())
        return super()._why_not(rows, mark) or ("" if is_made_so else "others are distrusted")

    def _serve(self, rows: GraphFile, *, compared: bool) -> None:
        rows.comparison.ledger = self.open_folder.view() if compared else None

    def _begin_in_the_middle(self, rows: GraphFile) -> None:
        """The current state."""
        end, first, needed = self.ledger.head, self.ledger.first, self.state.graph.first()
        if 0 <= needed < first:
            raise Missing(
                f"the graph needs events from {needed} on, and those before {first} were moved away;"
                " put their files back into sealed/"
            )
        told = (each for each in events_from(self.ledger, first, stop=end.seq + 1) if each.op.startswith(GRAPH))
        rows.catch_up(chain(held_now(self.state), told), mark=Bookmark(end.seq, end.hash))
