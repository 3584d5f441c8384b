"""What is held, told as events: for an index of a ledger whose first stretches were moved away.

What was held earlier cannot be told from this. The bookmark of such an index says from where on the past is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.records.event import Event
from tallystick.records.operations import (
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    CONFIG_SET,
    FRAME_PUT,
    RELATION_PUT,
    REVIEW_ASK,
    TRUST_CORROBORATE,
    TRUST_SET as TRUST,
)
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.trust import NONE
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

_BY = "ledger:snapshot"


def held_now(state: State) -> Iterator[Event]:
    """Events after which an index holds what the state holds, each version with the place of its own event."""
    for frame in state.work.frames.values():
        yield Event(0, frame["created_at"], FRAME_PUT, "", _BY, "", {"frame": frame})
    for key, value in state.work.config.items():
        yield Event(0, "", CONFIG_SET, "", _BY, "", {"key": key, "value": value})
    for each in state.distrusts.all():
        body = {"user": each.user, "source": each.source, "trust": NONE, "first": each.first}
        yield Event(each.seq, each.at, TRUST, "", each.by, "", body)
    for held in sorted(state.held.values(), key=lambda held: held.seq):
        yield from _belief(state, held)
    if confirmed := state.distrusts.borne_out():
        yield Event(1, "", TRUST_CORROBORATE, "", _BY, "", {"ids": confirmed})
    for user in {held.user for held in state.held.values()}:
        for review in state.reviews.waiting(user):
            body = {"review": review.id, "action": {"kind": review.action.kind, "target": list(review.action.target)}}
            yield Event(review.seq, review.asked_at, REVIEW_ASK, "", _BY, "", body)


def related_now(state: State) -> Iterator[Event]:
    """How memories are related; to be told after all of them were."""
    for each in state.relations.all():
        yield Event(each.seq, each.at, RELATION_PUT, each.event, each.by, "", {**each.body(), WRITER_TRUST: each.trust})


def _belief(state: State, held: CurrentVersion) -> Iterator[Event]:
    """A belief under its first id, by which others name it, and then its current version."""
    belief = held.body()
    body = {"belief": belief, "replaces": [held.ref]}
    if belief["id"] != held.ref:
        first = {"id": held.ref, "key": held.key, "user": held.user, "confidence": 0.0, "status": "superseded"}
        yield Event(held.first, held.at, BELIEF_PUT, "", _BY, "", {"belief": first})
    if over := [below.ref for name in state.links.over(held.ref) if (below := state.version(name))]:
        body["over"] = over
    if state.reviews.is_approved(belief["id"]):
        body["approved"] = ""
    if state.distrusts.is_echo(belief["id"]):
        body["echo"] = []
    yield Event(held.seq, held.at, BELIEF_SUPERSEDE, "", held.by or _BY, "", body)
