"""What an action would state or change, as the rules of the policy look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tallystick.decide.actions import targets
from tallystick.records.clock import comparable, parse_moment
from tallystick.records.event import Draft
from tallystick.records.policy import Subject, thing
from tallystick.records.review import Action
from tallystick.state.state import State


def subjects(known: State, action: Action, drafts: Sequence[Draft], now: str = "") -> list[Subject]:
    """What an action would state or change, as rules look at it.

    A version that does more than its verb says (a revision that puts a belief out of sight) is judged for that, too.
    """
    if action.noun == "path":
        return _path(known, action)
    found: list[Subject] = []
    seen: set[str] = set()
    for draft in drafts:
        said = draft.body.get("belief")
        if said is not None:
            found.append(subject_of(said, ""))
        for version in targets([draft]):
            seen.add(version)
            there = _there(known, version, action.user, said["confidence"] if said is not None else None)
            found += there
            if said is not None and action.verb in ("revise", "merge"):
                found += [each._replace(verb=verb) for each in there for verb in _effects(known, version, said, now)]
    for version in action.target:
        if version not in seen:
            found += _there(known, version, action.user, None)
    return found


def _effects(known: State, version: str, said: Mapping[str, Any], now: str) -> Iterator[str]:
    """What the words in the place of a version do beside saying it otherwise."""
    held = known.version(version)
    before: Mapping[str, Any] = held.body() if held else {}
    was, will = before.get("status", "active"), said.get("status", "active")
    if was != will and will in _BECOMES:
        yield _BECOMES[will]
    if before.get("is_hypothesis") and not said.get("is_hypothesis"):
        yield "promote"
    until = said.get("valid_to", "")
    if until and until != before.get("valid_to", "") and (not now or parse_moment(comparable(until)) <= now):
        yield "invalidate"


def _path(known: State, action: Action) -> list[Subject]:
    """A path: whoever made it, what was said on it, and what happened there; of one that is given up, also below it."""
    user, names = action.user, [action.path]
    if action.kind != "compact":
        names += known.paths.all_below(user, action.path)
    trusts = {trust for name in names for trust in known.paths.trusts(user, name)}
    found = [thing(trust, user, action.path) for trust in sorted(trusts)]
    held = (each for each in known.held.values() if each.user == user and each.path in names)
    return found + [subject_of(each.body(), standing(known, each.body()["id"], user)) for each in held]


def _there(known: State, version: str, user: str, confidence: float | None) -> list[Subject]:
    held = known.version(version)
    if held is None or held.user != user:
        return [Subject("human", user)]
    subject = subject_of(held.body(), standing(known, version, user))
    return [subject if confidence is None else subject._replace(confidence=confidence)]


def subject_of(body: dict[str, object], trust: str) -> Subject:
    told = {name: body[name] for name in ("user", "session", "agent", "path", "about", "kind") if name in body}
    tags, confidence = body.get("tags", ()), body["confidence"]
    return Subject(trust, **told, tags=tuple(tags), confidence=confidence)  # type: ignore[arg-type]


def standing(known: State, version: str, user: str) -> str:
    """How far a belief is trusted: as the one who stated it; as a person, if a person said yes to it."""
    if known.reviews.is_approved(version):
        return "human"
    held = known.version(version)
    return held.belief().trust if held and held.user == user else "human"


_BECOMES = {"tombstone": "forget", "invalidated": "invalidate", "active": "activate"}
