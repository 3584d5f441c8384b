"""Quarantine: a statement of a tool or a web page is recorded, and not recalled until a person approves it.

Which trust is quarantined is the policy's to say (`records/policy`); each such statement has a review.
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
    """A request for approval for each version in `drafts` that is quarantined.

    Where a rule of the policy allows such statements, the version is marked as approved instead.
    """
    asked = []
    for draft in drafts:
        body, belief = draft.body, draft.body.get("belief")
        replaced = body.get("merged") or body.get("replaces") or body.get("over") or ()
        is_approved = bool(replaced) and all(known.reviews.is_approved(version) for version in replaced)
        if not belief or belief.get("trust", "human") not in policy.quarantined or is_approved:
            continue
        trust = belief["trust"]
        first = policy.first("remember", trust, by, subject_of(belief, ""))
        if first is not None and first[1].then == ALLOW:
            body["approved"] = BY_POLICY
            continue
        where = {"user": belief.get("user", OWNER), "path": belief.get("path", "")}
        action = Action(kind="trust", target=(belief["id"],), by=by, trust=trust, **where)
        asked.append(question(known, action, f"what {trust} states is not recalled until a person approves it", draw))
    return asked
