"""Actions on a graph of memories, the approvals that they need, and the policy that says which.

An approval is of exactly one action: the digest covers all that was shown, including who asks and what the records were
then. It is given by somebody, at some time, and expires. Its name follows from its content, so a copy of it is the same
approval; whoever applies actions makes sure that it is used once.

An approval is a marker, not a signature: it names who gave it. Who may write it is up to the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any
from unicodedata import category, normalize

from tallystick.records.display import Displayable
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.fields import moment, must_be_object, must_be_one_of, must_be_texts, names
from tallystick.records.graph.events import copied, digest_of, shown

KINDS = ("activate", "reinforce", "archive", "supersede", "merge", "retract", "promote", "compact", "end", "weaken")
GATED = frozenset(KINDS) - {"activate", "reinforce"}
A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleAction(Displayable):
    """A requested change.

    `changes` says how: `{"with": id}` to supersede, `{"into": id}` to merge, `{"phase": name}` to promote,
    `{"amount": number}` to reinforce, `{"weight": number}` to weaken, `{"valid_to": time}` to end,
    `{"summary_ids": [id]}` to compact the path that `subject_ids` names.
    """

    kind: str
    subject_ids: tuple[str, ...]
    by: str
    changes: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    path_id: str = ""
    seen: dict[str, str] = field(default_factory=dict)  # the digest of each record at the time of the request, if known

    def __post_init__(self) -> None:
        must_be_one_of("action", self.kind, KINDS)
        object.__setattr__(self, "subject_ids", names(self.subject_ids, "subject_ids"))
        if not self.subject_ids:
            raise Refused(f"an action to {self.kind} needs subject_ids", "required")
        if len(set(self.subject_ids)) < len(self.subject_ids):
            raise Refused(f"an action to {self.kind} must name each subject once", "duplicate")
        must_be_texts(self, "by", "reason", "path_id")
        if not self.by:
            raise Refused(f"an action to {self.kind} needs by: who asks", "required")
        for name in ("changes", "seen"):
            must_be_object(name, getattr(self, name))
            object.__setattr__(self, name, copied(getattr(self, name)))
        digest_of(self.to_dict())

    @property
    def digest(self) -> str:
        """The digest of what was shown to the person: equal for equal actions only."""
        return digest_of(self.to_dict())

    @property
    def label(self) -> str:
        """The action in two words: verb and subject."""
        more = f" and {len(self.subject_ids) - 1} more" if len(self.subject_ids) > 1 else ""
        return f"{self.kind} {shown(self.subject_ids[0])}{more}"

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LifecycleAction:
        _must_have(given, cls, "action")
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleApproval(Displayable):
    """A person's approval of exactly one action, until it expires."""

    action_digest: str  # what was shown to the person, not what is applied later
    by: str
    at: str
    expires: str

    def __post_init__(self) -> None:
        names((self.action_digest, self.by), "action_digest and by")
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "expires", moment(self.expires))
        if self.expires <= self.at:
            raise Refused(f"an approval of {self.at} cannot expire at {self.expires}", "time")
        digest_of(self.to_dict())

    @classmethod
    def of(cls, action: LifecycleAction, by: str, at: datetime, *, lasts: timedelta = A_DAY) -> LifecycleApproval:
        """The approval by `by` of an action as it is."""
        try:
            end = at + lasts
        except OverflowError:
            raise Refused(f"an approval cannot last {lasts}; give it a shorter time") from None
        return cls(action_digest=action.digest, by=by, at=moment(at), expires=moment(end))

    @property
    def marker(self) -> str:
        """Its name: the same for every copy of it."""
        return digest_of(self.to_dict())[:32]

    @property
    def event_id(self) -> str:
        """The id of the event of the approved action: a log refuses a second one."""
        return f"applied-{self.marker}"

    def covers(self, action: LifecycleAction) -> bool:
        return self.action_digest == action.digest

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LifecycleApproval:
        _must_have(given, cls, "approval")
        return cls(**given)


@dataclass(frozen=True, slots=True)
class PhasePolicy:
    """The actions that need approval, and the reviewers; without any, everyone but who asks."""

    review: frozenset[str] = GATED
    reviewers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("review", "reviewers"):
            object.__setattr__(self, name, frozenset(names(getattr(self, name), name)))
        for kind in sorted(self.review):
            must_be_one_of("policy: action", kind, KINDS)

    def needs_review(self, action: LifecycleAction) -> bool:
        return action.kind in self.review

    def why_not(self, action: LifecycleAction, approval: LifecycleApproval | None, now: str) -> NeedsApproval | None:
        """The refusal to apply an action now; None, if it may be applied. Used approvals are not known here."""
        if not self.needs_review(action):
            return None
        if approval is None:  # recorded with the denial, and so in golden files
            return NeedsApproval("it needs a person's yes, and there is none")
        if not approval.covers(action):
            reason = "the approval is of another action, or of this one as it was before; ask again"
            return NeedsApproval(reason, why="other")
        if self.reviewers and approval.by not in self.reviewers:
            named = ", ".join(map(shown, sorted(self.reviewers)))
            return NeedsApproval(f"{approval.by!r} may not approve; the policy names {named}", why="stranger")
        if not self.reviewers and _plain(approval.by) == _plain(action.by):
            reason = f"{approval.by!r} asked for it and cannot approve it too; ask somebody else"
            return NeedsApproval(reason, why="stranger")
        if approval.at > now:
            return NeedsApproval(f"the approval is dated {approval.at}, and it is {now}; check the clock", why="early")
        if approval.expires <= now:
            return NeedsApproval(f"the approval expired at {approval.expires}; ask again", why="expired")
        return None


def _plain(name: str) -> str:
    """A name as it is compared: without case, spacing and compatibility variants."""
    seen = (sign for sign in normalize("NFKC", name).casefold() if category(sign) not in ("Cf", "Cc"))
    return " ".join("".join(seen).split())


def _must_have(given: Mapping[str, Any], cls: type[Any], what: str) -> None:
    known = {f.name for f in fields(cls)}
    if type(given) is not dict or given.keys() != known:
        raise Refused(f"not an {what}: it must be an object with {', '.join(sorted(known))}")
