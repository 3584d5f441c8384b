"""The progress of each user's graph, and the stated relations between memories, folded from events.

    graph.put/1      {"user": …, "profiles": […], "nodes": […], "edges": […], "paths": […], "events": […],
                      "head": {"metadata": {…}, "extra": {…}, "head": …}}, and "trust" if it is less than a person's;
                     or a piece of one record that is too long for a line:
                     {"user": …, "part": "nodes", "piece": "…", "n": 0, "of": 3}
    graph.merge/1    {"user": …, "node": …, "into": …, "names": […], "score": …, "reasons": […]}
    graph.unmerge/1  {"user": …, "node": …}
    graph.propose/1, graph.dismiss/1  of older programs: now it is a review, and its answer

Of the graph itself, which is in `state.db`, only the first and the last event are kept here: whoever decided on rows
that lag behind it decides again. And which nodes are merged: every name of one leads to the other.

    relation.put/1   {"user": …, "ids": [one, other], "relation"?: …, "path"?: …}

"One, relation, other": the words are read in that order. An id is that of a belief's first version or an episode's
event, so that a relation outlives a revision. Two memories have one relation on a path: stating it again replaces it,
in either order, and an empty one removes it. It is erased with either of the two. A relation by a quarantined program
is on record, and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tallystick.records import operations as ops
from tallystick.records.entity import keys_of
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.records.recall import Related
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.tables import Part, Table, Tables, by_name, codec_of, follows


class NodeMerge(NamedTuple):
    """What a node is merged into, and the event that says so."""

    into: str
    seq: int
    event: str


def _is_merged(key: tuple[str, str], merge: NodeMerge, events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    is_its = event.op == ops.GRAPH_MERGE and key == (body["user"], body["node"])
    return is_its and merge == (body["into"], event.seq, event.id)


class GraphBook(Part):
    """The first and the last event of each user's graph, and the merged nodes."""

    def declare(self, tables: Tables) -> None:
        self._first: Table[int] = tables.table("graph.first")  # by user
        self._last: Table[int] = tables.table("graph.last")
        self._merged: Table[NodeMerge] = tables.table("graph.merged", codec_of(NodeMerge), _is_merged)  # (user, node)
        self._names: Table[str] = tables.table("graph.merged_name")  # (user, name, node)

    @follows(ops.GRAPH_PUT, ops.GRAPH_MERGE, ops.GRAPH_UNMERGE, ops.GRAPH_PROPOSE, ops.GRAPH_DISMISS)
    def _follow(self, event: Event, body: dict[str, Any]) -> None:
        if body["user"] not in self._first:
            self._first.set(body["user"], event.seq)
        self._last.set(body["user"], event.seq)
        if event.op == ops.GRAPH_MERGE:
            self._merged.set((body["user"], body["node"]), NodeMerge(body["into"], event.seq, event.id))
            for name in keys_of(body["node"]):
                self._names.set((body["user"], name, body["node"]), "")
        elif event.op == ops.GRAPH_UNMERGE:
            self._part(body["user"], body["node"])

    def _part(self, user: str, node: str) -> None:
        self._merged.drop((user, node))
        for name in keys_of(node):
            self._names.drop((user, name, node))

    @follows(ops.ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        ids = set(body.get("ids", ()))
        for (user, node), merge in list(self._merged.under()) if ids else ():
            if merge.event in ids:
                self._part(user, node)

    def merge_of(self, user: str, node: str) -> NodeMerge | None:
        return self._merged.get((user, node))

    def final(self, user: str, node: str) -> str:
        """The node that a node is part of now, after all merges; itself, if it is not merged."""
        passed = {node}
        while (merge := self._merged.get((user, node))) and merge.into not in passed:
            node = merge.into
            passed.add(node)
        return node

    def nodes_called(self, user: str, name: str) -> Iterator[str]:
        """The merged nodes of that id, or of that name."""
        if (user, name) in self._merged:
            yield name
        yield from (node for each in keys_of(name) for (_, _, node), _ in self._names.under(user, each))

    def called(self, user: str, name: str) -> Iterator[tuple[str, str]]:
        """The merged nodes of that name, as `keys_of` says, and what each is part of."""
        return ((node, self.final(user, node)) for (_, _, node), _ in self._names.under(user, name))

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
