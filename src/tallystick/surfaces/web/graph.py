"""Graph: an entity and what it is related to, as a picture and as a table.

    GET /graph              all entities; with `q`, those whose names match
    GET /graph?at=NAME      one with its neighbours; `expand=NAME`, repeatable, adds the neighbours of others

No two nodes overlap, and the same graph always gives the same picture; the table below it has the same content. The
first node is in the middle, its neighbours on a ring around it, theirs further out on the side of their parents.
Overlapping nodes are pushed apart; if that is not enough, the whole picture is made wider, which always is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from math import cos, hypot, pi, sin
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from tallystick.memory.memory import Memory
from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.traverse import Expansion, Limits
from tallystick.surfaces.present.text import cells, short
from tallystick.surfaces.web.render import page_of, render, with_memory

MOST = 40  # nodes of a picture
EXPANDED = 12  # of them, that may be expanded
ROOM = 24  # cells of a name
_LISTED = 300
_VALUES = 12  # of one node
_MARGIN = 24
_TRIES = 4

HIGH = 34.0  # a node
NARROWEST = 54.0
CELL = 8.2  # width of a character
PAD = 26.0  # around a name, both sides together
LINE_CELL, LINE_HIGH = 6.9, 17.0  # of a name on a line
APART = 14.0
RING = (205.0, 130.0)  # from one ring to the next, across and up

_CROWD = 16  # neighbours, beyond which a ring is too small for them
_PUSHES = 120
_WIDER = 1.12
_ALONG = (0.5, 0.58, 0.66, 0.42, 0.74, 0.34, 0.82, 0.26)  # positions of a name on its line

Entity = tuple[str, str, str, int]  # id, label, kind, number of memories


async def show(request: Request) -> Response:
    query = request.query_params
    name, words = query.get("at", "").strip(), query.get("q", "").strip()
    expand = query.getlist("expand")[: 4 * EXPANDED]

    def work(memory: Memory) -> Picture | list[Entity]:
        return (picture(memory, name, expand) if name else None) or _entities(memory, words or name)

    found = await with_memory(request, work)
    if isinstance(found, Picture):
        return render(request, "graph_at.html", piece="graph_picture.html", picture=found)
    return render(request, "graph.html", entities=found[:_LISTED], count=len(found), words=words or name, missed=name)


def _entities(memory: Memory, words: str) -> list[Entity]:
    """The entities whose names match, those with the most memories first."""
    wanted, found = words.casefold().split(), list[Entity]()
    for node in memory.graph.list_nodes():
        if all(word in " ".join((node.id, *node.names)).casefold() for word in wanted):
            derived = node.provenance.extra.get("derived")
            memories = derived.get("held") if isinstance(derived, dict) else 0
            found.append((node.id, node.label or node.id, node.kind, memories if isinstance(memories, int) else 0))
    return sorted(found, key=lambda entity: (-entity[3], entity[1].casefold(), entity[0]))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the picture, by its centre."""

    x: float
    y: float
    wide: float
    high: float = HIGH

    def overlaps(self, other: "Box", apart: float = 0.0) -> bool:
        return (
            abs(self.x - other.x) * 2 < self.wide + other.wide + 2 * apart
            and abs(self.y - other.y) * 2 < self.high + other.high + 2 * apart
        )

    def edge_towards(self, x: float, y: float) -> tuple[float, float]:
        """The point where a line from the centre to that point leaves the box."""
        dx, dy = x - self.x, y - self.y
        if not dx and not dy:
            return self.x, self.y
        share = min(
            self.wide / 2 / abs(dx) if dx else float("inf"), self.high / 2 / abs(dy) if dy else float("inf"), 1.0
        )  # fmt: skip
        return self.x + dx * share, self.y + dy * share


def width_of(name: str) -> float:
    return max(NARROWEST, cells(name) * CELL + PAD)


def placed(names: Mapping[str, str], parents: Mapping[str, str]) -> dict[str, Box]:
    """A box for each node, by id. `names` are their texts, the middle first; `parents` the node that led to each."""
    boxes = _rings(names, parents)
    while True:
        boxes = _pushed(boxes)
        if not any(one.overlaps(other, APART / 2) for one, other in combinations(boxes.values(), 2)):
            return boxes
        boxes = wider(boxes)


def wider(boxes: Mapping[str, Box]) -> dict[str, Box]:
    return {node: Box(box.x * _WIDER, box.y * _WIDER, box.wide) for node, box in boxes.items()}


def _rings(names: Mapping[str, str], parents: Mapping[str, str]) -> dict[str, Box]:
    children: dict[str, list[str]] = {node: [] for node in names}
    middle = next(iter(names), "")
    for node in names:
        if node != middle:
            children[parents.get(node, middle)].append(node)
    wider = max(1.0, len(children[middle]) / _CROWD)
    across, up = RING[0] * wider, RING[1] * wider**1.15  # a crowd needs more height
    boxes: dict[str, Box] = {}
    for node, depth, angle in _fanned(children, middle, 0, -pi / 2, 2 * pi):
        boxes[node] = Box(across * depth * cos(angle), up * depth * sin(angle), width_of(names[node]))
    return boxes


def _fanned(
    children: Mapping[str, Sequence[str]], node: str, depth: int, start: float, angle: float
) -> Iterator[tuple[str, int, float]]:  # fmt: skip
    """Each node with its ring and its angle. A subtree gets a share of the circle by the number of its leaves."""
    yield node, depth, start + angle / 2
    weights = [_leaves(children, child) for child in children[node]]
    at = start
    for child, weight in zip(children[node], weights, strict=True):
        share = angle * weight / sum(weights)
        yield from _fanned(children, child, depth + 1, at, share)
        at += share


def _leaves(children: Mapping[str, Sequence[str]], node: str) -> int:
    return sum(_leaves(children, child) for child in children[node]) or 1


def _pushed(boxes: Mapping[str, Box]) -> dict[str, Box]:
    """The same boxes, with overlapping ones moved apart. The middle stays."""
    now, middle = dict(boxes), next(iter(boxes), "")
    for _ in range(_PUSHES):
        moved = False
        for one, other in combinations(now, 2):
            if now[one].overlaps(now[other], APART / 2 + 0.5):
                now[one], now[other] = _parted(now[one], now[other], is_fixed=one == middle)
                moved = True
        if not moved:
            break
    return now


def _parted(one: Box, other: Box, *, is_fixed: bool) -> tuple[Box, Box]:
    """Two boxes, moved apart along the shorter way."""
    across = (one.wide + other.wide) / 2 + APART + 1 - abs(one.x - other.x)
    up = (one.high + other.high) / 2 + APART + 1 - abs(one.y - other.y)
    dx = across * (1 if other.x >= one.x else -1) if across < up else 0.0
    dy = 0.0 if across < up else up * (1 if other.y >= one.y else -1)
    share = 0.0 if is_fixed else 0.5
    return (
        Box(one.x - dx * share, one.y - dy * share, one.wide),
        Box(other.x + dx * (1 - share), other.y + dy * (1 - share), other.wide),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A relation as it is drawn: from box to box, bent a little if there is one in the other direction too."""

    start: tuple[float, float]
    bend: tuple[float, float]
    end: tuple[float, float]

    def at(self, share: float) -> tuple[float, float]:
        """The point at that share of its length."""
        a, b, c = (1 - share) ** 2, 2 * share * (1 - share), share**2
        return (
            a * self.start[0] + b * self.bend[0] + c * self.end[0],
            a * self.start[1] + b * self.bend[1] + c * self.end[1],
        )

    @property
    def head(self) -> tuple[tuple[float, float], ...]:
        """The three corners of its arrowhead."""
        dx, dy = self.end[0] - self.bend[0], self.end[1] - self.bend[1]
        far = hypot(dx, dy) or 1.0
        ux, uy = dx / far, dy / far
        x, y = self.end
        bx, by, sx, sy = x - 10 * ux, y - 10 * uy, 4.5 * uy, 4.5 * ux
        return (x, y), (bx - sx, by + sy), (bx + sx, by - sy)


def line(one: Box, other: Box, *, is_bent: bool = False) -> DrawnEdge:
    x, y = (one.x + other.x) / 2, (one.y + other.y) / 2
    if is_bent:
        far = hypot(other.x - one.x, other.y - one.y) or 1.0
        x, y = x - (other.y - one.y) / far * 44, y + (other.x - one.x) / far * 44
    return DrawnEdge(one.edge_towards(x, y), (x, y), other.edge_towards(x, y))


def named(lines: Sequence[tuple[DrawnEdge, str]], boxes: Sequence[Box]) -> list[Box | None]:
    """The place of each line's name, clear of nodes and other names; None if there is no room."""
    places = list[Box | None]()
    for each, name in lines:
        taken = [*boxes, *filter(None, places)]
        tried = (Box(*each.at(share), cells(name) * LINE_CELL + 8, LINE_HIGH) for share in _ALONG)
        places.append(next((box for box in tried if not any(box.overlaps(other) for other in taken)), None))
    return places


# -- the picture -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node or a value on the picture."""

    anchor: str  # the id of its link, the same in every picture
    name: str
    title: str
    kind: str  # its colour: middle, open, more, value
    box: Box
    to: str  # its address; empty for a value


@dataclass(frozen=True, slots=True)
class Related:
    line: DrawnEdge
    name: str
    title: str
    place: Box | None  # of its name


@dataclass(frozen=True, slots=True)
class Row:
    """A relation in words, and the belief that states it."""

    source: str
    source_to: str
    relation: str
    target: str
    target_to: str = ""
    weight: float = 0.0
    belief: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    node: MemoryNode
    page: str
    nodes: tuple[Drawn, ...]
    lines: tuple[Related, ...]
    rows: tuple[Row, ...]
    frame: tuple[int, int, int, int]  # left, top, width, height
    is_cut: bool
    expanded: tuple[str, ...]

    @property
    def summary(self) -> str:
        return f"{len(self.nodes)} nodes, {len(self.lines)} relations around {self.node.label or self.node.id}"


def picture(memory: Memory, name: str, expand: Iterable[str] = ()) -> Picture | None:
    """The neighbourhood of that entity, and of those that are expanded; None if nobody has that name, or several."""
    resolved = _resolve(memory, [name])
    if not resolved:
        return None
    middle = resolved[0]
    opened = [middle.id, *(node.id for node in _resolve(memory, expand) if node.id != middle.id)]
    limits = Limits(max_nodes=MOST, max_edges=4 * MOST, as_of=stamp(system_clock()))
    around = memory.graph.expand(opened[:1], 1, limits)
    for at in range(2, len(opened) + 1):  # one after the other: those nearer to the middle come first
        if not around.is_cut and opened[at - 1] in around.distance:
            around = memory.graph.expand(opened[:at], 1, limits)
    nodes = {node.id: node for node in around.nodes}
    opened = [each for each in opened if each in nodes]
    return _Drawing(memory, middle, nodes, opened, _edges(memory, around, limits)).picture(around.is_cut)


def _resolve(memory: Memory, names: Iterable[str]) -> list[MemoryNode]:
    """The entities with these names, each once, up to a limit; names of nobody or of several are left out."""
    found: dict[str, MemoryNode] = {}
    for name in names:
        try:
            node = memory.graph.resolve(name)
        except (NotFound, Refused):
            continue
        found.setdefault(node.id, node)
        if len(found) == EXPANDED:
            break
    return list(found.values())


def _edges(memory: Memory, around: Expansion, limits: Limits) -> list[MemoryEdge]:
    """All edges between the nodes of the picture, oldest first."""
    nodes = {node.id for node in around.nodes}
    found = {edge.id: edge for edge in around.edges}
    for node in around.nodes:
        for edge in memory.graph.list_edges(source=node.id, limit=4 * MOST):
            if edge.target in nodes and limits.allow_edge(edge):
                found[edge.id] = edge
    return sorted(found.values(), key=lambda edge: (edge.provenance.at, edge.id))


class _Drawing:
    def __init__(
        self, memory: Memory, middle: MemoryNode, nodes: dict[str, MemoryNode], opened: list[str],
        edges: Sequence[MemoryEdge],
    ) -> None:  # fmt: skip
        self._memory, self._middle, self._nodes, self._opened, self._edges = memory, middle, nodes, opened, edges
        self._values = dict[str, tuple[str, str, str]]()  # by an id of its own: node, property, value
        for each in opened:
            values = [
                (str(name), str(value)) for name, found in nodes[each].properties.items()
                for value in (found if isinstance(found, list) else [found])
            ]  # fmt: skip
            for name, value in values[:_VALUES]:
                if len(nodes) + len(self._values) < MOST:
                    self._values[f"{each}\n{name}\n{value}"] = (each, name, value)

    def picture(self, is_cut: bool) -> Picture:
        ends = [end for edge in self._edges for end in (edge.source, edge.target)]
        order = list(dict.fromkeys([self._middle.id, *ends, *self._nodes, *self._values]))
        names = {each: short(self._label(each), ROOM) for each in order}
        boxes = placed(names, self._parents(order))
        lines = self._lines(boxes)
        for _ in range(_TRIES):
            if all(each.place for each in lines):
                break
            boxes = wider(boxes)  # to make room for the name of every line
            lines = self._lines(boxes)
        return Picture(
            self._middle, page_of(self._memory, self._middle.id),
            tuple(self._drawn(each, names[each], box) for each, box in boxes.items()),
            tuple(lines), tuple(self._rows()), _frame(boxes.values()), is_cut, tuple(self._opened[1:]),
        )  # fmt: skip

    def _label(self, each: str) -> str:
        return self._values[each][2] if each in self._values else self._nodes[each].label or each

    def _parents(self, order: list[str]) -> dict[str, str]:
        """The node that led to each: the first expanded one that it is a neighbour of."""
        neighbours: dict[str, list[str]] = {each: [] for each in order}
        for edge in self._edges:
            neighbours[edge.source].append(edge.target)
            neighbours[edge.target].append(edge.source)
        parents, reached = dict[str, str](), {self._middle.id}
        for node in self._opened:
            for other in neighbours[node]:
                if other not in reached and other != node and node in reached:
                    reached.add(other)
                    parents[other] = node
        return parents | {each: node for each, (node, _, _) in self._values.items()}

    def _lines(self, boxes: dict[str, Box]) -> list[Related]:
        kinds: dict[tuple[str, str], list[str]] = {}
        for edge in self._edges:
            if edge.source != edge.target:
                kinds.setdefault((edge.source, edge.target), []).append(_words(edge.label or edge.kind))
        for each, (node, name, _) in self._values.items():
            kinds.setdefault((node, each), []).append(_words(name))
        drawn = [
            (line(boxes[one], boxes[other], is_bent=(other, one) in kinds), short(", ".join(dict.fromkeys(how)), ROOM))
            for (one, other), how in kinds.items()
        ]  # fmt: skip
        places = named(drawn, list(boxes.values()))
        titles = [f"{self._label(one)} {', '.join(how)} {self._label(other)}" for (one, other), how in kinds.items()]
        return [
            Related(each, name, short(title, 200), place)
            for (each, name), title, place in zip(drawn, titles, places, strict=True)
        ]  # fmt: skip

    def _drawn(self, each: str, name: str, box: Box) -> Drawn:
        anchor = f"node-{sha256(each.encode()).hexdigest()[:12]}"
        if each in self._values:
            node, how, value = self._values[each]
            return Drawn(anchor, name, short(f"{self._label(node)} {_words(how)} {value}", 200), "value", box, "")
        is_open = each in self._opened
        kind = "middle" if each == self._middle.id else "open" if is_open else "more"
        title = f"{self._label(each)}, {self._nodes[each].kind}" + ("" if is_open else ": show its relations")
        if is_open or len(self._opened) > EXPANDED:  # a node leads to its own picture, or to this one with it expanded
            to = _address(each)
        else:
            to = _address(self._middle.id, [*self._opened[1:], each])
        return Drawn(anchor, name, short(title, 200), kind, box, to)

    def _rows(self) -> list[Row]:
        rows = list[Row]()
        for edge in self._edges:
            belief = next((each for each in edge.provenance.sources if self._memory.get(each)), "")
            rows.append(Row(
                self._label(edge.source), _address(edge.source), _words(edge.label or edge.kind),
                self._label(edge.target), _address(edge.target), edge.weight, belief,
            ))  # fmt: skip
        for node, name, value in self._values.values():
            rows.append(Row(self._label(node), _address(node), _words(name), value))
        return rows


def _address(node: str, expand: Iterable[str] = ()) -> str:
    return "/graph?" + urlencode([("at", node), *(("expand", each) for each in expand)])


def _words(kind: str) -> str:
    return short(kind.replace("_", " "), 60)


def _frame(boxes: Iterable[Box]) -> tuple[int, int, int, int]:
    every = list(boxes)
    left, right = min(box.x - box.wide / 2 for box in every), max(box.x + box.wide / 2 for box in every)
    top, bottom = min(box.y - box.high / 2 for box in every), max(box.y + box.high / 2 for box in every)
    wide, high = right - left + 2 * _MARGIN + 1, bottom - top + 2 * _MARGIN + 1
    return int(left - _MARGIN), int(top - _MARGIN), int(wide), int(high)
