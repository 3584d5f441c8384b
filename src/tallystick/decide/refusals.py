"""What is recorded of an attempt that was refused, and what its maker is told.

One event, with the kind, the versions that are known, the review and a word for the reason: no words of the memory, and
none of the attempt's own. The same attempt of the same source within an hour is recorded once, and no source fills the
ledger with others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from tallystick.records.errors import NotApproved, Why
from tallystick.records.event import Draft
from tallystick.records.operations import REVIEW_REFUSE
from tallystick.records.policy import BELIEF
from tallystick.records.review import Action
from tallystick.state.reviews import refusal_in
from tallystick.state.state import State

MOST = 500  # refusals of one source that are recorded within an hour
_VERSIONS = 50  # that one of them names

REASONS: dict[Why, str] = {
    "refused": "the policy does not let {label} happen",
    "stale": "{label} is not what was approved any more: it has changed since; ask again",
    "other": "this is the approval of another action than {label}; look at it again",
    "used": "the yes to {label} was used already; ask again",
    "closed": "the review of {label} is closed; ask again",
    "forged": "there is no such yes to {label} on record here; `tallystick review` shows what waits",
    "stranger": "the yes to {label} was given by one whom the policy does not name; ask again",
    "expired": "the yes to {label} has ended; ask again",
    "name": "{label} is asked for in somebody else's name, or with more trust than this program has",
    "approver": "a review is answered by a person whom the policy names, and this program is none",
}


def refuse(known: State, action: Action, why: Why, review: str = "", message: str = "") -> NoReturn:
    """Refuse an action, and say what is to be recorded of it."""
    versions = [name for name in action.target[:_VERSIONS] if known.owner(name) == action.user]
    body: dict[str, object] = {"user": action.user, "kind": action.kind, "target": versions, "review": review}
    body["why"] = why
    if action.noun not in (BELIEF, "page"):
        body["noun"] = action.noun
    raise NotApproved(message or REASONS[why].format(label=action.label), why, body)


def recorded(known: State, attempt: Mapping[str, Any], by: str, now: str) -> list[Draft]:
    """That an attempt was refused; nothing, if that is on record already, or enough of its kind."""
    reviews, refusal = known.reviews, refusal_in(by, attempt)
    if reviews.was_refused(refusal, now) or reviews.refusals(by, now) >= MOST:
        return []
    return [Draft(REVIEW_REFUSE, dict(attempt))]
