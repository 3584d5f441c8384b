"""The subjects of an action: what it would state or change, as the rules of the policy look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tallystick.decide.actions import targets
from tallystick.records import operations as op
from tallystick.records.clock import comparable, parse_moment
from tallystick.records.event import Draft
from tallystick.records.policy import CHANGE, Subject, thing
from tallystick.records.review import Action
from tallystick.state.state import State

_VERBS = {  # of what an undo comes to
    op.BELIEF_PUT: "revise", op.BELIEF_SUPERSEDE: "revise", op.BELIEF_TOMBSTONE: "forget",
    op.BELIEF_INVALIDATE: "invalidate", op.EPISODE_RETRACT: "episode.forget",
    op.EPISODE_FADE: "episode.fade", op.EPISODE_RESTORE: "episode.restore",
    op.PAGE_PUT: "page.describe", op.PAGE_RENAME: "page.describe", op.GRAPH_MERGE: "graph.merge",
    op.GRAPH_UNMERGE: "graph.unmerge", op.RULE_PUT: "rule.set", op.RULE_DROP: "rule.drop", op.FRAME_PUT: "frame.set",
    op.FRAME_DROP: "frame.drop", op.CONFIG_SET: "config.set", op.TRUST_SET: "source.trust",
    op.TRUST_CORROBORATE: "trust",
    op.RELATION_PUT: "relation.put", op.PATH_ABANDON: "path.abandon", op.PATH_COMPACT: "path.compact",
    op.PATH_REOPEN: "path.reopen",
}  # fmt: skip
_BECOMES = {"tombstone": "forget", "invalidated": "invalidate", "active": "activate"}


def subjects(known: State, action: Action, drafts: Sequence[Draft], now: str = "") -> list[Subject]:
    """The subjects of an action. A version that does more than its verb (it hides a belief) is judged for that, too."""
    if action.noun == "path":  # its maker, its beliefs and its episodes; unless it is compacted, also those below it
        user, names = action.user, [action.path]
        if action.kind != "compact":
            names += known.paths.all_below(user, action.path)
        trusts = {trust for name in names for trust in known.paths.trusts(user, name)}
        bodies = [each.body() for name in names for each in known.on_path(user, name)]
        return [
            *(thing(trust, user, action.path) for trust in sorted(trusts)),
            *(subject_of(body, standing(known, body["id"], user)) for body in bodies),
        ]
    if action.noun == CHANGE:
        return list(_undoing(known, action, drafts, now))
    found: list[Subject] = []
    seen: set[str] = set()
    for draft in drafts:
        belief = draft.body.get("belief")
        if belief is not None:
            found.append(subject_of(belief, ""))
        for version in targets([draft]):
            seen.add(version)
            there = _there(known, version, action.user, belief["confidence"] if belief is not None else None)
            found.append(there)
            if belief is not None and action.verb in ("revise", "merge"):
                found += [there._replace(verb=verb) for verb in _effects(known, version, belief, now)]
    return found + [_there(known, version, action.user, None) for version in action.target if version not in seen]


def _undoing(known: State, action: Action, drafts: Sequence[Draft], now: str) -> Iterator[Subject]:
    """The subjects of an undo: the change, which is somebody else's or the requester's own, and what it comes to."""
    whole = thing(action.trust if action.changes.get("by") == action.by else "human", action.user)
    yield whole
    for draft in drafts:
        belief, verbs = draft.body.get("belief"), [_VERBS[draft.op], *(["trust"] if "approved" in draft.body else [])]
        versions = targets([draft]) if draft.op.startswith("belief.") else ()
        for version in versions:
            there = _there(known, version, action.user, belief["confidence"] if belief else None)
            more = _effects(known, version, belief, now) if belief else ()
            yield from (there._replace(verb=verb) for verb in (*verbs, *more))
        if not versions:
            yield from (whole._replace(verb=verb) for verb in verbs)


def _effects(known: State, version: str, after: Mapping[str, Any], now: str) -> Iterator[str]:
    """The other verbs that a version comes to in the place of another."""
    held = known.version(version)
    before: Mapping[str, Any] = held.body() if held else {}
    was, will = before.get("status", "active"), after.get("status", "active")
    if was != will and will in _BECOMES:
        yield _BECOMES[will]
    if before.get("is_hypothesis") and not after.get("is_hypothesis"):
        yield "promote"
    until = after.get("valid_to", "")
    if until and until != before.get("valid_to", "") and (not now or parse_moment(comparable(until)) <= now):
        yield "invalidate"


def _there(known: State, version: str, user: str, confidence: float | None) -> Subject:
    held = known.version(version)
    if held is None or held.user != user:
        return Subject("human", user)
    subject = subject_of(held.body(), standing(known, version, user))
    return subject if confidence is None else subject._replace(confidence=confidence)


def subject_of(body: Mapping[str, Any], trust: str) -> Subject:
    fields = {name: body[name] for name in ("user", "session", "agent", "path", "about", "kind") if name in body}
    return Subject(trust, **fields, tags=tuple(body.get("tags", ())), confidence=body["confidence"])


def standing(known: State, version: str, user: str) -> str:
    """The trust of a belief: human, if a person approved it; else that of whoever stated it."""
    if known.reviews.is_approved(version):
        return "human"
    held = known.version(version)
    return held.belief().trust if held and held.user == user else "human"
