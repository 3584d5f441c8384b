"""The gate of a workspace: may an event be applied? Judged by what it does to records, not by its name.

Every way into a graph passes here: `record`, `import_envelope` and `apply` before anything is written; a replay, a
rebuild and the recovery from a crash before anything is applied again. An event whose effect needs an approval (see
`decide/effect` for effects, `decide/gate` for the verdict) is an applied action that carries one for exactly that, or
it is not applied. Whoever writes to a workspace counts as an agent, and what is in it as a person's.

A caller's own events may state records, and branch, merge or abandon paths. Only the runtime records that an action was
applied or denied, that a path is compacted, that a record is archived, superseded, merged or ended. In an imported
history, each such event must carry an approval that counts.

An approval is a marker, not a signature: whoever can write both the log and the audit can forge one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import orjson

from tallystick.decide.effect import ARCHIVED, RETRACTED, SUPERSEDED, Effect, effects
from tallystick.decide.gate import gate
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.records.graph.events import APPLIED, COMPACT, DENIED, MERGE, PATH_KINDS, MemoryEvent, shown
from tallystick.records.graph.lifecycle import GATED, LifecycleAction, LifecycleApproval, PhasePolicy
from tallystick.records.graph.nodes import RecordFields, as_moment
from tallystick.records.path import MemoryPath
from tallystick.records.policy import ALLOW, DEFAULT, REVIEW, Rule, Subject
from tallystick.records.review import Action
from tallystick.stores.phase.actions import SUPERSEDES, concerned
from tallystick.stores.phase.event_log.replay import Fold, path_event_in, puts_of, why_unusable
from tallystick.stores.phase.graph.base import MemoryGraphStore

Stored = Callable[[str, str], RecordFields | None]

_LEADS = ("merge", "supersede")  # actions that make or redirect edges
_BY_THE_GATE = (APPLIED, DENIED, COMPACT)


class Gate:
    """Judges events in their order, each on the records as they are seen from its path after those before it.

    What it allows is applied in its `fold`. `stored` may give a record that no event explains.
    """

    def __init__(self, policy: PhasePolicy, stored: Stored | None = None, paths: Iterable[MemoryPath] = ()) -> None:
        self._policy, self.fold = policy, Fold(paths)
        self.stored: Stored = stored or (lambda *_: None)

    def why_not(self, event: MemoryEvent) -> NeedsApproval | None:
        """The refusal to apply an event; None, if it may be applied. Then its effect counts for the next."""
        why = self._why_not(event)
        if why:
            self.fold.refuse(event, str(why))
        else:
            self.fold.take(event)
        return why

    def _why_not(self, event: MemoryEvent) -> NeedsApproval | None:
        action = None
        if event.kind == COMPACT and _is_gated(self._policy, Effect("compact", "path", ""), event.path_id):
            path = f"path {shown(event.path_id)}"
            return NeedsApproval(f"{path} can only be compacted by an action: that needs an approval")
        into = event.payload.get("into") if event.kind == MERGE else None
        if isinstance(into, str):  # a change of the branch may need an approval that it was not given there
            for what, name, line, after, approved in self.fold.merge_changes(event.path_id, into):
                before = self.stored(what, name) if line is None else orjson.loads(line)
                for effect in effects(before, orjson.loads(after)):
                    if effect.kind not in approved and _is_gated(self._policy, effect, name):
                        differs = f"differs between path {shown(event.path_id)} and {shown(into)}"
                        way = f"to {effect.kind} it needs an approval; apply that on the path first"
                        return NeedsApproval(f"{effect.field} of {what} {shown(name)} {differs}: {way}")
        if event.kind == MERGE:
            return None
        if event.kind == APPLIED:
            try:
                action = action_in(event, self._policy)
            except NeedsApproval as error:
                return error
        for what, name, record in puts_of(event):
            why = self.why_not_put(what, name, record, event.path_id, action)
            if why:
                return why
        return None

    def why_not_put(
        self, what: str, name: str, record: RecordFields, path: str = "", action: LifecycleAction | None = None
    ) -> NeedsApproval | None:  # fmt: skip
        """The refusal to put a record on a path; None, if it may be put. Nothing is applied."""
        before = self._before(path, what, name, record, is_applied=action is not None)
        effect = needs_approval(self._policy, name, before, record, action)
        if effect is None:
            return None
        where = f"{effect.field} of {what} {shown(name)}"
        return NeedsApproval(f"{where} can only be changed by an action: to {effect.kind} it needs an approval")

    def _before(
        self, path: str, what: str, name: str, record: RecordFields, *, is_applied: bool
    ) -> RecordFields | None:  # fmt: skip
        """A record as it was. If an action changed it and no event explains it, all but the outcome is assumed."""
        line = self.fold.visible(what, name, None if self.fold.is_current(path) else path)
        if line is not None:
            return orjson.loads(line)  # type: ignore[no-any-return]
        before = self.stored(what, name)
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
    """The first effect on a record that needs an approval and that no approved action covers; None without one."""
    for effect in effects(before, after):
        if not (action and _covers(action, name, after, effect)) and _is_gated(policy, effect, name):
            return effect
    return None


def _is_gated(policy: PhasePolicy, effect: Effect, name: str) -> bool:
    """True if the gate wants an approval for that. A custom policy comes as a rule before the table."""
    own = () if policy.review == GATED else (Rule(then=REVIEW if effect.kind in policy.review else ALLOW),)
    asked = Action(kind=effect.gate_word, target=(name or "path",), trust="agent")
    return gate(replace(DEFAULT, rules=own), asked, [Subject(trust="human")]).kind != ALLOW


def action_in(event: MemoryEvent, policy: PhasePolicy) -> LifecycleAction:
    """The action that an event says was applied. NeedsApproval, if it lacks the approval that it needs."""
    given = event.payload.get("approval")
    try:
        action = LifecycleAction.from_dict(event.payload.get("action"))  # type: ignore[arg-type]
        approval = None if given is None else LifecycleApproval.from_dict(given)
        puts, moved = [*puts_of(event)], path_event_in(event)
    except (Refused, TypeError) as error:
        reason = f"an applied action names the action and its approval ({str(error)[:100]})"
        raise NeedsApproval(reason, why="forged") from None
    if approval is not None and policy.needs_review(action) and event.id != approval.event_id:
        raise NeedsApproval("its id is not that of its approval", why="forged")
    about, other = concerned(action), "and its action is about something else"
    for what, name, _ in puts:
        if name not in about and not (what == "edge" and action.kind in _LEADS):
            raise NeedsApproval(f"it changes {what} {shown(name)}, {other}", why="other")
    if moved is not None and (action.kind, moved.kind) != ("compact", COMPACT):
        raise NeedsApproval(f"it changes path {shown(moved.path_id)}, and its action does not", why="other")
    if moved is not None and moved.path_id not in about:
        raise NeedsApproval(f"it changes path {shown(moved.path_id)}, {other}", why="other")
    why = policy.why_not(action, approval, event.at)
    if why:
        raise why
    return action


def _covers(action: LifecycleAction, name: str, record: RecordFields, effect: Effect) -> bool:
    """True if an effect is what the action says it does, to that record."""
    changes = action.changes
    if action.kind == "supersede" and record.get("kind") == SUPERSEDES and "source" in record:
        return record["source"] == changes.get("with") and record["target"] in action.subject_ids
    if effect.kind != action.kind:
        return False
    if action.kind == "merge":
        into = changes.get("into")
        if effect.field == "merged":
            return name in action.subject_ids and isinstance(effect.value, dict) and effect.value.get("into") == into
        return effect.field == "led" or name == into
    outcome: dict[str, dict[str, Any]] = {
        "archive": {"status": ARCHIVED}, "retract": {"status": RETRACTED},
        "supersede": {"status": SUPERSEDED, "superseded_by": changes.get("with")},
        "promote": {"phase": changes.get("phase")}, "weaken": {"weight": changes.get("weight")},
        "end": {each: _moment(value) for each, value in changes.items()},
    }  # fmt: skip
    wanted = outcome.get(action.kind, {})
    return name in action.subject_ids and effect.field in wanted and wanted[effect.field] == effect.value


def _moment(value: Any) -> str | None:
    """A time as records have it; None, if it is none."""
    try:
        return as_moment(value, "a time")
    except Refused:
        return None


def must_make_sense(judge: Gate, events: Iterable[MemoryEvent]) -> None:
    """Refused, if one of the events cannot follow what is there and the events before it."""
    for event in events:
        try:
            if event.kind in _BY_THE_GATE:
                article = "a" if event.kind == COMPACT else "an"
                raise NeedsApproval(f"only the action itself records {article} {event.kind}")
            if event.kind in PATH_KINDS:
                judge.fold.state.must_allow(event)
            elif event.path_id:
                judge.fold.state.must_be_open(event.path_id)
            why = why_unusable(event)
            if why:
                raise Refused(why)
            must_pass(judge, event)
        except Refused as error:
            raise error.reworded(f"event {shown(event.id)}: {error}; nothing was recorded") from None


def must_pass(judge: Gate, event: MemoryEvent) -> None:
    """NeedsApproval, if the gate does not allow an event."""
    why = judge.why_not(event)
    if why:
        raise why


def records_in(store: MemoryGraphStore) -> Stored:
    """The records of a store, for the gate."""
    load: dict[str, Callable[[str], Any]] = {
        "profile": store.load_profile, "node": store.load_node, "edge": store.load_edge,
    }  # fmt: skip

    def stored(what: str, name: str) -> RecordFields | None:
        try:
            found: RecordFields = load[what](name).to_dict()
        except NotFound:
            return None
        return found

    return stored
