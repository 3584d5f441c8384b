"""Putting an action to a person: one event, the question, and nothing else."""

from __future__ import annotations

from tallystick.decide.beliefs import Draw
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.review import Action, Review
from tallystick.state.state import State


def ask(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Put an action to a person. One that waits already is not asked twice: NeedsApproval, and nothing is written."""
    waiting = known.reviews.asked(action)
    if waiting is None and action.kind == "trust":
        waiting = known.reviews.find(known.reviews.in_question(action.target[0]))
    if waiting:
        raise needs_approval(waiting)
    return [question(known, action, why, draw)]


def ask_again(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Ask what was held in a group that was then taken back. Refused, if it was about words of that same group."""
    if any(known.find(version, user=action.user, short=False) is None for version in action.target):
        raise Refused(
            f"{action.label} needs a person's yes, and what it is about was taken back; nothing was changed", "state"
        )
    return ask(known, action, why, draw)


def needs_approval(review: Review) -> NeedsApproval:
    action = review.action
    return NeedsApproval(
        f"{action.label} needs a person's yes: {review.why}; it waits: `tallystick review {review.id}`", review.id
    )


def question(known: State, action: Action, why: str, draw: Draw) -> Draft:
    while (name := f"r-{draw()}") in known.reviews:
        continue
    body = {"review": name, "user": action.user, "action": action.to_body(), "digest": action.digest, "why": why}
    return Draft(REVIEW_ASK, body)
