"""An act on one line: where, when, by whom, what, how it went, to what, and on whose approval."""

from __future__ import annotations

from tallystick.records.audit import APPLIED, AuditLine
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.terminal import bold, dim, width
from tallystick.surfaces.present.text import cells, short
from tallystick.surfaces.present.time import when

_BY_ROOM, _ACT_ROOM, _OUTCOME_ROOM = 12, 16, 7
_FEW = 3


def audit_line(act: AuditLine, seq_room: int = 4) -> str:
    """What is refused or held stands out; what was applied is the usual."""
    left = f"{act.seq:>{seq_room}}  {when(act.at)}  {short(act.by, 40):<{_BY_ROOM}}  "
    verb, outcome = f"{short(act.action, 40):<{_ACT_ROOM}}  ", f"{act.outcome:<{_OUTCOME_ROOM}}  "
    room = max(width() - cells(left) - cells(verb) - cells(outcome), 20)
    how = dim if act.outcome == APPLIED else bold
    return dim(left) + verb + how(outcome) + dim(short(_about(act), room))


def _about(act: AuditLine) -> str:
    names = " ".join(handle(name) for name in act.subject[:_FEW])
    more = f"and {len(act.subject) - _FEW} more" if len(act.subject) > _FEW else ""
    asker = f"said by {act.trust}" if act.trust not in ("", "human") else ""
    return ", ".join(filter(None, (" ".join(filter(None, (names, more))), _yes(act), asker)))


def _yes(act: AuditLine) -> str:
    if not act.approval:
        return ""
    by = f" by {act.approval['by']}" if act.approval.get("by") else ""
    return f"approved{by} in {act.approval['review'][-6:]}"
