"""The audit of a workspace beside its log: an applied action and the line that granted it are each other's witness.

An action is in the audit before it is in the log, so a line without its event is what a crash leaves in between, or a
log that was cut; an event without its line was not written by the gate of this workspace. What is imported with its
approval is audited here as well, as of the moment when it happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from tallystick.records.errors import Refused
from tallystick.records.graph.events import APPLIED, MemoryEvent, shown
from tallystick.records.graph.lifecycle import LifecycleAction, PhasePolicy
from tallystick.stores.phase.audit import AuditRecord, AuditSink
from tallystick.stores.phase.gate import action_in
from tallystick.stores.phase.graph.layout import AUDIT

UNAUDITED, WITHOUT_EVENT, TWICE, AGAIN = (
    "unaudited-action", "audit-without-event", "approval-used-twice", "approval-granted-again",
)  # fmt: skip


class Granted(NamedTuple):
    """By what a line of the audit and an event of the log know one another."""

    action: str
    by: str
    at: str  # of what needed no approval; an approval is for one action, whenever it is applied
    approval: str


class Mismatch(NamedTuple):
    code: str
    place: str
    reason: str


def lines_of(audit: AuditSink) -> list[AuditRecord]:
    """What an audit tells; nothing, if it cannot be read back."""
    return audit.read() if hasattr(audit, "read") else []


def unaudited(
    events: Iterable[MemoryEvent], lines: Iterable[AuditRecord], policy: PhasePolicy
) -> list[tuple[MemoryEvent, LifecycleAction]]:
    """The approved actions of a log that no line of the audit granted."""
    known = {_of_line(line) for line in lines if line.outcome == "granted"}
    found = ((event, action_in(event, policy)[0]) for event in events if event.kind == APPLIED)
    return [
        (event, action) for event, action in found
        if action is not None and policy.needs_review(action) and _of_event(event) not in known
    ]  # fmt: skip


def mismatches(applied: list[MemoryEvent], lines: list[AuditRecord], policy: PhasePolicy) -> Iterator[Mismatch]:
    """Where the audit and the applied actions of the log contradict one another."""
    for event, action in unaudited(applied, lines, policy):
        reason = f"{action.label} is on record as applied, and no line of the audit granted it"
        yield Mismatch(UNAUDITED, f"event {shown(event.id)}", reason)
    yield from _twice(applied)
    on_record = set(map(_of_event, applied))
    for granted, times in _still_granted(lines).items():
        asked = f"{granted.action}, asked for by {shown(granted.by)}"
        if times and granted not in on_record:
            yield Mismatch(WITHOUT_EVENT, AUDIT, f"{asked}, was granted, and no event says that it was applied")
        elif times > 1 and granted.approval:
            yield Mismatch(AGAIN, AUDIT, f"{asked}, was granted {times} times, and applied once")


def _twice(applied: list[MemoryEvent]) -> Iterator[Mismatch]:
    seen: dict[str, str] = {}
    for event in applied:
        approval = _of_event(event).approval
        first = seen.setdefault(approval, event.id) if approval else event.id
        if first != event.id:
            yield Mismatch(TWICE, f"event {shown(event.id)}", f"its approval was used by event {shown(first)} already")


def _still_granted(lines: list[AuditRecord]) -> Counter[Granted]:
    """How often each action was granted, less how often it then failed."""
    found: Counter[Granted] = Counter()
    for line in lines:
        if line.outcome == "granted":
            found[_of_line(line)] += 1
        elif line.outcome == "failed" and found[_of_line(line)] > 0:
            found[_of_line(line)] -= 1
    return found


def _of_line(line: AuditRecord) -> Granted:
    approval = _told(line.approval)
    return Granted(line.action, line.by, "" if approval else line.at, approval)


def _of_event(event: MemoryEvent) -> Granted:
    try:
        action = LifecycleAction.from_dict(event.payload.get("action"))  # type: ignore[arg-type]
    except (Refused, TypeError):
        return Granted("", "", event.at, "")
    approval = _told(event.payload.get("approval"))
    return Granted(action.label, action.by, "" if approval else event.at, approval)


def _told(approval: Any) -> str:
    return orjson.dumps(approval, option=orjson.OPT_SORT_KEYS).decode() if approval else ""
