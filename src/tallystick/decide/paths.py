"""Decisions about paths: branch, merge, abandon, compact, reopen; and the actions that a person may be asked about.

The events of a path stay in the ledger, so abandoning and compacting it can be undone.

Merging: every belief that was stated or changed on the branch is stated where it is merged into, under its key: as a
new belief, in place of the version that it was made from, or over an ancestor's. Withdrawn beliefs are merged likewise,
but not those that were both stated and forgotten on the branch.

A conflict is: both sides changed the same belief; both stated something under the same key; or both have a new fact of
the same subject and predicate, of which only one can be true, with another object. The same words on both sides are no
conflict. What is merged passes the gate as the requester's revision of what is there.

An action names the beliefs on its path, so that a person sees them, and has a mark of the state at the time of the
request. If the path was written to since, or a merge would do something else, it is Moved.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple, cast

import orjson

from tallystick.decide import beliefs as decide
from tallystick.decide.beliefs import Draw, carried, in_its_place
from tallystick.decide.gate import gate
from tallystick.decide.review_request import ask, refuse
from tallystick.decide.subjects import subjects
from tallystick.records import operations as op
from tallystick.records.belief import recorded
from tallystick.records.errors import Moved, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.fields import must_be_one_of
from tallystick.records.path import (
    ABANDONED,
    BRANCH,
    BY_MERGE,
    MAIN,
    MERGED,
    NEWEST,
    OPEN,
    REVIEW as ASKED,
    ROOT,
    RULES,
    Conflict,
    shown,
)
from tallystick.records.policy import QUARANTINE, REFUSE, REVIEW, Policy, is_above, lower
from tallystick.records.review import Action
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import State

LONGEST_NAME = 200
LONGEST_REASON = 1000
DEEPEST = 100  # paths from the root down: a lookup goes through all of them
SUMMARY = "summary"  # the kind of belief with a path's result
MOST_NAMED = 10_000  # ids in the event of a merge, since a line is limited. Each version has its own, too

CHANGED = "both sides changed it"
STATED = "both sides stated something under this key"
CLAIMED = "both sides have a new fact of the same subject and predicate"

SEEN = "seen"  # the mark, among the changes of an action

_JOINERS = "\u200c\u200d"  # some scripts and emoji sequences need them
_MAY_CHANGE = {"merge": ("into", "conflicts"), "abandon": (), "compact": ("summary",), "reopen": ()}


def branch(known: State, user: str, name: str, parent: str = ROOT) -> list[Draft]:
    """A new path that sees what its parent sees."""
    given: object = name
    if not isinstance(given, str) or not name.strip():
        raise Refused("a path needs a name; it must not be empty", "name")
    if len(name) > LONGEST_NAME:
        raise Refused(f"a path's name has up to {LONGEST_NAME} characters, not {len(name)}", "size")
    if name != name.strip() or not all(each.isprintable() or each in _JOINERS for each in name):
        raise Refused(f"a path's name must be one printable line without space around it, not {name!r:.60}", "text")
    if name == MAIN or known.paths.is_known(user, name):
        raise Refused(f"path {name!r:.80} exists already; choose another name", "exists")
    named(known, user, parent)
    must_go_on(known, user, parent, "branch from another one")
    if len(known.paths.lineage(user, parent)) >= DEEPEST:
        raise Refused(f"path {parent!r:.80} is {DEEPEST} levels deep; branch from one further up", "size")
    return [Draft(op.PATH_BRANCH, {"user": user, "path": name, "parent": parent})]


def abandon(known: State, user: str, name: str, reason: str) -> list[Draft]:
    """Abandon a path, with a reason. It and the paths below it are hidden; all of it stays in history."""
    must_be_a_branch(known, user, name, "abandoned")
    _must_say_why(name, "abandoned", reason)
    must_go_on(known, user, name, "it cannot be abandoned")
    return [Draft(op.PATH_ABANDON, {"user": user, "path": name, "reason": reason})]


def compact(known: State, user: str, name: str, draw: Draw, *, summary: str = "", trust: str = "human") -> list[Draft]:
    """Close a path: it cannot be written to, and its episodes are not recalled. Its beliefs stay."""
    must_be_a_branch(known, user, name, "closed")
    known.paths.writable(user, name)
    given, drafts, version = cast("object", summary), list[Draft](), ""
    if not isinstance(given, str):
        raise Refused(f"a summary must be a string, not {type(given).__name__}")
    if summary.strip():
        fields = {"text": summary, "kind": SUMMARY, "user": user, "path": name, "trust": trust}
        drafts = decide.put(known, fields, draw)
        version = drafts[0].body["belief"]["id"]
    return [*drafts, Draft(op.PATH_COMPACT, {"user": user, "path": name, "summary": version})]


def reopen(known: State, user: str, name: str, reason: str) -> list[Draft]:
    """Undo that a path was abandoned or compacted: it is as before."""
    must_be_a_branch(known, user, name, "reopened")
    _must_say_why(name, "reopened", reason)
    state = known.paths.state(user, name)
    if state == MERGED:
        raise Refused(f"path {name!r:.80} is merged, which cannot be undone; branch a new one", "state")
    if state == OPEN:
        is_below = known.paths.lineage(user, name)[0] != name
        how = "below an abandoned one; reopen that one" if is_below else "open already"
        raise Refused(f"path {name!r:.80} is {how}", "state")
    return [Draft(op.PATH_REOPEN, {"user": user, "path": name, "reason": reason})]


def named(known: State, user: str, name: str) -> str:
    """The path of that name; `main` is the root. NotFound, with the way out."""
    path: object = ROOT if name == MAIN and not known.paths.is_known(user, MAIN) else name
    if not isinstance(path, str) or not known.paths.is_known(user, path):
        raise not_found(name)
    return path


def not_found(name: object) -> NotFound:
    make = f"run `tallystick paths branch`, or m.paths.branch({name!r:.80})"
    return NotFound(f"no path named {name!r:.80}; to make it, {make}")


def must_be_a_branch(known: State, user: str, name: str, what: str) -> None:
    if not named(known, user, name):
        raise Refused(f"the path {shown(ROOT)!r} is the root of all paths; it cannot be {what}", "state")


def must_go_on(known: State, user: str, name: str, way_out: str) -> None:
    """Refused, if the path was merged or abandoned, or is below one that was abandoned."""
    state = known.paths.state(user, name)
    if state in (MERGED, ABANDONED):
        raise Refused(f"path {name!r:.80} is {state}; {way_out}", "state")
    if name and known.paths.lineage(user, name)[0] != name:
        raise Refused(f"path {name!r:.80} is below an abandoned one; {way_out}", "state")


def _must_say_why(name: str, what: str, reason: str) -> None:
    given: object = reason
    if not isinstance(given, str) or not given.strip():
        raise Refused(f"give a reason why path {name!r:.80} is {what}", "required")
    if len(reason) > LONGEST_REASON:
        raise Refused(f"a reason has up to {LONGEST_REASON} characters, not {len(reason)}", "size")


class Asker(NamedTuple):
    """The requester of a merge, and the policy."""

    by: str
    trust: str
    policy: Policy


class Step(NamedTuple):
    """One belief of the branch, the one that it would replace, and why that is a conflict."""

    mine: CurrentVersion
    target: CurrentVersion | None
    conflict: str = ""  # empty if there is none


class MergePlan(NamedTuple):
    user: str
    path: str
    into: str
    steps: list[Step]

    def conflicts(self, known: State) -> list[Conflict]:
        return [
            Conflict(mine.key, next(iter(known.over(mine.ref)), ""), target.belief(), mine.belief(), why)
            for mine, target, why in self.steps if why and target  # there is no conflict without one
        ]  # fmt: skip


def plan(
    known: State, user: str, name: str, into: str | None = None, *, several: frozenset[str] = frozenset()
) -> MergePlan:  # fmt: skip
    """The steps and conflicts of a merge. The predicates in `several` may have more than one object."""
    must_be_a_branch(known, user, name, "merged")
    must_go_on(known, user, name, "it cannot be merged")
    target = known.paths.parent(user, name) if into is None else named(known, user, into)
    if target not in known.paths.lineage(user, name)[1:]:
        raise Refused(
            f"path {name!r:.80} can be merged only into one that it branched from, not into {shown(target)!r:.80}",
            "state",
        )
    known.paths.writable(user, target)
    below = [each for each in known.paths.below(user, name) if known.paths.state(user, each) not in (MERGED, ABANDONED)]
    if below:
        raise Refused(
            f"path {name!r:.80} has branches ({', '.join(map(repr, below[:3]))}); merge or abandon those first", "state"
        )
    mine = known.query(
        user=user, path=name, status="", where=lambda held: held.path == name and not known.is_uncovered(held)
    )
    found = (_step(known, held, name, target, several) for held in mine)
    return MergePlan(user, name, target, [step for step in found if step is not None])


def merge(
    known: State, planned: MergePlan, rule: str, asker: Asker, draw: Draw, *, is_approved: bool = False
) -> list[Draft]:
    """The drafts of a merge: what is merged, the requests for approval (none, if it has one), and the merge itself."""
    must_be_one_of("conflicts", rule, RULES)
    taken, asked = _sorted_out(known, planned, rule, None if is_approved else asker)
    names = {step.mine.ref: draw() for step in taken}
    there = names | {step.mine.ref: step.target.ref for step in planned.steps if step.target}
    drafts = [_brought(known, step, planned, names[step.mine.ref], there) for step in taken]
    pairs = [[step.mine.body()["id"], names[step.mine.ref]] for step in taken[:MOST_NAMED]]
    actions = [(_action(known, step, planned, there, asker), why) for step, why in asked]
    pending = known.reviews.asked
    questions = [draft for each, why in actions if not pending(each) for draft in ask(known, each, why, draw)]
    done = {"user": planned.user, "path": planned.path, "into": planned.into, "brought": pairs, "rule": rule}
    return [*drafts, *_related(known, planned, there, set(names.values())), *questions, Draft(op.PATH_MERGE, done)]


# -- steps and conflicts -----------------------------------------------------------------------------------------------


def _step(known: State, mine: CurrentVersion, path: str, into: str, several: frozenset[str]) -> Step | None:
    """The step of one belief of the branch; None, if it changes nothing there."""
    target = _target(known, mine, into)
    if target is None:
        if mine.status == "tombstone":
            return None
        rival = _rival(known, mine, path, into, several)
        return Step(mine, rival, CLAIMED if rival else "")
    left, right = mine.body(), target.body()
    fields = (left.keys() | right.keys()) - {"id", "path", "reason", "weakened", "views"}
    if all(left.get(name) == right.get(name) for name in fields):
        return None
    if not known.over(mine.ref):
        return None if _same_words(mine, target) else Step(mine, target, STATED)
    if target.seq < mine.first:
        return Step(mine, target)
    return None if _same_words(mine, target) else Step(mine, target, CHANGED)


def _target(known: State, mine: CurrentVersion, into: str) -> CurrentVersion | None:
    """The belief that a branch's belief would replace."""
    for name in (*known.over(mine.ref), mine.key):
        found = known.find(name, user=mine.user, path=into, short=False)
        if found is not None and known.sees(found, into):
            return found
    return None


def _rival(known: State, mine: CurrentVersion, path: str, into: str, several: frozenset[str]) -> CurrentVersion | None:
    """The fact of the same subject and predicate, with another object, that is newer than the branch."""
    body = mine.body()
    triple = tuple(body.get("triple", ()))
    if mine.status != "active" or not triple or triple[1] in several:
        return None
    began = known.paths.branched(mine.user, path)
    for held in reversed(known.claiming(mine.user, into, body.get("agent", ""), *triple[:2])):
        is_new = held.status == "active" and held.first > began
        if is_new and held.body()["triple"][2] != triple[2] and known.sees(held, path):
            return held  # the branch has its own version of what is hidden from it
    return None


def _same_words(mine: CurrentVersion, target: CurrentVersion) -> bool:
    if mine.status != target.status:
        return False
    left, right = mine.body(), target.body()
    return mine.status == "tombstone" or all(left.get(name) == right.get(name) for name in ("text", "triple"))


def _sorted_out(
    known: State, planned: MergePlan, rule: str, asker: Asker | None
) -> tuple[list[Step], list[tuple[Step, str]]]:
    """The steps that are taken, and those that need approval, and why."""
    taken, asked = list[Step](), list[tuple[Step, str]]()
    for step in planned.steps:
        why = _why_asked(known, step, planned, asker) if asker else ""
        is_newer = step.target is not None and step.mine.seq > step.target.seq
        if step.conflict and not (rule == BRANCH or (rule == NEWEST and is_newer)):
            if rule == ASKED:
                asked.append((step, f"{step.conflict}, on {shown(planned.into)!r} and on {planned.path!r}"))
        elif why:
            asked.append((step, why))
        else:
            taken.append(step)
    return taken, asked


def _why_asked(known: State, step: Step, planned: MergePlan, asker: Asker) -> str:
    """The reason why a step needs approval; empty, if it does not."""
    if asker.trust in asker.policy.free_as(asker.by):
        return ""
    there = (step.target.body()["id"],) if step.target else ()
    verb = "revise" if there else "remember"
    action = Action(kind=verb, user=planned.user, path=planned.into, target=there, by=asker.by, trust=asker.trust)
    draft = Draft(op.BELIEF_PUT, {"belief": {**step.mine.body(), "path": planned.into}, "replaces": list(there)})
    verdict = gate(asker.policy, action, subjects(known, action, [draft]))
    if verdict.kind == REFUSE:
        refuse(known, action, "refused", message=verdict.why)
    if verdict.kind == QUARANTINE:  # what is quarantined stays so, on both paths
        return "" if step.mine.body().get("trust", "human") in asker.policy.quarantined else verdict.why
    return verdict.why if verdict.kind == REVIEW else ""


def _brought(known: State, step: Step, planned: MergePlan, name: str, there: Mapping[str, str]) -> Draft:
    """A branch's belief, stated where it is merged into."""
    mine, target = step.mine.belief(), step.target
    fields = {
        **carried(mine), "id": name, "key": target.key if target else mine.key, "path": planned.into,
        "reason": BY_MERGE if mine.is_held or not mine.reason else f"{BY_MERGE}: {mine.reason}",
        "rests_on": _refs(known, mine.rests_on, planned, there),
        "weakened": tuple(_refs(known, pair, planned, there) for pair in mine.weakened),
    }  # fmt: skip
    draft = in_its_place(recorded(fields), target, planned.into)
    draft.body["merged"] = [mine.id]
    if approved := known.reviews.approval_of(mine.id):
        draft.body["approved"] = approved
    return draft


def _refs(known: State, refs: Iterable[str], planned: MergePlan, there: Mapping[str, str]) -> tuple[str, ...]:
    """The refs of beliefs where they are merged into: as merged, or as they are there already."""
    found = []
    for ref in refs:
        held = known.version(ref)
        target = _target(known, held, planned.into) if held and held.ref not in there else None
        found.append(target.ref if target else there.get(held.ref if held else ref, ref))
    return tuple(found)


def _related(known: State, planned: MergePlan, there: Mapping[str, str], new: Container[str]) -> Iterator[Draft]:
    """The branch's relations, where both memories are there where it is merged into."""
    for each in known.relations.on(planned.user, planned.path):
        ids = _refs(known, each.ids, planned, there)
        held = {name: known.version(name) for name in ids if name not in new}
        is_there = all(each is None or known.sees(each, planned.into) for each in held.values())
        if ids[0] != ids[1] and is_there:
            more = {"path": planned.into} if planned.into else {}
            more |= {WRITER_TRUST: each.trust} if each.trust != "human" else {}
            yield Draft(op.RELATION_PUT, {"user": each.user, "ids": list(ids), "relation": each.relation, **more})


def _action(known: State, step: Step, planned: MergePlan, there: Mapping[str, str], asker: Asker) -> Action:
    """The action to approve: to state there what the branch states."""
    mine = step.mine.belief()
    asked: dict[str, Any] = {"user": planned.user, "path": planned.into, "by": asker.by, "trust": asker.trust}
    if step.target is None:
        said = {name: value for name, value in carried(mine).items() if name in _ASKED or name == "key"}
        said["rests_on"] = _refs(known, mine.rests_on, planned, there)
        said["trust"] = lower((mine.trust, asker.trust))
        return Action(kind="remember", changes=said, reason=BY_MERGE, merged=(mine.id,), **asked)
    stands = step.target.belief()
    said = {name: getattr(mine, name) for name in mine.to_body().keys() | stands.to_body().keys() if name in _ASKED}
    said["rests_on"] = _refs(known, mine.rests_on, planned, there)
    changes = {name: value for name, value in said.items() if value != getattr(stands, name)}
    if not is_above(mine.trust, asker.trust):
        changes["trust"] = mine.trust
    return Action(kind="revise", target=(stands.id,), changes=changes, reason=BY_MERGE, merged=(mine.id,), **asked)


_ASKED = frozenset({
    "text", "kind", "status", "confidence", "source_type", "evidence", "is_hypothesis", "tags", "session", "agent",
    "about", "triple", "valid_from", "valid_to", "expires", "always", "data", "views",
})  # fmt: skip


def action_on(
    known: State, kind: str, name: str, changes: dict[str, Any], *, several: frozenset[str] = frozenset(),
    **asked: Any,
) -> Action:  # fmt: skip
    """An action on a path as it is now. Refused, if it cannot be done."""
    user = asked["user"]
    target = tuple(each.body()["id"] for each in known.on_path(user, name))
    action = Action(kind=kind, noun="path", path=name, target=target, changes=changes, **asked)
    return replace(action, changes={**action.changes, SEEN: _mark(known, action, several)})


def carried_out(
    known: State, policy: Policy, action: Action, draw: Draw, *, several: frozenset[str] = frozenset(),
    is_approved: bool = False,
) -> list[Draft]:  # fmt: skip
    """The drafts that carry out an action. Moved, if the path has changed since."""
    for name in action.changes:
        if name not in (SEEN, *_MAY_CHANGE[action.kind]):
            raise Refused(f"{action.kind} of a path cannot change {name!r}; leave it out", "field")
    user, name, changes = action.user, action.path, action.changes
    if action.kind == "merge":
        planned = plan(known, user, name, changes.get("into"), several=several)
        rule, asker = changes.get("conflicts", ASKED), Asker(action.by, action.trust, policy)
        drafts = merge(known, planned, rule, asker, draw, is_approved=is_approved)
    elif action.kind == "compact":
        drafts = compact(known, user, name, draw, summary=changes.get("summary", ""), trust=action.trust)
    else:
        drafts = (abandon if action.kind == "abandon" else reopen)(known, user, name, action.reason)
    if changes.get(SEEN) != _mark(known, action, several):
        raise Moved(f"path {name!r:.80} has changed since the request")
    return drafts


def _mark(known: State, action: Action, several: frozenset[str]) -> str:
    """The state of what an action is about, by ids: a digest of words would outlive them."""
    state: list[Any] = known.paths.seen(action.user, action.path)
    if action.kind == "merge":
        planned = plan(known, action.user, action.path, action.changes.get("into"), several=several)
        state.append([planned.into])
        state += [[step.mine.body()["id"], step.target.body()["id"] if step.target else "", step.conflict]
                  for step in planned.steps]  # fmt: skip
    return sha256(orjson.dumps(state)).hexdigest()[:16]
