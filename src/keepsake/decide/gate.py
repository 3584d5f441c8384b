"""May this happen? The gate that every write passes.

It looks at who asks, what is asked, and how far what it would change is trusted. It never looks at words: no text can
talk its way through. The answer is one of four, each with its reason in one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from keepsake.records.policy import ALLOW, QUARANTINE, RANK, REFUSE, REVIEW, REVIEW_ABOVE, Policy, is_above
from keepsake.records.review import Action


class Verdict(NamedTuple):
    """`kind` is allow, quarantine, review or refuse."""

    kind: str
    why: str = ""


def gate(policy: Policy, action: Action, touched: Iterable[str]) -> Verdict:
    """Judge an action. `touched` is the trust of each belief that it would change."""
    asker = action.trust
    claimed = action.changes.get("trust", asker)
    if is_above(claimed, asker):
        return Verdict(REFUSE, f"trust {claimed} cannot be given by one who has only {asker}")
    kind = "revise" if action.kind == "remember" and action.target else action.kind
    rule = policy.rule(kind, asker)
    if rule == REVIEW_ABOVE:
        most = max(touched, key=RANK.__getitem__, default=asker)
        if is_above(most, asker):
            return Verdict(REVIEW, f"{asker} asks, and it would change what has the trust of {most}")
        return Verdict(ALLOW)
    return Verdict(rule, _WHY[rule].format(asker=asker, kind=kind))


_WHY = {
    ALLOW: "",
    QUARANTINE: "what {asker} states is kept out of recall until a person says yes",
    REVIEW: "{asker} may not {kind} without a person's yes",
    REFUSE: "{asker} may not {kind}",
}
