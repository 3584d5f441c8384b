"""The drafts that carry out an action, on exactly what was requested."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tallystick.decide import beliefs as decide, usage as use
from tallystick.decide.beliefs import Draw
from tallystick.records.belief import thawed
from tallystick.records.errors import Moved, Refused
from tallystick.records.event import Draft
from tallystick.records.policy import BELIEF, is_above
from tallystick.records.review import Action
from tallystick.state.state import State

NOT_EVENTS = ("trust", "erase", "compact")  # actions that are more, or less, than events about beliefs

_NEVER = ("id", "user", "path", "weakened")  # the identity of a belief
_MAY_CHANGE: dict[str, tuple[str, ...]] = {
    "forget": (), "invalidate": (), "erase": (), "trust": (), "activate": (), "reinforce": ("weight", "signal"),
    "promote": ("confidence",), "compact": ("rewrite",),
}  # fmt: skip


def carried_out(known: State, action: Action, draw: Draw, *, may_be_done: bool = False) -> list[Draft]:
    """The drafts that carry out an action, on exactly what was requested. Moved, if that has changed since.

    An action that changes nothing is Moved too, for it would have changed something at first; unless it `may_be_done`.
    """
    found = []
    for version in action.target:
        found.append(known.get(version, user=action.user, path=action.path))
        if known.read_before(version, found[-1]):
            raise Moved(f"{version} has been revised since")
    check_changes(action)
    if action.kind == "compact":
        about = known.get(action.target[0], user=action.user).body().get("about", "")
        if set(on_page(known, action.user, about)) != set(action.target):
            raise Moved("the page has changed since the request")
    if action.kind in NOT_EVENTS:
        return []
    drafts = as_stated(_drafts(known, action, draw), action)
    if may_be_done and not drafts:
        return []
    touched = {known.get(version, user=action.user, path=action.path).ref for version in targets(drafts)}
    if touched != {held.ref for held in found}:
        raise Moved("it would no longer change what was requested")
    return drafts


def check_changes(action: Action) -> None:
    """Refuse changes that the kind of action cannot make: what a person is shown is what happens."""
    allowed = _MAY_CHANGE.get(action.kind)
    for name, value in action.changes.items():
        if allowed is not None and name not in allowed:
            raise Refused(f"{action.called or action.kind} cannot change {name!r}; leave it out, or revise", "field")
        is_its_own = name in ("user", "path") and value == getattr(action, name)
        if name in _NEVER and not is_its_own:
            raise Refused(f"an action cannot change {name!r}; leave it out", "field")


def targets(drafts: Iterable[Draft]) -> tuple[str, ...]:
    """The versions that drafts change, or hide on a branch."""
    found: list[str] = []
    for draft in drafts:
        body = draft.body
        replaced = body.get("replaces") or body.get("over")
        found += replaced or body.get("ids", ()) or ([body["id"]] if "id" in body else [])
    return tuple(found)


def as_stated(drafts: list[Draft], action: Action) -> list[Draft]:
    """The drafts with their trust: new and merged words are trusted no more than the requester, nor than what they
    replace, unless a trust was given. A belief that is only activated or promoted keeps its trust."""
    if action.noun != BELIEF or action.kind not in ("revise", "merge") or "trust" in action.changes:
        return drafts
    for draft in drafts:
        belief = draft.body["belief"]
        if is_above(belief.get("trust", "human"), action.trust):
            belief["trust"] = action.trust
    return drafts


def on_page(known: State, user: str, about: str) -> tuple[str, ...]:
    held = known.query(user=user, status="", where=lambda each: each.body().get("about", "") == about)
    return tuple(each.body()["id"] for each in held)


def _drafts(known: State, action: Action, draw: Draw) -> list[Draft]:
    changes, target, reason = thawed(action.changes), action.target, action.reason
    where: dict[str, Any] = {"user": action.user, "path": action.path}
    match action.kind:
        case "remember":
            fields = {"trust": action.trust, **changes, **where}
            key = {"idempotency_key": action.idempotency_key, "source": action.by}
            return decide.put(known, fields, draw, **key, merged=action.merged)
        case "forget":
            return [each for name in target for each in decide.forget(known, name, draw, reason=reason, **where)]
        case "invalidate":
            return decide.invalidate(known, target[0], draw, reason=reason, **where)
        case "reinforce":
            signal, weight = changes.get("signal", 1.0), changes.get("weight", 1.0)
            return use.outcome(known, target, signal, weight, reason=reason, **where)
        case "merge":
            if len({known.get(name, **where).ref for name in target}) < max(2, len(target)):
                raise Refused("to merge needs two beliefs or more, each named once")
            _must_be_active(known, target, where)
            return decide.merge(known, list(target), changes, draw, reason=reason, user=action.user)
        case "activate":
            changes = {"status": "active"}
        case "promote":
            _must_be_active(known, target[:1], where)
            changes["is_hypothesis"] = False
    return decide.revise(known, target[0], changes, draw, reason=reason, **where)


def _must_be_active(known: State, names: Iterable[str], where: dict[str, Any]) -> None:
    for name in names:
        if known.get(name, **where).status != "active":
            raise Refused(f"{name} is not active; activate it first", "state")
