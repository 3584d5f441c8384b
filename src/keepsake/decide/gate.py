"""May this happen? The gate that every write passes.

It looks at who asks, what is asked, and what it would state or change: how far that is trusted, and its fields. It
never looks at words: no text can talk its way through. The answer is one of four, each with its reason in one line.

An action that touches several beliefs is judged for each, and the strictest answer counts. A change is judged as what
was there and as what would be there instead, so that nobody takes a mark off and passes; the confidence is that of what
would be said, or, where nothing is said, of what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from keepsake.records.errors import Refused
from keepsake.records.notebook import html_of, plain
from keepsake.records.policy import ALLOW, QUARANTINE, REFUSE, REVIEW, REVIEW_ABOVE, STRICT, Policy, Subject, is_above
from keepsake.records.review import Action


class Verdict(NamedTuple):
    """`kind` is allow, quarantine, review or refuse; `rule` is the number of the rule that says so, 0 for none."""

    kind: str
    why: str = ""
    rule: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return {name: plain(getattr(self, name)) for name in self._fields}

    def _repr_html_(self) -> str:
        return html_of(self)


def gate(policy: Policy, action: Action, subjects: Iterable[Subject]) -> Verdict:
    """Judge an action by what it would state or change."""
    asked = list(subjects) or [Subject(user=action.user, path=action.path)]
    verdict = max((_judge(policy, action, each) for each in asked), key=lambda found: STRICT[found.kind])
    if verdict.kind == ALLOW and action.kind == "trust" and not policy.names(action.by):
        return Verdict(REVIEW, "to let something be recalled is an answer, and the policy does not name this source")
    return verdict


def refuse_claims(action: Action) -> None:
    """Refused, if somebody gives more trust than they have."""
    claimed = action.changes.get("trust", action.trust)
    if is_above(claimed, action.trust):
        raise Refused(f"trust {claimed} cannot be given by one who has only {action.trust}")


def _judge(policy: Policy, action: Action, subject: Subject) -> Verdict:
    asker, kind = action.trust, action.verb
    first = policy.first(kind, asker, action.by, subject)
    if first is not None:
        number, rule = first
        return Verdict(rule.then, _told(rule.then, action, f", by rule {number} of the policy"), number)
    usual = policy.usual(kind, asker)
    if usual != REVIEW_ABOVE:
        return Verdict(usual, _told(usual, action))
    if subject.trust and is_above(subject.trust, asker):
        return Verdict(REVIEW, f"{asker} asks, and it would change what has the trust of {subject.trust}")
    return Verdict(ALLOW)


def _told(then: str, action: Action, by: str = "") -> str:
    return _WHY[then].format(asker=action.trust, kind=action.called or action.verb) + (by if then != ALLOW else "")


_WHY = {
    ALLOW: "",
    QUARANTINE: "what {asker} states is kept out of recall until a person says yes",
    REVIEW: "{asker} may not {kind} without a person's yes",
    REFUSE: "{asker} may not {kind}",
}
