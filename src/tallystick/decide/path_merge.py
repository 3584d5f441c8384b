"""What a merge brings over, and what becomes of what both sides changed.

Every belief that was said or changed on the branch is said where it is merged into, under its key: as a new belief, in
the place of the version that it was made from, or over one that an ancestor holds. What is no longer held is carried
over likewise; what was only ever said and forgotten on the branch is not.

A conflict is: both sides changed the same belief; both said something under the same key; or both came to hold a fact
of the same subject and predicate, of which only one can be true, with another object. The same words on both sides are
none. What is brought passes the gate as the asker's revision of what stands there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tallystick.decide.beliefs import Draw, carried, in_its_place
from tallystick.decide.gate import gate
from tallystick.decide.paths import must_be_a_branch, must_go_on, named
from tallystick.decide.refusals import refuse
from tallystick.decide.review_request import ask
from tallystick.decide.subjects import subjects
from tallystick.records.belief import recorded
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.records.operations import BELIEF_PUT, PATH_MERGE, RELATION_PUT
from tallystick.records.path import ABANDONED, MERGED, shown
from tallystick.records.path_merge import BRANCH, BY_MERGE, NEWEST, REVIEW as ASKED, RULES, Conflict
from tallystick.records.policy import QUARANTINE, REFUSE, REVIEW, Policy, is_above, lower
from tallystick.records.review import Action
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

CHANGED = "both sides changed it"
STATED = "both sides said something under this key"
CLAIMED = "both sides came to hold a fact of the same subject and predicate"


MOST_NAMED = 10_000  # of what was brought over, in the event that says so: a line has an end. Each says it itself, too


class Asker(NamedTuple):
    """Who merges, and by which table of rules."""

    by: str
    trust: str
    policy: Policy


class Step(NamedTuple):
    """One belief of the branch, what stands in its place where it would be brought to, and why that is a conflict."""

    mine: CurrentVersion
    target: CurrentVersion | None
    conflict: str = ""  # empty if there is none

    def base(self, known: State) -> str:
        return next(iter(known.links.over(self.mine.ref)), "")

    def as_conflict(self, known: State) -> Conflict:
        assert self.target is not None  # without one there is nothing to disagree with
        return Conflict(self.mine.key, self.base(known), self.target.belief(), self.mine.belief(), self.conflict)


class MergePlan(NamedTuple):
    """What a merge would do."""

    user: str
    path: str
    into: str
    steps: list[Step]

    def conflicts(self, known: State) -> list[Conflict]:
        return [step.as_conflict(known) for step in self.steps if step.conflict]


def plan(
    known: State, user: str, name: str, into: str | None = None, *, several: frozenset[str] = frozenset()
) -> MergePlan:  # fmt: skip
    """What would be brought over, and which conflicts there are. Refused, if the path cannot be merged there.

    `several` are the predicates of which more than one object may hold.
    """
    must_be_a_branch(known, user, name, "merged")
    must_go_on(known, user, name, "it cannot be merged any more")
    target = known.paths.parent(user, name) if into is None else named(known, user, into)
    if target not in known.paths.lineage(user, name)[1:]:
        raise Refused(
            f"path {name!r:.80} is merged into one that it branched from, and {shown(target)!r:.80} is none of them",
            "state",
        )
    known.writable(user, target)
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
    """Everything that the merge records: what is brought over, what is asked, and that the path is merged.

    If a person has approved it, that is an approval of all that it changes.
    """
    if rule not in RULES:
        raise Refused(f"conflicts are resolved by {', '.join(RULES)}, not {rule!r:.80}")
    taken, asked = _sorted_out(known, planned, rule, None if is_approved else asker)
    names = {step.mine.ref: draw() for step in taken}
    there = names | {step.mine.ref: step.target.ref for step in planned.steps if step.target}
    drafts = [_brought(known, step, planned, names[step.mine.ref], there) for step in taken]
    pairs = [[step.mine.body()["id"], names[step.mine.ref]] for step in taken[:MOST_NAMED]]
    questions = [
        draft for step, why in asked for draft in _ask(known, _action(known, step, planned, there, asker), why, draw)
    ]
    done = {"user": planned.user, "path": planned.path, "into": planned.into, "brought": pairs, "rule": rule}
    return [*drafts, *_related(known, planned, there, set(names.values())), *questions, Draft(PATH_MERGE, done)]


# -- what is brought, and what is a conflict ---------------------------------------------------------------------------


def _step(known: State, mine: CurrentVersion, path: str, into: str, several: frozenset[str]) -> Step | None:
    """What becomes of one belief of the branch; None, if there is nothing to say of it there."""
    target = _target(known, mine, into)
    if target is None:
        if mine.status == "tombstone":
            return None
        rival = _rival(known, mine, path, into, several)
        return Step(mine, rival, CLAIMED if rival else "")
    if _says_the_same(mine, target):
        return None
    if not known.links.over(mine.ref):
        return None if _same_words(mine, target) else Step(mine, target, STATED)
    if target.seq < mine.first:
        return Step(mine, target)
    return None if _same_words(mine, target) else Step(mine, target, CHANGED)


def _target(known: State, mine: CurrentVersion, into: str) -> CurrentVersion | None:
    """What stands in the place of a branch's belief where it would be brought to."""
    for name in (*known.links.over(mine.ref), mine.key):
        found = known.find(name, user=mine.user, path=into, short=False)
        if found is not None and known.sees(found, into):
            return found
    return None


def _rival(known: State, mine: CurrentVersion, path: str, into: str, several: frozenset[str]) -> CurrentVersion | None:
    """The fact that says otherwise of the same, and came to be held there after the branch began."""
    body = mine.body()
    triple = tuple(body.get("triple", ()))
    if mine.status != "active" or not triple or triple[1] in several:
        return None
    began = known.paths.branched(mine.user, path)
    for held in reversed(known.claiming(mine.user, into, body.get("agent", ""), *triple[:2])):
        is_new = held.status == "active" and held.first > began
        if is_new and held.body()["triple"][2] != triple[2] and known.sees(held, path):
            return held  # of what is hidden from the branch, the branch has said something itself
    return None


def _says_the_same(mine: CurrentVersion, target: CurrentVersion) -> bool:
    left, right = mine.body(), target.body()
    fields = (left.keys() | right.keys()) - {"id", "path", "reason", "weakened", "views"}
    return all(left.get(name) == right.get(name) for name in fields)


def _same_words(mine: CurrentVersion, target: CurrentVersion) -> bool:
    if mine.status != target.status:
        return False
    left, right = mine.body(), target.body()
    return mine.status == "tombstone" or all(left.get(name) == right.get(name) for name in ("text", "triple"))


def _sorted_out(
    known: State, planned: MergePlan, rule: str, asker: Asker | None
) -> tuple[list[Step], list[tuple[Step, str]]]:
    """Which steps are taken, and about which a person is asked, and why."""
    taken, asked = list[Step](), list[tuple[Step, str]]()
    for step in planned.steps:
        why = _why_asked(known, step, planned, asker) if asker else ""
        if step.conflict and not _takes_the_branchs(step, rule):
            if rule == ASKED:
                asked.append((step, f"{step.conflict}, on {shown(planned.into)!r} and on {planned.path!r}"))
        elif why:
            asked.append((step, why))
        else:
            taken.append(step)
    return taken, asked


def _takes_the_branchs(step: Step, rule: str) -> bool:
    assert step.target is not None
    return rule == BRANCH or (rule == NEWEST and step.mine.seq > step.target.seq)


def _why_asked(known: State, step: Step, planned: MergePlan, asker: Asker) -> str:
    """Why the gate wants a person's yes to what a step states or changes there; empty, if it does not."""
    if asker.trust in asker.policy.free_as(asker.by):
        return ""
    there = (step.target.body()["id"],) if step.target else ()
    verb = "revise" if there else "remember"
    action = Action(
        kind=verb, user=planned.user, path=planned.into, target=there, by=asker.by, trust=asker.trust
    )  # fmt: skip
    said = Draft(BELIEF_PUT, {"belief": {**step.mine.body(), "path": planned.into}, "replaces": list(there)})
    verdict = gate(asker.policy, action, subjects(known, action, [said]))
    if verdict.kind == REFUSE:
        refuse(known, action, "refused", message=verdict.why)
    if verdict.kind == QUARANTINE:  # what is kept out already goes on being kept out, on both paths
        return "" if step.mine.body().get("trust", "human") in asker.policy.quarantined else verdict.why
    return verdict.why if verdict.kind == REVIEW else ""


# -- what is said ------------------------------------------------------------------------------------------------------


def _brought(known: State, step: Step, planned: MergePlan, name: str, there: Mapping[str, str]) -> Draft:
    """A branch's belief, said where it is merged into."""
    mine, target = step.mine.belief(), step.target
    fields = {
        **carried(mine), "id": name, "key": target.key if target else mine.key, "path": planned.into,
        "reason": BY_MERGE if mine.is_held or not mine.reason else f"{BY_MERGE}: {mine.reason}",
        "rests_on": _refs(known, mine.rests_on, planned, there),
        "weakened": tuple(_refs(known, pair, planned, there) for pair in mine.weakened),
    }  # fmt: skip
    draft = in_its_place(recorded(fields), target, planned.into)
    draft.body["merged"] = [mine.id]
    if approved := known.reviews.yes_to(mine.id):
        draft.body["approved"] = approved
    return draft


def _refs(known: State, refs: Iterable[str], planned: MergePlan, there: Mapping[str, str]) -> tuple[str, ...]:
    """What beliefs are called where they are merged into: as they were brought, or as they stand there already."""
    found = []
    for ref in refs:
        held = known.version(ref)
        target = _target(known, held, planned.into) if held and held.ref not in there else None
        found.append(target.ref if target else there.get(held.ref if held else ref, ref))
    return tuple(found)


def _related(known: State, planned: MergePlan, there: Mapping[str, str], new: Container[str]) -> Iterator[Draft]:
    """What the branch says of how memories are related, as far as both are there where it is merged into."""
    for each in known.relations.on(planned.user, planned.path):
        ids = _refs(known, each.ids, planned, there)
        held = {name: known.version(name) for name in ids if name not in new}
        is_there = all(each is None or known.sees(each, planned.into) for each in held.values())
        if ids[0] != ids[1] and is_there:
            where = {"path": planned.into} if planned.into else {}
            of = {WRITER_TRUST: each.trust} if each.trust != "human" else {}
            yield Draft(RELATION_PUT, {"user": each.user, "ids": list(ids), "relation": each.relation, **where, **of})


def _action(known: State, step: Step, planned: MergePlan, there: Mapping[str, str], asker: Asker) -> Action:
    """What a person is asked: to say there what the branch says."""
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


def _ask(known: State, action: Action, why: str, draw: Draw) -> list[Draft]:
    """The question, unless it waits already."""
    return [] if known.reviews.asked(action) else ask(known, action, why, draw)


_ASKED = frozenset({
    "text", "kind", "status", "confidence", "source_type", "evidence", "is_hypothesis", "tags", "session", "agent",
    "about", "triple", "valid_from", "valid_to", "expires", "always", "data", "views",
})  # fmt: skip
