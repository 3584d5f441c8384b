"""What was emitted to a channel, read back from the ledger: the deltas that rules made, each with its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.records.belief import OWNER
from tallystick.records.event import Event
from tallystick.records.fact_view import TRIPLE, reason_of, steps_in, view_of
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, DELTA_NOOP

if TYPE_CHECKING:
    from tallystick.records.delta import Delta


def delta_in(event: Event, channel: str) -> Delta | None:
    """The delta that an event came of, if it went to that channel. Words that are erased leave nothing to tell."""
    body = event.body
    if body is None:
        return None
    if event.op == DELTA_NOOP:
        return _read(body["step"], channel, body, corroborates=body.get("corroborates", []))
    if event.op not in (BELIEF_PUT, BELIEF_SUPERSEDE):
        return None
    belief = body["belief"]
    steps = steps_in(belief.get("views"))
    if not steps or belief.get("reason") != reason_of(str(steps[-1].get("kind")), str(steps[-1].get("rule_id"))):
        return None  # no delta made this version
    more: dict[str, Any] = {"fact_payload": view_of(belief["views"]).get("payload", {})}
    more["replaces"] = body.get("replaces", [])
    more["corroborates"] = [belief["key"]]
    return _read(steps[-1], channel, belief, **more)


_OF_KIND = {
    "add": ("fact_payload",), "update": ("fact_payload", "replaces"), "delete": ("replaces",),
    "noop": ("corroborates",),
}  # fmt: skip


def _read(step: dict[str, Any], channel: str, whose: dict[str, Any], **more: Any) -> Delta | None:
    from pydantic import ValidationError

    from tallystick.records.delta import read_delta

    if channel not in step.get("channels", ()):
        return None
    kind = step["kind"]
    if kind == "update" and not more.get("replaces"):
        kind = "add"  # what it was to replace was gone by then
    said = {name: value for name, value in step.items() if name not in ("sources", "kind", *TRIPLE)}
    scope = {"user": whose.get("user", OWNER), "agent": whose.get("agent", ""), "path": whose.get("path", "")}
    of_kind = {name: more[name] for name in _OF_KIND[kind] if name in more}
    try:
        return read_delta({**said, "kind": kind, "scope": scope, **of_kind})
    except ValidationError:  # somebody else's writing in the same place
        return None
