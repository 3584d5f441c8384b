"""Graph: an entity and what it is related to, as a picture and as a table.

    GET /graph              all entities; with `q`, those whose names match
    GET /graph?at=NAME      one with its neighbours; `expand=NAME`, repeatable, adds the neighbours of others

A picture has a limited number of nodes. Properties that are not entities are drawn as plain values. The table below the
picture has the same content.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.routing import BaseRoute, Route

from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import NotFound, Refused
from tallystick.stores.phase.graph.traverse import Limits
from tallystick.surfaces.present.text import short
from tallystick.surfaces.web.graph_layout import Box, DrawnEdge, line, named, placed, wider
from tallystick.surfaces.web.render import page_of, render, with_memory

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tallystick.memory.memory import Memory
    from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
    from tallystick.stores.phase.graph.traverse import Expansion

MOST = 40  # nodes of a picture
EXPANDED = 12  # of them, that may be expanded
ROOM = 24  # cells of a name
_LISTED = 300
_VALUES = 12  # of one node
_MARGIN = 24
_TRIES = 4

Entity = tuple[str, str, str, int]  # id, label, kind, number of memories


async def _show(request: Request) -> Response:
    query = request.query_params
    name, words = query.get("at", "").strip(), query.get("q", "").strip()
    expand = query.getlist("expand")[: 4 * EXPANDED]

    def work(memory: Memory) -> Picture | list[Entity]:
        return (picture(memory, name, expand) if name else None) or _entities(memory, words or name)

    found = await with_memory(request, work)
    if isinstance(found, Picture):
        return render(request, "graph_at.html", piece="graph_picture.html", picture=found)
    return render(
        request, "graph.html", entities=found[:_LISTED], count=len(found), words=words or name, missed=name
    )  # fmt: skip


def _entities(memory: Memory, words: str) -> list[Entity]:
    """The entities whose names match, those with the most memories first."""
    wanted, found = words.casefold().split(), list[Entity]()
    for node in memory.graph.list_nodes():
        if all(word in " ".join((node.id, *node.names)).casefold() for word in wanted):
            derived = node.provenance.extra.get("derived")
            memories = derived.get("held") if isinstance(derived, dict) else 0
            found.append((node.id, node.label or node.id, node.kind, memories if isinstance(memories, int) else 0))
    return sorted(found, key=lambda entity: (-entity[3], entity[1].casefold(), entity[0]))


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
    """A line on the picture."""

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
    """An entity and its neighbours."""

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
    """A picture in the making."""

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


routes: list[BaseRoute] = [Route("/graph", _show, methods=["GET"])]
