"""What who may do: a table of rules, a row for each kind of action and a column for each trust.

    human > agent = import > tool > web

The trust of a program says how far it may go by itself. It is set by whoever starts the program, never by text. Rules
are plain words, so that a table can be written down, read and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keepsake.records.belief import TRUST
from keepsake.records.errors import Refused

ALLOW = "allow"  # it happens
QUARANTINE = "quarantine"  # it is recorded, and kept out of recall until a person says yes
REVIEW = "review"  # it waits for a person's yes
REFUSE = "refuse"  # it does not happen
REVIEW_ABOVE = "review-above"  # it happens to what is no more trusted than the asker; all else waits for a yes

RANK = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}

_MAY_SAY = {
    "remember": (ALLOW, QUARANTINE, REFUSE),
    "revise": (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE),
    "forget": (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE),
    "invalidate": (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE),
    "erase": (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE),
    "answer": (ALLOW, REFUSE),  # say yes or no to a review
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules for every kind of action and every trust."""

    rules: Mapping[str, Mapping[str, str]]
    free: frozenset[str] = field(init=False)  # those who are never asked anything
    quarantined: frozenset[str] = field(init=False)  # those whose statements are kept out of recall

    def __post_init__(self) -> None:
        for kind, known in _MAY_SAY.items():
            for trust in TRUST:
                rule = self.rules.get(kind, {}).get(trust)
                if rule not in known:
                    raise Refused(f"policy {kind}.{trust} is one of {', '.join(known)}, not {rule!r}")
        free = (trust for trust in TRUST if all(self.rules[kind][trust] == ALLOW for kind in _MAY_SAY))
        kept_out = (trust for trust in TRUST if self.rules["remember"][trust] == QUARANTINE)
        object.__setattr__(self, "free", frozenset(free))
        object.__setattr__(self, "quarantined", frozenset(kept_out))

    def rule(self, kind: str, trust: str) -> str:
        return self.rules[kind][trust]


def _row(human: str, agent: str, tool: str, web: str) -> dict[str, str]:
    """An import counts as the agent that runs it."""
    return {"human": human, "agent": agent, "import": agent, "tool": tool, "web": web}


DEFAULT = Policy(
    {
        "remember": _row(ALLOW, ALLOW, QUARANTINE, QUARANTINE),
        "revise": _row(ALLOW, REVIEW_ABOVE, REVIEW_ABOVE, REVIEW_ABOVE),
        "forget": _row(ALLOW, REVIEW_ABOVE, REVIEW_ABOVE, REVIEW_ABOVE),
        "invalidate": _row(ALLOW, REVIEW_ABOVE, REVIEW_ABOVE, REVIEW_ABOVE),
        "erase": _row(ALLOW, REVIEW, REVIEW, REVIEW),
        "answer": _row(ALLOW, REFUSE, REFUSE, REFUSE),
    }
)


def is_above(one: str, other: str) -> bool:
    """Whether the first is trusted more than the second."""
    return RANK[one] > RANK[other]
