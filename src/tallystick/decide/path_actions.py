"""Actions on a path, and the drafts that carry them out, on exactly what was shown.

An action names the beliefs on its path, so that a person sees them, and has a mark of the state at the time of the
request. If the path was written to since, or a merge would do something else, it is Moved.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson

from tallystick.decide import path_merge as merging, paths as decide
from tallystick.decide.beliefs import Draw
from tallystick.records.errors import Moved, Refused
from tallystick.records.event import Draft
from tallystick.records.path import REVIEW
from tallystick.records.policy import Policy
from tallystick.records.review import Action
from tallystick.state.state import State

SEEN = "seen"  # the mark, among the changes
_MAY_CHANGE = {"merge": ("into", "conflicts"), "abandon": (), "compact": ("summary",), "reopen": ()}
_NO_PREDICATES: frozenset[str] = frozenset()


def action_on(
    known: State, kind: str, name: str, changes: dict[str, Any], *, several: frozenset[str] = _NO_PREDICATES,
    **asked: Any,
) -> Action:  # fmt: skip
    """An action on a path as it is now. Refused, if it cannot be done."""
    user = asked["user"]
    held = [each for each in known.held.values() if (each.user, each.path) == (user, name)]
    target = tuple(each.body()["id"] for each in sorted(held, key=lambda each: each.first))
    action = Action(kind=kind, noun="path", path=name, target=target, changes=changes, **asked)
    return replace(action, changes={**action.changes, SEEN: _mark(known, action, several)})


def carried_out(
    known: State, policy: Policy, action: Action, draw: Draw, *, several: frozenset[str] = _NO_PREDICATES,
    is_approved: bool = False,
) -> list[Draft]:  # fmt: skip
    """The drafts that carry out an action. Moved, if the path has changed since."""
    for name in action.changes:
        if name not in (SEEN, *_MAY_CHANGE[action.kind]):
            raise Refused(f"{action.kind} of a path cannot change {name!r}; leave it out", "field")
    user, name, changes = action.user, action.path, action.changes
    if action.kind == "merge":
        planned = merging.plan(known, user, name, changes.get("into"), several=several)
        rule, asker = changes.get("conflicts", REVIEW), merging.Asker(action.by, action.trust, policy)
        drafts = merging.merge(known, planned, rule, asker, draw, is_approved=is_approved)
    elif action.kind == "compact":
        drafts = decide.compact(known, user, name, draw, summary=changes.get("summary", ""), trust=action.trust)
    else:
        drafts = (decide.abandon if action.kind == "abandon" else decide.reopen)(known, user, name, action.reason)
    if changes.get(SEEN) != _mark(known, action, several):
        raise Moved(f"path {name!r:.80} has changed since the request")
    return drafts


def _mark(known: State, action: Action, several: frozenset[str]) -> str:
    """The state of what an action is about, by ids: a digest of words would outlive them."""
    state: list[Any] = known.paths.seen(action.user, action.path)
    if action.kind == "merge":
        planned = merging.plan(known, action.user, action.path, action.changes.get("into"), several=several)
        state.append([planned.into])
        state += [[step.mine.body()["id"], step.target.body()["id"] if step.target else "", step.conflict]
                  for step in planned.steps]  # fmt: skip
    return sha256(orjson.dumps(state)).hexdigest()[:16]
