"""The progress of each user's graph, folded from events. The graph itself is in `graph.db`.

    graph.put/1      {"user": …, "profiles": […], "nodes": […], "edges": […], "paths": […], "events": […],
                      "head": {"metadata": {…}, "extra": {…}, "head": …}}, and "trust" if it is less than a person's;
                     or a piece of one record that is too long for a line:
                     {"user": …, "part": "nodes", "piece": "…", "n": 0, "of": 3}
    graph.merge/1    {"user": …, "node": …, "into": …, "names": […], "score": …, "reasons": […]}
    graph.unmerge/1  {"user": …, "node": …}
    graph.propose/1  {"user": …, "node": …, "into": …, "score": …, "reasons": […]}: is it the same?
    graph.dismiss/1  {"user": …, "node": …, "into": …}: it is not

No text is kept here, so that none is left after an erasure: only the last event of a graph. Whoever decided on rows
that lag behind it decides again.
"""

from __future__ import annotations

from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import GRAPH_DISMISS, GRAPH_MERGE, GRAPH_PROPOSE, GRAPH_PUT, GRAPH_UNMERGE
from tallystick.state.part import Part, follows


class GraphBook(Part):
    """The first and the last event of each user's graph."""

    def clear(self) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}

    @follows(GRAPH_PUT, GRAPH_MERGE, GRAPH_UNMERGE, GRAPH_PROPOSE, GRAPH_DISMISS)
    def _follow(self, event: Event, body: dict[str, Any]) -> None:
        if body["user"] not in self._first:
            self._set(self._first, body["user"], event.seq)
        self._set(self._last, body["user"], event.seq)

    def first(self) -> int:
        """The first event that any graph needs; -1 if there is none."""
        return min(self._first.values(), default=-1)

    def last(self, user: str) -> int:
        """The last event of that user's graph; -1 if there is none."""
        return self._last.get(user, -1)

    def dump(self) -> dict[str, Any]:
        return {"first": self._first, "last": self._last}

    def load(self, dumped: dict[str, Any]) -> None:
        self._first, self._last = dict(dumped.get("first", {})), dict(dumped.get("last", {}))
