"""The progress of each user's graph, and the stated relations between memories, folded from events.

    graph.put/1      {"user": …, "profiles": […], "nodes": […], "edges": […], "paths": […], "events": […],
                      "head": {"metadata": {…}, "extra": {…}, "head": …}}, and "trust" if it is less than a person's;
                     or a piece of one record that is too long for a line:
                     {"user": …, "part": "nodes", "piece": "…", "n": 0, "of": 3}
    graph.merge/1    {"user": …, "node": …, "into": …, "names": […], "score": …, "reasons": […]}
    graph.unmerge/1  {"user": …, "node": …}
    graph.propose/1  {"user": …, "node": …, "into": …, "score": …, "reasons": […]}: is it the same?
    graph.dismiss/1  {"user": …, "node": …, "into": …}: it is not

No text is kept here, so that none is left after an erasure: only the last event of a graph. Whoever decided on rows
that lag behind it decides again. The graph itself is in `state.db`.

    relation.put/1   {"user": …, "ids": [one, other], "relation"?: …, "path"?: …}

"One, relation, other": the words are read in that order. An id is that of a belief's first version or an episode's
event, so that a relation outlives a revision. Two memories have one relation on a path: stating it again replaces it,
in either order, and an empty one removes it. It is erased with either of the two. A relation by a quarantined program
is on record, and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tallystick.records import operations as ops
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.records.recall import Related
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.tables import Part, Table, Tables, by_name, follows


class GraphBook(Part):
    """The first and the last event of each user's graph."""

    def declare(self, tables: Tables) -> None:
        self._first: Table[int] = tables.table("graph.first")  # by user
        self._last: Table[int] = tables.table("graph.last")

    @follows(ops.GRAPH_PUT, ops.GRAPH_MERGE, ops.GRAPH_UNMERGE, ops.GRAPH_PROPOSE, ops.GRAPH_DISMISS)
    def _follow(self, event: Event, body: dict[str, Any]) -> None:
        if body["user"] not in self._first:
            self._first.set(body["user"], event.seq)
        self._last.set(body["user"], event.seq)

    def first(self) -> int:
        """The first event that any graph needs; -1 if there is none."""
        return min(self._first.values(), default=-1)

    def last(self, user: str) -> int:
        """The last event of that user's graph; -1 if there is none."""
        last = self._last.get(user)
        return -1 if last is None else last


_Key = tuple[str, str, str, str]  # user, path, and the two ids, the smaller first


def _related(*, ids: list[str], **fields: Any) -> Related:
    return Related(ids=(ids[0], ids[1]), **fields)


def related_in(event: Event) -> Related:
    """The relation that an event records; one without words ends it."""
    body = event.body or {}
    (one, other), trust = body["ids"], body.get(WRITER_TRUST, "human")
    return Related(
        body["user"], body.get("path", ""), (one, other), body.get("relation", ""), trust, event.by, event.seq,
        event.ts, event.id,
    )  # fmt: skip


def _is_related(key: _Key, related: Related, events: Sequence[Event]) -> bool:
    is_so = events[-1].op == ops.RELATION_PUT and related == related_in(events[-1])
    return is_so and key == _key(related.user, related.path, *related.ids)


class Relations(Part):
    """The relations between two memories."""

    def declare(self, tables: Tables) -> None:
        self._related: Table[Related] = tables.table("relation", by_name(_related), _is_related)  # by `_Key`
        self._about: Table[str] = tables.table("relation.about")  # (a memory's id, or the event's, *key)

    @follows(ops.RELATION_PUT)
    def _relate(self, event: Event, _: dict[str, Any]) -> None:
        related = related_in(event)
        if related.trust in DEFAULT.quarantined:
            return
        key = _key(related.user, related.path, *related.ids)
        self._remove(key)
        if related.relation:
            self._related.set(key, related)
            for name in (*related.ids, event.id):
                self._about.set((name, *key), "")

    def _remove(self, key: _Key) -> None:
        if each := self._related.get(key):
            self._related.drop(key)
            for name in (*each.ids, each.event):
                self._about.drop((name, *key))

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            for key in [key for key, _ in self._about.under(name)]:
                self._remove(key[1:])

    def find(self, user: str, path: str, one: str, other: str) -> Related | None:
        return self._related.get(_key(user, path, one, other))

    def of(self, name: str, user: str, paths: Iterable[str]) -> list[Related]:
        """The relations of one memory on these paths; of the same two memories, that of the first path."""
        found: dict[tuple[str, str], Related] = {}
        for path in paths:
            keys = [key[1:] for key, _ in self._about.under(name, user, path)]
            about = [each for key in keys if (each := self._related.get(key)) and name in each.ids]
            for each in sorted(about, key=lambda each: each.seq):
                found.setdefault((min(each.ids), max(each.ids)), each)
        return list(found.values())

    def on(self, user: str, path: str) -> list[Related]:
        """Every relation on a path, in order."""
        return sorted(self._related.values(user, path), key=lambda each: each.seq)

    def all(self) -> list[Related]:
        return sorted(self._related.values(), key=lambda each: each.seq)


def _key(user: str, path: str, one: str, other: str) -> _Key:
    return user, path, min(one, other), max(one, other)
