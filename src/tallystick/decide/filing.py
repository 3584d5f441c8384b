"""Decisions about what beliefs are about: to merge two entities, or to split one.

A belief that is filed otherwise gets a version that says the same of another entity, as old as it was. All of one merge
or split is one group of events, and undone as one. Two entities that were merged are one under every name of either;
the page of the one becomes part of the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tallystick.decide import pages
from tallystick.decide.beliefs import Draw
from tallystick.decide.restated import EventAt, moved
from tallystick.records.entity import has_kind
from tallystick.records.errors import Refused
from tallystick.records.event import Draft
from tallystick.records.operations import GRAPH_MERGE, GRAPH_UNMERGE
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.pages import USUAL
from tallystick.state.state import State

MERGED, SPLIT = "merged with another entity", "split from another entity"


def about(known: State, user: str, entity: str) -> list[CurrentVersion]:
    """The beliefs about an entity that hold, on every path that is open, oldest first."""
    held = [each for each in known.of_user(user) if each.status not in ("tombstone", "invalidated")]
    return [each for each in held if each.body().get("about", "") == entity and known.is_open(user, each.path)]


def is_entity(known: State, user: str, name: str) -> bool:
    """True if beliefs are about it, or it has a page; False for a node that was only saved."""
    return has_kind(name) and bool(known.pages.front(user, name) or about(known, user, name))


def merge(
    known: State, user: str, node: str, into: str, event_at: EventAt, draw: Draw, *, named: Mapping[str, Any]
) -> list[Draft]:  # fmt: skip
    """Make `node` part of `into`: its beliefs and its page, and in the graph its names and edges.

    Beliefs move where both are entities; a node that was only saved keeps what it has. `named` is what the graph says
    of the two: names, score, reasons.
    """
    must_be_two(known, user, node, into)
    drafts = list[Draft]()
    if has_kind(into) and is_entity(known, user, node):
        drafts += pages.rename(user, node, into)
        drafts += [moved(held, into, event_at, draw, MERGED) for held in about(known, user, node)]
    return [*drafts, Draft(GRAPH_MERGE, {"user": user, "node": node, "into": into, **named})]


def must_be_two(known: State, user: str, node: str, into: str) -> None:
    """Refused, if two nodes are one, or one of them is part of another already."""
    if node == into:
        raise Refused(f"{node!r:.80} cannot be merged into itself; name another", "self")
    if node in USUAL:
        raise Refused(f"{node!r} is about the user; merge the other into it", "state")
    for each in (node, into):
        if other := known.graph.merge_of(user, each):
            raise Refused(f"{each!r:.80} is part of {other.into!r:.80}; merge that one, or unmerge first", "state")


def split(
    known: State, user: str, entity: str, names: Sequence[str], to: str, event_at: EventAt, draw: Draw
) -> list[Draft]:  # fmt: skip
    """Let beliefs about one entity be about another. One that was merged with it is an entity of its own again."""
    if entity == to:
        raise Refused(f"{entity!r:.80} is what they are about already; name another entity", "self")
    drafts = [moved(held, to, event_at, draw, SPLIT) for held in chosen(known, user, entity, names)]
    merged = known.graph.merge_of(user, to)
    return [*([Draft(GRAPH_UNMERGE, {"user": user, "node": to})] if merged else []), *drafts]


def chosen(known: State, user: str, entity: str, names: Iterable[str]) -> list[CurrentVersion]:
    """The beliefs of these names, each once. Refused, if one is not about that entity, or none is named."""
    found: dict[str, CurrentVersion] = {}
    for name in names:
        held = known.get(name, user=user)
        if held.body().get("about", "") != entity or held.status in ("tombstone", "invalidated"):
            raise Refused(f"{name!r:.80} is not a current belief about {entity or 'nothing'!r:.80}", "mismatch")
        found[held.ref] = held
    if not found:
        raise Refused(f"name the beliefs about {entity!r:.80} to be moved; `tallystick show` lists them", "required")
    return list(found.values())
