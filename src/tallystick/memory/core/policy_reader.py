"""The policy in the settings: which actions need approval, who may approve, and how long an approval lasts.

It is read again when they have changed. One that cannot be read refuses every write: nothing is written on a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any

from tallystick.ledger.settings_file import SettingsText, brief
from tallystick.records.errors import Refused
from tallystick.records.policy import A_WEEK, DEFAULT, Policy, Rule

_SPAN = re.compile(r"([1-9]\d{0,5}) ?([mhdw])\Z")
_LONGEST = timedelta(days=3660)
_LONG_NAME = 40
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_KNOWN = ("approvers", "expires", "rules", "corroborate", "keep_secrets")  # the last two are read with the settings
_NAMES = tuple(each.name for each in fields(Rule) if each.name not in ("then", "confidence"))
_LAW = Mapping[str, Any]


class PolicyReader:
    """The policy of one ledger, as it is now."""

    def __init__(self, text: SettingsText) -> None:
        self._text = text
        self._seen: object = ()  # the version that was read last
        self._policy, self._error = DEFAULT, ""

    def now(self) -> Policy:
        """The policy in force. Refused, with the way out, if it cannot be read."""
        seen = self._text.version()
        if seen != self._seen:
            self._error = ""
            try:
                self._policy = DEFAULT if seen is None else read_policy(self._text)
            except Refused as error:
                self._error = str(error)
            self._seen = seen
        if self._error:
            raise Refused(self._error, "file")
        return self._policy


def read_policy(text: SettingsText) -> Policy:
    try:
        raw = text.read() or {}
    except ValueError as error:
        raise Refused(f"{text.place} cannot be read: {error}; fix it: until then nothing is written", "file") from None
    try:
        return parse(raw.get("policy", {}))
    except Refused as error:
        raise Refused(f"{text.place}: {error}; fix it: until then nothing is written", error.code) from None


def parse(law: object) -> Policy:
    """The policy of a table as TOML has it. Refused, with the key that is wrong."""
    if not isinstance(law, dict):
        raise Refused("[policy] must be a section, in brackets on its own line", "file")
    _only(law, _KNOWN, "policy")
    rules = law.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Refused("policy.rules must be sections, each under [[policy.rules]]", "file")
    return Policy(
        DEFAULT.table,
        tuple(_rule(rule, f"policy.rules[{number}]") for number, rule in enumerate(rules, 1)),
        _texts(law["approvers"], "policy.approvers") if "approvers" in law else (),
        _span(law.get("expires"), "policy.expires"),
    )


def _rule(said: _LAW, where: str) -> Rule:
    _only(said, (*_NAMES, "then", "confidence"), where)
    if not isinstance(said.get("then"), str):
        raise Refused(f'{where}.then must be "allow", "review", "refuse" or "quarantine"', "file")
    found: dict[str, Any] = {name: _texts(said[name], f"{where}.{name}") for name in _NAMES if name in said}
    if "confidence" in said:
        found["confidence"] = _range(said["confidence"], f"{where}.confidence")
    try:
        return Rule(then=said["then"], **found)
    except Refused as error:
        raise Refused(f"{where}: {error}", error.code) from None


def _only(said: _LAW, known: tuple[str, ...], where: str) -> None:
    for name in said:
        if name not in known:
            shown = name if name.isidentifier() and len(name) < _LONG_NAME else brief(name)
            raise Refused(f"unknown {where}.{shown}; use one of {', '.join(known)}", "file")


def _texts(value: object, where: str) -> tuple[str, ...]:
    """One text, or a list of at least one."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise Refused(f"{where} must be a string or a list of strings, not {brief(value)}", "file")
    return tuple(found)


def _range(value: object, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2 or any(type(each) not in (int, float) for each in value):
        raise Refused(f"{where} must be two numbers, such as [0.0, 0.5], not {brief(value)}", "file")
    try:
        return float(value[0]), float(value[1])
    except OverflowError:
        raise Refused(f"{where} must be two numbers from 0 to 1", "file") from None


def _span(value: object, where: str) -> timedelta:
    if value is None:
        return A_WEEK
    found = _SPAN.match(value) if isinstance(value, str) else None
    if found is None:
        raise Refused(f'{where} must be a duration such as "30m", "12h", "7d" or "2w", not {brief(value)}', "file")
    span = int(found[1]) * _UNITS[found[2]]
    if span > _LONGEST:
        raise Refused(f"{where} must be at most ten years, not {brief(value)}", "file")
    return span
