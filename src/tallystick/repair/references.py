"""What the events speak of, and whether anything brought it.

A surveyor takes the events of a ledger one by one, in their order, and keeps names alone: no words, and of what leads
somewhere as it should, no more than the name. Afterwards it tells which names lead to nothing, and which lead round.
What was erased was there; so was what an event brings only later. Free text in evidence is no link: only what has the
form of an id of ours is.

A ledger of our own making has none of these. One that was made by hand, put together by another program, or that lost
words to damage, may. Nothing in the program goes wrong over them: it passes over what is not there.

What it cannot tell: anything, where earlier events were moved away; what they brought is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from tallystick.ledger import format as fmt
from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.event import Draft, Event
from tallystick.records.fact_view import sources_in, trimmed
from tallystick.records.graph.nodes import MemoryNode
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    GRAPH_MERGE,
    GRAPH_PUT,
    GRAPH_UNMERGE,
    OUTCOME_PUT,
    PATH_ABANDON,
    PATH_BRANCH,
    PATH_COMPACT,
    PATH_MERGE,
    PATH_REOPEN,
    RELATION_PUT,
    REVIEW_ANSWER,
    REVIEW_ASK,
    REVIEW_GRANT,
    RULE_DROP,
    RULE_FOUND,
    RULE_PUT,
)
from tallystick.state.beliefs import Beliefs
from tallystick.state.version import CurrentVersion

EVIDENCE, RESTS, REPLACES, ORPHAN = "evidence-dangling", "rests-on-nothing", "replaces-nothing", "event-orphaned"
PATH, EDGE = "path-orphaned", "edge-loose"
REST_RING, REPLACE_RING, PATH_RING, NODE_RING = "rests-on-ring", "replaces-ring", "path-ring", "node-ring"

# kinds of things that have names
MEMORY, EPISODES, REVIEW, RULES, PATHS, NODES = "memory", "episode", "review", "rule", "path", "node"
HELD = ("active", "deprecated")  # what a belief may be so that it matters what it stands on

_EVENT_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_EPISODE = "episode:"
_RESTING = b'"rests_on":'
_ENDS = (PATH_MERGE, PATH_ABANDON, PATH_COMPACT, PATH_REOPEN)

Key = tuple[str, str]  # user, name. What is named the same for every user has no user here


class Spot(NamedTuple):
    """Where an event stands."""

    path: Path
    line: int
    offset: int
    seq: int


class Loose(NamedTuple):
    """A name that leads to nothing, and the first event that speaks of it."""

    code: str
    kind: str
    key: Key
    by: str  # what names it: a version, an edge, or the kind of event
    spot: Spot

    @property
    def name(self) -> str:
        return self.key[1]


class Round(NamedTuple):
    """Links that lead in a ring, and where the one stands that closes it."""

    code: str
    user: str
    ring: Ring
    spot: Spot


class Surveyor:
    """Takes events one by one."""

    def __init__(self) -> None:
        kinds = (MEMORY, EPISODES, REVIEW, RULES, PATHS, NODES)
        self._known: dict[str, set[Key]] = {kind: set() for kind in kinds}
        self._empty: Counter[str] = Counter()  # what was brought by events whose words are gone, by kind
        self._hollow: set[str] = set()  # the lines of beliefs whose words are gone
        self._open: dict[tuple[str, ...], Loose] = {}
        self._edges: dict[Key, tuple[str, str, Spot]] = {}  # that had no two ends when they were put
        self._replaced: dict[str, list[str]] = {}
        self._parents: dict[Key, tuple[str, Spot]] = {}
        self._joined: dict[Key, tuple[str, Spot]] = {}
        self._spots: dict[str, Spot] = {}  # of versions that rest on or replace something
        self._settled: set[tuple[str, ...]] = set()
        self._pieces: list[str] = []  # of a record of the graph

    # -- taking ------------------------------------------------------------------------------------------------------

    def take(self, event: Event, spot: Spot) -> None:
        """Take in one event, in today's shape."""
        if event.op == EPISODE_PUT:
            self._known[MEMORY].add(("", event.id))
        if event.body is None:
            self._empty[_BRINGS.get(event.op, "")] += 1
            self._hollow.update([event.hash] if event.op in (BELIEF_PUT, BELIEF_SUPERSEDE) else ())
        elif act := _ACTS.get(event.op):
            act(self, event, event.body, spot)

    def _speak(self, code: str, kind: str, key: Key, by: str, spot: Spot) -> None:
        """`by` names something. Of what is not known (yet), the first who names it is set down; of evidence, each."""
        if key not in self._known[kind]:
            each = by if code == EVIDENCE else ""
            self._open.setdefault((code, kind, *key, each), Loose(code, kind, key, by, spot))

    def _state(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        belief, name = body["belief"], str(body["belief"]["id"])
        get, user = belief.get, str(belief.get("user", OWNER))
        self._known[MEMORY].add(("", name))
        if path := get("path"):
            self._known[PATHS].add((user, path))
        self._name_nodes(user, get("about"), get("triple"))
        if get("rests_on"):
            self._spots[name] = spot
        if evidence := get("evidence"):
            for each in _texts(evidence):
                self._point(user, each, name, spot)
        if isinstance(views := get("views"), dict):
            for source in filter(_EVENT_ID.match, sources_in(views)):
                self._speak(EVIDENCE, MEMORY, ("", source), name, spot)
        if event.op == BELIEF_SUPERSEDE or "over" in body or "merged" in body:
            self._replace(name, body, spot)

    def _name_nodes(self, user: str, about: object, triple: object) -> None:
        if isinstance(about, str) and about:
            self._known[NODES].add((user, about))
        if triple and isinstance(triple, list) and isinstance(triple[0], str):
            self._known[NODES].add((user, triple[0]))

    def _replace(self, name: str, body: dict[str, Any], spot: Spot) -> None:
        """A version that names itself was recorded anew by a repair: what it stood for may be lost, and is its own."""
        gone = _texts(body.get("replaces"))
        if name in gone:
            return
        self._spots[name], self._replaced[name] = spot, gone
        for each in (*gone, *_texts(body.get("over")), *_texts(body.get("merged"))):
            self._speak(REPLACES, MEMORY, ("", each), name, spot)

    def _point(self, user: str, said: str, by: str, spot: Spot) -> None:
        """A piece of evidence, if it points to something of ours."""
        name = said.removeprefix(_EPISODE)
        if ids.BELIEF_ID.match(name) or _EVENT_ID.match(name):
            self._speak(EVIDENCE, MEMORY, ("", name), by, spot)
        elif name and name != said:
            self._speak(EVIDENCE, EPISODES, (user, name), by, spot)

    def _observe(self, event: Event, body: dict[str, Any], _: Spot) -> None:
        episode = body["episode"]
        user = str(episode.get("user", OWNER))
        self._known[EPISODES].add((user, str(episode.get("id", event.id))))
        if path := episode.get("path"):
            self._known[PATHS].add((user, str(path)))

    def _of_one(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        self._speak(ORPHAN, MEMORY, ("", str(body["id"])), event.op, spot)

    def _of_several(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        for each in _texts(body.get("ids")):
            self._speak(ORPHAN, MEMORY, ("", each), event.op, spot)

    def _ask(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        self._known[REVIEW].add(("", str(body["review"])))
        for each in filter(ids.BELIEF_ID.match, _texts(body["action"].get("target"))):
            self._speak(ORPHAN, MEMORY, ("", each), event.op, spot)

    def _answer(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        self._speak(ORPHAN, REVIEW, ("", str(body.get("review"))), event.op, spot)

    def _rule(self, _: Event, body: dict[str, Any], __: Spot) -> None:
        self._known[RULES].add((str(body["user"]), str(body["rule"]["id"])))

    def _no_rule(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        self._speak(ORPHAN, RULES, _key(body, "id"), event.op, spot)

    def _branch(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        place, parent = _key(body, "path"), _key(body, "parent")
        self._known[PATHS].add(place)
        self._parents.setdefault(place, (parent[1], spot))
        if parent[1]:
            self._speak(PATH, PATHS, parent, event.op, spot)

    def _end_path(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        self._speak(ORPHAN, PATHS, _key(body, "path"), event.op, spot)
        if body.get("into"):
            self._speak(PATH, PATHS, _key(body, "into"), event.op, spot)

    def _graph(self, _: Event, body: dict[str, Any], spot: Spot) -> None:
        user = str(body.get("user", OWNER))
        if "piece" in body:
            body = self._put_together(body)
        self._known[NODES].update((user, str(node.get("id"))) for node in _objects(body.get("nodes")))
        for edge in _objects(body.get("edges")):
            name, ends = (user, str(edge.get("id"))), (str(edge.get("source")), str(edge.get("target")))
            if self._has(user, ends):
                self._edges.pop(name, None)
            else:
                self._edges[name] = (*ends, spot)

    def _put_together(self, body: dict[str, Any]) -> dict[str, Any]:
        """A record that is too long for a line comes in pieces, one behind the other: nothing before the last."""
        if body.get("n") == 0:
            self._pieces = []
        self._pieces.append(str(body["piece"]))
        try:
            whole = body["of"] == len(self._pieces)
            return {str(body["part"]): [orjson.loads("".join(self._pieces))]} if whole else {}
        except (KeyError, ValueError):
            return {}

    def _has(self, user: str, nodes: Iterable[str]) -> bool:
        return all((user, node) in self._known[NODES] for node in nodes)

    def _join(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        node, into = _key(body, "node"), _key(body, "into")
        self._joined[node] = (into[1], spot)
        for each in (node, into):
            self._speak(ORPHAN, NODES, each, event.op, spot)

    def _part(self, _: Event, body: dict[str, Any], __: Spot) -> None:
        self._joined.pop(_key(body, "node"), None)

    def _erase(self, _: Event, body: dict[str, Any], __: Spot) -> None:
        self._known[MEMORY].update(("", each) for each in _texts(body.get("ids")))

    def _restore(self, _: Event, body: dict[str, Any], __: Spot) -> None:
        """What was erased after a copy was made is erased from it again: its lines are told, and no names."""
        self._empty[MEMORY] += len(self._hollow.intersection(_texts(body.get("lines"))))

    def _settle(self, _: Event, body: dict[str, Any], __: Spot) -> None:
        """A repair put on record that these lead to nothing."""
        settled = body.get("settled")
        for code, names in settled.items() if isinstance(settled, dict) else ():
            for each in names if isinstance(names, list) else ():
                self._settled.add((code, *_texts(each)))

    # -- telling -----------------------------------------------------------------------------------------------------

    def loose(self, state: Beliefs) -> Iterator[Loose]:
        """What leads to nothing. `state` is what is held after the last event."""
        still = [each for each in self._open.values() if not self._is_there(each)]
        for held, below in _resting(state):
            still += [
                Loose(RESTS, MEMORY, ("", name), held.ref, self._spot_of(state, held))
                for name in below if ("", name) not in self._known[MEMORY]
            ]  # fmt: skip
        unknown = Counter(kind for kind, _ in {(each.kind, each.key) for each in still})
        for each in still:
            explained = unknown[each.kind] <= self._empty[each.kind]
            if not explained and (each.code != EVIDENCE or _is_held(state, each.by)):
                yield each
        yield from self._loose_edges()

    def _is_there(self, each: Loose) -> bool:
        return each.key in self._known[each.kind] or (each.code, each.kind, *each.key) in self._settled

    def _loose_edges(self) -> Iterator[Loose]:
        """Nodes that are not there, each with the first edge that leads to it."""
        missing: dict[Key, Loose] = {}
        for (user, edge), (source, target, spot) in self._edges.items():
            for node in (source, target):
                if not self._has(user, (node,)):
                    missing.setdefault((user, node), Loose(EDGE, NODES, (user, node), edge, spot))
        yield from missing.values()

    def rounds(self, state: Beliefs) -> Iterator[Round]:
        """What leads in a ring."""
        for ring in rings(_by_identity(state)):
            yield Round(REST_RING, "", ring, self._spot_of(state, state.held[ring.last]))
        for ring in rings(self._replaced):
            if (REPLACE_RING, MEMORY, "", ring.last) not in self._settled:
                yield Round(REPLACE_RING, "", ring, self._spots[ring.last])
        yield from _rounds(PATH_RING, self._parents)
        yield from _rounds(NODE_RING, self._joined)

    def _spot_of(self, state: Beliefs, held: CurrentVersion) -> Spot:
        """Where what a belief rests on was said last."""
        return next(self._spots[name] for name in reversed(state.ids_of(held)) if name in self._spots)


def _is_held(state: Beliefs, version: str) -> bool:
    """Whether that is how a belief is held now."""
    held = state.find(version, user=state.owner(version) or OWNER, short=False)
    return held is not None and held.status in HELD and held.body().get("id") == version


def _resting(state: Beliefs) -> Iterator[tuple[CurrentVersion, list[str]]]:
    """What is held and rests on something."""
    for held in state.held.values():
        if held.status in HELD and _RESTING in held.line and (below := _texts(held.body().get("rests_on"))):
            yield held, below


def _by_identity(state: Beliefs) -> dict[str, list[str]]:
    """What rests on what. A belief that leads to another by now is that other one."""
    below = {held.ref: names for held, names in _resting(state)}
    wanted = {name for names in below.values() for name in names}
    refs = {name: held.ref for held in state.held.values() for name in state.ids_of(held) if name in wanted}
    return {ref: [refs[name] for name in names if name in refs] for ref, names in below.items()}


def _rounds(code: str, links: Mapping[Key, tuple[str, Spot]]) -> Iterator[Round]:
    """The rings of things that lead to one other thing of the same user each."""
    for user in dict.fromkeys(user for user, _ in links):
        own = {name: (to,) for (whose, name), (to, _) in links.items() if whose == user}
        for ring in rings(own):
            yield Round(code, user, ring, links[user, ring.last][1])


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(body: dict[str, Any], name: str) -> Key:
    return str(body.get("user", OWNER)), str(body.get(name, ""))


_BRINGS = {REVIEW_ASK: REVIEW, EPISODE_PUT: EPISODES}
_ACTS = {
    BELIEF_PUT: Surveyor._state, BELIEF_SUPERSEDE: Surveyor._state, BELIEF_TOMBSTONE: Surveyor._of_one,
    BELIEF_INVALIDATE: Surveyor._of_one,
    EPISODE_PUT: Surveyor._observe, EPISODE_RETRACT: Surveyor._of_several, EPISODE_FADE: Surveyor._of_several,
    OUTCOME_PUT: Surveyor._of_several, RELATION_PUT: Surveyor._of_several, RULE_FOUND: Surveyor._of_several,
    REVIEW_ASK: Surveyor._ask,
    REVIEW_ANSWER: Surveyor._answer,
    REVIEW_GRANT: Surveyor._answer, RULE_PUT: Surveyor._rule, RULE_DROP: Surveyor._no_rule,
    PATH_BRANCH: Surveyor._branch,
    **dict.fromkeys(_ENDS, Surveyor._end_path), GRAPH_PUT: Surveyor._graph, GRAPH_MERGE: Surveyor._join,
    GRAPH_UNMERGE: Surveyor._part,
    fmt.ERASE: Surveyor._erase, fmt.RESTORE: Surveyor._restore, fmt.REPAIR: Surveyor._settle,
}  # fmt: skip


# -- whether links lead in a ring --------------------------------------------------------------------------------------


class Ring(NamedTuple):
    """Names that lead back to where they began. Without the link from `last` to `first` this one is open."""

    names: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.names[0]

    @property
    def last(self) -> str:
        return self.names[-1]

    def shown(self, limit: int = 5) -> str:
        """The way round, in a line."""
        way = [name[:64] for name in self.names[:limit]]
        return " → ".join([*way, *(["…"] if len(self.names) > limit else []), self.first[:64]])


def rings(links: Mapping[str, Iterable[str]]) -> list[Ring]:
    """The rings among `links`. Take away the link that closes each, and nothing leads round any more."""
    found, done = list[Ring](), set[str]()
    for name in links:
        if name not in done:
            found += _from(name, links, done)
    return found


def _from(start: str, links: Mapping[str, Iterable[str]], done: set[str]) -> Iterable[Ring]:
    """Those that are met on the ways from one name. `done` are the names whose ways were all gone."""
    way, place = [start], {start: 0}
    open_ways = [iter(links.get(start, ()))]
    while way:
        step = next(open_ways[-1], None)
        if step is None:
            done.add(way[-1])
            del place[way.pop()]
            open_ways.pop()
        elif step in place:
            yield Ring(tuple(way[place[step] :]))
        elif step not in done:
            place[step] = len(way)
            way.append(step)
            open_ways.append(iter(links.get(step, ())))


# -- setting right what events say of one another: always by further events, never by an edit of those th --------------


_PER_EVENT = 1_000  # names that fit in one event with room to spare
_AS_IT_IS = (ORPHAN, EVIDENCE, REPLACES)
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
        if each.code == RESTS:
            cut.setdefault(each.by, (set(), _NOT_THERE))[0].add(each.name)
    for way in rounds:
        if way.code == REST_RING:
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
    for user, name in dict.fromkeys(each.key for each in loose if each.code == PATH):
        yield Draft(PATH_BRANCH, {"user": user, "path": name, "parent": ""})


def _nodes(loose: Iterable[Loose]) -> Iterator[Draft]:
    """A node at the end of an edge is something, whatever it is."""
    keys = [each.key for each in loose if each.code == EDGE]
    for user in dict.fromkeys(user for user, _ in keys):
        for some in _portions([name for whose, name in keys if whose == user]):
            nodes = [MemoryNode(id=name, kind="thing").to_dict() for name in some]
            yield Draft(GRAPH_PUT, {"user": user, "profiles": [], "nodes": nodes, "edges": []})


def _parted(rounds: Iterable[Round]) -> Iterator[Draft]:
    for way in rounds:
        if way.code == NODE_RING:
            yield Draft(GRAPH_UNMERGE, {"user": way.user, "node": way.ring.last})


def _settled(loose: Iterable[Loose], rounds: Iterable[Round]) -> Iterator[Draft]:
    """Names that are known to lead nowhere, by the code under which they were found: each a kind, a user, a name."""
    known = [(each.code, [each.kind, *each.key]) for each in loose if each.code in _AS_IT_IS]
    known += [(way.code, [MEMORY, "", way.ring.last]) for way in rounds if way.code == REPLACE_RING]
    for some in _portions(known):
        settled: dict[str, list[list[str]]] = {}
        for code, name in some:
            settled.setdefault(code, []).append(name)
        yield Draft(fmt.REPAIR, {"settled": settled})


def _portions(every: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(every), _PER_EVENT):
        yield every[start : start + _PER_EVENT]
