"""A review: a question put to a person, and the answer.

A review is about exactly one action. The action's digest covers everything that was shown: what would be done, to which
versions, with which words, who asks. A yes to one action is no yes to another.

A yes may be given before it is carried out: then it has a marker, an end, and is used once. A marker is a name that was
drawn; whether it counts is known to the ledger alone, so nothing is gained by making one up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

import orjson

from tallystick.records.belief import OWNER, TRUST
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, TallystickError
from tallystick.records.event import Event
from tallystick.records.json import check
from tallystick.records.policy import ACTIONS, BELIEF, cell_of, kind_of
from tallystick.records.times import earlier

OUTCOMES = {"approve": "approved", "reject": "rejected", "stale": "stale"}

STATUSES = ("waiting", "approved", "rejected", "stale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Displayable):
    """What somebody wants done. `trust` is the asker's; an action of the kind `trust` lets a belief be recalled.

    `kind` may be said in another word for the same (archive for forget); it is then kept in `called`, to be shown.
    `noun` is what it is done to: a belief, unless it says otherwise; `compact` alone means a page. A path is named by
    `path`, and its `target` is what was said on it.
    """

    kind: str
    noun: str = ""
    user: str = OWNER
    path: str = ""
    target: tuple[str, ...] = ()  # the versions it acts on, as they were when it was asked
    changes: dict[str, Any] = field(default_factory=dict)  # what would be said
    reason: str = ""
    by: str = ""  # the asker's door and source
    trust: str = "human"
    idempotency_key: str = ""
    called: str = ""  # what the asker calls it, if that is another word than its kind
    merged: tuple[str, ...] = ()  # the versions of another path whose words it has

    def __post_init__(self) -> None:
        noun = self.noun or _noun_of(self.kind)
        object.__setattr__(self, "noun", noun)
        kind = kind_of(self.kind) if noun == BELIEF else self.kind
        cell_of(noun, kind)
        if kind != self.kind:
            object.__setattr__(self, "called", self.kind)
            object.__setattr__(self, "kind", kind)
        elif self.called and kind_of(self.called) != kind:
            raise Refused(f"an action to {kind} is not called {self.called!r}", "mismatch")
        if self.trust not in TRUST:
            raise Refused(f"trust {self.trust!r} is not known; it is one of {', '.join(TRUST)}")
        if noun == "path" and not self.path:
            raise Refused(f"an action to {self.kind} a path names it", "required")
        if cell_of(noun, kind) in _NAMING and not self.target:
            raise Refused(f"an action to {self.kind} names what it acts on", "required")
        try:
            check(self.to_body())
        except ValueError as error:
            raise Refused(f"cannot be written: {error}", "json") from None

    @property
    def is_plain(self) -> bool:
        """Whether it is done to what its kind means by itself."""
        return self.noun == _noun_of(self.kind)

    @property
    def digest(self) -> str:
        """What was shown to the person: equal for equal actions, whatever they are called, and for no others."""
        shown = {name: value for name, value in self.to_body().items() if name != "called"}
        return sha256(orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def verb(self) -> str:
        """What it comes to: what is said under a name that is known is a revision."""
        return "revise" if self.kind == "remember" and self.target else self.kind

    @property
    def cell(self) -> str:
        """The row of the policy's table that it falls under."""
        return cell_of(self.noun, self.verb)

    @property
    def label(self) -> str:
        """The action in two words: what is done, and to which version."""
        verb = self.called or self.verb
        if self.noun not in (BELIEF, "page"):
            return " ".join(filter(None, (verb, self.noun, repr(self.path) if self.path else "")))
        more = f" and {len(self.target) - 1} more" if len(self.target) > 1 else ""
        return " ".join(filter(None, (verb, self.target[0][-6:] if self.target else ""))) + more

    def to_body(self) -> dict[str, Any]:
        """What the ledger records: the fields that say something."""
        told = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) or f.name == "kind"}
        if self.is_plain:
            del told["noun"]
        return told

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Action:
        """The action that an event recorded. Fields of a newer tallystick are passed over."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, **{name: tuple(known.get(name, ())) for name in ("target", "merged")}})


_NAMING = frozenset({"page.compact", *(kind for kind in ACTIONS if kind != "remember")})  # what names versions


def _noun_of(kind: str) -> str:
    """What is meant where only the verb is said."""
    return "page" if kind == "compact" else BELIEF


@dataclass(frozen=True, slots=True)
class Approval(Displayable):
    """A person's yes to exactly one action. One that is still to be carried out has a marker, and an end."""

    review: str
    action_digest: str  # what was shown to the person, not what is applied later
    by: str
    at: str
    expires: str = ""
    marker: str = ""

    def __post_init__(self) -> None:
        for each in fields(self):
            if type(getattr(self, each.name)) is not str:
                raise Refused(f"{each.name} of an approval is text, not {type(getattr(self, each.name)).__name__}")

    def covers(self, action: Action) -> bool:
        return self.action_digest == action.digest

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Approval:
        """The approval that `to_dict` gave. Refused, with the reason."""
        known = {each.name for each in fields(cls)}
        given: object = told
        if not isinstance(given, Mapping) or set(given) != known:
            raise Refused(f"no approval: it is an object with {', '.join(sorted(known))}")
        return cls(**told)


@dataclass(frozen=True, slots=True)
class Applied(Displayable):
    """An action that was carried out: the events that say so, and the review whose yes it had, if it needed one."""

    derived = ("ids",)

    action: Action
    events: tuple[Event, ...] = ()  # none, if it was so already
    review: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The versions that were stated by it."""
        bodies = (event.body for event in self.events if event.body)
        return tuple(body["belief"]["id"] for body in bodies if "belief" in body)


@dataclass(frozen=True, slots=True)
class Answered(Displayable):
    """What came of answering one of several reviews: the review as it is now, or why it could not be answered."""

    id: str
    review: Review | None = None
    error: TallystickError | None = None

    @property
    def is_done(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        review = self.review.to_dict() if self.review else None
        return {"id": self.id, "review": review, "error": str(self.error) if self.error else ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Displayable):
    """One question, and what became of it."""

    derived = ("digest",)

    id: str
    action: Action
    why: str  # why a person is asked
    asked_at: str = ""
    seq: int = -1  # the event that asked
    status: str = "waiting"
    answered_by: str = ""
    answered_at: str = ""
    reason: str = ""  # of the answer
    granted_by: str = ""  # who said yes, if it is still to be carried out
    granted_at: str = ""
    expires: str = ""  # when that yes ends
    marker: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise Refused(f"status {self.status!r} is not known; it is one of {', '.join(STATUSES)}")

    @property
    def digest(self) -> str:
        return self.action.digest

    @property
    def is_unfinished(self) -> bool:
        """An erasure that has its yes and was cut short. One that is done takes its review along."""
        return self.status == "approved" and self.action.kind == "erase"

    @property
    def is_open(self) -> bool:
        """Whether a person has something to do here."""
        return self.status == "waiting" or self.is_unfinished

    def is_granted(self, now: str) -> bool:
        """Whether it has a yes that is still to be carried out."""
        return self.status == "waiting" and bool(self.marker) and not self.has_ended(now)

    def has_ended(self, now: str) -> bool:
        """Whether the approval that was granted has ended. One that a clock far ahead of this one gave never counts."""
        return not earlier(self.granted_at) <= now < self.expires

    @property
    def approval(self) -> Approval | None:
        """The yes, if there is one; it may have ended since."""
        if self.status == "waiting" and self.marker:
            return Approval(self.id, self.digest, self.granted_by, self.granted_at, self.expires, self.marker)
        if self.status != "approved":
            return None
        return Approval(self.id, self.digest, self.answered_by, self.answered_at, self.expires, self.marker)

    def to_body(self) -> dict[str, Any]:
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "action": self.action.to_body()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Review:
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, "action": Action.from_body(known["action"])})

    def __repr__(self) -> str:
        return f"<Review {self.id} {self.action.label} by {self.action.trust} {self.status}>"
