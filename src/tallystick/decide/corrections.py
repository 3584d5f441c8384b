"""Whether a statement corrects a belief, and so takes its place.

"The port is 6543" after "the port is 5432" is about the same thing and gives another number: the old belief is
superseded, and its history says by what. Only where nothing else can be meant, and only by a program that is trusted no
less than whoever stated or approved the old one. A belief with a key or data of somebody's own is theirs to change, and
a hypothesis replaces nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tallystick.records.belief import Belief, Statement
from tallystick.records.policy import is_above
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import State

_INHERITED = ("about", "tags", "kind", "expires", "always")  # what a correction keeps, if it says nothing else


def corrected(known: State, others: Iterable[CurrentVersion], statement: Statement, trust: str) -> Statement:
    """A statement, under the key of the belief that it corrects, if it corrects one of these."""
    for held in others:
        if not known.sees(held, statement.path) or held.key != known.origin(held).ref:  # has a key of its own
            continue
        old = held.belief()
        above = "human" if known.reviews.is_approved(old.id) else old.trust
        if not is_above(above, trust) and _corrects(statement, old):
            usual = Statement(statement.text, statement.user)
            silent = [name for name in _INHERITED if getattr(statement, name) == getattr(usual, name)]
            kept: dict[str, Any] = {name: getattr(old, name) for name in silent}
            return replace(statement, **kept, key=old.key, reason=f"corrects {old.id}")
    return statement


def _corrects(statement: Statement, old: Belief) -> bool:
    """Whether a statement can only mean to replace a belief."""
    from tallystick.text.claims import corrects

    if statement.is_hypothesis or old.views or old.data not in ({}, statement.data) or not old.is_held:
        return False
    if statement.about and statement.about != old.about:
        return False
    if any(getattr(statement, name) != getattr(old, name) for name in ("valid_from", "valid_to", "session", "agent")):
        return False
    return corrects(statement.text, old.text, statement.triple, old.triple)
