"""References between events: those that lead to nothing or in a ring, as findings, and the events that fix them.

A surveyor takes the events of a ledger in order and keeps names alone, no texts, in tables that need not be in memory.
Afterwards it lists the names that no event created, and the rings. An erased record existed; so does one that an event
creates only later. Free text in evidence is not a reference: only what has the form of an id of ours is.

A ledger that tallystick wrote has no such findings. One that was made by hand or by another program, or that lost data
to damage, may. They do no harm: what is missing is skipped. Where earlier events were moved away, nothing can be said:
what they created is not known here.

Fixes are always further events, never edits: a belief is recorded again without the link, a missing path or node is
created. Where nothing can be fixed (a record never existed), an event records that this is known, and `check` does not
report it again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from tallystick.ledger import format as fmt
from tallystick.records import ids, operations as op
from tallystick.records.belief import OWNER
from tallystick.records.event import Draft, Event
from tallystick.records.fact import sources_in, trimmed
from tallystick.records.graph.nodes import MemoryNode
from tallystick.repair.findings import Finding, found
from tallystick.state.beliefs import Beliefs, CurrentVersion
from tallystick.state.state import State
from tallystick.state.tables import Table, Tables, TablesInMemory, codec_of

EVIDENCE, RESTS, REPLACES, ORPHAN = "evidence-dangling", "rests-on-nothing", "replaces-nothing", "event-orphaned"
PATH, EDGE = "path-orphaned", "edge-loose"
REST_RING, REPLACE_RING, PATH_RING, NODE_RING = "rests-on-ring", "replaces-ring", "path-ring", "node-ring"

# kinds of things that have names
MEMORY, EPISODES, REVIEW, RULES, PATHS, NODES = "memory", "episode", "review", "rule", "path", "node"
_ACTIVE = ("active", "deprecated")  # only of these beliefs the support matters

_EVENT_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_EPISODE = "episode:"
_CREATES = {op.REVIEW_ASK: REVIEW, op.EPISODE_PUT: EPISODES}

Key = tuple[str, str]  # user, name. Names that are the same for every user have no user here
T = TypeVar("T")


class Spot(NamedTuple):
    """The place of an event."""

    path: Path
    line: int
    offset: int
    seq: int

    def __str__(self) -> str:
        inside = self.path.name if self.path.parent.name != "sealed" else f"sealed/{self.path.name}"
        return f"{inside}, line {self.line}, byte {self.offset}"


class Loose(NamedTuple):
    """A name that leads to nothing, and the first event that uses it."""

    code: str
    kind: str
    key: Key
    by: str  # what uses the name: a version, an edge, or the kind of event
    spot: Spot


class Ring(NamedTuple):
    """Names that lead back to the first, and the place of the link from the last to the first, which closes it."""

    code: str
    user: str
    names: tuple[str, ...]
    spot: Spot

    def __str__(self) -> str:
        names = [name[:64] for name in self.names[:5]]
        return " → ".join([*names, *(["…"] if len(self.names) > 5 else []), self.names[0][:64]])


class _Link(NamedTuple):
    """The place of a version that has dependencies or replaces others, and, if it does, which it replaces."""

    path: str
    line: int
    offset: int
    seq: int
    replaced: list[str] | None


class Surveyor:
    """Collects the names in events, one event after the other, each after `state` has followed it."""

    def __init__(self, tables: Tables | None = None, state: State | None = None) -> None:
        tables, self._state = tables or TablesInMemory(), state or State()
        # By kind and key; of memories, those that are not in the state: they were erased.
        self._known: dict[str, Table[str]] = {kind: tables.table(f"known.{kind}") for kind in _KINDS}
        self._links: Table[_Link] = tables.table("links", codec_of(_Link))  # by version
        self._may_ring = False  # whether a version may be replaced by what it replaces
        self._empty: Counter[str] = Counter()  # events without data that created something, by kind
        self._hollow: set[str] = set()  # the lines of beliefs without data
        self._open: dict[tuple[str, ...], Loose] = {}
        self._edges: dict[Key, tuple[str, str, Spot]] = {}  # that had no two ends when they were put
        self._parents: dict[Key, tuple[str, Spot]] = {}
        self._joined: dict[Key, tuple[str, Spot]] = {}
        self._settled: set[tuple[str, ...]] = set()
        self._pieces: list[str] = []  # of a record of the graph

    # -- collecting --------------------------------------------------------------------------------------------------

    def take(self, event: Event, spot: Spot) -> None:
        """Take one event, in today's shape."""
        if event.body is None:
            if event.op == op.EPISODE_PUT:
                self._create(MEMORY, "", event.id)
            self._empty[_CREATES.get(event.op, "")] += 1
            self._hollow.update([event.hash] if event.op in (op.BELIEF_PUT, op.BELIEF_SUPERSEDE) else ())
        else:
            self._take(event, event.body, spot)

    def _take(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        match event.op:
            case op.BELIEF_PUT | op.BELIEF_SUPERSEDE:
                self._take_belief(event, body, spot)
            case op.EPISODE_PUT:
                episode = body["episode"]
                user = str(episode.get("user", OWNER))
                if "id" in episode:  # else it goes by that of its event
                    self._create(EPISODES, user, str(episode["id"]))
                if path := episode.get("path"):
                    self._create(PATHS, user, str(path))
            case op.BELIEF_TOMBSTONE | op.BELIEF_INVALIDATE:
                self._use(ORPHAN, MEMORY, ("", str(body["id"])), event.op, spot)
            case op.EPISODE_RETRACT | op.EPISODE_FADE | op.EPISODE_RESTORE:
                for each in _texts(body.get("ids")):
                    self._use(ORPHAN, MEMORY, ("", each), event.op, spot)
            case op.OUTCOME_PUT | op.RELATION_PUT | op.RULE_FOUND:
                for each in _texts(body.get("ids")):
                    self._use(ORPHAN, MEMORY, ("", each), event.op, spot)
            case op.REVIEW_ASK:
                self._create(REVIEW, "", str(body["review"]))
                for each in filter(ids.BELIEF_ID.match, _texts(body["action"].get("target"))):
                    self._use(ORPHAN, MEMORY, ("", each), event.op, spot)
            case op.REVIEW_ANSWER | op.REVIEW_GRANT:
                self._use(ORPHAN, REVIEW, ("", str(body.get("review"))), event.op, spot)
            case op.RULE_PUT:
                self._create(RULES, str(body["user"]), str(body["rule"]["id"]))
            case op.RULE_DROP:
                self._use(ORPHAN, RULES, _key(body, "id"), event.op, spot)
            case op.PATH_BRANCH:
                place, parent = _key(body, "path"), _key(body, "parent")
                self._create(PATHS, *place)
                self._parents.setdefault(place, (parent[1], spot))
                if parent[1]:
                    self._use(PATH, PATHS, parent, event.op, spot)
            case op.PATH_MERGE | op.PATH_ABANDON | op.PATH_COMPACT | op.PATH_REOPEN:
                self._use(ORPHAN, PATHS, _key(body, "path"), event.op, spot)
                if body.get("into"):
                    self._use(PATH, PATHS, _key(body, "into"), event.op, spot)
            case op.GRAPH_PUT:
                self._take_graph(body, spot)
            case op.GRAPH_MERGE:
                node, into = _key(body, "node"), _key(body, "into")
                self._joined[node] = (into[1], spot)
                for key in (node, into):
                    self._use(ORPHAN, NODES, key, event.op, spot)
            case op.GRAPH_UNMERGE:
                self._joined.pop(_key(body, "node"), None)
            case fmt.ERASE:
                for each in _texts(body.get("ids")):
                    self._create(MEMORY, "", each)
            case fmt.RESTORE:  # what was erased after a copy was made is erased from it again, by line, not by name
                self._empty[MEMORY] += len(self._hollow.intersection(_texts(body.get("lines"))))
            case fmt.REPAIR:  # a repair recorded that these lead to nothing
                settled = body.get("settled")
                for code, names in settled.items() if isinstance(settled, dict) else ():
                    for each in names if isinstance(names, list) else ():
                        self._settled.add((code, *_texts(each)))

    def _create(self, kind: str, user: str, name: str) -> None:
        self._known[kind].set((user, name), "")

    def _is_known(self, kind: str, key: Key) -> bool:
        is_here = kind == MEMORY and (self._state.taken(key[1]) or self._state.episodes.of(key[1]))
        return bool(is_here) or key in self._known[kind]

    def _use(self, code: str, kind: str, key: Key, by: str, spot: Spot) -> None:
        """`by` uses a name. If it is not known (yet), the first use is kept; of evidence, each."""
        if not self._is_known(kind, key):
            each = by if code == EVIDENCE else ""
            self._open.setdefault((code, kind, *key, each), Loose(code, kind, key, by, spot))
            self._may_ring |= code == REPLACES

    def _take_belief(self, event: Event, body: dict[str, Any], spot: Spot) -> None:
        belief, name = body["belief"], str(body["belief"]["id"])
        get, user, gone = belief.get, str(belief.get("user", OWNER)), _texts(body.get("replaces"))
        # Else it replaces earlier ones alone: the state refuses a name that is there, but for one that replaces itself.
        self._may_ring = self._may_ring or name in gone or ("", name) in self._known[MEMORY]
        if path := get("path"):
            self._create(PATHS, user, str(path))
        about, triple = get("about"), get("triple")
        if isinstance(about, str) and about:
            self._create(NODES, user, about)
        if triple and isinstance(triple, list) and isinstance(triple[0], str):
            self._create(NODES, user, triple[0])
        for each in _texts(get("evidence")):
            source = each.removeprefix(_EPISODE)
            if ids.BELIEF_ID.match(source) or _EVENT_ID.match(source):
                self._use(EVIDENCE, MEMORY, ("", source), name, spot)
            elif source and source != each:
                self._use(EVIDENCE, EPISODES, (user, source), name, spot)
        if isinstance(views := get("views"), dict):
            for source in filter(_EVENT_ID.match, sources_in(views)):
                self._use(EVIDENCE, MEMORY, ("", source), name, spot)
        replaces = event.op == op.BELIEF_SUPERSEDE or "over" in body or "merged" in body
        is_fresh = replaces and name not in gone  # one that names itself was recorded again by a repair
        if is_fresh or get("rests_on"):
            before = None if is_fresh else self._links.get(name)
            replaced = gone if is_fresh else before.replaced if before else None
            self._links.set(name, _Link(str(spot.path), *spot[1:], replaced))
        if is_fresh:
            for each in (*gone, *_texts(body.get("over")), *_texts(body.get("merged"))):
                self._use(REPLACES, MEMORY, ("", each), name, spot)

    def _take_graph(self, body: dict[str, Any], spot: Spot) -> None:
        user = str(body.get("user", OWNER))
        if "piece" in body:
            body = self._put_together(body)
        for node in _objects(body.get("nodes")):
            self._create(NODES, user, str(node.get("id")))
        for edge in _objects(body.get("edges")):
            name, source, target = (user, str(edge.get("id"))), str(edge.get("source")), str(edge.get("target"))
            if self._is_known(NODES, (user, source)) and self._is_known(NODES, (user, target)):
                self._edges.pop(name, None)
            else:
                self._edges[name] = (source, target, spot)

    def _put_together(self, body: dict[str, Any]) -> dict[str, Any]:
        """Join the pieces of a record that is too long for a line; nothing before the last piece."""
        if body.get("n") == 0:
            self._pieces = []
        self._pieces.append(str(body["piece"]))
        try:
            whole = body["of"] == len(self._pieces)
            return {str(body["part"]): [orjson.loads("".join(self._pieces))]} if whole else {}
        except (KeyError, ValueError):
            return {}

    # -- reporting ---------------------------------------------------------------------------------------------------

    def loose(self, state: Beliefs) -> Iterator[Loose]:
        """The names that lead to nothing. `state` is that after the last event."""
        still = [
            each for each in self._open.values()
            if not self._is_known(each.kind, each.key) and (each.code, each.kind, *each.key) not in self._settled
        ]  # fmt: skip
        for belief, below in _resting(state):
            still += [
                Loose(RESTS, MEMORY, ("", name), belief.ref, self._spot_of(state, belief))
                for name in below if not self._is_known(MEMORY, ("", name))
            ]  # fmt: skip
        unknown = Counter(kind for kind, _ in {(each.kind, each.key) for each in still})
        for each in still:
            if unknown[each.kind] <= self._empty[each.kind]:
                continue
            if each.code == EVIDENCE:  # only of the current version of an active belief it matters
                user = state.owner(each.by) or OWNER
                version = state.find(each.by, user=user, short=False)
                if not version or version.status not in _ACTIVE or version.body().get("id") != each.by:
                    continue
            yield each
        missing: dict[Key, Loose] = {}  # nodes, each with the first edge that leads to it
        for (user, edge), (source, target, spot) in self._edges.items():
            for key in ((user, source), (user, target)):
                if not self._is_known(NODES, key):
                    missing.setdefault(key, Loose(EDGE, NODES, key, edge, spot))
        yield from missing.values()

    def rings(self, state: Beliefs) -> Iterator[Ring]:
        below = {belief.ref: names for belief, names in _resting(state)}
        wanted = {name for names in below.values() for name in names}
        refs = {name: held.ref for name in wanted if (held := state.version(name))}
        for ring in rings({ref: [refs[name] for name in names if name in refs] for ref, names in below.items()}):
            if last := state.by_ref(ring[-1]):
                yield Ring(REST_RING, "", ring, self._spot_of(state, last))
        linked = sorted(self._links.under(), key=lambda each: each[1].seq) if self._may_ring else ()
        for ring in rings({name: link.replaced for name, link in linked if link.replaced is not None}):
            if (REPLACE_RING, MEMORY, "", ring[-1]) not in self._settled and (spot := self._spot(ring[-1])):
                yield Ring(REPLACE_RING, "", ring, spot)
        for code, links in ((PATH_RING, self._parents), (NODE_RING, self._joined)):
            for user in dict.fromkeys(user for user, _ in links):
                own = {name: (to,) for (whose, name), (to, _) in links.items() if whose == user}
                for ring in rings(own):
                    yield Ring(code, user, ring, links[user, ring[-1]][1])

    def _spot_of(self, state: Beliefs, belief: CurrentVersion) -> Spot:
        """The place of the last version of a belief with dependencies."""
        return next(spot for name in reversed(state.ids_of(belief)) if (spot := self._spot(name)))

    def _spot(self, version: str) -> Spot | None:
        """The place of a version with such a link."""
        found = self._links.get(version)
        return Spot(Path(found.path), *found[1:4]) if found else None


def _resting(state: Beliefs) -> Iterator[tuple[CurrentVersion, list[str]]]:
    """The active beliefs with dependencies."""
    for belief in state.resting():
        if belief.status in _ACTIVE and (below := _texts(belief.body().get("rests_on"))):
            yield belief, below


def rings(links: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """The rings among `links`. Without the links that close them, no ring is left. Each name is visited once."""
    done = set[str]()  # the names whose paths were all followed
    for start in links:
        path: dict[str, Iterator[str]] = {} if start in done else {start: iter(links[start])}
        while path:
            name, open_links = next(reversed(path.items()))
            step = next(open_links, None)
            if step is None:
                done.add(name)
                del path[name]
            elif step in path:
                yield tuple(path)[list(path).index(step) :]
            elif step not in done:
                path[step] = iter(links.get(step, ()))


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(body: dict[str, Any], name: str) -> Key:
    return str(body.get("user", OWNER)), str(body.get(name, ""))


# -- findings ----------------------------------------------------------------------------------------------------------

_LONGEST = 64  # characters of a name
_KINDS = {
    MEMORY: "", EPISODES: "the episode ", REVIEW: "the review ", RULES: "the rule ", PATHS: "the path ",
    NODES: "the node ",
}  # fmt: skip
_LOOSE = {
    RESTS: "{by} rests on {what}, which no event created",
    REPLACES: "{by} replaces {what}, which no event created",
    EVIDENCE: "{by} refers to {what}, which is not in this memory",
    ORPHAN: "{by} refers to {what}, which no event created",
    PATH: "{by} refers to {what}, which no event created",
    EDGE: "the edge {by} leads to {what}, which does not exist",
}
_RINGS = {
    REST_RING: "beliefs that rest on one another",
    REPLACE_RING: "versions that replace one another",
    PATH_RING: "paths that descend from one another",
    NODE_RING: "nodes that were merged into one another",
}


def findings(links: Surveyor, state: Beliefs) -> Iterator[Finding]:
    """The names that lead to nothing, and the rings. Only of a whole ledger: damage would look like these."""
    for each in links.loose(state):
        text = _LOOSE[each.code].format(by=_short(each.by), what=_KINDS[each.kind] + _short(each.key[1]))
        yield found(each.code, str(each.spot), f"event {each.spot.seq}: {text}")
    for ring in links.rings(state):
        yield found(ring.code, str(ring.spot), f"event {ring.spot.seq}: {_RINGS[ring.code]}: {ring}")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


# -- fixes -------------------------------------------------------------------------------------------------------------

_PER_EVENT = 1_000  # names that fit in one event with room to spare
_AS_IT_IS = (ORPHAN, EVIDENCE, REPLACES)
_MISSING = "what it rested on does not exist"
_ROUND = "it rested on itself, through others"

NewId = Callable[[], str]


def drafts(links: Surveyor, state: Beliefs, codes: Collection[str], new_id: NewId) -> list[Draft]:
    """The events that fix what was found of these kinds. Refused, if one of them cannot be written."""
    loose = [each for each in links.loose(state) if each.code in codes]
    rings = [each for each in links.rings(state) if each.code in codes]
    paths = dict.fromkeys(each.key for each in loose if each.code == PATH)
    merges = [(ring.user, ring.names[-1]) for ring in rings if ring.code == NODE_RING]
    return [
        *_revisions(state, loose, rings, new_id),
        *(Draft(op.PATH_BRANCH, {"user": user, "path": name, "parent": ""}) for user, name in paths),
        *_nodes([each.key for each in loose if each.code == EDGE]),
        *(Draft(op.GRAPH_UNMERGE, {"user": user, "node": node}) for user, node in merges),
        *_settled(loose, rings),
    ]


def fresh_ids(state: Beliefs, now: str) -> NewId:
    """A source of unused ids for beliefs."""
    used = set[str]()

    def new_id() -> str:
        name = ids.belief_id(now, lambda name: name in used or state.taken(name))
        used.add(name)
        return name

    return new_id


def _revisions(state: Beliefs, loose: Iterable[Loose], rings: Iterable[Ring], new_id: NewId) -> Iterator[Draft]:
    """Beliefs, each recorded again without the links that lead nowhere. A second repair finds nothing to do."""
    cut: dict[str, tuple[set[str], str]] = {}
    for each in loose:
        if each.code == RESTS:
            cut.setdefault(each.by, (set(), _MISSING))[0].add(each.key[1])
    for ring in rings:
        if ring.code == REST_RING:
            first = state.by_ref(ring.names[0])
            cut.setdefault(ring.names[-1], (set(), _ROUND))[0].update(state.ids_of(first) if first else ())
    for held, (names, reason) in ((state.by_ref(ref), what) for ref, what in cut.items()):
        if held is None:
            continue
        before = held.body()
        belief: dict[str, Any] = {**before, "id": new_id(), "reason": reason}
        belief["rests_on"] = [name for name in before["rests_on"] if name not in names]
        if "views" in belief:
            belief["views"] = trimmed(belief["views"], [before["views"]])
        fields = {name: value for name, value in belief.items() if value or name not in ("rests_on", "views")}
        yield Draft(op.BELIEF_SUPERSEDE, {"belief": fields, "replaces": [before["id"]]})


def _nodes(keys: list[Key]) -> Iterator[Draft]:
    """The missing nodes at the ends of edges. Their kind is unknown."""
    for user in dict.fromkeys(user for user, _ in keys):
        for some in _portions([name for whose, name in keys if whose == user]):
            nodes = [MemoryNode(id=name, kind="thing").to_dict() for name in some]
            yield Draft(op.GRAPH_PUT, {"user": user, "profiles": [], "nodes": nodes, "edges": []})


def _settled(loose: Iterable[Loose], rings: Iterable[Ring]) -> Iterator[Draft]:
    """Names that are known to lead nowhere, by code: each a kind, a user, a name."""
    known = [(each.code, [each.kind, *each.key]) for each in loose if each.code in _AS_IT_IS]
    known += [(ring.code, [MEMORY, "", ring.names[-1]]) for ring in rings if ring.code == REPLACE_RING]
    for some in _portions(known):
        settled: dict[str, list[list[str]]] = {}
        for code, name in some:
            settled.setdefault(code, []).append(name)
        yield Draft(fmt.REPAIR, {"settled": settled})


def _portions(every: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(every), _PER_EVENT):
        yield every[start : start + _PER_EVENT]
