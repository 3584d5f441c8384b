"""Actions at the gate, and answers to reviews.

An action is first decided as if it were allowed, so that what cannot be done is refused and never put to a person.
Then the gate judges it. An action that needs approval is one event, the request, and nothing else.

An approval is written together with what it allows, as one group: neither is ever on disk without the other. An erasure
is the exception, because it is more than events. Its approval is on disk first; a crash before the erasure leaves a
review that is approved and not done, and approving it again goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tallystick.decide import beliefs as decide
from tallystick.decide.actions import as_stated, carried_out
from tallystick.decide.beliefs import Draw
from tallystick.decide.gate import gate, refuse_claims
from tallystick.decide.review_request import ask, quarantine, question, refuse
from tallystick.decide.subjects import subjects
from tallystick.records.belief import OWNER
from tallystick.records.errors import Moved, Refused, Why
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_ANSWER, REVIEW_GRANT
from tallystick.records.policy import BELIEF, QUARANTINE, REFUSE, REVIEW, Policy, lower
from tallystick.records.review import Action, Approval, Review
from tallystick.state.state import State

Carry = Callable[[Action, Draw], list[Draft]]  # the drafts that carry out an approved action; else Moved or Refused

KEPT_OUT = "tool"  # the trust of what a rule quarantines, unless it has less already


def judged(known: State, policy: Policy, action: Action, drafts: list[Draft], draw: Draw, now: str = "") -> list[Draft]:
    """The drafts that may be recorded to carry out an action; or the request for approval instead."""
    refuse_claims(action)
    verdict = gate(policy, action, subjects(known, action, drafts, now))
    if verdict.kind == REFUSE:
        refuse(known, action, "refused", message=verdict.why)
    if verdict.kind == REVIEW:
        return ask(known, action, verdict.why, draw)
    drafts = as_stated(drafts, action)
    if verdict.kind == QUARANTINE:
        for belief in (draft.body["belief"] for draft in drafts if "belief" in draft.body):
            belief["trust"] = lower((belief.get("trust", "human"), KEPT_OUT))
    return drafts + quarantine(known, policy, drafts, action.by, draw)


def approve(
    known: State, policy: Policy, name: str, digest: str, draw: Draw, *, user: str = OWNER, reason: str = "",
    carry: Carry | None = None,
) -> list[Draft]:  # fmt: skip
    """The approval and what it allows; or, if that has changed since, that the review is stale.

    `digest` is that of the action that was shown to the person. Empty for an erasure that is approved already.
    """
    review = _open(known, name, user)
    if digest != review.digest:
        refuse(known, review.action, "other", review.id)
    return _allowed(known, policy, review, draw, reason, carry=carry)


def _allowed(
    known: State, policy: Policy, review: Review, draw: Draw, reason: str = "", marker: str = "", *,
    carry: Carry | None = None,
) -> list[Draft]:  # fmt: skip
    """The answer and what it allows, unless that has changed since, or the policy refuses it by now."""
    action = review.action
    try:
        drafts = carry(action, draw) if carry else carried_out(known, action, draw)
    except (Moved, Refused) as error:
        if marker:
            refuse(known, action, "stale", review.id)
        return [_answer(review, "stale", str(error))]
    if review.is_unfinished:
        return []
    if gate(policy, action, subjects(known, action, drafts)).kind == REFUSE:
        refuse(known, action, "refused", review.id)
    first, rest = (drafts[:1], drafts[1:]) if action.noun == BELIEF else ([], drafts)
    for draft in first:  # what an invalidation weakens was shown, but its words were not approved
        draft.body["approved"] = review.id
        if marker:
            draft.body["marker"] = marker
    asked = quarantine(known, policy, rest, action.by, draw)
    return [_answer(review, "approve", reason, marker), *drafts, *asked]


def grant(
    known: State, name: str, digest: str, *, marker: str, expires: str, now: str, user: str = OWNER
) -> list[Draft]:  # fmt: skip
    """The approval alone, to be used until `expires`. It names the review; a digest of words would outlive them."""
    review = _open(known, name, user, may_be_approved=False)
    if digest != review.digest:
        refuse(known, review.action, "other", review.id)
    if expires <= now:
        raise Refused(f"an approval that expires at {expires} has expired already; give it a later time", "time")
    return [Draft(REVIEW_GRANT, {"review": review.id, "user": user, "marker": marker, "expires": expires})]


def apply(
    known: State, policy: Policy, action: Action, approval: Approval, draw: Draw, now: str, *,
    carry: Carry | None = None,
) -> list[Draft]:  # fmt: skip
    """The drafts that an earlier approval allows, once. NotApproved, if it is not valid."""
    review = known.reviews.find(approval.review)
    if review is None or review.action.user != action.user:
        refuse(known, action, "forged")
    if why := why_not(policy, review, action, approval, now):
        refuse(known, action, why, review.id)
    return _allowed(known, policy, review, draw, marker=approval.marker, carry=carry)


def why_not(policy: Policy, review: Review, action: Action, approval: Approval, now: str) -> Why | None:
    """The code of the reason why an approval is not valid for an action; None, if it is. Only the ledger counts."""
    if not approval.covers(action) or review.digest != action.digest:
        return "other"
    if not approval.marker or approval.marker != review.marker:
        return "forged"
    if review.status == "waiting" and approval != review.approval:
        return "forged"
    if review.status == "approved" and not review.is_unfinished:
        return "used"
    if not review.is_open:
        return "closed"
    if not policy.names(review.granted_by):
        return "stranger"
    return "expired" if not review.is_unfinished and review.has_ended(now) else None


def reject(known: State, name: str, *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """The rejection. A quarantined belief is hidden, and stays in history."""
    review = _open(known, name, user, may_be_approved=False)
    drafts = [_answer(review, "reject", reason)]
    if review.action.kind == "trust":
        drafts += decide.put_away(known, review.action.target[0], reason=reason, user=user)
    return drafts


def withdraw(known: State, name: str, by: str, *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """The withdrawal of one's own request. Quarantined beliefs stay so until a person answers."""
    review = _open(known, name, user)
    if review.action.by != by:
        raise Refused(f"{review.id} was requested by another; run `tallystick review reject`", "permission")
    if review.action.kind == "trust" or review.is_unfinished:
        raise Refused(f"{review.id} cannot be withdrawn; a person answers it with `tallystick review`", "permission")
    return [_answer(review, "stale", reason or "withdrawn by the requester")]


def trusted(known: State, action: Action, draw: Draw) -> list[Draft]:
    """The approval of a quarantined belief by somebody who can approve: of its pending review, or of a new one."""
    version = action.target[0]
    if known.reviews.is_approved(version):
        return []
    waiting = known.reviews.find(known.reviews.in_question(version))
    asked: Iterable[Draft] = () if waiting else [question(known, action, "requested and approved at once", draw)]
    name = waiting.id if waiting else next(draft.body["review"] for draft in asked)
    return [*asked, _answer(waiting or Review(id=name, action=action, why=""), "approve", action.reason)]


def _open(known: State, name: str, user: str, *, may_be_approved: bool = True) -> Review:
    review = known.reviews.get(name, user=user)
    if not review.is_open:
        raise Refused(f"{review.id} is {review.status} already; a review is answered once", "state")
    if review.is_unfinished and not may_be_approved:
        raise Refused(f"{review.id} is approved; approve it again to finish it", "state")
    return review


def _answer(review: Review, answer: str, reason: str, marker: str = "") -> Draft:
    """The answer. It names the review; a digest of words would outlive them."""
    body = {"review": review.id, "user": review.action.user, "answer": answer, "reason": reason, "marker": marker}
    return Draft(REVIEW_ANSWER, {name: value for name, value in body.items() if value})
