"""The current version of one belief, as the state keeps it, and the sets in which it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from sys import intern
from typing import Any, NamedTuple

import orjson

from tallystick.records.belief import OWNER, Belief, thawed
from tallystick.records.event import Event, origin_of
from tallystick.records.fact import sources_in, view_of, without_steps
from tallystick.records.json import to_keep
from tallystick.records.operations import BELIEF_INVALIDATE, BELIEF_PUT, BELIEF_SUPERSEDE, BELIEF_TOMBSTONE
from tallystick.state.tables import Codec, ordinal

_OWN = ("id", "reason", "views")  # what a version does not share with the one before


class CurrentVersion(NamedTuple):
    """The current version of one belief. `ref`, its first version's id, is its identity."""

    ref: str
    line: bytes  # as it is kept: [what was recorded, ref, first, seq, at, words, by]
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
    by: str  # who recorded or withdrew it

    def belief(self) -> Belief:
        return Belief.just(thawed(self.body()), self.seq, self.at)

    def is_fact(self) -> bool:
        """True if it has a triple or a lineage."""
        return is_fact_body(self.body())

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.line)[0]
        return body

    def said(self, *but: str) -> dict[str, Any]:
        """What it says, without what is its own; and but for some fields."""
        body = self.body()
        views = {name: view for name, view in without_steps(body.get("views", {})).items() if name != "entry"}
        rest = {name: value for name, value in body.items() if name not in (*_OWN, *but)}
        return {**rest, "views": views, **({} if "status" in but else {"status": self.status})}

    @classmethod
    def of(
        cls, ref: str, body: dict[str, Any], first: int, seq: int, at: str, words: int, by: str
    ) -> CurrentVersion:  # fmt: skip
        line = to_keep(orjson.dumps([body, ref, first, seq, at, words, by]))
        return cls._of(line, body, ref, first, seq, at, words, by)

    @classmethod
    def read(cls, line: bytes) -> CurrentVersion:
        return cls._of(line, *orjson.loads(line))

    @classmethod
    def _of(
        cls, line: bytes, body: dict[str, Any], ref: str, first: int, seq: int, at: str, words: int, by: str
    ) -> CurrentVersion:
        get = body.get
        return cls(
            ref, line, body["key"], intern(get("user", OWNER)), intern(get("path", "")), intern(get("kind", "fact")),
            intern(get("status", "active")), body["confidence"], first, seq, at, words, intern(by),
        )  # fmt: skip


def is_stated(ref: str, held: CurrentVersion, events: Sequence[Event]) -> bool:
    """True if a belief is as these events say: stated by one of them, and perhaps withdrawn since by the last."""
    last, stated = events[-1], next((each for each in reversed(events) if each.op in _STATED), None)
    if stated is None or stated.body is None or last.body is None or ref != held.ref:
        return False
    said, body = stated.body["belief"], held.body()
    status, reason = said.get("status", "active"), said.get("reason")
    if last is not stated:
        status, reason = _WITHDRAWN.get(last.op, ""), last.body.get("reason") or None
    return (
        (held.seq, held.at, held.by) == (last.seq, *origin_of(last)[:2])
        and (held.status, body.get("reason")) == (status, reason)
        and _plain(body) == _plain(said)
    )


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """What a version says, without what later events change: its status, and the steps that led to it."""
    rest = {name: value for name, value in body.items() if name not in ("status", "reason", "views")}
    return {**rest, "views": without_steps(body.get("views", {}))}


_STATED = (BELIEF_PUT, BELIEF_SUPERSEDE)
_WITHDRAWN = {BELIEF_TOMBSTONE: "tombstone", BELIEF_INVALIDATE: "invalidated"}
WITHDRAWN = tuple(_WITHDRAWN.values())  # the status of what is no longer believed
CODEC = Codec(lambda held: held.line, CurrentVersion.read)
STEPS = 100


def step(confidence: float) -> str:
    return f"{int(confidence * STEPS):03d}"


def sets_of(held: CurrentVersion, body: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """The sets that a belief is found in: what they are about, the user, the value, and the belief's first event."""
    user, first = held.user, ordinal(held.first)
    sets = [
        ("kind", user, held.kind, first), ("status", user, held.status, first),
        ("confidence", user, step(held.confidence), first),
    ]  # fmt: skip
    triple, views = body.get("triple"), body.get("views")
    if held.path:
        sets.append(("path", user, held.path, first))
    if triple:
        sets.append(("claim", user, claim(held.path, body.get("agent", ""), triple[0], triple[1]), first))
        sets.append(("subject", user, triple[0], first))
    if views:
        sets += [("episode", user, source, first) for source in sources_in(views)]
    if is_fact_body(body):
        sets.append(("fact", user, "", first))
    return sets


def is_fact_body(body: dict[str, Any]) -> bool:
    return bool(body.get("triple") or view_of(body.get("views") or {}))


def claim(path: str, agent: str, subject: str, predicate: str) -> str:
    """The name of the set of facts about one question."""
    return orjson.dumps((path, agent, subject, predicate)).decode()


def gist_of(belief: Mapping[str, Any]) -> str:
    """A digest to recognise the same statement. It is kept only where an erasure of the words removes it."""
    words = [belief.get(name) or None for name in ("text", "triple", "session", "agent", "path")]
    return sha256(orjson.dumps(words, default=str)).hexdigest()[:16]
