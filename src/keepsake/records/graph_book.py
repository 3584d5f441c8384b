"""What decisions about the graph need to know of it, folded from events. The graph itself stands in `graph.db`.

    graph.put/1      {"user": …, "profiles": […], "nodes": […], "edges": […], "paths": […], "events": […],
                      "head": {"metadata": {…}, "extra": {…}, "head": …}}
                     or a piece of one record that is too long for a line:
                     {"user": …, "part": "nodes", "piece": "…", "n": 0, "of": 3}
    graph.merge/1    {"user": …, "node": …, "into": …, "names": […], "score": …, "reasons": […]}
    graph.unmerge/1  {"user": …, "node": …}
    graph.propose/1  {"user": …, "node": …, "into": …, "score": …, "reasons": […]}: is it the same?
    graph.dismiss/1  {"user": …, "node": …, "into": …}: it is not

Of a graph only its last event is known here: whoever decided on rows that lag behind it decides again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keepsake.records.event import Event
from keepsake.records.undo import Undoable

GRAPH = "graph."
GRAPH_PUT = "graph.put/1"
GRAPH_MERGE = "graph.merge/1"
GRAPH_UNMERGE = "graph.unmerge/1"
GRAPH_PROPOSE = "graph.propose/1"
GRAPH_DISMISS = "graph.dismiss/1"

_OPS = (GRAPH_PUT, GRAPH_MERGE, GRAPH_UNMERGE, GRAPH_PROPOSE, GRAPH_DISMISS)


class Proposal(NamedTuple):
    """Somebody thinks that two nodes are the same thing, and a person has not said yet whether they are."""

    node: str
    into: str
    score: float
    reasons: tuple[str, ...]
    by: str
    at: str


class GraphBook(Undoable):
    """By user: how far the graph has come, and what is proposed."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._first: dict[str, int] = {}  # user → the first event of the graph
        self._last: dict[str, int] = {}
        self._proposals: dict[tuple[str, str, str], Proposal] = {}  # by user and the two nodes, in their order

    def knows(self, op: str) -> bool:
        return op in _OPS

    def apply(self, event: Event) -> None:
        if event.op not in _OPS or event.body is None:
            return
        body, user = event.body, event.body["user"]
        if user not in self._first:
            self._set(self._first, user, event.seq)
        self._set(self._last, user, event.seq)
        if event.op in (GRAPH_MERGE, GRAPH_PROPOSE, GRAPH_DISMISS):
            self._drop(self._proposals, _pair(user, body["node"], body["into"]))
        if event.op == GRAPH_PROPOSE:
            said = body["node"], body["into"], body["score"], tuple(body["reasons"]), event.by, event.ts
            self._set(self._proposals, _pair(user, *said[:2]), Proposal(*said))

    # -- asking ------------------------------------------------------------------------------------------------------

    def first(self) -> int:
        """The first event that any graph needs; -1 if there is none."""
        return min(self._first.values(), default=-1)

    def last(self, user: str) -> int:
        """The last event of that user's graph; -1 if there is none."""
        return self._last.get(user, -1)

    def proposals(self, user: str) -> list[Proposal]:
        """What waits for a person's word, the oldest first."""
        return [each for (owner, *_), each in self._proposals.items() if owner == user]

    def proposal(self, user: str, node: str, into: str) -> Proposal | None:
        """What was proposed of these two, in either direction."""
        return self._proposals.get(_pair(user, node, into))

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        proposals = [[user, *each] for (user, *_), each in self._proposals.items()]
        return {"first": self._first, "last": self._last, "proposals": proposals}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._first.update(dumped.get("first", {}))
        self._last.update(dumped.get("last", {}))
        for user, node, into, score, reasons, by, at in dumped.get("proposals", ()):
            self._proposals[_pair(user, node, into)] = Proposal(node, into, score, tuple(reasons), by, at)


def _pair(user: str, node: str, into: str) -> tuple[str, str, str]:
    return (user, *sorted((node, into)))  # type: ignore[return-value]
