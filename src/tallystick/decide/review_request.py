"""Putting an action to a person: one event, the question, and nothing else.

What is quarantined comes with its question, and holds up nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.decide.beliefs import Draw
from tallystick.decide.subjects import subject_of
from tallystick.records.belief import OWNER
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_ASK
from tallystick.records.policy import ALLOW, Policy
from tallystick.records.review import Action, Review
from tallystick.state.reviews import BY_POLICY
from tallystick.state.state import State


def ask(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Put an action to a person. One that waits already is not asked twice: NeedsApproval, and nothing is written."""
    waiting = known.reviews.asked(action)
    if waiting is None and action.kind == "trust":
        waiting = known.reviews.find(known.reviews.in_question(action.target[0]))
    if waiting:
        raise needs_approval(waiting)
    return [question(known, action, why, draw)]


def ask_anew(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Ask what was held in a group that was then taken back. Refused, if it was about words of that same group."""
    if any(known.find(version, user=action.user, short=False) is None for version in action.target):
        raise Refused(f"{action.label} needs a person's yes, and what it is about was taken back; nothing was changed")
    return ask(known, action, why, draw)


def needs_approval(review: Review) -> NeedsApproval:
    action = review.action
    return NeedsApproval(
        f"{action.label} needs a person's yes: {review.why}; it waits: `tallystick review {review.id}`", review.id
    )


def quarantine(known: State, policy: Policy, drafts: Sequence[Draft], by: str, draw: Draw) -> list[Draft]:
    """A question for each version in `drafts` that must stay out of recall until a person says yes.

    Where a rule of the policy lets such statements be heard, the version says so instead.
    """
    asked = []
    for draft in drafts:
        belief = draft.body.get("belief")
        if belief and belief.get("trust", "human") in policy.quarantined and not _takes_over(known, draft):
            trust = belief["trust"]
            if _is_heard(policy, belief, by):
                draft.body["approved"] = BY_POLICY
                continue
            action = Action(
                kind="trust", user=belief.get("user", OWNER), path=belief.get("path", ""), target=(belief["id"],),
                by=by, trust=trust,
            )  # fmt: skip
            why = f"what {trust} states is kept out of recall until a person says yes"
            asked.append(question(known, action, why, draw))
    return asked


def _is_heard(policy: Policy, belief: dict[str, object], by: str) -> bool:
    first = policy.first("remember", str(belief["trust"]), by, subject_of(belief, ""))
    return first is not None and first[1].then == ALLOW


def _takes_over(known: State, draft: Draft) -> bool:
    """Whether a version takes over the yes of those it replaces, or was made from on another path."""
    body = draft.body
    replaced = body.get("merged") or body.get("replaces") or body.get("over") or ()
    return bool(replaced) and all(known.reviews.is_approved(version) for version in replaced)


def question(known: State, action: Action, why: str, draw: Draw) -> Draft:
    while (name := f"r-{draw()}") in known.reviews:
        continue
    body = {"review": name, "user": action.user, "action": action.to_body(), "digest": action.digest, "why": why}
    return Draft(REVIEW_ASK, body)
