"""The effect of a change on a record of a graph: the lifecycle actions that it comes to, whatever it is called.

A record is judged as it was and as it would be, never by the kind of event. To archive, retract, supersede, promote,
merge, end or weaken a record, or to undo one of these, is that action. Other changes (its label, its aliases, more
weight) are none.

A new record may have any value except the result of such an action: archived, retracted, superseded, promoted or
merged. No clock is read, so a replay on any day finds the same: to set, or to move forward, the end of something is to
end it, however far ahead that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Told = Mapping[str, Any]

ACTIVE, ARCHIVED, SUPERSEDED, RETRACTED = "active", "archived", "superseded", "retracted"
PHASES = ("fluid", "stable", "lasting")

_BY_STATUS = {ARCHIVED: "archive", SUPERSEDED: "supersede", RETRACTED: "retract"}
_MERGED = ("merged", "absorbed", "led")
_ENDS = ("source", "target", "kind")  # of an edge
_GATE_WORD = {"end": "invalidate", "weaken": "revise"}  # the gate's word, where it differs


class Effect(NamedTuple):
    """One effect: the action, the field, and its new value."""

    kind: str
    field: str
    value: Any

    @property
    def gate_word(self) -> str:
        """The kind of action for the gate and its policy."""
        is_undone = self.field == "status" and self.value == ACTIVE
        return "activate" if is_undone else _GATE_WORD.get(self.kind, self.kind)


def effects(before: Told | None, after: Told) -> tuple[Effect, ...]:
    """The effects of replacing the record `before`, None if there was none, by `after`."""
    return tuple(_at_birth(after) if before is None else _changed(before, after))


def _at_birth(after: Told) -> Iterator[Effect]:
    status, phase = _property(after, "status"), _property(after, "phase")
    if isinstance(status, str) and status in _BY_STATUS:
        yield Effect(_BY_STATUS[status], "status", status)
    if _property(after, "superseded_by"):
        yield Effect("supersede", "superseded_by", _property(after, "superseded_by"))
    if phase in PHASES[1:]:
        yield Effect("promote", "phase", phase)
    yield from _merged({}, after)


def _changed(before: Told, after: Told) -> Iterator[Effect]:
    yield from _settled(before, after)
    yield from _merged(before, after)
    # Any other end counts, also a later one: what was ended with an approval is not reopened without one.
    if before.get("valid_to", "") != after.get("valid_to", ""):
        yield Effect("end", "valid_to", after.get("valid_to", ""))
    if before.get("valid_from", "") < after.get("valid_from", ""):
        yield Effect("end", "valid_from", after["valid_from"])
    if after.get("weight", 1.0) < min(1.0, before.get("weight", 1.0)):
        yield Effect("weaken", "weight", after["weight"])
    if "source" in before and before.get("led") == after.get("led"):
        for name in _ENDS:
            if before.get(name) != after.get(name):
                yield Effect("retract", name, after.get(name))


def _settled(before: Told, after: Told) -> Iterator[Effect]:
    was, status = (_property(each, "status") or ACTIVE for each in (before, after))
    if was != status:
        decisive = was if status == ACTIVE else status
        kind = _BY_STATUS.get(decisive, "archive") if isinstance(decisive, str) else "archive"
        yield Effect(kind, "status", status)
    by, phase = _property(after, "superseded_by"), _property(after, "phase") or PHASES[0]
    if (_property(before, "superseded_by") or "") != (by or ""):
        yield Effect("supersede", "superseded_by", by)
    if (_property(before, "phase") or PHASES[0]) != phase:
        yield Effect("promote", "phase", phase)


def _merged(before: Told, after: Told) -> Iterator[Effect]:
    for name in _MERGED:
        if (before.get(name) or None) != (after.get(name) or None):
            yield Effect("merge", name, after.get(name))


def _property(record: Told, name: str) -> Any:
    return record.get("properties", {}).get(name)
