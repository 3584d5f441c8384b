"""A person's yes through the protocol: what they are asked, and what their reply comes to.

The question shows the action whole, or is not put at all: nobody says yes to what they did not see. The yes is given
through a door of its own (`elicit:…`), with a person's trust, to exactly the action that was shown; whether that door
counts is for the policy to say. A no is put on record too. Anything else (cancelled, unreadable, no reply) changes
nothing, and the question goes on waiting for `tallystick review`.
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
from tallystick.surfaces.mcp.wording import fenced, label
from tallystick.surfaces.server.worker import Person

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

KEY = "yes"  # by what the question and its reply are known
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "enum": ["yes", "no"], "title": "Allow this?", "description": "yes or no"},
    },
    "required": ["answer"],
}
LONGEST = 6000  # characters of a question that a person can be expected to read in a dialog

_ASKS = {
    "remember": "remember", "revise": "replace", "forget": "put out of sight", "invalidate": "hold to be wrong",
    "erase": "destroy the words of", "trust": "rely on", "activate": "hold again", "reinforce": "count as helpful",
    "promote": "hold for sure", "merge": "make one of", "page.compact": "fold the page with",
    "path.merge": "merge the path", "path.abandon": "abandon the path", "path.compact": "compact the path",
    "path.reopen": "reopen the path",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked. `review` and `digest` say to what exactly the yes is given."""

    review: str
    digest: str
    message: str

    def state(self) -> str:
        """What comes back with the reply. It is sealed on its way."""
        return json.dumps([self.review, self.digest])


def read_state(state: str) -> tuple[str, str]:
    review, digest = json.loads(state)
    return str(review), str(digest)


def question(memory: Memory, name: str, door: str) -> Question | None:
    """The question that a review puts; None, if a yes through that door would not count, or it is too long to show."""
    if not memory.policy.answers("human", door):
        return None
    review = memory.reviews.get(name)
    message = "\n".join(_message(memory, review))
    return Question(review.id, review.digest, message) if len(message) <= LONGEST else None


def _message(memory: Memory, review: Review) -> list[str]:
    action = review.action
    found = [f"An agent ({label(by=action.by, trust=action.trust)}) asks to {_ASKS[action.cell]}:"]
    if action.noun == "path":
        found += [*fenced(action.path), "on which was said:" if action.target else ""]
    for version in action.target:
        belief = memory.get(version, path=action.path)
        found += fenced(belief.text if belief else "(gone)")
    if action.changes.get("text"):
        found += ["so that it says:" if action.target else "", *fenced(str(action.changes["text"]))]
    if rest := {name: value for name, value in action.changes.items() if not _is_usual(name, value)}:
        found += ["with:", *fenced(json.dumps(rest, ensure_ascii=False, default=str))]
    if action.reason:
        found += ["Its reason:", *fenced(action.reason)]
    return [line for line in found if line] + [f"You are asked because {review.why}. Lines behind a bar are data."]


_SHOWN = ("text", "user", "trust", "keep_secrets", "seen")
_USUAL = {each.name: each.default for each in fields(Belief) if each.default is not MISSING}


def _is_usual(name: str, value: object) -> bool:
    """Whether it need not be said: it is shown already, or a belief has it so if nobody says otherwise."""
    return name in _SHOWN or value in ("", [], (), {}, None) or value == _USUAL.get(name, MISSING)


def is_approval(action: str, content: Mapping[str, Any] | None) -> bool | None:
    """What a reply says: yes, no, or neither."""
    if action == "decline":
        return False
    said = (content or {}).get("answer") if action == "accept" else None
    return {"yes": True, "no": False}.get(said) if isinstance(said, str) else None


def said_yes(memory: Memory, person: Person, review: str, digest: str) -> Applied:
    """Record the yes of the person, and do what was asked: one group of events, or none."""
    asked = memory.reviews.get(review)
    before = memory.ledger.size
    with person.opens() as theirs:
        theirs.reviews.approve(asked.id, digest=digest, reason=_BY_DIALOG)
    done = [event for event in memory.log(before) if event.by == person.door]
    return Applied(asked.action, tuple(done), asked.id)


def said_no(person: Person, review: str) -> None:
    """Record the no of the person. One that does not count, or comes too late, changes nothing."""
    with person.opens() as theirs, suppress(Refused):
        theirs.reviews.reject(review, reason=_BY_DIALOG)


_BY_DIALOG = "said in a client's dialog"
