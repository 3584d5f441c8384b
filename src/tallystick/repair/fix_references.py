"""Setting right what events say of one another: always by further events, never by an edit of those that are there.

What leads to nothing, or round, is led elsewhere where that loses nothing: a belief is recorded anew without the link,
a path or a node that is missing is put. Where there is nothing to be done (what an event spoke of never was), it is put
on record that this is known, and `check` does not name it again.

Pure: what is known, and what was found, give drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from tallystick.ledger import format as fmt
from tallystick.records import ids
from tallystick.records.event import Draft
from tallystick.records.fact_view import trimmed
from tallystick.records.graph.nodes import MemoryNode
from tallystick.records.operations import BELIEF_SUPERSEDE, GRAPH_PUT, GRAPH_UNMERGE, PATH_BRANCH
from tallystick.repair import references as links
from tallystick.repair.references import Loose, Round, Surveyor
from tallystick.state.beliefs import Beliefs
from tallystick.state.version import CurrentVersion

_PER_EVENT = 1_000  # names that fit in one event with room to spare
_AS_IT_IS = (links.ORPHAN, links.EVIDENCE, links.REPLACES)
_NOT_THERE = "what it was said to rest on is not there"
_ROUND = "it was said to rest on itself, through others"

Draw = Callable[[], str]
T = TypeVar("T")


def drafts(seen: Surveyor, state: Beliefs, codes: Collection[str], draw: Draw) -> list[Draft]:
    """The events that set right what was found of these kinds. Refused, if one of them cannot be written."""
    loose = [each for each in seen.loose(state) if each.code in codes]
    rounds = [each for each in seen.rounds(state) if each.code in codes]
    return [
        *_revisions(state, loose, rounds, draw), *_paths(loose), *_nodes(loose), *_parted(rounds),
        *_settled(loose, rounds),
    ]  # fmt: skip


def fresh_ids(state: Beliefs, now: str) -> Draw:
    """A source of ids for beliefs, none of which is taken."""
    drawn = set[str]()

    def draw() -> str:
        name = ids.belief_id(now, lambda name: name in drawn or state.taken(name))
        drawn.add(name)
        return name

    return draw


def _revisions(state: Beliefs, loose: Iterable[Loose], rounds: Iterable[Round], draw: Draw) -> Iterator[Draft]:
    """Beliefs, each recorded anew without the links that lead nowhere. A second repair finds nothing to do."""
    cut: dict[str, tuple[set[str], str]] = {}
    for each in loose:
        if each.code == links.RESTS:
            cut.setdefault(each.by, (set(), _NOT_THERE))[0].add(each.name)
    for way in rounds:
        if way.code == links.REST_RING:
            first = state.held[way.ring.first]
            cut.setdefault(way.ring.last, (set(), _ROUND))[0].update(state.ids_of(first))
    for ref, (names, reason) in cut.items():
        yield _without(state.held[ref], names, reason, draw())


def _without(held: CurrentVersion, names: Collection[str], reason: str, fresh: str) -> Draft:
    before = held.body()
    belief: dict[str, Any] = {**before, "id": fresh, "reason": reason}
    belief["rests_on"] = [name for name in before["rests_on"] if name not in names]
    if "views" in belief:
        belief["views"] = trimmed(belief["views"], [before["views"]])
    told = {name: value for name, value in belief.items() if value or name not in ("rests_on", "views")}
    return Draft(BELIEF_SUPERSEDE, {"belief": told, "replaces": [before["id"]]})


def _paths(loose: Iterable[Loose]) -> Iterator[Draft]:
    """A path that others descend from is a child of the root."""
    for user, name in dict.fromkeys(each.key for each in loose if each.code == links.PATH):
        yield Draft(PATH_BRANCH, {"user": user, "path": name, "parent": ""})


def _nodes(loose: Iterable[Loose]) -> Iterator[Draft]:
    """A node at the end of an edge is something, whatever it is."""
    keys = [each.key for each in loose if each.code == links.EDGE]
    for user in dict.fromkeys(user for user, _ in keys):
        for some in _portions([name for whose, name in keys if whose == user]):
            nodes = [MemoryNode(id=name, kind="thing").to_dict() for name in some]
            yield Draft(GRAPH_PUT, {"user": user, "profiles": [], "nodes": nodes, "edges": []})


def _parted(rounds: Iterable[Round]) -> Iterator[Draft]:
    for way in rounds:
        if way.code == links.NODE_RING:
            yield Draft(GRAPH_UNMERGE, {"user": way.user, "node": way.ring.last})


def _settled(loose: Iterable[Loose], rounds: Iterable[Round]) -> Iterator[Draft]:
    """Names that are known to lead nowhere, by the code under which they were found: each a kind, a user, a name."""
    known = [(each.code, [each.kind, *each.key]) for each in loose if each.code in _AS_IT_IS]
    known += [(way.code, [links.MEMORY, "", way.ring.last]) for way in rounds if way.code == links.REPLACE_RING]
    for some in _portions(known):
        settled: dict[str, list[list[str]]] = {}
        for code, name in some:
            settled.setdefault(code, []).append(name)
        yield Draft(fmt.REPAIR, {"settled": settled})


def _portions(every: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(every), _PER_EVENT):
        yield every[start : start + _PER_EVENT]
