"""The gate that every write passes: of beliefs, paths, pages, settings, the ledger, everything.

It judges the effect, whichever call or event it comes by: a statement under a known key is a revision, a revision with
the status `tombstone` forgets, and one whose time is over invalidates. It looks at who asks, for what, and at what that
would state or change: its trust and its fields. It never looks at text: no text can talk its way through. The answer is
one of four, each with its reason in one line.

An action on several beliefs is judged for each, and the strictest answer counts. A change is judged as what was there
and as what would be there instead, so that nobody removes a tag and passes; the confidence is that of the new version,
or, where there is none, of the current one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tallystick.records.display import html_of
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.records.policy import (
    ALLOW,
    BELIEF,
    CELLS,
    QUARANTINE,
    REFUSE,
    REFUSE_ABOVE,
    REVIEW,
    REVIEW_ABOVE,
    REVIEWED,
    STRICT,
    Policy,
    Subject,
    is_above,
    thing,
)
from tallystick.records.review import Action


class Verdict(NamedTuple):
    """`kind` is allow, quarantine, review or refuse; `rule` is the number of the rule that decided, 0 for none."""

    kind: str
    why: str = ""
    rule: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return self._asdict()

    def _repr_html_(self) -> str:
        return html_of(self)


def gate(policy: Policy, action: Action, subjects: Iterable[Subject]) -> Verdict:
    """Judge an action by what it would state or change."""
    bare = thing("", action.user, action.path)
    asked = list(subjects) or [Subject(user=action.user, path=action.path) if action.noun == BELIEF else bare]
    verdict = max((_judge(policy, action, each) for each in asked), key=lambda found: STRICT[found.kind])
    counts = policy.answers(action.trust, action.by)
    if verdict.kind == ALLOW and action.cell == "trust" and not counts:
        return Verdict(REVIEW, "only a person whom the policy names can approve a quarantined belief")
    if verdict.kind == REVIEW and action.cell not in REVIEWED:
        return _unasked(verdict, action, counts)
    return verdict


def matrix(policy: Policy, subject: Subject, by: str) -> dict[str, dict[str, str]]:
    """The verdict on each verb and noun, by the trust of the requester, for such a subject."""

    def cell(name: str, trust: str) -> str:
        noun, _, verb = name.rpartition(".")
        at: dict[str, Any] = {"target": () if name == "remember" else ("x",), "path": subject.path or "x"}
        action = Action(kind=verb, noun=noun or BELIEF, user=subject.user, by=by, trust=trust, **at)
        return gate(policy, action, [as_seen(name, subject)]).kind

    return {name: {trust: cell(name, trust) for trust in TRUST} for name in CELLS}


def as_seen(cell: str, subject: Subject) -> Subject:
    """A subject as a row of the table looks at it: a new one has no trust, a thing that is not a belief only that."""
    if cell in ("remember", "episode.observe"):
        return subject._replace(trust="")
    return subject if "." not in cell else thing(subject.trust, subject.user, subject.path)


def _unasked(verdict: Verdict, action: Action, counts: bool) -> Verdict:
    """The verdict on what cannot be reviewed: somebody who can approve does so by doing it, unless it is an erasure."""
    if counts and action.kind != "erase":
        return Verdict(ALLOW, "", verdict.rule)
    if action.cell == "episode.observe":
        return Verdict(QUARANTINE, _why(QUARANTINE, action), verdict.rule)
    by = f"rule {verdict.rule} of the policy" if verdict.rule else "the policy"
    why = f"{by} lets only a person who can approve {_what(action)}; ask one"
    if action.kind == "erase":
        why = f"{by} requires approval, which this cannot get; change the policy, then erase it"
    return Verdict(REFUSE, why, verdict.rule)


def refuse_claims(action: Action) -> None:
    """Refuse to give more trust than the requester has."""
    claimed = action.changes.get("trust", action.trust)
    if is_above(claimed, action.trust):
        raise Refused(f"trust {claimed} cannot be given with trust {action.trust}", "permission")


def _judge(policy: Policy, action: Action, subject: Subject) -> Verdict:
    asker, cell = action.trust, subject.verb or action.cell
    usual = policy.usual(cell, asker)
    first = policy.first(cell, asker, action.by, subject) if usual != REFUSE else None
    if first is not None:
        number, rule = first
        return Verdict(rule.then, _why(rule.then, action, f", by rule {number} of the policy"), number)
    if usual not in (REVIEW_ABOVE, REFUSE_ABOVE):
        return Verdict(usual, _why(usual, action, "; ask a person" if usual == REFUSE else ""))
    if subject.trust and is_above(subject.trust, asker):
        then = REVIEW if usual == REVIEW_ABOVE else REFUSE
        return Verdict(then, f"the request has trust {asker}, and what it would change has trust {subject.trust}")
    return Verdict(ALLOW)


def _why(then: str, action: Action, by: str = "") -> str:
    return _WHY[then].format(asker=action.trust, what=_what(action)) + (by if then != ALLOW else "")


def _what(action: Action) -> str:
    """The action in a word or two."""
    verb = action.called or action.verb
    if action.noun == BELIEF or action.cell == "page.compact":
        return verb
    return f"{verb} {'an' if action.noun[0] in 'aeiou' else 'a'} {action.noun}"


_WHY = {
    ALLOW: "",
    QUARANTINE: "what {asker} states is not recalled until a person approves it",
    REVIEW: "{asker} may not {what} without a person's approval",
    REFUSE: "{asker} may not {what}",
}
