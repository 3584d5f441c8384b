"""The gate of a workspace: may an event be carried out? Judged by what it does to records, not by what it is called.

Every way into a graph asks here: `record`, `import_envelope` and `apply` before anything is written; a replay, a
rebuild and what a crash left before anything is carried out again. An event whose effect needs an approval (see
`decide/effect` for effects, `decide/gate` for the verdict) is an applied action that carries one for exactly that, or
it is not carried out. Whoever writes to a workspace counts as an agent, and what is in it as a person's.

An approval is a marker, not a signature: whoever can write both the log and the audit can write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import orjson

from tallystick.decide.effect import ARCHIVED, RETRACTED, SUPERSEDED, Effect, effects
from tallystick.decide.gate import gate
from tallystick.records.errors import Refused
from tallystick.records.graph.events import APPLIED, COMPACT, MERGE, MemoryEvent, shown
from tallystick.records.graph.fields import RecordFields, as_moment
from tallystick.records.graph.lifecycle import GATED, LifecycleAction, LifecycleApproval, PhasePolicy, WhyNot
from tallystick.records.path import MemoryPath
from tallystick.records.policy import ALLOW, DEFAULT, REVIEW, Rule, Subject
from tallystick.records.review import Action
from tallystick.stores.phase.actions import SUPERSEDES, concerned
from tallystick.stores.phase.event_log.replay import Fold, path_event_in, puts_of

Held = Callable[[str, str], RecordFields | None]

_LEADS = ("merge", "supersede")  # actions that make or lead over edges


class Gate:
    """Judges events in their order, each on the records as they are seen from its path after those before it.

    What it lets pass is carried out in its `fold`. Of what no event tells, `held` may say how it was.
    """

    def __init__(self, policy: PhasePolicy, held: Held | None = None, paths: Iterable[MemoryPath] = ()) -> None:
        self._policy, self.held, self.fold = policy, held, Fold(paths)

    def why_not(self, event: MemoryEvent) -> WhyNot:
        """Why an event is not to be carried out; nothing, if it may be. What it does then counts for the next."""
        why = self._why_not(event)
        if why:
            self.fold.refuse(event, str(why))
        else:
            self.fold.take(event)
        return why

    def _why_not(self, event: MemoryEvent) -> WhyNot:
        action = None
        if event.kind == COMPACT and _asks(self._policy, Effect("compact", "path", ""), event.path_id):
            said = f"path {shown(event.path_id)} is compacted by an action, under the gate: that needs an approval"
            return WhyNot(said, "none")
        if event.kind == MERGE:
            return self._why_not_merged(event)
        if event.kind == APPLIED:
            action, why = action_in(event, self._policy)
            if action is None:
                return why
        for what, name, record in puts_of(event):
            why = self.why_not_put(what, name, record, event.path_id, action)
            if why:
                return why
        return WhyNot()

    def why_not_put(
        self, what: str, name: str, record: RecordFields, path: str = "", action: LifecycleAction | None = None
    ) -> WhyNot:  # fmt: skip
        """Why a record is not to be put on a path; nothing, if it may be. It is not carried out."""
        before = self._before(path, what, name, record, is_applied=action is not None)
        effect = needs_approval(self._policy, name, before, record, action)
        if effect is None:
            return WhyNot()
        said = f"{effect.field} of {what} {shown(name)} is changed by an action, under the gate"
        return WhyNot(f"{said}: to {effect.kind} it needs an approval", "none")

    def _why_not_merged(self, event: MemoryEvent) -> WhyNot:
        """Whatever was approved on the branch comes along; what was only put there does not undo an approval here."""
        into = event.payload.get("into")
        if not isinstance(into, str):
            return WhyNot()  # it makes no sense, and is passed over
        for what, name, line, after, approved in self.fold.brought(event.path_id, into):
            before = self._held(what, name) if line is None else orjson.loads(line)
            for effect in effects(before, orjson.loads(after)):
                if effect.kind not in approved and _asks(self._policy, effect, name):
                    said = f"path {shown(event.path_id)} says other than {shown(into)} of {effect.field} of {what}"
                    asked = f"to {effect.kind} it needs an approval; apply that on the path first"
                    return WhyNot(f"{said} {shown(name)}: {asked}", "none")
        return WhyNot()

    def _held(self, what: str, name: str) -> RecordFields | None:
        return None if self.held is None else self.held(what, name)

    def _before(
        self, path: str, what: str, name: str, record: RecordFields, *, is_applied: bool
    ) -> RecordFields | None:  # fmt: skip
        """A record as it was. Of what an action found here and no event tells of, all but its outcome is assumed."""
        line = self.fold.seen(what, name, None if self.fold.is_current(path) else path)
        if line is not None:
            return orjson.loads(line)  # type: ignore[no-any-return]
        before = self._held(what, name)
        if before is not None or not is_applied:
            return before
        properties = {each: value for each, value in record.get("properties", {}).items() if each != "status"}
        return {each: record[each] for each in record if each not in ("merged", "absorbed", "led")} | {
            "properties": properties
        }  # fmt: skip


def needs_approval(
    policy: PhasePolicy, name: str, before: RecordFields | None, after: RecordFields,
    action: LifecycleAction | None = None
) -> Effect | None:
    """The first effect on a record that needs an approval, beyond what an approved action covers; None without one."""
    for effect in effects(before, after):
        if not (action and _covers(action, name, after, effect)) and _asks(policy, effect, name):
            return effect
    return None


def _asks(policy: PhasePolicy, effect: Effect, name: str) -> bool:
    """Whether the gate wants an approval for that. A policy of one's own comes as a rule before the table."""
    own = () if policy.review == GATED else (Rule(then=REVIEW if effect.kind in policy.review else ALLOW),)
    asked = Action(kind=effect.gate_word, target=(name or "path",), trust="agent")
    return gate(replace(DEFAULT, rules=own), asked, [Subject(trust="human")]).kind != ALLOW


def action_in(event: MemoryEvent, policy: PhasePolicy) -> tuple[LifecycleAction | None, WhyNot]:
    """The action that an event says was applied; None and the reason, if it lacks the approval that it needs."""
    told, given = event.payload.get("action"), event.payload.get("approval")
    try:
        action = LifecycleAction.from_dict(told)  # type: ignore[arg-type]
        approval = None if given is None else LifecycleApproval.from_dict(given)
        why = _why_not_approved(event, action, approval, policy)
    except (Refused, TypeError) as error:
        return None, WhyNot(f"an applied action says which one, and on whose yes ({str(error)[:100]})", "forged")
    return (None, why) if why else (action, why)


def _why_not_approved(
    event: MemoryEvent, action: LifecycleAction, approval: LifecycleApproval | None, policy: PhasePolicy
) -> WhyNot:
    if approval is not None and policy.needs_review(action) and event.id != f"applied-{approval.marker}":
        return WhyNot("it does not bear the name of its yes", "forged")
    about = concerned(action)
    for what, name, _ in puts_of(event):
        if name not in about and not (what == "edge" and action.kind in _LEADS):
            return WhyNot(f"it changes {what} {shown(name)}, and its action is about something else", "other")
    moved = path_event_in(event)
    if moved is not None and (action.kind, moved.kind) != ("compact", COMPACT):
        return WhyNot(f"it changes path {shown(moved.path_id)}, and its action does not", "other")
    if moved is not None and moved.path_id not in about:
        return WhyNot(f"it changes path {shown(moved.path_id)}, and its action is about something else", "other")
    return policy.why_not(action, approval, event.at)


def _covers(action: LifecycleAction, name: str, record: RecordFields, effect: Effect) -> bool:
    """Whether an effect is what the action says it does, to that record."""
    changes = action.changes
    if action.kind == "supersede" and record.get("kind") == SUPERSEDES and "source" in record:
        return record["source"] == changes.get("with") and record["target"] in action.subject_ids
    if effect.kind != action.kind:
        return False
    if action.kind == "merge":
        return _merges(action, name, effect)
    outcome: dict[str, dict[str, Any]] = {
        "archive": {"status": ARCHIVED}, "retract": {"status": RETRACTED},
        "supersede": {"status": SUPERSEDED, "superseded_by": changes.get("with")},
        "promote": {"phase": changes.get("phase")}, "weaken": {"weight": changes.get("weight")},
        "end": {each: _moment(value) for each, value in changes.items()},
    }  # fmt: skip
    said = outcome.get(action.kind, {})
    return name in action.subject_ids and effect.field in said and said[effect.field] == effect.value


def _moment(value: Any) -> str | None:
    """A time as records hold it; None, if it is none."""
    try:
        return as_moment(value, "a time")
    except Refused:
        return None


def _merges(action: LifecycleAction, name: str, effect: Effect) -> bool:
    into = action.changes.get("into")
    if effect.field == "merged":
        return name in action.subject_ids and isinstance(effect.value, dict) and effect.value.get("into") == into
    return effect.field == "led" or name == into
