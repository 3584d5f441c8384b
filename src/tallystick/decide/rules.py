"""What may be said of consolidation rules, and which events say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tallystick.records.errors import NotFound
from tallystick.records.event import Draft
from tallystick.records.operations import RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.records.rule import ConsolidationRule
from tallystick.state.rules import Rules

_LONGEST = 300  # characters of a reason


def put(known: Rules, rule: ConsolidationRule, user: str) -> list[Draft]:
    """Keep a rule, so that it runs by itself. The same one again is no event; its mark stays when it is changed."""
    before, body = known.find(user, rule.id), rule.to_dict()
    return [] if before is not None and before.body == body else [Draft(RULE_PUT, {"user": user, "rule": body})]


def drop(known: Rules, name: str, user: str) -> list[Draft]:
    """Give up a rule. How far it has read stays on record."""
    if known.find(user, name) is None:
        raise NotFound(f"there is no rule {name!r}; `tallystick consolidate --list` shows those that there are")
    return [Draft(RULE_DROP, {"user": user, "id": name})]


def ran(rule: str, user: str, through: int, considered: int, made: Mapping[str, int]) -> list[Draft]:
    """A rule has read up to an event. Written in one group with what came of it."""
    body = {"user": user, "id": rule, "through": through, "considered": considered, "made": dict(made)}
    return [Draft(RULE_RAN, body)]


def found(rule: str, user: str, findings: Iterable[tuple[str, str]]) -> list[Draft]:
    """Episodes that nothing could be made of, an event for each: a reason may quote what an erasure has to reach."""
    return [
        Draft(RULE_FOUND, {"user": user, "id": rule, "ids": [source], "reason": reason[:_LONGEST]})
        for source, reason in findings
    ]
