"""A review: an action that needs a person, and the answer.

A review is about exactly one action. The action's digest covers everything that was shown: what would be done, to which
versions, with which words, who asks. The approval of one action is not the approval of another.

An approval may be given before it is applied: then it has a marker, expires, and is used once. A marker is a random
name; only the ledger knows whether it is valid, so inventing one is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused, TallystickError
from tallystick.records.event import Event
from tallystick.records.fields import TRUST, must_be_json, must_be_one_of, must_be_texts
from tallystick.records.policy import ACTIONS, BELIEF, CHANGE, GRAPH, cell_of, kind_of
from tallystick.records.times import earlier

OUTCOMES = {"approve": "approved", "reject": "rejected", "stale": "stale"}

STATUSES = ("waiting", "approved", "rejected", "stale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Displayable):
    """A requested change. `trust` is the requester's; an action of the kind `trust` lets a belief be recalled.

    `kind` may be a synonym (archive for forget); `called` keeps the synonym for display. `noun` is what it is done to:
    a belief by default, a page for `compact`. A path is named by `path`; its `target` is the beliefs on it.
    """

    kind: str
    noun: str = ""
    user: str = OWNER
    path: str = ""
    target: tuple[str, ...] = ()  # the versions it acts on, at the time of the request
    changes: dict[str, Any] = field(default_factory=dict)  # the fields that it would set
    reason: str = ""
    by: str = ""  # the requester's surface and source
    trust: str = "human"
    idempotency_key: str = ""
    called: str = ""  # the requester's synonym for its kind, if it used one
    merged: tuple[str, ...] = ()  # the versions of another path that it brings over

    def __post_init__(self) -> None:
        noun = self.noun or _noun_of(self.kind)
        object.__setattr__(self, "noun", noun)
        kind = kind_of(self.kind) if noun == BELIEF else self.kind
        cell_of(noun, kind)
        if kind != self.kind:
            object.__setattr__(self, "called", self.kind)
            object.__setattr__(self, "kind", kind)
        elif self.called and kind_of(self.called) != kind:
            raise Refused(f"{self.called!r} is not another word for {kind}", "mismatch")
        must_be_one_of("trust", self.trust, TRUST)
        if noun == "path" and not self.path:
            raise Refused(f"to {self.kind} a path, name the path", "required")
        if cell_of(noun, kind) in _NAMING and not self.target:
            raise Refused(f"to {self.kind}, name what to act on", "required")
        must_be_json(self.to_body())

    @property
    def is_plain(self) -> bool:
        """True if its noun is the one that its kind means by itself."""
        return self.noun == _noun_of(self.kind)

    @property
    def digest(self) -> str:
        """The digest of what was shown to the person: equal for equal actions only, whatever they are called."""
        body = {name: value for name, value in self.to_body().items() if name != "called"}
        return sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def verb(self) -> str:
        """Its effect: to remember something under a known key is a revision."""
        return "revise" if self.kind == "remember" and self.target else self.kind

    @property
    def cell(self) -> str:
        """The row of the policy's table that it falls under."""
        return cell_of(self.noun, self.verb)

    @property
    def label(self) -> str:
        """The action in two words: verb and version."""
        verb = self.called or self.verb
        if self.noun == CHANGE:
            return f"{verb} event {self.changes.get('seq', '')}"
        if self.noun == GRAPH:
            one, to, other = ("node", "into", "into") if self.kind == "merge" else ("entity", "to", "to")
            return f"{verb} {self.changes.get(one, '')!r} {to} {self.changes.get(other, '')!r}"
        if self.noun not in (BELIEF, "page"):
            return " ".join(filter(None, (verb, self.noun, repr(self.path) if self.path else "")))
        more = f" and {len(self.target) - 1} more" if len(self.target) > 1 else ""
        return " ".join(filter(None, (verb, self.target[0][-6:] if self.target else ""))) + more

    def to_body(self) -> dict[str, Any]:
        """The body that the ledger records, without defaults."""
        body = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) or f.name == "kind"}
        if self.is_plain:
            del body["noun"]
        return body

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Action:
        """The action that an event recorded. Fields of a newer tallystick are ignored."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, **{name: tuple(known.get(name, ())) for name in ("target", "merged")}})


_NAMING = frozenset({"page.compact", *(kind for kind in ACTIONS if kind != "remember")})  # the rows that need a target


def _noun_of(kind: str) -> str:
    """The noun that a verb means by itself."""
    return "page" if kind == "compact" else BELIEF


@dataclass(frozen=True, slots=True)
class Approval(Displayable):
    """A person's approval of exactly one action. One that is still to be applied has a marker, and expires."""

    review: str
    action_digest: str  # what was shown to the person, not what is applied later
    by: str
    at: str
    expires: str = ""
    marker: str = ""

    def __post_init__(self) -> None:
        must_be_texts(self, *(each.name for each in fields(self)))

    def covers(self, action: Action) -> bool:
        return self.action_digest == action.digest

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Approval:
        known = {each.name for each in fields(cls)}
        given: object = raw
        if not isinstance(given, Mapping) or set(given) != known:
            raise Refused(f"not an approval: it must be an object with {', '.join(sorted(known))}")
        return cls(**raw)


@dataclass(frozen=True, slots=True)
class Applied(Displayable):
    """An applied action: its events, and the review that approved it, if it needed one."""

    derived = ("ids",)

    action: Action
    events: tuple[Event, ...] = ()  # none, if nothing changed
    review: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        bodies = (event.body for event in self.events if event.body)
        return tuple(body["belief"]["id"] for body in bodies if "belief" in body)


@dataclass(frozen=True, slots=True)
class Answered(Displayable):
    """The result of answering one of several reviews: the review as it is now, or the error."""

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
    """One request for approval, and its answer."""

    derived = ("digest",)

    id: str
    action: Action
    why: str  # why it needs approval
    asked_at: str = ""
    seq: int = -1  # the event that requested it
    status: str = "waiting"
    answered_by: str = ""
    answered_at: str = ""
    reason: str = ""  # of the answer
    granted_by: str = ""  # who approved it, if it is still to be applied
    granted_at: str = ""
    expires: str = ""  # when that approval expires
    marker: str = ""

    def __post_init__(self) -> None:
        must_be_one_of("status", self.status, STATUSES)

    @property
    def digest(self) -> str:
        return self.action.digest

    @property
    def is_unfinished(self) -> bool:
        """True for an approved erasure that was interrupted. A finished one erases its review too."""
        return self.status == "approved" and self.action.kind == "erase"

    @property
    def is_open(self) -> bool:
        """True if a person has something to do here."""
        return self.status == "waiting" or self.is_unfinished

    def is_granted(self, now: str) -> bool:
        """True if it has an approval that is still to be applied."""
        return self.status == "waiting" and bool(self.marker) and not self.has_ended(now)

    def has_ended(self, now: str) -> bool:
        """True if the approval has expired. One from a clock far ahead of this one never counts."""
        return not earlier(self.granted_at) <= now < self.expires

    @property
    def approval(self) -> Approval | None:
        """The approval, if there is one; it may have expired since."""
        if self.status == "waiting" and self.marker:
            by, at = self.granted_by, self.granted_at
        elif self.status == "approved":
            by, at = self.answered_by, self.answered_at
        else:
            return None
        return Approval(self.id, self.digest, by, at, self.expires, self.marker)

    def to_body(self) -> dict[str, Any]:
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "action": self.action.to_body()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Review:
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, "action": Action.from_body(known["action"])})

    def __repr__(self) -> str:
        return f"<Review {self.id} {self.action.label} by {self.action.trust} {self.status}>"
