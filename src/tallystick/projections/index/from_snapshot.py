"""The current state as events: for an index of a ledger whose first segments were moved away.

Earlier states do not follow from this. The bookmark of such an index says from which event on the past is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.records import operations as ops
from tallystick.records.event import Event
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.trust import NONE
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

_BY = "ledger:snapshot"


def held_now(state: State) -> Iterator[Event]:
    """Events after which an index has what the state has, each version at the place of its own event."""
    for frame in state.work.frames.values():
        yield Event(0, frame["created_at"], ops.FRAME_PUT, "", _BY, "", {"frame": frame})
    for key, value in state.work.config.items():
        yield Event(0, "", ops.CONFIG_SET, "", _BY, "", {"key": key, "value": value})
    for each in state.distrusts.all():
        body = {"user": each.user, "source": each.source, "trust": NONE, "first": each.first}
        yield Event(each.seq, each.at, ops.TRUST_SET, "", each.by, "", body)
    for held in sorted(state.all(), key=lambda held: held.seq):
        yield from _belief(state, held)
    if confirmed := state.distrusts.borne_out():
        yield Event(1, "", ops.TRUST_CORROBORATE, "", _BY, "", {"ids": confirmed})
    for user in state.users():
        for review in state.reviews.waiting(user):
            body = {"review": review.id, "action": {"kind": review.action.kind, "target": list(review.action.target)}}
            yield Event(review.seq, review.asked_at, ops.REVIEW_ASK, "", _BY, "", body)


def related_now(state: State) -> Iterator[Event]:
    """The relations between memories, as events that follow those of `held_now`."""
    for each in state.relations.all():
        body = {**each.body(), WRITER_TRUST: each.trust}
        yield Event(each.seq, each.at, ops.RELATION_PUT, each.event, each.by, "", body)


def _belief(state: State, held: CurrentVersion) -> Iterator[Event]:
    """A belief under its first id, by which others name it, and then its current version."""
    belief = held.body()
    body = {"belief": belief, "replaces": [held.ref]}
    if belief["id"] != held.ref:
        first = {"id": held.ref, "key": held.key, "user": held.user, "confidence": 0.0, "status": "superseded"}
        yield Event(held.first, held.at, ops.BELIEF_PUT, "", _BY, "", {"belief": first})
    if over := [below.ref for name in state.over(held.ref) if (below := state.version(name))]:
        body["over"] = over
    if state.reviews.is_approved(belief["id"]):
        body["approved"] = ""
    if state.distrusts.is_echo(belief["id"]):
        body["echo"] = []
    yield Event(held.seq, held.at, ops.BELIEF_SUPERSEDE, "", held.by or _BY, "", body)
