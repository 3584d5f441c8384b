"""The current version of a belief: the JSON that it was recorded as, and the sets to find it in."""

from __future__ import annotations

from sys import intern
from typing import Any, NamedTuple

import orjson

from tallystick.records.belief import OWNER, Belief, thawed
from tallystick.records.fact import sources_in, view_of
from tallystick.records.json import to_keep


class CurrentVersion(NamedTuple):
    """The current version of one belief. `ref`, its first version's id, is its identity."""

    ref: str
    line: bytes  # as a snapshot holds it: [what was recorded, ref, first, seq, at, words, by]
    key: str
    user: str
    path: str
    kind: str
    status: str
    confidence: float
    first: int  # the event that recorded its first version
    seq: int
    at: str
    words: int  # the number of changes of its words
    by: str = ""  # who recorded or withdrew it; empty in an older program's snapshot

    def belief(self) -> Belief:
        return Belief.just(thawed(self.body()), self.seq, self.at)

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.line)[0]
        return body

    @classmethod
    def of(
        cls, ref: str, body: dict[str, Any], first: int, seq: int, at: str, words: int, by: str = ""
    ) -> CurrentVersion:  # fmt: skip
        line = to_keep(orjson.dumps([body, ref, first, seq, at, words, by]))
        return cls._of(line, ref, body, first, seq, at, words, by)

    @classmethod
    def read(cls, line: bytes) -> tuple[CurrentVersion, dict[str, Any]]:
        """A belief from its line in a snapshot, and its body."""
        body, ref, first, seq, at, words, *by = orjson.loads(line)
        return cls._of(line, ref, body, first, seq, at, words, *by), body

    @classmethod
    def _of(
        cls, line: bytes, ref: str, body: dict[str, Any], first: int, seq: int, at: str, words: int, by: str = ""
    ) -> CurrentVersion:
        get = body.get
        return cls(
            ref, line, body["key"], intern(get("user", OWNER)), intern(get("path", "")), intern(get("kind", "fact")),
            intern(get("status", "active")), body["confidence"], first, seq, at, words, intern(by),
        )  # fmt: skip


STEPS = 100


def step(confidence: float) -> int:
    return int(confidence * STEPS)


def places(held: CurrentVersion, body: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The sets that a belief is found in."""
    user = held.user
    places = [(user, "kind", held.kind), (user, "status", held.status), (user, "confidence", step(held.confidence))]
    triple, views = body.get("triple"), body.get("views")
    if triple:
        places.append((user, "claim", (held.path, body.get("agent", ""), triple[0], triple[1])))
        places.append((user, "subject", triple[0]))
    if views:
        places += [(user, "episode", source) for source in sources_in(views)]
    if triple or (views and view_of(views)):
        places.append((user, "fact", True))
    return places
