"""`undo`: the last change, or that of a named event, put back by new events.

What is undone is the whole group of events that were recorded as one. Deciding is in `decide/undo`; here the change is
found, and what becomes of it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tallystick.decide.undo import undone
from tallystick.memory.core.changes import group_at, last_change, seq_of
from tallystick.records import operations as ops
from tallystick.records.belief import Belief, Change, Undone
from tallystick.records.event import Draft, Event
from tallystick.records.policy import CHANGE
from tallystick.state.beliefs import Beliefs

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context


class UndoService:
    """Undoes the changes of one program's user."""

    def __init__(self, context: Context) -> None:
        self._context, self._folder, self._gate = context, context.folder, context.gate

    def undo(
        self, event: int | str | None = None, *, reason: str = "", user: str | None = None, path: str = "",
        dry_run: bool = False,
    ) -> Undone:  # fmt: skip
        """Undo the last change, or that of a named `event`: its number, its id, or a belief that it changed.

        All that was recorded as one is put back: what was remembered is forgotten, what was revised, corrected, merged
        or forgotten is as before. Undoing is a change too, and can be undone by its own event (`seq` of the result).
        It is refused if later changes depend on this one. Without an `event`, it is the last change of this user that
        is neither undone nor an undo; a program with less than a person's trust undoes its own. `dry_run` only shows
        what would happen. An erasure cannot be undone.
        """
        whose, folder, gate = self._context.user_or_owner(user), self._folder, self._gate
        with folder.ledger.reading():
            if event is None:
                seq = last_change(folder, whose, gate.trust, gate.by)
            else:
                seq = seq_of(folder, event, whose, path) if isinstance(event, str) else event
            if dry_run:
                group = group_at(folder, seq, whose)
                drafts = undone(folder.state, group, whose, folder.draw(), reason=reason)
                return _of(folder.state, group.events[0], drafts)
            first = group_at(folder, seq, whose).events[0]
        events = gate.act_on(
            CHANGE, "undo", {"event": first.id, "seq": first.seq, "by": first.by}, user=whose, reason=reason
        )
        with folder.ledger.reading():
            drafts = [Draft(each.op, each.body or {}) for each in events]
            return _of(folder.at(events[0].seq - 1), first, drafts, events[0].seq)


_STATED = (ops.BELIEF_PUT, ops.BELIEF_SUPERSEDE)
_NOUNS = {  # what is put back besides beliefs, and the field that names it
    ops.PAGE_PUT: ("page", "about"), ops.PAGE_RENAME: ("page", "to"), ops.RULE_PUT: ("rule", "rule"),
    ops.RULE_DROP: ("rule", "id"), ops.FRAME_PUT: ("frame", "frame"), ops.FRAME_DROP: ("frame", "name"),
    ops.CONFIG_SET: ("setting", "key"), ops.TRUST_SET: ("source", "source"), ops.PATH_REOPEN: ("path", "path"),
    ops.PATH_ABANDON: ("path", "path"), ops.PATH_COMPACT: ("path", "path"), ops.GRAPH_MERGE: ("node", "node"),
    ops.GRAPH_UNMERGE: ("node", "node"), ops.EPISODE_RESTORE: ("episode", "ids"), ops.EPISODE_FADE: ("episode", "ids"),
    ops.EPISODE_RETRACT: ("episode", "ids"), ops.RELATION_PUT: ("relation of", "ids"),
}  # fmt: skip


def _of(known: Beliefs, first: Event, drafts: Sequence[Draft], seq: int = -1) -> Undone:
    """What these drafts do to what was known before them."""
    changes, others = list[Change](), dict[str, None]()
    for op, body in drafts:
        if op in (ops.BELIEF_TOMBSTONE, ops.BELIEF_INVALIDATE, *_STATED):
            name = body.get("id") or next(iter(body.get("replaces", ())), "")
            held, belief = known.version(name), body.get("belief")
            after = Belief.from_body(belief) if belief else None
            before = held.belief() if held and held.status == "active" else None
            key = after.key if after else held.key if held else ""
            changes.append(Change(key, before, after if after and after.is_held else None))
        elif op in _NOUNS:
            noun, field = _NOUNS[op]
            named = body[field]
            named = named.get("id") or named.get("name", "") if isinstance(named, dict) else named
            others[f"{noun} {named if isinstance(named, str) else ', '.join(named)}"] = None
    return Undone(first.seq, first.op, first.by, first.ts, tuple(changes), tuple(others), seq)
