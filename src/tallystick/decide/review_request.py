"""Asking a person, quarantine, and refusing: what is recorded instead of a requested action, or beside it.

A request for approval is one event and nothing else. A refusal is one event too, with the kind, the known versions, the
review and a code for the reason: no text of the memory or of the request. The same attempt of the same source within an
hour is recorded once, and no source fills the ledger with others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tallystick.decide.beliefs import Draw
from tallystick.decide.subjects import subject_of
from tallystick.records.belief import OWNER
from tallystick.records.errors import NeedsApproval, NotApproved, Refused, Why
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_ASK, REVIEW_REFUSE, TRUST_CORROBORATE
from tallystick.records.policy import ALLOW, BELIEF, Policy
from tallystick.records.review import Action, Review
from tallystick.state.reviews import BY_POLICY, refusal_in
from tallystick.state.state import State

MOST = 500  # refusals of one source that are recorded within an hour
_VERSIONS = 50  # that one of them names

REASONS: dict[Why, str] = {
    "refused": "the policy does not allow to {label}",
    "stale": "{label} is not what was approved any more: it has changed since; ask again",
    "other": "this approval is for another action than {label}; check it",
    "used": "the approval of {label} was used already; ask again",
    "closed": "the review of {label} is closed; ask again",
    "forged": "there is no such approval of {label} on record; run `tallystick review` to list pending reviews",
    "stranger": "{label} was approved by somebody whom the policy does not name; ask again",
    "expired": "the approval of {label} has expired; ask again",
    "name": "{label} was requested in somebody else's name, or with more trust than this program has",
    "approver": "only a person whom the policy names can answer a review, and this program is not one",
}


def ask(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Request approval of an action. If that is pending already: NeedsApproval, and nothing is written."""
    waiting = known.reviews.asked(action)
    if waiting is None and action.kind == "trust":
        waiting = known.reviews.find(known.reviews.in_question(action.target[0]))
    if waiting:
        raise needs_approval(waiting)
    return [question(known, action, why, draw)]


def ask_again(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Request approval after a rolled back group. Refused, if it was about words of that same group."""
    if any(known.find(version, user=action.user, short=False) is None for version in action.target):
        raise Refused(f"{action.label} needs approval, and its subject was rolled back; nothing was changed", "state")
    return ask(known, action, why, draw)


def needs_approval(review: Review) -> NeedsApproval:
    label = review.action.label
    return NeedsApproval(f"{label} needs approval: {review.why}; run `tallystick review {review.id}`", review.id)


def question(known: State, action: Action, why: str, draw: Draw) -> Draft:
    while (name := f"r-{draw()}") in known.reviews:
        continue
    body = {"review": name, "user": action.user, "action": action.to_body(), "digest": action.digest, "why": why}
    return Draft(REVIEW_ASK, body)


def quarantine(known: State, policy: Policy, drafts: Sequence[Draft], by: str, draw: Draw) -> list[Draft]:
    """A request for approval for each version in `drafts` that is quarantined.

    A statement of a tool or a web page is recorded, and not recalled until a person approves it. Which trust is
    quarantined is the policy's to say (`records/policy`); where a rule of it allows such statements, the version is
    marked as approved instead.
    """
    asked = []
    confirmed = {name for draft in drafts if draft.op == TRUST_CORROBORATE for name in draft.body["ids"]}
    for draft in drafts:
        body, belief = draft.body, draft.body.get("belief")
        replaced = body.get("merged") or body.get("replaces") or body.get("over") or ()
        is_approved = bool(replaced) and all(known.reviews.is_approved(version) for version in replaced)
        is_approved = "approved" in body or (is_approved and "quarantined" not in body)
        if not belief or belief.get("trust", "human") not in policy.quarantined or is_approved:
            continue
        if belief["id"] in confirmed:
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


def refuse(known: State, action: Action, why: Why, review: str = "", message: str = "") -> NoReturn:
    """Refuse an action, with the body to record."""
    versions = [name for name in action.target[:_VERSIONS] if known.owner(name) == action.user]
    body: dict[str, object] = {
        "user": action.user, "kind": action.kind, "target": versions, "review": review, "why": why
    }  # fmt: skip
    if action.noun not in (BELIEF, "page"):
        body["noun"] = action.noun
    raise NotApproved(message or REASONS[why].format(label=action.label), why, body)


def recorded(known: State, attempt: Mapping[str, Any], by: str, now: str) -> list[Draft]:
    """The event of a refused attempt; none, if that is on record already, or enough of its kind."""
    reviews, refusal = known.reviews, refusal_in(by, attempt)
    if reviews.was_refused(refusal, now) or reviews.refusals(by, now) >= MOST:
        return []
    return [Draft(REVIEW_REFUSE, dict(attempt))]
