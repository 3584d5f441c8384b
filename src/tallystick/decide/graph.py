"""Decisions about the graph: save and erase. Pure.

What is saved together is one group of events, each short enough for a line of the ledger: many records are in one
event, and one that is too long for any is split into pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from tallystick.records.errors import Refused
from tallystick.records.event import Draft, Event
from tallystick.records.graph.nodes import RecordFields, line_of
from tallystick.records.operations import GRAPH, GRAPH_PUT

PERSON = "human"
ROOM = 256 * 1024  # bytes of records in one event
_PIECE = 200_000  # characters; a character is at most four bytes, and what is escaped was escaped before
_LONGEST = 300  # characters of a name that is recorded with a piece
_PARTS = ("profiles", "nodes", "edges", "paths", "events")


class Saved(NamedTuple):
    """A record to be saved: its part, its line, its dictionary."""

    part: str
    line: bytes
    told: RecordFields


def put(
    user: str, records: Iterable[Saved], head: RecordFields | None = None, *, trust: str = PERSON,
    is_belief: Callable[[str], bool] = lambda _: False,
) -> list[Draft]:  # fmt: skip
    """The events that save records. One that names a belief has an event of its own, to be erased with the belief."""
    whose = {"user": user} if trust == PERSON else {"user": user, "trust": trust}
    drafts: list[Draft] = []
    body: dict[str, Any] = dict(whose)
    used = 0
    for part, line, told in records:
        if len(line) > ROOM:
            drafts += _pieces(whose, part, line, told)
            continue
        if any(map(is_belief, _named_in(told))):
            drafts.append(Draft(GRAPH_PUT, {**whose, part: [told]}))
            continue
        if used + len(line) > ROOM:
            drafts.append(Draft(GRAPH_PUT, body))
            body, used = dict(whose), 0
        body.setdefault(part, []).append(told)
        used += len(line) + 1
    if used:
        drafts.append(Draft(GRAPH_PUT, body))
    if head and len(line := line_of(head)) > ROOM:
        drafts += _pieces(whose, "head", line, {})
    elif head:
        drafts.append(Draft(GRAPH_PUT, {**whose, "head": head}))
    return drafts


def _pieces(whose: RecordFields, part: str, line: bytes, told: RecordFields) -> list[Draft]:
    """One record in pieces. Each names what it is about, so that an erasure finds it."""
    text = line.decode()
    cut = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    body = {**whose, "part": part, "names": [_short(name) for name in _named_in(told)], "of": len(cut)}
    return [Draft(GRAPH_PUT, {**body, "n": number, "piece": piece}) for number, piece in enumerate(cut)]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else sha256(name.encode()).hexdigest()


def must_stand_for_themselves(node: RecordFields, into: RecordFields) -> None:
    """Refused, if two nodes are one, or if one of them is merged already."""
    if node["id"] == into["id"]:
        raise Refused(f"node {node['id']!r} cannot be merged into itself", "self")
    for each in (node, into):
        if each.get("merged"):
            other = each["merged"]["into"]
            raise Refused(f"node {each['id']!r} is merged into {other!r}; merge that one, or unmerge first", "state")


def words_about(user: str, names: Collection[str]) -> tuple[Iterable[str], Callable[[Event], bool]]:
    """A test for the events with words about these nodes, called for events in order; and the ids that go with them:
    merges, and reviews whether to merge."""
    gone: dict[str, None] = {}

    def speaks(event: Event) -> bool:
        body = event.body or {}
        if event.op.startswith("review.") and body.get("review") in gone:
            return "reason" in body
        if is_merge := merges_one(event, user, names):
            gone[body.get("review", event.id)] = None
        return is_merge or tells_of(event, user, names)

    return gone.keys(), speaks


def tells_of(event: Event, user: str, names: Collection[str], *, alone: bool = False) -> bool:
    """True if an event of that user's graph names one of these nodes, edges or beliefs; `alone`, and nothing else."""
    body = event.body
    if body is None or not event.op.startswith(GRAPH) or body.get("user") != user:
        return False
    if "node" in body:
        return merges_one(event, user, names)
    if "piece" in body:
        return not {_short(name) for name in names}.isdisjoint(body["names"])
    found = [is_of(saved.told, names) for saved in records_in(body)]
    return any(found) and (all(found) or not alone)


def merges_one(event: Event, user: str, names: Collection[str]) -> bool:
    """True if an event merges or splits one of these nodes, or asks whether to."""
    body = event.body or {}
    action = body.get("action", {})
    said = action.get("changes", {}) if action.get("noun") == "graph" else body if event.op.startswith(GRAPH) else {}
    return body.get("user") == user and any(said.get(name) in names for name in ("node", "into", "entity", "to"))


def records_in(body: Mapping[str, Any]) -> list[Saved]:
    """The records of an event, without pieces."""
    return [Saved(part, line_of(told), told) for part in _PARTS for told in body.get(part, ())]


def is_of(told: RecordFields, names: Collection[str]) -> bool:
    """True if a record is one of these, leads to one, or has one as its source."""
    return any(name in names for name in _named_in(told))


def _named_in(told: RecordFields) -> Iterator[str]:
    """Everything that a record names: itself, its ends, its sources, its subjects."""
    yield from (told[key] for key in ("id", "path_id", "source", "target") if key in told)
    yield from told.get("provenance", {}).get("sources", ())
    yield from told.get("subject_ids", ())
