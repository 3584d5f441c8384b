"""How memories are related, because somebody said so, folded from events.

    relation.put/1   {"user": …, "ids": [one, other], "relation"?: …, "path"?: …}

"One, relation, other": the words are read in that order. Ids are a belief's first version's or an episode's event's, so
that a relation outlives a revision. Two memories have one relation on a path: saying it again replaces the words, in
whichever order they are named, and without any it is taken back. The words go with either of the two. What a program
says that is kept out of recall is on record, and counts for nothing.
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
from tallystick.state.transaction import Transactional

_Key = tuple[str, str, str, str]  # whose, on which path, and the two, the smaller id first


class Relations(Transactional):
    """Which memories are related, and how."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._related: dict[_Key, Related] = {}

    def knows(self, op: str) -> bool:
        return op == RELATION_PUT

    def apply(self, event: Event) -> None:
        body = event.body
        if body is None:
            return
        if event.op == RELATION_PUT:
            trust = body.get(WRITER_TRUST, "human")
            if trust not in DEFAULT.quarantined:
                self._relate(event, body, trust)
        elif event.op == ERASE and self._related:
            gone = set(body.get("ids", ()))
            for key, each in list(self._related.items()):
                if not gone.isdisjoint((*each.ids, each.event)):
                    self._drop(self._related, key)

    def _relate(self, event: Event, body: dict[str, Any], trust: str) -> None:
        one, other = body["ids"]
        user, path, relation = body["user"], body.get("path", ""), body.get("relation", "")
        key = _key(user, path, one, other)
        if relation:
            said = trust, event.by, event.seq, event.ts, event.id
            self._set(self._related, key, Related(user, path, (one, other), relation, *said))
        else:
            self._drop(self._related, key)

    # -- asking ------------------------------------------------------------------------------------------------------

    def find(self, user: str, path: str, one: str, other: str) -> Related | None:
        """The relation of two memories that was said on a path."""
        return self._related.get(_key(user, path, one, other))

    def of(self, name: str, user: str, paths: Iterable[str]) -> list[Related]:
        """The relations of one memory that were said on these paths; of two memories, what the first of them says."""
        found: dict[tuple[str, str], Related] = {}
        for path in paths:
            for said in self.on(user, path):
                if name in said.ids:
                    found.setdefault((min(said.ids), max(said.ids)), said)
        return list(found.values())

    def on(self, user: str, path: str) -> list[Related]:
        """Every relation that was said on a path, in order."""
        return [each for each in self.all() if (each.user, each.path) == (user, path)]

    def all(self) -> list[Related]:
        return sorted(self._related.values(), key=lambda each: each.seq)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {"related": [asdict(each) for each in self._related.values()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for each in dumped.get("related", ()):
            found = Related(**{**each, "ids": tuple(each["ids"])})
            self._related[_key(found.user, found.path, *found.ids)] = found


def _key(user: str, path: str, one: str, other: str) -> _Key:
    return user, path, min(one, other), max(one, other)
