"""Decisions about pages: put, compact, rename, clean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.decide import beliefs as decide, rules as rule
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_RETRACT, PAGE_CLEAN, PAGE_COMPACT, PAGE_PUT, PAGE_RENAME
from tallystick.state.state import State

_PER_EVENT = 5_000  # ids in one event


def put(known: State, user: str, about: str, front: Mapping[str, Any], *, is_new: bool = False) -> list[Draft]:
    """Set fields of a page. Without a change it is no event, unless the page is new."""
    before = known.pages.front(user, about)
    fresh = {name: value for name, value in front.items() if name not in before or before[name] != value}
    return [Draft(PAGE_PUT, {"user": user, "about": about, "front": fresh})] if fresh or (is_new and not before) else []


def fold(user: str, about: str, into: Mapping[str, str]) -> list[Draft]:
    """Remove entries from their page because another has their content."""
    return [Draft(PAGE_COMPACT, {"user": user, "about": about, "into": dict(into)})] if into else []


def rename(user: str, about: str, to: str) -> list[Draft]:
    """Make a page be about another entity. Its beliefs get versions of their own."""
    return [Draft(PAGE_RENAME, {"user": user, "about": about, "to": to})]


def clean(known: State, user: str, reason: str, *, everything: bool = False) -> list[Draft]:
    """Hide all beliefs and pages of this user; with `everything`, also episodes and rules. All stays in history."""
    gone = [held for held in known.of_user(user) if held.status != "tombstone"]
    drafts = [draft for held in gone for draft in decide.put_away(known, held.ref, reason=reason, user=user)]
    if everything:
        told = known.episodes.standing(user)
        parts = [told[at : at + _PER_EVENT] for at in range(0, len(told), _PER_EVENT)]
        drafts += [Draft(EPISODE_RETRACT, {"ids": part, "user": user, "reason": reason}) for part in parts]
        for _, kept in known.rules.kept(user):
            drafts += rule.drop(known.rules, kept.rule.id, user)
    return [*drafts, Draft(PAGE_CLEAN, {"user": user})]
