"""What decisions about the graph need to know of it, folded from events. The graph itself stands in `graph.db`.

    graph.put/1      {"user": …, "profiles": […], "nodes": […], "edges": […], "paths": […], "events": […],
                      "head": {"metadata": {…}, "extra": {…}, "head": …}}, and "trust" if it is less than a person's;
                     or a piece of one record that is too long for a line:
                     {"user": …, "part": "nodes", "piece": "…", "n": 0, "of": 3}
    graph.merge/1    {"user": …, "node": …, "into": …, "names": […], "score": …, "reasons": […]}
    graph.unmerge/1  {"user": …, "node": …}
    graph.propose/1  {"user": …, "node": …, "into": …, "score": …, "reasons": […]}: is it the same?
    graph.dismiss/1  {"user": …, "node": …, "into": …}: it is not

No words are kept here, so that none are left when they are erased: only which event of a graph is the last. Whoever
decided on rows that lag behind it decides again.
"""

from __future__ import annotations

from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import GRAPH_DISMISS, GRAPH_MERGE, GRAPH_PROPOSE, GRAPH_PUT, GRAPH_UNMERGE
from tallystick.state.transaction import Transactional

_OPS = (GRAPH_PUT, GRAPH_MERGE, GRAPH_UNMERGE, GRAPH_PROPOSE, GRAPH_DISMISS)


class GraphBook(Transactional):
    """By user: how far the graph has come."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._first: dict[str, int] = {}  # user → the first event of the graph
        self._last: dict[str, int] = {}

    def knows(self, op: str) -> bool:
        return op in _OPS

    def apply(self, event: Event) -> None:
        if event.op in _OPS and event.body is not None:
            user = event.body["user"]
            if user not in self._first:
                self._set(self._first, user, event.seq)
            self._set(self._last, user, event.seq)

    # -- asking ------------------------------------------------------------------------------------------------------

    def first(self) -> int:
        """The first event that any graph needs; -1 if there is none."""
        return min(self._first.values(), default=-1)

    def last(self, user: str) -> int:
        """The last event of that user's graph; -1 if there is none."""
        return self._last.get(user, -1)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {"first": self._first, "last": self._last}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._first.update(dumped.get("first", {}))
        self._last.update(dumped.get("last", {}))
