"""Which statements are quarantined: kept out of recall until a person approves, with a question for each.

What is quarantined is recorded, and holds up nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.decide.beliefs import Draw
from tallystick.decide.review_request import question
from tallystick.decide.subjects import subject_of
from tallystick.records.belief import OWNER
from tallystick.records.event import Draft
from tallystick.records.policy import ALLOW, Policy
from tallystick.records.review import Action
from tallystick.state.reviews import BY_POLICY
from tallystick.state.state import State


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
