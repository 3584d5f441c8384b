"""What of an answer is given out to whom. Words that nobody vouches for are a person's to read: a program is told that
they wait, and through which event they came, and no word, name, tag or reason of theirs.

Every answer goes through here, so that no address is forgotten. What it holds is known by its fields; what a caller
keeps in a record of its own (`data`, `metadata`, …) is never taken for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keepsake.records.errors import KeepsakeError
from keepsake.surfaces.withheld import WAITS, why_belief, why_episode

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.event import Event

OPEN = frozenset(("body", "data", "metadata", "payload", "properties", "provenance", "changes", "asked", "views"))

_STAYS = frozenset((
    "id", "key", "status", "path", "trust", "seq", "at", "timestamp", "recorded", "source", "pinned_at", "version",
    "confidence", "score", "fit", "what", "is_hypothesis", "always", "is_standing", "signals", "sources", "by",
    "weakened", "superseded_by", "withheld",
))  # fmt: skip


def told(memory: Memory, found: Any) -> Any:
    """An answer as whoever asks may have it, each record in it saying whether it is withheld."""
    if isinstance(found, dict):
        return _record(memory, found)
    if isinstance(found, list):
        return [told(memory, each) for each in found]
    return tuple(told(memory, each) for each in found) if type(found) is tuple else found


def is_wordless(memory: Memory, event: Event) -> bool:
    """Whether a program is not given an event as it is."""
    return _body(memory, event.body, event.id) != event.body


def _record(memory: Memory, found: dict[str, Any]) -> dict[str, Any]:
    kind = _kind(found)
    if kind == "event":
        return {**found, "body": _body(memory, found["body"], found["id"])}
    if kind == "action":
        return _action(memory, found)
    if kind:
        return _words(memory, kind, found)
    made = {
        name: each if name in OPEN and isinstance(each, dict) else told(memory, each) for name, each in found.items()
    }  # fmt: skip
    return made if memory.trust == "human" else _around(made)


def _kind(found: dict[str, Any]) -> str:
    """What a record is; nothing, if it is none that has words of somebody."""
    if "op" in found and "hash" in found and "body" in found:
        return "event"
    if "trust" not in found:
        return ""
    marks = {"weakened": "belief", "recorded": "episode", "lineage": "fact", "signals": "hit", "changes": "action"}
    return next((kind for mark, kind in marks.items() if mark in found), "")


def _words(memory: Memory, kind: str, found: dict[str, Any]) -> dict[str, Any]:
    why = _why(memory, kind, found)
    made = found if kind == "hit" else {**found, "withheld": why}
    return made if not why or memory.trust == "human" else _wordless(made, why)


def _why(memory: Memory, kind: str, found: dict[str, Any]) -> str:
    """Why it is withheld. What is not there any more is so if its source would be."""
    trust = found.get("trust", "human")
    name = found.get("version") or found.get("source") or found.get("id") or ""
    try:
        if kind == "episode" or found.get("what") == "episode":
            return why_episode(memory, name, trust)
        return why_belief(memory, name, trust, found.get("path", ""))
    except KeepsakeError:
        return WAITS if trust in memory.policy.quarantined else ""


def _wordless(found: dict[str, Any], why: str) -> dict[str, Any]:
    """The same shape, with nothing in it that its source said."""
    made = {name: each if name in _STAYS else _nothing(each) for name, each in found.items()}
    named = found.get("version") or found.get("source") or found["id"]
    if "key" in found:
        made["key"] = named
    if "signals" in found:
        made["why"] = why
    return {**made, "id": found["id"] if "key" in found or "signals" in found else named}


def _nothing(value: Any) -> Any:
    return type(value)() if isinstance(value, str | list | dict | tuple) else value


def _around(found: dict[str, Any]) -> dict[str, Any]:
    """What stands beside a record without words, and would tell some of them: its name, and its reasons."""
    if "because" in found and found["belief"]["withheld"]:
        return {**found, "because": [found["belief"]["withheld"]]}
    sides = [found[side] for side in ("before", "after") if found.get(side)] if "before" in found else []
    if any(isinstance(side, dict) and side.get("withheld") for side in sides):
        return {**found, "key": sides[-1]["key"]}
    return found


def _action(memory: Memory, found: dict[str, Any]) -> dict[str, Any]:
    if memory.trust == "human" or found["trust"] not in memory.policy.quarantined:
        return found
    return {**found, **{name: _nothing(found[name]) for name in ("changes", "reason", "called", "idempotency_key")}}


def _body(memory: Memory, body: dict[str, Any] | None, event: str) -> dict[str, Any] | None:
    """An event's body; of words that are withheld, only what they are."""
    if body is None or memory.trust == "human":
        return body
    made = dict(body)
    for kind in ("belief", "episode"):
        if not isinstance(said := body.get(kind), dict):
            continue
        named = said["id"] if kind == "belief" else event
        if why := _why(memory, kind, {**said, "id": named}):
            kept = {name: said[name] for name in ("trust", "path") if name in said}
            made = {kind: {"id": named, **kept, "withheld": why}}
    asked = body.get("action")
    if isinstance(asked, dict) and asked.get("trust") in memory.policy.quarantined:
        kept = {name: asked[name] for name in ("kind", "target", "trust", "path") if name in asked}
        made = {**made, "action": {**kept, "withheld": WAITS}}
    return made
