"""What may be done to a graph of memories, which of it needs a yes, and the yes.

A yes is to exactly one action: the digest covers all that was shown, who asks included, and what the records were when
it was asked. It is given by somebody, at a moment, and ends. Its name follows from what it says, so a copy of it is the
same yes; that a yes counts once is kept by whoever applies actions.

A yes is a marker, not a signature: it says who is named as having given it. Who may write it is up to the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any
from unicodedata import category, normalize

from tallystick.records.errors import Refused, Why
from tallystick.records.fields import moment, names
from tallystick.records.graph.events import copied, digest_of, shown

KINDS = ("activate", "reinforce", "archive", "supersede", "merge", "retract", "promote", "compact", "end", "weaken")
GATED = frozenset(KINDS) - {"activate", "reinforce"}
A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleAction:
    """What somebody wants done.

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
    seen: dict[str, str] = field(default_factory=dict)  # the digest of each record when it was asked, if anybody looked

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Refused(f"action {self.kind!r} is not known; it is one of {', '.join(KINDS)}")
        object.__setattr__(self, "subject_ids", names(self.subject_ids, "an action's subject_ids"))
        if not self.subject_ids:
            raise Refused(f"an action to {self.kind} names what it acts on", "required")
        if len(set(self.subject_ids)) < len(self.subject_ids):
            raise Refused(f"an action to {self.kind} names each thing once", "duplicate")
        for name in ("by", "reason", "path_id"):
            if type(getattr(self, name)) is not str:
                raise Refused(f"{name} of an action is text, not {type(getattr(self, name)).__name__}")
        if not self.by:
            raise Refused(f"an action to {self.kind} says who asks: by is empty", "required")
        for name in ("changes", "seen"):
            if type(getattr(self, name)) is not dict:
                raise Refused(f"{name} of an action is an object, not {type(getattr(self, name)).__name__}")
            object.__setattr__(self, name, copied(getattr(self, name)))
        digest_of(self.to_dict())

    @property
    def digest(self) -> str:
        """What was shown to the person: equal for equal actions, and for no others."""
        return digest_of(self.to_dict())

    @property
    def label(self) -> str:
        """The action in two words: what is done, and to what."""
        more = f" and {len(self.subject_ids) - 1} more" if len(self.subject_ids) > 1 else ""
        return f"{self.kind} {shown(self.subject_ids[0])}{more}"

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"subject_ids": list(self.subject_ids)}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> LifecycleAction:
        """The action that `to_dict` gave. Refused, with the reason."""
        _must_have(told, cls, "action")
        return cls(**told)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleApproval:
    """A person's yes to exactly one action, until it expires."""

    action_digest: str  # what was shown to the person, not what is applied later
    by: str
    at: str
    expires: str

    def __post_init__(self) -> None:
        names((self.action_digest, self.by), "an approval's action_digest and by")
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "expires", moment(self.expires))
        if self.expires <= self.at:
            raise Refused(f"an approval of {self.at} cannot expire at {self.expires}", "time")
        digest_of(self.to_dict())

    @classmethod
    def of(
        cls, action: LifecycleAction, by: str, at: datetime, *, lasts: timedelta = A_DAY
    ) -> LifecycleApproval:  # fmt: skip
        """The yes of `by` to an action as it stands."""
        try:
            end = at + lasts
        except OverflowError:
            raise Refused(f"an approval cannot last {lasts}; give it a shorter time") from None
        return cls(action_digest=action.digest, by=by, at=moment(at), expires=moment(end))

    @property
    def marker(self) -> str:
        """Its name: the same for every copy of it."""
        return digest_of(self.to_dict())[:32]

    def covers(self, action: LifecycleAction) -> bool:
        return self.action_digest == action.digest

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> LifecycleApproval:
        """The approval that `to_dict` gave. Refused, with the reason."""
        _must_have(told, cls, "approval")
        return cls(**told)


class WhyNot(str):
    """Why an action may not be applied, in words, and as `why` in one for programs. Empty, if it may."""

    why: Why

    def __new__(cls, words: str = "", why: Why = "none") -> WhyNot:
        made = super().__new__(cls, words)
        made.why = why
        return made


@dataclass(frozen=True, slots=True)
class PhasePolicy:
    """Which actions need a yes, and whose. Without reviewers, anybody's but the asker's own."""

    review: frozenset[str] = GATED
    reviewers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "review", frozenset(_several(self.review, "review")))
        object.__setattr__(self, "reviewers", frozenset(_several(self.reviewers, "reviewers")))
        for kind in sorted(self.review - set(KINDS)):
            raise Refused(f"policy: action {kind!r} is not known; it is one of {', '.join(KINDS)}")

    def needs_review(self, action: LifecycleAction) -> bool:
        return action.kind in self.review

    def why_not(self, action: LifecycleAction, approval: LifecycleApproval | None, now: str) -> WhyNot:
        """Why an action may not be applied now; nothing, if it may. That a yes was used before is not known here."""
        if not self.needs_review(action):
            return WhyNot()
        if approval is None:
            return WhyNot("it needs a person's yes, and there is none", "none")
        if not approval.covers(action):
            return WhyNot("the approval is for another action, or for this one as it was before; ask again", "other")
        if self.reviewers and approval.by not in self.reviewers:
            named = ", ".join(map(shown, sorted(self.reviewers)))
            return WhyNot(f"{approval.by!r} may not approve; the policy names {named}", "stranger")
        if not self.reviewers and _plain(approval.by) == _plain(action.by):
            said = f"{approval.by!r} asks for it, and nobody approves what they ask for; ask somebody else"
            return WhyNot(said, "stranger")
        if approval.at > now:
            return WhyNot(f"the approval is of {approval.at}, and it is {now}; look at the clock", "early")
        if approval.expires <= now:
            return WhyNot(f"the approval expired at {approval.expires}; ask again", "expired")
        return WhyNot()


def _plain(name: str) -> str:
    """A name as it is compared: another case, spacing or way of writing a letter makes nobody somebody else."""
    seen = (sign for sign in normalize("NFKC", name).casefold() if category(sign) not in ("Cf", "Cc"))
    return " ".join("".join(seen).split())


def _several(given: Iterable[str], what: str) -> tuple[str, ...]:
    return names(given, f"a policy's {what}")


def _must_have(told: Mapping[str, Any], cls: type[Any], what: str) -> None:
    known = {f.name for f in fields(cls)}
    if type(told) is not dict or told.keys() != known:
        raise Refused(f"no {what}: it is an object with {', '.join(sorted(known))}")
