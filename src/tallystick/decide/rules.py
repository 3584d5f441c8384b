"""Decisions about consolidation rules: put, drop, ran, found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tallystick.records.errors import NotFound
from tallystick.records.event import Draft
from tallystick.records.operations import RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.records.rule import ConsolidationRule
from tallystick.state.rules import Rules

_LONGEST = 300  # characters of a reason


def put(known: Rules, rule: ConsolidationRule, user: str) -> list[Draft]:
    """Save a rule, so that it runs by itself. The same one again is no event; a change keeps its progress."""
    before, body = known.find(user, rule.id), rule.to_dict()
    return [] if before is not None and before.body == body else [Draft(RULE_PUT, {"user": user, "rule": body})]


def drop(known: Rules, name: str, user: str) -> list[Draft]:
    """Remove a rule. Its progress stays on record."""
    if known.find(user, name) is None:
        raise NotFound(f"no rule named {name!r}; run `tallystick consolidate --list` to list them")
    return [Draft(RULE_DROP, {"user": user, "id": name})]


def ran(rule: str, user: str, through: int, considered: int, made: Mapping[str, int]) -> list[Draft]:
    """Record the progress of a rule. Written in one group with its results."""
    body = {"user": user, "id": rule, "through": through, "considered": considered, "made": dict(made)}
    return [Draft(RULE_RAN, body)]


def found(rule: str, user: str, findings: Iterable[tuple[str, str]]) -> list[Draft]:
    """Record episodes that a rule could not use, an event for each: a reason may quote what an erasure must reach."""
    return [
        Draft(RULE_FOUND, {"user": user, "id": rule, "ids": [source], "reason": reason[:_LONGEST]})
        for source, reason in findings
    ]
