"""Whether a statement corrects a belief, and so takes its place; or says otherwise of a part of it, or may do so.

"The port is 6543" after "the port is 5432" is about the same thing and gives another number: the old belief is
superseded, and its history says by what. Only where nothing else can be meant, and only by a program that is trusted no
less than whoever stated or approved the old one. A belief with a key or data of somebody's own is theirs to change, and
a hypothesis replaces nothing.

What gives an attribute of a belief another value for certain makes that part outdated: the belief stays, with a mark.
Where that is not certain, or whoever says so is trusted less, both are marked as a possible conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tallystick.records.belief import CONFLICT, OUTDATED, Belief, Statement
from tallystick.records.policy import is_above
from tallystick.state.beliefs import OUTSIDE, CurrentVersion
from tallystick.state.comparisons import COMPARED
from tallystick.state.state import State

if TYPE_CHECKING:
    from tallystick.text.attributes import Weight

_MOST = 5  # marks of one statement
_INHERITED = ("about", "tags", "kind", "expires", "always")  # what a correction keeps, if it says nothing else


def corrected(known: State, others: Iterable[CurrentVersion], statement: Statement, trust: str) -> Statement:
    """A statement, under the key of the belief that it corrects, if it corrects one of these."""
    from tallystick.text.claims import corrects

    for held in others:
        old = held.belief()
        if _may_replace(known, held, old, statement, trust) and corrects(
            statement.text, old.text, statement.triple, old.triple
        ):
            return _in_its_place(statement, old)
    return statement


def compared(
    known: State, near: Iterable[CurrentVersion], statement: Statement, trust: str, weight: Weight
) -> tuple[Statement, dict[str, Any]]:  # fmt: skip
    """The statement, under the key of the belief all of which it corrects, if there is one; else what is to be recorded
    with it of the values that it gives attributes of beliefs `near` it."""
    from tallystick.text.attributes import VERSION, Change, changed, read

    mine, found = read(statement.text), list[tuple[CurrentVersion, Belief, Change]]()
    for held in near if mine.values and not statement.is_hypothesis and trust not in OUTSIDE else ():
        old = held.belief()
        if _is_comparable(known, held, old, statement) and (change := changed(mine, read(old.text), weight)):
            found.append((held, old, change))
    for held, old, change in found if not statement.key else ():
        if change.is_certain and change.is_all and _may_replace(known, held, old, statement, trust):
            return _in_its_place(statement, old), {}
    marks = [
        {"id": old.id, "kind": OUTDATED if change.is_certain and not _is_outranked(known, old, trust) else CONFLICT,
         "was": list(change.was), "now": list(change.now)}
        for _, old, change in sorted(found, key=lambda each: -each[1].seq)[:_MOST]
    ]  # fmt: skip
    return statement, {COMPARED: {"rules": VERSION, "marks": marks}} if marks else {}


def _in_its_place(statement: Statement, old: Belief) -> Statement:
    usual = Statement(statement.text, statement.user)
    silent = [name for name in _INHERITED if getattr(statement, name) == getattr(usual, name)]
    kept: dict[str, Any] = {name: getattr(old, name) for name in silent}
    return replace(statement, **kept, key=old.key, reason=f"corrects {old.id}")


def _may_replace(known: State, held: CurrentVersion, old: Belief, statement: Statement, trust: str) -> bool:
    """Whether a statement, if it says otherwise, can only mean to replace a belief."""
    if statement.is_hypothesis or old.views or old.data not in ({}, statement.data):
        return False
    if held.key != known.origin(held).ref or statement.session != old.session:  # a key of somebody's own
        return False
    if statement.about and statement.about != old.about:
        return False
    return _is_comparable(known, held, old, statement) and not _is_outranked(known, old, trust)


def _is_comparable(known: State, held: CurrentVersion, old: Belief, statement: Statement) -> bool:
    """Whether a statement may be about the same thing as a belief, at the same time, by the same speaker."""
    if not known.sees(held, statement.path) or not old.is_held or old.trust in OUTSIDE or old.key == statement.key:
        return False
    if statement.about and old.about and statement.about != old.about:
        return False
    return all(getattr(statement, name) == getattr(old, name) for name in ("valid_from", "valid_to", "agent"))


def _is_outranked(known: State, old: Belief, trust: str) -> bool:
    return is_above("human" if known.reviews.is_approved(old.id) else old.trust, trust)
