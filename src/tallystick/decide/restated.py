"""Stating again what a belief said: as old as it was, its author's, and with what was known of the statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tallystick.decide.beliefs import Draw, in_its_place
from tallystick.records.belief import recorded
from tallystick.records.event import Draft, Event
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE
from tallystick.state.beliefs import CurrentVersion

EventAt = Callable[[int], Event | None]  # the event of that number

_CARRIED = ("names", "filed", "echo")  # what the event of a statement found out about it


def stated_in(event_at: EventAt, held: CurrentVersion) -> dict[str, Any]:
    """The event that stated a version; empty, if the last one about it withdrew it."""
    event = event_at(held.seq)
    return event.body if event and event.op in (BELIEF_PUT, BELIEF_SUPERSEDE) and event.body else {}


def with_its_past(draft: Draft, was: CurrentVersion, event_at: EventAt) -> Draft:
    """A draft that states again what `was` said, with what was known of that."""
    stated = stated_in(event_at, was)
    body = {name: value for name, value in draft.body.items() if name not in _CARRIED}
    body |= {name: stated[name] for name in _CARRIED if name in stated}
    return Draft(draft.op, {**body, "origin": {"id": was.body()["id"], "at": was.at, "by": was.by}})


def moved(held: CurrentVersion, about: str, event_at: EventAt, draw: Draw, reason: str, filed: int = 0) -> Draft:
    """The same belief, about another entity. `filed` is the version of the rules that say so, if nobody did."""
    body = {**held.belief().to_body(), "about": about, "id": draw(), "reason": reason}
    draft = with_its_past(in_its_place(recorded(body), held, held.path), held, event_at)
    rest = {name: value for name, value in draft.body.items() if name != "filed"}
    return Draft(draft.op, {**rest, "filed": filed} if filed else rest)
