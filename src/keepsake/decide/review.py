"""What becomes of an action at the gate, and of a review when it is answered.

An action is first decided as if it were allowed, so that what cannot be done is refused and never put to a person.
Then the gate judges it. A held action is one event, the question, and nothing else.

A yes is written together with what it allows, as one group: there is no moment at which one is there without the other.
An erasure is the exception, because it is more than events. Its yes is on disk first; a crash before the erasure leaves
a review that is approved and not done, and approving it again goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keepsake.decide import belief as decide
from keepsake.decide.belief import Draw
from keepsake.decide.gate import gate
from keepsake.records.belief import OWNER, thawed
from keepsake.records.beliefs import Held
from keepsake.records.book import Book
from keepsake.records.errors import Moved, NeedsApproval, Refused
from keepsake.records.event import Draft
from keepsake.records.policy import REFUSE, REVIEW, Policy, is_above
from keepsake.records.review import Action, Review
from keepsake.records.reviews import ANSWER, ASK

# -- asking ------------------------------------------------------------------------------------------------------------


def judged(known: Book, policy: Policy, action: Action, drafts: list[Draft], draw: Draw) -> list[Draft]:
    """What may be recorded of `drafts`, which would carry out `action`; or the question to ask instead."""
    verdict = gate(policy, action, [standing(known, version, action.user) for version in action.target])
    if verdict.kind == REFUSE:
        raise Refused(verdict.why)
    if verdict.kind == REVIEW:
        return ask(known, action, verdict.why, draw)
    drafts = as_stated(drafts, action)
    return drafts + quarantine(known, policy, drafts, action.by, draw)


def ask(known: Book, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Put an action to a person. One that waits already is not asked twice: NeedsApproval, and nothing is written."""
    waiting = known.reviews.asked(action)
    if waiting:
        raise needs_approval(waiting)
    return [_question(known, action, why, draw)]


def ask_anew(known: Book, action: Action, why: str, draw: Draw) -> list[Draft]:
    """Ask what was held in a group that was then taken back. Refused, if it was about words of that same group."""
    if any(known.find(version, user=action.user, short=False) is None for version in action.target):
        raise Refused(f"{action.label} needs a person's yes, and what it is about was taken back; nothing was changed")
    return ask(known, action, why, draw)


def needs_approval(review: Review) -> NeedsApproval:
    action = review.action
    return NeedsApproval(
        f"{action.label} needs a person's yes: {review.why}; it waits: `keepsake review {review.id}`", review.id
    )


def quarantine(known: Book, policy: Policy, drafts: Sequence[Draft], by: str, draw: Draw) -> list[Draft]:
    """A question for each version in `drafts` that must stay out of recall until a person says yes."""
    asked = []
    for draft in drafts:
        belief = draft.body.get("belief")
        if belief and belief.get("trust", "human") in policy.quarantined and not _takes_over(known, draft):
            trust = belief["trust"]
            action = Action(
                kind="trust", user=belief.get("user", OWNER), path=belief.get("path", ""), target=(belief["id"],),
                by=by, trust=trust,
            )  # fmt: skip
            why = f"what {trust} states is kept out of recall until a person says yes"
            asked.append(_question(known, action, why, draw))
    return asked


def _takes_over(known: Book, draft: Draft) -> bool:
    """Whether a version takes over the yes of those it replaces, or was made from on another path."""
    body = draft.body
    replaced = body.get("merged") or body.get("replaces") or body.get("over") or ()
    return bool(replaced) and all(known.reviews.is_approved(version) for version in replaced)


def _question(known: Book, action: Action, why: str, draw: Draw) -> Draft:
    while (name := f"r-{draw()}") in known.reviews:
        continue
    body = {"review": name, "user": action.user, "action": action.to_body(), "digest": action.digest, "why": why}
    return Draft(ASK, body)


def targets(drafts: Iterable[Draft]) -> tuple[str, ...]:
    """The versions that drafts change, or hide on a branch."""
    found: list[str] = []
    for draft in drafts:
        replaced = draft.body.get("replaces") or draft.body.get("over")
        found += replaced or ([draft.body["id"]] if "id" in draft.body else [])
    return tuple(found)


def as_stated(drafts: list[Draft], action: Action) -> list[Draft]:
    """A revision is no more trusted than the one who made it, nor than what it revises, unless a trust was named."""
    if action.kind != "revise" or "trust" in action.changes:
        return drafts
    for draft in drafts:
        belief = draft.body["belief"]
        if is_above(belief.get("trust", "human"), action.trust):
            belief["trust"] = action.trust
    return drafts


def standing(known: Book, version: str, user: str) -> str:
    """How far a belief is trusted: as the one who stated it; as a person, if a person said yes to it."""
    if known.reviews.is_approved(version):
        return "human"
    held = known.version(version)
    return held.belief().trust if held and held.user == user else "human"


# -- answering ---------------------------------------------------------------------------------------------------------


def approve(
    known: Book, policy: Policy, name: str, digest: str, draw: Draw, *, user: str = OWNER, reason: str = ""
) -> list[Draft]:
    """The yes and what it allows; or, if that can no longer be done as it was asked, that the review is stale.

    `digest` is that of the action that was shown to the person. Nothing for an erasure that has its yes already.
    """
    review = _open(known, name, user)
    action = review.action
    if digest != action.digest:
        raise Refused(f"this is the approval of another action than {review.id} asks for; look at it again")
    try:
        drafts = carried_out(known, action, draw)
    except (Moved, Refused) as error:
        return [_answer(review, "stale", str(error))]
    if review.is_unfinished:
        return []
    for draft in drafts[:1]:  # what an invalidation weakens beside it was shown, but nobody said yes to its words
        draft.body["approved"] = review.id
    asked = quarantine(known, policy, drafts[1:], action.by, draw)
    return [_answer(review, "approve", reason), *drafts, *asked]


def reject(known: Book, name: str, *, user: str = OWNER, reason: str = "") -> list[Draft]:
    """The no. A belief that was not to be trusted goes out of sight, and stays in history."""
    review = _open(known, name, user)
    if review.is_unfinished:
        raise Refused(f"{review.id} is approved; approving it again finishes it")
    drafts = [_answer(review, "reject", reason)]
    if review.action.kind == "trust":
        drafts += decide.put_away(known, review.action.target[0], reason=reason, user=user)
    return drafts


def _open(known: Book, name: str, user: str) -> Review:
    review = known.reviews.get(name, user=user)
    if not review.is_open:
        raise Refused(f"{review.id} is {review.status} already; an answer is used once")
    return review


def carried_out(known: Book, action: Action, draw: Draw) -> list[Draft]:
    """The drafts that do what was asked, to exactly what it was asked for. Moved, if that is not the same any more."""
    found = [_unmoved(known, version, action) for version in action.target]
    if action.kind in ("trust", "erase"):
        return []
    drafts = as_stated(_drafts(known, action, draw), action)
    touched = {known.get(version, user=action.user, path=action.path).ref for version in targets(drafts)}
    if touched != {held.ref for held in found}:
        raise Moved("what it would change is not what it was asked for any more")
    return drafts


def _unmoved(known: Book, version: str, action: Action) -> Held:
    held = known.get(version, user=action.user, path=action.path)
    if known.read_before(version, held):
        raise Moved(f"{version} has been revised since")
    return held


def _drafts(known: Book, action: Action, draw: Draw) -> list[Draft]:
    name, changes = action.target[0], thawed(action.changes)
    where: dict[str, Any] = {"user": action.user, "path": action.path}
    if action.kind == "remember":
        return decide.put(known, changes, draw, idempotency_key=action.idempotency_key)
    if action.kind == "revise":
        return decide.revise(known, name, changes, draw, reason=action.reason, **where)
    if action.kind == "forget":
        return decide.forget(known, name, draw, reason=action.reason, **where)
    return decide.invalidate(known, name, draw, reason=action.reason, **where)


def _answer(review: Review, answer: str, reason: str) -> Draft:
    """The marker. It names the review, which is one action's; a digest of words would outlive them."""
    body = {"review": review.id, "user": review.action.user, "answer": answer}
    if reason:
        body["reason"] = reason
    return Draft(ANSWER, body)
