"""The effect of each event on the graph. Only the event, the rows and who is distrusted now decide, so a graph that
followed along and one that was rebuilt are the same.

What somebody saved is there as it was saved. A belief on the main path that is about an entity, or says something of
one, is there as soon as it is current, and ends with it: what was superseded or withdrawn stays, with the time at which
it ended. What tools and web pages say is in no graph before a person approves it. Of beliefs, a source that is
distrusted counts as if it had said nothing: what it replaced or withdrew stays, until somebody else replaces or
withdraws it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tallystick.projections.database import Stale
from tallystick.projections.graph.combined_view import Merge
from tallystick.projections.graph.rows import Fact, Rows
from tallystick.records import operations as ops
from tallystick.records.belief import OWNER
from tallystick.records.entity import ProposedMerge
from tallystick.records.event import Event
from tallystick.records.graph.envelope import KEYS, KINDS, keys_in
from tallystick.records.policy import DEFAULT


def apply(rows: Rows, event: Event) -> None:
    """Apply one event."""
    if event.body is not None and (act := _ACTS.get(event.op)):
        act(rows, event, event.body)


# -- what somebody saved ---------------------------------------------------------------------------------------------


def _put(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    user, is_persons = body["user"], "trust" not in body
    if "piece" in body:
        whole = _joined(rows, body)
        if whole is None:
            return
        body = {body["part"]: whole if body["part"] == "head" else [whole]}
    for part in KINDS:
        key = KEYS.get(part, "id")
        for told in body.get(part, ()):
            rows.save(user, part, told[key], told, event.seq)
            rows.note_teller(user, part, told[key], is_persons)
    if "head" in body:
        rows.head(user, body["head"], event.seq)
        for part, name in keys_in(body["head"]):
            rows.note_teller(user, part, name, is_persons)


def _joined(rows: Rows, body: dict[str, Any]) -> Any:
    """The record of which this was the last piece; None, if there are more to come, or one is missing."""
    if body["n"] == 0:
        rows.pieces = []
    if len(rows.pieces) != body["n"]:
        return None
    rows.pieces.append(body["piece"])
    return orjson.loads("".join(rows.pieces)) if len(rows.pieces) == body["of"] else None


def _merge(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    why = {"names": body.get("names", []), "score": body.get("score", 1.0), "reasons": body.get("reasons", [])}
    rows.merge(body["user"], Merge(body["node"], body["into"], {**why, "by": event.by, "at": event.ts}, event.seq))
    _dismiss(rows, event, body)


def _propose(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    told = ProposedMerge(body["node"], body["into"], body["score"], tuple(body["reasons"]), event.by, event.ts)
    values = (body["user"], *sorted(told[:2]), told.text(), event.seq)
    rows.db.execute("INSERT OR REPLACE INTO graph_proposals VALUES (?, ?, ?, ?, ?)", values)


def _dismiss(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    pair = (body["user"], *sorted((body["node"], body["into"])))
    rows.db.execute("DELETE FROM graph_proposals WHERE user = ? AND one = ? AND other = ?", pair)


# -- what beliefs say ------------------------------------------------------------------------------------------------


def _state(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is stated, new or in place of others."""
    belief, replaced = body["belief"], list(body.get("replaces", ()))
    if belief.get("path"):
        return
    before = {fact.id: fact for name in replaced if (fact := rows.facts.of_version(name))}
    if rows.is_distrusted(event, belief.get("user", OWNER), belief):
        for fact in before.values():
            rows.facts.belongs(belief["id"], fact)  # whoever replaces this one replaces them
        return
    waited = [name for name in replaced if rows.pending.take(name)]
    took_over = bool(before) and not waited
    if belief.get("trust", "human") in DEFAULT.quarantined and "approved" not in body and not took_over:
        rows.pending.add(belief["id"], event, belief)
        return
    _hold(rows, event, event.ts, event.seq, belief, list(before.values()))


def _hold(rows: Rows, event: Event, at: str, stated: int, belief: dict[str, Any], before: list[Fact]) -> None:
    fact = Fact.of(belief, belief.get("user", OWNER), at, event.seq, stated)
    held = belief.get("status", "active") == "active"
    same = next((old for old in before if held and not old.ended and old.says_the_same(fact)), None)
    for old in before:
        if old is not same:
            rows.facts.end(old, fact.valid_from or event.ts)
            rows.facts.belongs(fact.id, old)
    if same is not None:
        rows.facts.put(same.again(fact))
        rows.facts.belongs(fact.id, same)
    elif held and (fact.about or fact.is_triple):
        rows.facts.add(fact)


def _withdraw(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    """A belief is withdrawn."""
    rows.pending.take(body["id"])
    fact = rows.facts.of_version(body["id"])
    if fact is not None and not rows.is_distrusted(event, fact.user, {"trust": ""}):
        rows.facts.end(fact, event.ts)


def _erased(rows: Rows, _: Event, body: dict[str, Any]) -> None:
    for name in body.get("ids", ()):
        if rows.facts.of_version(name) or rows.pending.take(name):
            raise Stale("it held words that were erased")


def _answer(rows: Rows, event: Event, body: dict[str, Any]) -> None:
    for at, stated, belief in rows.pending.answer(body):
        _hold(rows, event, at, stated, belief, [])


_ACTS: dict[str, Callable[[Rows, Event, dict[str, Any]], None]] = {
    ops.BELIEF_PUT: _state, ops.BELIEF_SUPERSEDE: _state, ops.BELIEF_TOMBSTONE: _withdraw,
    ops.BELIEF_INVALIDATE: _withdraw, ops.ERASE: _erased, ops.REVIEW_ANSWER: _answer,
    ops.REVIEW_ASK: lambda rows, _, body: rows.pending.ask(body), ops.GRAPH_PUT: _put, ops.GRAPH_MERGE: _merge,
    ops.GRAPH_UNMERGE: lambda rows, _, body: rows.unmerge(body["user"], body["node"]),
    ops.GRAPH_PROPOSE: _propose, ops.GRAPH_DISMISS: _dismiss,
}  # fmt: skip
