"""A review: a question put to a person, and the answer.

A review is about exactly one action. The action's digest covers everything that was shown: what would be done, to which
versions, with which words, who asks. A yes to one action is no yes to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

import orjson

from keepsake.records.belief import OWNER, TRUST
from keepsake.records.errors import Refused
from keepsake.records.strict_json import check

ACTIONS = ("remember", "revise", "forget", "invalidate", "erase", "trust")
STATUSES = ("waiting", "approved", "rejected", "stale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What somebody wants done. `trust` is the asker's; an action of the kind `trust` lets a belief be recalled."""

    kind: str
    user: str = OWNER
    path: str = ""
    target: tuple[str, ...] = ()  # the versions it acts on, as they were when it was asked
    changes: dict[str, Any] = field(default_factory=dict)  # what would be said
    reason: str = ""
    by: str = ""  # the asker's door and source
    trust: str = "human"
    idempotency_key: str = ""
    merged: tuple[str, ...] = ()  # the versions of another path whose words it has

    def __post_init__(self) -> None:
        if self.kind not in ACTIONS:
            raise Refused(f"action {self.kind!r} is not known; it is one of {', '.join(ACTIONS)}")
        if self.trust not in TRUST:
            raise Refused(f"trust {self.trust!r} is not known; it is one of {', '.join(TRUST)}")
        if self.kind != "remember" and not self.target:
            raise Refused(f"an action to {self.kind} names what it acts on")
        try:
            check(self.to_body())
        except ValueError as error:
            raise Refused(f"cannot be written: {error}") from None

    @property
    def digest(self) -> str:
        """What was shown to the person: equal for equal actions, and for no others."""
        return sha256(orjson.dumps(self.to_body(), option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def label(self) -> str:
        """The action in two words: what is done, and to which version."""
        verb = "revise" if self.kind == "remember" and self.target else self.kind
        more = f" and {len(self.target) - 1} more" if len(self.target) > 1 else ""
        return " ".join(filter(None, (verb, self.target[0][-6:] if self.target else ""))) + more

    def to_body(self) -> dict[str, Any]:
        """What the ledger records: the fields that say something."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) or f.name == "kind"}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Action:
        """The action that an event recorded. Fields of a newer keepsake are passed over."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, **{name: tuple(known.get(name, ())) for name in ("target", "merged")}})

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {
            "target": list(self.target), "merged": list(self.merged)
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's yes to exactly one action."""

    review: str
    action_digest: str  # what was shown to the person, not what is applied later
    by: str
    at: str

    def covers(self, action: Action) -> bool:
        return self.action_digest == action.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One question, and what became of it."""

    id: str
    action: Action
    why: str  # why a person is asked
    asked_at: str = ""
    seq: int = -1  # the event that asked
    status: str = "waiting"
    answered_by: str = ""
    answered_at: str = ""
    reason: str = ""  # of the answer

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

    @property
    def approval(self) -> Approval | None:
        """The yes, if there is one."""
        if self.status != "approved":
            return None
        return Approval(self.id, self.digest, self.answered_by, self.answered_at)

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**plain, "action": self.action.to_dict(), "digest": self.digest}

    def to_body(self) -> dict[str, Any]:
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "action": self.action.to_body()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Review:
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        return cls(**{**known, "action": Action.from_body(known["action"])})

    def __repr__(self) -> str:
        return f"<Review {self.id} {self.action.label} by {self.action.trust} {self.status}>"
