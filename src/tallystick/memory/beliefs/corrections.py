"""A correction is never taken for a second belief, nor for a repetition: it takes the place of what it corrects.

"The port is 6543" after "the port is 5432" speaks of the same thing and gives another number: the old belief is
superseded, and its history says by what. Only where nothing else can be meant, by someone who is trusted no less than
whoever said it or said yes to it, and never inside a batch, whose writes nobody has seen yet. What bears a key or data
of somebody's own is theirs to change, and a guess takes the place of nothing. Everything less certain is stated beside
what it contradicts; `tidy` proposes which to keep. If the index is not at hand, nothing is looked for: no write waits
for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tallystick.records.belief import Belief, Statement
from tallystick.records.policy import is_above
from tallystick.state.version import CurrentVersion
from tallystick.stores.open_folder import OpenFolder

_INHERITED = ("about", "tags", "kind", "expires", "always")  # what a correction keeps, if it says nothing else


def corrected(
    folder: OpenFolder, same: Iterable[CurrentVersion], statement: Statement, trust: str
) -> Statement:
    """A statement, under the key of the belief that it corrects, if it corrects one.

    `same` are the beliefs that speak of the same thing and are seen from this path, the newest first.
    """
    for old in _open_to_it(folder, same, statement.path):
        if _takes_its_place(statement, old, trust):
            usual = Statement(statement.text, statement.user)
            silent = [name for name in _INHERITED if getattr(statement, name) == getattr(usual, name)]
            kept: dict[str, Any] = {name: getattr(old, name) for name in silent}
            return replace(statement, **kept, key=old.key, reason=f"corrects {old.id}")
    return statement


def _open_to_it(folder: OpenFolder, same: Iterable[CurrentVersion], path: str) -> Iterator[Belief]:
    for held in same:
        with folder.ledger.reading():
            belief = _as_trusted(folder, held.belief()) if _is_open_to_it(folder, held, path) else None
        if belief is not None:
            yield belief


def _is_open_to_it(folder: OpenFolder, held: CurrentVersion, path: str) -> bool:
    """Whether it is seen from there, and nobody gave it a name of their own."""
    return folder.state.sees(held, path) and held.key == folder.state.origin(held).ref


def _as_trusted(folder: OpenFolder, belief: Belief) -> Belief:
    """What a person said yes to is the person's word."""
    return replace(belief, trust="human") if folder.state.reviews.is_approved(belief.id) else belief


def _takes_its_place(statement: Statement, old: Belief, trust: str) -> bool:
    from tallystick.text.claims import corrects

    if statement.is_hypothesis or old.views or old.data not in ({}, statement.data):
        return False
    if not old.is_held or is_above(old.trust, trust) or (statement.about and statement.about != old.about):
        return False
    if any(getattr(statement, name) != getattr(old, name) for name in ("valid_from", "valid_to", "session", "agent")):
        return False
    return corrects(statement.text, old.text, statement.triple, old.triple)
