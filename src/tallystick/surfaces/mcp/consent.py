"""A person's approval through the protocol: the question, and the result of the reply.

The question shows the whole action, or is not asked at all: nobody approves what they did not see. The approval is
given through a surface of its own (`elicit:…`), with a person's trust, for exactly the action that was shown; whether
that surface counts is decided by the policy. A rejection is recorded too. Any other reply (cancelled, unreadable, none)
changes nothing, and the review stays pending for `tallystick review`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

from tallystick.records.belief import Belief
from tallystick.records.errors import Refused
from tallystick.records.review import Applied, Review
from tallystick.surfaces.mcp.format import fenced, label
from tallystick.surfaces.server.worker import Person

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

KEY = "yes"  # names the question and its reply
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "enum": ["yes", "no"], "title": "Allow this?", "description": "yes or no"},
    },
    "required": ["answer"],
}
LONGEST = 6000  # characters of a question that a person can be expected to read in a dialog

_ACTIONS = {
    "remember": "remember", "revise": "replace", "forget": "forget", "invalidate": "invalidate as wrong",
    "erase": "erase the words of", "trust": "trust", "activate": "activate again", "reinforce": "count as helpful",
    "promote": "promote to a belief", "merge": "merge", "page.compact": "compact the page with",
    "path.merge": "merge the path", "path.abandon": "abandon the path", "path.compact": "compact the path",
    "path.reopen": "reopen the path",
}  # fmt: skip
_REASON = "answered in a client's dialog"
_VISIBLE = ("text", "user", "trust", "keep_secrets", "seen")  # fields that need no line of their own
_DEFAULTS = {each.name: each.default for each in fields(Belief) if each.default is not MISSING}


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a person. `review` and `digest` name the exact action that is approved."""

    review: str
    digest: str
    message: str

    def state(self) -> str:
        """The state that comes back with the reply. It is sealed on its way."""
        return json.dumps([self.review, self.digest])


def read_state(state: str) -> tuple[str, str]:
    review, digest = json.loads(state)
    return str(review), str(digest)


def question(person: Person, name: str) -> Question | None:
    """The question about a review, as the person may read it.

    None, if the policy would not count the reply, or if it is too long to show.
    """
    with person.opens() as memory:
        if not memory.policy.answers("human", person.door):
            return None
        review = memory.reviews.get(name)
        message = "\n".join(_message(memory, review))
    return Question(review.id, review.digest, message) if len(message) <= LONGEST else None


def _message(memory: Memory, review: Review) -> list[str]:
    action = review.action
    found = [f"An agent ({label(by=action.by, trust=action.trust)}) asks to {_ACTIONS[action.cell]}:"]
    if action.noun == "path":
        found += [*fenced(action.path), "which has these beliefs:" if action.target else ""]
    for version in action.target:
        belief = memory.get(version, path=action.path)
        found += fenced(belief.text if belief else "(gone)")
    if action.changes.get("text"):
        found += ["with the new text:" if action.target else "", *fenced(str(action.changes["text"]))]
    if rest := {name: value for name, value in action.changes.items() if not _is_usual(name, value)}:
        found += ["with:", *fenced(json.dumps(rest, ensure_ascii=False, default=str))]
    if action.reason:
        found += ["Its reason:", *fenced(action.reason)]
    return [line for line in found if line] + [f"You are asked because {review.why}. Lines behind a bar are data."]


def _is_usual(name: str, value: object) -> bool:
    """A field that need not be shown: it is visible already, or has its default."""
    return name in _VISIBLE or value in ("", [], (), {}, None) or value == _DEFAULTS.get(name, MISSING)


def is_approval(action: str, content: Mapping[str, Any] | None) -> bool | None:
    """The answer in a reply: True, False, or None if there is none."""
    if action == "decline":
        return False
    answer = (content or {}).get("answer") if action == "accept" else None
    return {"yes": True, "no": False}.get(answer) if isinstance(answer, str) else None


def approve(memory: Memory, person: Person, name: str, digest: str) -> Applied:
    """Record the person's approval, and carry the action out: one group of events, or none."""
    review = memory.reviews.get(name)
    before = memory.ledger.size
    with person.opens() as theirs:
        theirs.reviews.approve(review.id, digest=digest, reason=_REASON)
    done = [event for event in memory.log(before) if event.by == person.door]
    return Applied(review.action, tuple(done), review.id)


def reject(person: Person, name: str) -> None:
    """Record the person's rejection. One that does not count, or comes too late, changes nothing."""
    with person.opens() as theirs, suppress(Refused):
        theirs.reviews.reject(name, reason=_REASON)
