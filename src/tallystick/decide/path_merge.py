"""Merging a path: its changes, and conflicts.

Every belief that was stated or changed on the branch is stated where it is merged into, under its key: as a new belief,
in place of the version that it was made from, or over an ancestor's. Withdrawn beliefs are merged likewise, but
not those that were both stated and forgotten on the branch.

A conflict is: both sides changed the same belief; both stated something under the same key; or both have a new fact of
the same subject and predicate, of which only one can be true, with another object. The same words on both sides are no
conflict. What is merged passes the gate as the requester's revision of what is there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tallystick.decide.beliefs import Draw, carried, in_its_place
from tallystick.decide.gate import gate
from tallystick.decide.paths import must_be_a_branch, must_go_on, named
from tallystick.decide.review_request import ask, refuse
from tallystick.decide.subjects import subjects
from tallystick.records.belief import recorded
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.records.fields import must_be_one_of
from tallystick.records.operations import BELIEF_PUT, PATH_MERGE, RELATION_PUT
from tallystick.records.path import (
    ABANDONED,
    BRANCH,
    BY_MERGE,
    MERGED,
    NEWEST,
    REVIEW as ASKED,
    RULES,
    Conflict,
    shown,
)
from tallystick.records.policy import QUARANTINE, REFUSE, REVIEW, Policy, is_above, lower
from tallystick.records.review import Action
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

CHANGED = "both sides changed it"
STATED = "both sides stated something under this key"
CLAIMED = "both sides have a new fact of the same subject and predicate"

MOST_NAMED = 10_000  # ids in the event of a merge, since a line is limited. Each version has its own, too


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

    def base(self, known: State) -> str:
        return next(iter(known.over(self.mine.ref)), "")

    def as_conflict(self, known: State) -> Conflict:
        assert self.target is not None  # there is no conflict without one
        return Conflict(self.mine.key, self.base(known), self.target.belief(), self.mine.belief(), self.conflict)


class MergePlan(NamedTuple):
    """The steps of a merge."""

    user: str
    path: str
    into: str
    steps: list[Step]

    def conflicts(self, known: State) -> list[Conflict]:
        return [step.as_conflict(known) for step in self.steps if step.conflict]


def plan(
    known: State, user: str, name: str, into: str | None = None, *, several: frozenset[str] = frozenset()
) -> MergePlan:  # fmt: skip
    """The steps and conflicts of a merge. Refused, if the path cannot be merged there.

    `several` are the predicates that may have more than one object.
    """
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
    mine = known.query(user=user, path=name, status="", where=lambda held: held.path == name)
    found = (_step(known, held, name, target, several) for held in mine)
    return MergePlan(user, name, target, [step for step in found if step is not None])


def merge(
    known: State, planned: MergePlan, rule: str, asker: Asker, draw: Draw, *, is_approved: bool = False
) -> list[Draft]:
    """The drafts of a merge: the merged beliefs, the requests for approval, and that the path is merged.

    If a person has approved it, that is an approval of all that it changes.
    """
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
    return [*drafts, *_related(known, planned, there, set(names.values())), *questions, Draft(PATH_MERGE, done)]


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
    draft = Draft(BELIEF_PUT, {"belief": {**step.mine.body(), "path": planned.into}, "replaces": list(there)})
    verdict = gate(asker.policy, action, subjects(known, action, [draft]))
    if verdict.kind == REFUSE:
        refuse(known, action, "refused", message=verdict.why)
    if verdict.kind == QUARANTINE:  # what is quarantined stays so, on both paths
        return "" if step.mine.body().get("trust", "human") in asker.policy.quarantined else verdict.why
    return verdict.why if verdict.kind == REVIEW else ""


# -- drafts ------------------------------------------------------------------------------------------------------------


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
            where = {"path": planned.into} if planned.into else {}
            of = {WRITER_TRUST: each.trust} if each.trust != "human" else {}
            yield Draft(RELATION_PUT, {"user": each.user, "ids": list(ids), "relation": each.relation, **where, **of})


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
