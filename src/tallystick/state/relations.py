"""The stated relations between memories, folded from events.

    relation.put/1   {"user": …, "ids": [one, other], "relation"?: …, "path"?: …}

"One, relation, other": the words are read in that order. An id is that of a belief's first version or an episode's
event, so that a relation outlives a revision. Two memories have one relation on a path: stating it again replaces it,
in either order, and an empty one removes it. It is erased with either of the two. A relation by a quarantined program
is on record, and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import ERASE, RELATION_PUT
from tallystick.records.policy import DEFAULT
from tallystick.records.relation import Related
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.part import Part, follows

_Key = tuple[str, str, str, str]  # user, path, and the two ids, the smaller first


class Relations(Part):
    """The relations between two memories."""

    def clear(self) -> None:
        self._related: dict[_Key, Related] = {}

    @follows(RELATION_PUT)
    def _relate(self, event: Event, body: dict[str, Any]) -> None:
        trust = body.get(WRITER_TRUST, "human")
        if trust in DEFAULT.quarantined:
            return
        one, other = body["ids"]
        user, path, relation = body["user"], body.get("path", ""), body.get("relation", "")
        key = _key(user, path, one, other)
        if relation:
            by = trust, event.by, event.seq, event.ts, event.id
            self._set(self._related, key, Related(user, path, (one, other), relation, *by))
        else:
            self._drop(self._related, key)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        for key, each in list(self._related.items()):
            if not gone.isdisjoint((*each.ids, each.event)):
                self._drop(self._related, key)

    def find(self, user: str, path: str, one: str, other: str) -> Related | None:
        """The relation of two memories on a path."""
        return self._related.get(_key(user, path, one, other))

    def of(self, name: str, user: str, paths: Iterable[str]) -> list[Related]:
        """The relations of one memory on these paths; of the same two memories, that of the first path."""
        found: dict[tuple[str, str], Related] = {}
        for path in paths:
            for each in self.on(user, path):
                if name in each.ids:
                    found.setdefault((min(each.ids), max(each.ids)), each)
        return list(found.values())

    def on(self, user: str, path: str) -> list[Related]:
        """Every relation on a path, in order."""
        return [each for each in self.all() if (each.user, each.path) == (user, path)]

    def all(self) -> list[Related]:
        return sorted(self._related.values(), key=lambda each: each.seq)

    def dump(self) -> dict[str, Any]:
        return {"related": [asdict(each) for each in self._related.values()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for each in dumped.get("related", ()):
            found = Related(**{**each, "ids": tuple(each["ids"])})
            self._related[_key(found.user, found.path, *found.ids)] = found


def _key(user: str, path: str, one: str, other: str) -> _Key:
    return user, path, min(one, other), max(one, other)
