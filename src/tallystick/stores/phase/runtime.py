"""A graph store with a gate before it: what may be done to memories, who said yes, and what became of it.

Every attempt is in the audit before anything happens, granted or denied; if the audit cannot be written, nothing is
done. A granted action is then one event in the log, which carries the records as they are after it; then the store is
changed, all of it or nothing. What a crash leaves in between, an event that the store lacks, is told by `diagnostics`
and carried out by `finish`, or before the next action. What is recorded has happened: the audit never calls it failed.

A yes is used once: the event of an action bears the name of its yes, and the log refuses a name twice, whichever
process tries. Without a log of its own, a runtime over a folder writes to `events.jsonl` and `audit.jsonl` in that
folder; over a store in memory it keeps both in memory, and then "once" means as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tallystick.records.clock import Clock, stamp, system_clock
from tallystick.records.errors import Damaged, Moved, NeedsApproval, NotWritable, Refused, TallystickError, Unfinished
from tallystick.records.fields import names
from tallystick.records.graph.envelope import GraphEnvelope, Records
from tallystick.records.graph.events import APPLIED, DENIED, MemoryEvent
from tallystick.records.graph.lifecycle import A_DAY, LifecycleAction, LifecycleApproval, PhasePolicy, WhyNot
from tallystick.stores.phase.actions import Effects, concerned, digest_now, effects_of
from tallystick.stores.phase.activation import LIMIT, ActivationPlan, plan_activation
from tallystick.stores.phase.audit import AuditSink, InMemoryAuditSink, JsonlAuditSink
from tallystick.stores.phase.diagnostics import is_own, must_pass, without_imported
from tallystick.stores.phase.event_log.in_memory import InMemoryMemoryEventLog
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.path_states import PathBook
from tallystick.stores.phase.event_log.protocol import MemoryEventLog
from tallystick.stores.phase.findings import findings_in, in_the_way, with_events
from tallystick.stores.phase.follow_log import Follows
from tallystick.stores.phase.gate import Gate
from tallystick.stores.phase.graph.diagnostics import Diagnostic
from tallystick.stores.phase.graph.layout import AUDIT, EVENTS, RUNTIME
from tallystick.stores.phase.graph.protocol import MemoryGraphStore
from tallystick.stores.phase.recovery import Turn

_SHOWN = 500  # letters of a reason
_NAMED = 100  # of what an attempt in vain was about


@dataclass(frozen=True, slots=True)
class Applied:
    """An action that was carried out, and the event that says so, with every record that it changed."""

    action: LifecycleAction
    event: MemoryEvent


class PhaseMemoryRuntime(Follows):
    """Lifecycle actions on a graph store, under a policy."""

    def __init__(
        self,
        store: MemoryGraphStore,
        event_log: MemoryEventLog | None = None,
        audit: AuditSink | None = None,
        *,
        clock: Clock = system_clock,
        policy: PhasePolicy | None = None,
    ) -> None:
        root = getattr(store, "root", None)
        folder = Path(root) if isinstance(root, str | Path) else None
        self.store, self.policy, self._clock, self.rebuilt = store, policy or PhasePolicy(), clock, []
        self.log = event_log if event_log is not None else _log_in(folder)
        self.audit = audit if audit is not None else _audit_in(folder)
        path = getattr(self.log, "path", None)
        lock = path.with_name(path.name + ".turn") if isinstance(path, Path) else None
        self._turn = Turn(lock, folder / RUNTIME if folder else None)

    # -- looking -------------------------------------------------------------------------------------------------------

    def export(self) -> GraphEnvelope:
        """All that the store holds, and every event that it or the log has but those that repeat an imported record.

        So an envelope that is taken in by an empty workspace comes out as it was.
        """
        envelope = self.store.export_envelope()
        if not is_own(self.store, self.log):
            envelope = with_events(envelope, self.log)
        events = without_imported(envelope.records("events").lines, self.store)
        return replace(envelope, events=Records[MemoryEvent]("events", events))

    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the graph and its log: where, how bad, and the way out. Nothing is changed."""
        blocked = in_the_way(self.store)
        if blocked:
            return blocked
        try:
            under_way = self._turn.under_way() or ""
        except (Damaged, NotWritable):
            under_way = ""  # what is wrong with the note is found with the other files
        return findings_in(self.store, self.log, self.audit, under_way, self.policy, self._folded().fold)

    def plan_activation(self, purpose: str, seeds: Iterable[str] = (), limit: int = LIMIT) -> ActivationPlan:
        """What would be brought to mind for a purpose, and why. The plan is kept where the store keeps plans."""
        plan = plan_activation(self.store, purpose, seeds, limit, now=stamp(self._clock()))
        keep = getattr(self.store, "save_activation_plan", None)
        if keep is not None:
            keep(plan.to_dict())
        return plan

    # -- asking --------------------------------------------------------------------------------------------------------

    def propose(
        self,
        kind: str,
        subject_ids: Iterable[str],
        *,
        by: str,
        changes: Mapping[str, Any] | None = None,
        reason: str = "",
        path_id: str = "",
    ) -> LifecycleAction:
        """An action as it would be shown to a person: it holds what the records are now. Nothing is changed.

        With a `path_id`, it is about the records as they are seen from there, and is done there. Refused, if it could
        not be carried out anyway: nobody is asked about that.
        """
        action = LifecycleAction(
            kind=kind,
            subject_ids=names(subject_ids, "subject_ids"),
            by=by,
            changes=dict(changes or {}),
            reason=reason,
            path_id=path_id,
        )
        store, is_path = self.seen_from(path_id), kind == "compact"
        effects_of(store, action, stamp(self._clock()))
        return replace(action, seen={name: digest_now(store, name, is_path=is_path) for name in concerned(action)})

    def approve(self, action: LifecycleAction, *, by: str, lasts: timedelta = A_DAY) -> LifecycleApproval:
        """The yes of `by` to an action, from now on for a while. It is a marker; what it is worth, `apply` decides."""
        return LifecycleApproval.of(action, by, self._clock(), lasts=lasts)

    # -- doing ---------------------------------------------------------------------------------------------------------

    def apply(self, action: LifecycleAction, approval: LifecycleApproval | None = None) -> Applied:
        """Carry out an action, if the policy lets it pass.

        NeedsApproval, if it lacks a yes or the yes does not count; Refused or Moved, if it cannot be done. Either way
        nothing was changed but that the audit and the log say so. NotWritten, if a disk refuses; Unfinished, if it does
        so when the action is recorded.
        """
        if type(action) is not LifecycleAction:
            raise Refused(f"an action is a LifecycleAction, not {type(action).__name__}")
        if approval is not None and type(approval) is not LifecycleApproval:
            raise Refused(f"an approval is a LifecycleApproval, not {type(approval).__name__}")
        with self._held():
            now = stamp(self._clock())
            shown = approval if self.policy.needs_review(action) else None
            event, judge = self._judged(action, shown, now)
            self._note(action, shown, now, "granted")
            try:
                self._record_all([event], judge)
            except Unfinished:
                raise
            except TallystickError as error:
                self._note(action, shown, now, "failed", str(error))
                raise
            return Applied(action, event)

    def _judged(
        self, action: LifecycleAction, approval: LifecycleApproval | None, now: str
    ) -> tuple[MemoryEvent, Gate]:  # fmt: skip
        """What would be recorded. An attempt that is turned down is in the audit and in the log."""
        try:
            self._must_pass(action, approval, now)
            if action.path_id:
                PathBook(self.store.list_paths()).must_be_open(action.path_id)
            event = _applied(action, approval, effects_of(self.seen_from(action.path_id), action, now), now)
            judge = self._judge([event])
            must_pass(judge, event)
            return event, judge
        except (Refused, Moved) as error:
            self._note(action, approval, now, "denied", str(error))
            self._log_denied(action, now, str(error))
            raise
        except TallystickError as error:
            self._note(action, approval, now, "failed", str(error))
            raise

    def _must_pass(self, action: LifecycleAction, approval: LifecycleApproval | None, now: str) -> None:
        why = self.policy.why_not(action, approval, now)
        if not why and approval is not None and _name_of(approval) in self.log:
            why = WhyNot("the approval was used already; a yes counts once", "used")
        if why:
            raise NeedsApproval(f"{action.label}: {why}; nothing was changed", action.digest, why.why)

    def _log_denied(self, action: LifecycleAction, now: str, why: str) -> None:
        """That it was tried, as often as it was: each attempt has a number."""
        told = {"kind": action.kind, "by": action.by, "digest": action.digest, "why": why[:_SHOWN]}
        payload = {**told, "attempt": len(self.log)}
        self.log.append(MemoryEvent.new(DENIED, now, subject_ids=action.subject_ids[:_NAMED], payload=payload))

    def _note(
        self, action: LifecycleAction, approval: LifecycleApproval | None, now: str, outcome: str, reason: str = ""
    ) -> None:
        shown = None if approval is None else approval.to_dict()
        self.audit.record(action.label, action.by, now, outcome, shown, concerned(action), reason=reason[:_SHOWN])


def _log_in(folder: Path | None) -> MemoryEventLog:
    return InMemoryMemoryEventLog() if folder is None else JsonlMemoryEventLog(folder / EVENTS)


def _audit_in(folder: Path | None) -> AuditSink:
    return InMemoryAuditSink() if folder is None else JsonlAuditSink(folder / AUDIT)


def _name_of(approval: LifecycleApproval) -> str:
    """How the event of an approved action is called: a second one of that name is refused by the log."""
    return f"applied-{approval.marker}"


def _applied(
    action: LifecycleAction, approval: LifecycleApproval | None, effects: Effects, now: str
) -> MemoryEvent:  # fmt: skip
    payload = {
        "action": action.to_dict(),
        "approval": None if approval is None else approval.to_dict(),
        "nodes": {node.id: node.to_dict() for node in effects.nodes},
        "edges": {edge.id: edge.to_dict() for edge in effects.edges},
    }
    if effects.path_event is not None:
        moved = effects.path_event.to_dict()
        payload["path_event"] = {name: moved[name] for name in ("kind", "path_id", "payload")}
    told: dict[str, Any] = {"path_id": action.path_id, "subject_ids": action.subject_ids, "payload": payload}
    if approval is None:
        return MemoryEvent.new(APPLIED, now, **told)
    return MemoryEvent(id=_name_of(approval), kind=APPLIED, at=now, **told)
