"""What who may do: rules of a person's own, and below them a table with a row for each kind of action.

    human > agent = import > tool > web

The trust of a program says how far it may go by itself. It is set by whoever starts the program, never by text. The
first rule that fits decides; where none does, the table does. Rules look at fields (who asks, in which scope, of what
kind), never at words: no text can talk its way past one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from keepsake.records.belief import OWNER, TRUST
from keepsake.records.errors import Refused
from keepsake.records.notebook import Shown

ALLOW = "allow"  # it happens
QUARANTINE = "quarantine"  # it is recorded, and kept out of recall until a person says yes
REVIEW = "review"  # it waits for a person's yes
REFUSE = "refuse"  # it does not happen
REVIEW_ABOVE = "review-above"  # it happens to what is no more trusted than the asker; all else waits for a yes

STRICT = {ALLOW: 0, QUARANTINE: 1, REVIEW: 2, REFUSE: 3}
RANK = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}
A_WEEK = timedelta(days=7)

ACTIONS = (
    "remember", "revise", "forget", "invalidate", "erase", "trust", "activate", "reinforce", "promote", "merge",
    "compact",
)  # fmt: skip
SAME = {"supersede": "revise", "archive": "forget", "retract": "invalidate"}  # two words for one thing


class Subject(NamedTuple):
    """What rules look at of one belief that an action would state or change. `trust` is of what is there already."""

    trust: str = ""  # how far what would be changed is trusted; empty for what is new
    user: str = OWNER
    session: str = ""
    agent: str = ""
    path: str = ""
    about: str = ""
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    confidence: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. A field that says nothing fits everything; one that says several fits any of them."""

    then: str
    action: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()  # the asker's
    source: tuple[str, ...] = ()  # patterns of the asker's door and source, such as "mcp:*"
    user: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    confidence: tuple[float, float] | None = None  # from, and up to and with

    def __post_init__(self) -> None:
        if self.then not in STRICT:
            raise Refused(f"then is one of {', '.join(STRICT)}, not {self.then[:40]!r}")
        object.__setattr__(self, "action", tuple(map(kind_of, self.action)))
        for trust in self.trust:
            if trust not in TRUST:
                raise Refused(f"trust is one of {', '.join(TRUST)}, not {trust[:40]!r}")
        if self.then == QUARANTINE and set(self.action) != {"remember"}:
            raise Refused('"quarantine" is for action = "remember" alone; say "review" for anything else')
        if self.confidence is not None:
            low, high = self.confidence
            if not 0 <= low <= high <= 1:
                raise Refused(f"confidence is from the lower to the higher, each 0 to 1, not [{low:g}, {high:g}]")

    def may_meet(self, trust: str, by: str) -> bool:
        """Whether it can ever speak of what such a program does."""
        return trust in (self.trust or (trust,)) and (not self.source or any(fnmatchcase(by, p) for p in self.source))

    def fits(self, kind: str, trust: str, by: str, subject: Subject) -> bool:
        """Whether it speaks of an action of that kind, asked for by such a program, on that belief."""
        if (self.action and kind not in self.action) or not self.may_meet(trust, by):
            return False
        for name in ("user", "session", "agent", "path", "kind"):
            wanted = getattr(self, name)
            if wanted and getattr(subject, name) not in wanted:
                return False
        if self.about and _spelled(subject.about) not in map(_spelled, self.about):
            return False
        if self.tag and {tag.casefold() for tag in self.tag}.isdisjoint(tag.casefold() for tag in subject.tags):
            return False
        return self.confidence is None or self.confidence[0] <= subject.confidence <= self.confidence[1]

    def to_dict(self) -> dict[str, Any]:
        """The fields that say something."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if name != "then" else value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Policy(Shown):
    """The table, the rules before it, who may answer a review, and how long an unused yes lasts."""

    table: Mapping[str, Mapping[str, str]]
    rules: tuple[Rule, ...] = ()
    approvers: tuple[str, ...] = ()  # patterns of doors and sources; without any, whoever has the trust of a person
    expires: timedelta = A_WEEK
    free: frozenset[str] = field(init=False)  # those of whom the table asks nothing
    quarantined: frozenset[str] = field(init=False)  # those whose statements it keeps out of recall

    def __post_init__(self) -> None:
        for kind, known in _MAY_SAY.items():
            for trust in TRUST:
                rule = self.table.get(kind, {}).get(trust)
                if rule not in known:
                    raise Refused(f"policy {kind}.{trust} is one of {', '.join(known)}, not {rule!r}")
        free = (trust for trust in TRUST if all(self.table[kind][trust] == ALLOW for kind in _MAY_SAY))
        kept_out = (trust for trust in TRUST if self.table["remember"][trust] == QUARANTINE)
        object.__setattr__(self, "free", frozenset(free))
        object.__setattr__(self, "quarantined", frozenset(kept_out))

    def usual(self, kind: str, trust: str) -> str:
        """What the table says."""
        return self.table[kind][trust]

    def first(self, kind: str, trust: str, by: str, subject: Subject) -> tuple[int, Rule] | None:
        """The first rule that fits, and its number; None if none does."""
        found = (pair for pair in enumerate(self.rules, 1) if pair[1].fits(kind, trust, by, subject))
        return next(found, None)

    def free_as(self, by: str) -> frozenset[str]:
        """With which trusts a program of that source is never asked anything."""
        asked = {t for t in self.free for rule in self.rules if rule.then != ALLOW and rule.may_meet(t, by)}
        return self.free - asked

    def names(self, by: str) -> bool:
        """Whether that door and source may say yes or no."""
        return not self.approvers or any(fnmatchcase(by, pattern) for pattern in self.approvers)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": [rule.to_dict() for rule in self.rules],
            "defaults": {kind: dict(row) for kind, row in self.table.items()},
            "approvers": list(self.approvers),
            "expires_seconds": self.expires.total_seconds(),
        }


def kind_of(word: str) -> str:
    """The kind of action that a word means."""
    kind = SAME.get(word, word)
    if kind not in ACTIONS:
        raise Refused(f"action {word!r} is not known; it is one of {', '.join((*ACTIONS, *SAME))}")
    return kind


def is_above(one: str, other: str) -> bool:
    """Whether the first is trusted more than the second."""
    return RANK[one] > RANK[other]


def lower(trusts: Iterable[str]) -> str:
    """The least trusted."""
    return min(trusts, key=RANK.__getitem__)


def _spelled(about: str) -> str:
    """An entity, however its name is spelled: nobody goes round a rule with a capital letter."""
    return " ".join(about.casefold().replace("-", " ").replace("_", " ").split())


def _row(human: str, agent: str, tool: str, web: str) -> dict[str, str]:
    """An import counts as the agent that runs it."""
    return {"human": human, "agent": agent, "import": agent, "tool": tool, "web": web}


_CHANGE = (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE)
_MAY_SAY = {
    **dict.fromkeys(ACTIONS, _CHANGE),
    "remember": (ALLOW, QUARANTINE, REVIEW, REFUSE),
    "answer": (ALLOW, REFUSE),  # say yes or no to a review
}
_ABOVE = _row(ALLOW, REVIEW_ABOVE, REVIEW_ABOVE, REVIEW_ABOVE)
_ASKED = _row(ALLOW, REVIEW, REVIEW, REVIEW)

DEFAULT = Policy(
    {
        "remember": _row(ALLOW, ALLOW, QUARANTINE, QUARANTINE),
        "revise": _ABOVE,
        "forget": _ABOVE,
        "invalidate": _ABOVE,
        "activate": _ABOVE,
        "promote": _ABOVE,
        "reinforce": _row(ALLOW, ALLOW, REFUSE, REFUSE),
        "merge": _ASKED,
        "compact": _ASKED,
        "erase": _ASKED,
        "trust": _ASKED,
        "answer": _row(ALLOW, REFUSE, REFUSE, REFUSE),
    }
)
