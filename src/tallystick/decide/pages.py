"""What may be said of pages themselves, and which events say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.decide import beliefs as decide, rules as rule
from tallystick.records.event import Draft
from tallystick.records.operations import EPISODE_RETRACT, PAGE_CLEAN, PAGE_COMPACT, PAGE_PUT, PAGE_RENAME
from tallystick.state.state import State

_PER_EVENT = 5_000  # ids that fit in one event with room to spare


def put(known: State, user: str, about: str, front: Mapping[str, Any], *, is_new: bool = False) -> list[Draft]:
    """Say something of a page. What was said already is no event; a page that is to be made is one in any case."""
    before = known.pages.front(user, about)
    fresh = {name: value for name, value in front.items() if name not in before or before[name] != value}
    return [Draft(PAGE_PUT, {"user": user, "about": about, "front": fresh})] if fresh or (is_new and not before) else []


def fold(user: str, about: str, into: Mapping[str, str]) -> list[Draft]:
    """Entries leave their page because another tells them."""
    return [Draft(PAGE_COMPACT, {"user": user, "about": about, "into": dict(into)})] if into else []


def rename(user: str, about: str, to: str) -> list[Draft]:
    """A page is about another entity from now on. What is held says so in versions of its own."""
    return [Draft(PAGE_RENAME, {"user": user, "about": about, "to": to})]


def clean(known: State, user: str, reason: str, *, everything: bool = False) -> list[Draft]:
    """Everything that this user holds goes out of sight, and the pages with it; if `everything`, so do what was
    observed and the rules. All of it stays in history."""
    gone = [held for held in known.held.values() if held.user == user and held.status != "tombstone"]
    drafts = [draft for held in gone for draft in decide.put_away(known, held.ref, reason=reason, user=user)]
    if everything:
        told = known.episodes.standing(user)
        parts = [told[at : at + _PER_EVENT] for at in range(0, len(told), _PER_EVENT)]
        drafts += [Draft(EPISODE_RETRACT, {"ids": part, "user": user, "reason": reason}) for part in parts]
        for _, kept in known.rules.kept(user):
            drafts += rule.drop(known.rules, kept.rule.id, user)
    return [*drafts, Draft(PAGE_CLEAN, {"user": user})]
