"""What an action comes to: the drafts that do it, to exactly what it was asked for."""

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
from tallystick.state.version import CurrentVersion

NOT_EVENTS = ("trust", "erase", "compact")  # what is more, or less, than events about beliefs

_NEVER = ("id", "user", "path", "weakened")  # these say which belief it is, and whose
_MAY_CHANGE: dict[str, tuple[str, ...]] = {
    "forget": (), "invalidate": (), "erase": (), "trust": (), "activate": (), "reinforce": ("weight", "signal"),
    "promote": ("confidence",), "compact": ("rewrite",),
}  # fmt: skip


def carried_out(known: State, action: Action, draw: Draw, *, may_be_done: bool = False) -> list[Draft]:
    """The drafts that do what was asked, to exactly what it was asked for. Moved, if that is not the same any more.

    What changes nothing is Moved too, for it would have changed something when it was asked; unless it `may_be_done`.
    """
    found = [_unmoved(known, version, action) for version in action.target]
    check_changes(action)
    if action.kind == "compact":
        _same_page(known, action)
    if action.kind in NOT_EVENTS:
        return []
    drafts = as_stated(_drafts(known, action, draw), action)
    if may_be_done and not drafts:
        return []
    touched = {known.get(version, user=action.user, path=action.path).ref for version in targets(drafts)}
    if touched != {held.ref for held in found}:
        raise Moved("what it would change is not what it was asked for any more")
    return drafts


def check_changes(action: Action) -> None:
    """Refused, if an action says something that its kind cannot do: what a person is shown is what happens."""
    allowed = _MAY_CHANGE.get(action.kind)
    for name, value in action.changes.items():
        if allowed is not None and name not in allowed:
            raise Refused(
                f"to {action.called or action.kind} changes no {name!r}; leave it out, or revise instead", "field"
            )
        is_its_own = name in ("user", "path") and value == getattr(action, name)
        if name in _NEVER and not is_its_own:
            raise Refused(f"{name!r} is not for an action to change; leave it out", "field")


def targets(drafts: Iterable[Draft]) -> tuple[str, ...]:
    """The versions that drafts change, or hide on a branch."""
    found: list[str] = []
    for draft in drafts:
        body = draft.body
        replaced = body.get("replaces") or body.get("over")
        found += replaced or body.get("ids", ()) or ([body["id"]] if "id" in body else [])
    return tuple(found)


def as_stated(drafts: list[Draft], action: Action) -> list[Draft]:
    """New words are no more trusted than the one who says them, nor than what they replace, unless a trust was named.

    So is what is merged. What is only held again, or held for sure, has the words that it had.
    """
    if action.noun != BELIEF or action.kind not in ("revise", "merge") or "trust" in action.changes:
        return drafts
    for draft in drafts:
        belief = draft.body["belief"]
        if is_above(belief.get("trust", "human"), action.trust):
            belief["trust"] = action.trust
    return drafts


def on_page(known: State, user: str, about: str) -> tuple[str, ...]:
    """What stands on a page, by its versions."""
    held = known.query(user=user, status="", where=lambda each: each.body().get("about", "") == about)
    return tuple(each.body()["id"] for each in held)


def _same_page(known: State, action: Action) -> None:
    about = known.get(action.target[0], user=action.user).body().get("about", "")
    if set(on_page(known, action.user, about)) != set(action.target):
        raise Moved("the page is not what it was when it was asked")


def _unmoved(known: State, version: str, action: Action) -> CurrentVersion:
    held = known.get(version, user=action.user, path=action.path)
    if known.read_before(version, held):
        raise Moved(f"{version} has been revised since")
    return held


def _drafts(known: State, action: Action, draw: Draw) -> list[Draft]:
    changes = thawed(action.changes)
    if action.kind == "remember":
        changes = {"trust": action.trust, **changes, "user": action.user, "path": action.path}
        key = {"idempotency_key": action.idempotency_key, "source": action.by}
        return decide.put(known, changes, draw, **key, merged=action.merged)
    return _OF[action.kind](known, action, changes, draw)


def _revise(known: State, action: Action, changes: dict[str, Any], draw: Draw) -> list[Draft]:
    where: dict[str, Any] = {"user": action.user, "path": action.path}
    return decide.revise(known, action.target[0], changes, draw, reason=action.reason, **where)


def _forget(known: State, action: Action, _: dict[str, Any], draw: Draw) -> list[Draft]:
    said: dict[str, Any] = {"user": action.user, "path": action.path, "reason": action.reason}
    return [draft for name in action.target for draft in decide.forget(known, name, draw, **said)]


def _invalidate(known: State, action: Action, _: dict[str, Any], draw: Draw) -> list[Draft]:
    where: dict[str, Any] = {"user": action.user, "path": action.path}
    return decide.invalidate(known, action.target[0], draw, reason=action.reason, **where)


def _activate(known: State, action: Action, _: dict[str, Any], draw: Draw) -> list[Draft]:
    """A belief that was put away is held again, in the words that it had."""
    return _revise(known, action, {"status": "active"}, draw)


def _promote(known: State, action: Action, changes: dict[str, Any], draw: Draw) -> list[Draft]:
    """A hypothesis is held as a fact."""
    held = known.get(action.target[0], user=action.user, path=action.path)
    if held.status != "active":
        raise Refused(f"{action.target[0]} is not held; activate it first", "state")
    return _revise(known, action, {**changes, "is_hypothesis": False}, draw)


def _reinforce(known: State, action: Action, changes: dict[str, Any], _: Draw) -> list[Draft]:
    """It helped, or misled: what that counts for is for recall to say."""
    signal, weight = changes.get("signal", 1.0), changes.get("weight", 1.0)
    told: dict[str, Any] = {"user": action.user, "reason": action.reason, "path": action.path}
    return use.outcome(known, action.target, signal, weight, **told)


def _merge(known: State, action: Action, changes: dict[str, Any], draw: Draw) -> list[Draft]:
    held = [known.get(name, user=action.user, path=action.path) for name in action.target]
    if len({each.ref for each in held}) < max(2, len(held)):
        raise Refused("to merge takes two beliefs or more, each named once")
    gone = [name for name, each in zip(action.target, held, strict=True) if each.status != "active"]
    if gone:
        raise Refused(f"{gone[0]} is not held; activate it first", "state")
    return decide.merge(known, list(action.target), changes, draw, reason=action.reason, user=action.user)


_OF = {
    "revise": _revise, "forget": _forget, "invalidate": _invalidate, "activate": _activate, "promote": _promote,
    "reinforce": _reinforce, "merge": _merge,
}  # fmt: skip
