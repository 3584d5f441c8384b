"""What the page of the graph shows: who and what there is; and one of them with its neighbours, drawn and told.

The neighbours of whoever is expanded are shown too, up to a number that can be looked at. What a node is said to be,
without that being a node itself, hangs on it as a plain value. Whatever is drawn stands in the table below as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tallystick.records.clock import stamp, system_clock
from tallystick.records.errors import NotFound, Refused
from tallystick.stores.phase.graph.traverse import Limits
from tallystick.surfaces.present.text import short
from tallystick.surfaces.web.graph_layout import Box, DrawnEdge, line, named, placed, wider
from tallystick.surfaces.web.page_view import page_of

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
    from tallystick.stores.phase.graph.traverse import Expansion

MOST = 40  # nodes on one picture
EXPANDED = 12  # of them, that may be expanded
LISTED = 300
ROOM = 24  # cells of a name
_VALUES = 12  # of one node
_MARGIN = 24
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Known:
    """An entity in the list."""

    id: str
    label: str
    kind: str
    memories: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node or a value on the picture."""

    anchor: str  # the id of its link, the same in every picture
    name: str
    title: str
    kind: str  # its colour: middle, open, more, value
    box: Box
    to: str  # where it leads; a value leads nowhere


@dataclass(frozen=True, slots=True)
class Related:
    """A line on the picture."""

    line: DrawnEdge
    name: str
    title: str
    place: Box | None  # of its name


@dataclass(frozen=True, slots=True)
class Row:
    """The same in words: who, how, to whom, and which belief says so."""

    source: str
    source_to: str
    how: str
    target: str
    target_to: str
    weight: float
    belief: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One entity and its neighbours."""

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
        return f"{len(self.nodes)} things, {len(self.lines)} relations around {self.node.label or self.node.id}"


# -- the list ----------------------------------------------------------------------------------------------------------


def listed(memory: Memory, words: str) -> tuple[tuple[Known, ...], int]:
    """The entities whose names hold these words, those that most is known of first; and how many there are."""
    wanted = words.casefold().split()
    found = [
        Known(node.id, node.label or node.id, node.kind, _memories(node)) for node in memory.graph.list_nodes()
        if all(word in " ".join((node.id, *node.names)).casefold() for word in wanted)
    ]  # fmt: skip
    found.sort(key=lambda known: (-known.memories, known.label.casefold(), known.id))
    return tuple(found[:LISTED]), len(found)


def _memories(node: MemoryNode) -> int:
    derived = node.provenance.extra.get("derived")
    held = derived.get("held") if isinstance(derived, dict) else 0
    return held if isinstance(held, int) else 0


# -- one and its neighbours --------------------------------------------------------------------------------------------


def picture(memory: Memory, name: str, expand: Iterable[str] = ()) -> Picture | None:
    """The neighbourhood of who goes by that name, and of those that are expanded; None, if nobody or several do."""
    try:
        middle = memory.graph.resolve(name)
    except (NotFound, Refused):
        return None
    opened = [middle.id, *(each for each in _known(memory, expand) if each != middle.id)][: EXPANDED + 1]
    limits = Limits(max_nodes=MOST, max_edges=4 * MOST, as_of=stamp(system_clock()))
    around = memory.graph.expand(opened[:1], 1, limits)
    for at in range(2, len(opened) + 1):  # one after the other: whoever is nearer to the middle comes first
        if not around.is_cut and opened[at - 1] in around.distance:
            around = memory.graph.expand(opened[:at], 1, limits)
    shown = {node.id: node for node in around.nodes}
    opened = [each for each in opened if each in shown]
    return _Drawing(memory, middle, shown, opened, _edges(memory, around, limits)).picture(around.is_cut)


def _known(memory: Memory, names: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        try:
            found[memory.graph.resolve(name).id] = None
        except (NotFound, Refused):
            continue
        if len(found) == EXPANDED:
            break
    return list(found)


def _edges(memory: Memory, around: Expansion, limits: Limits) -> list[MemoryEdge]:
    """What leads from one that is shown to another, whichever is expanded, in the order in which it was said."""
    shown = {node.id for node in around.nodes}
    found = {edge.id: edge for edge in around.edges}
    for node in around.nodes:
        for edge in memory.graph.list_edges(source=node.id, limit=4 * MOST):
            if edge.target in shown and limits.allow_edge(edge):
                found[edge.id] = edge
    return sorted(found.values(), key=lambda edge: (edge.provenance.at, edge.id))


class _Drawing:
    """A picture in the making."""

    def __init__(
        self, memory: Memory, middle: MemoryNode, shown: dict[str, MemoryNode], opened: list[str],
        edges: Sequence[MemoryEdge],
    ) -> None:  # fmt: skip
        self._memory, self._middle, self._shown, self._opened, self._edges = memory, middle, shown, opened, edges
        self._values = dict[str, tuple[str, str, str]]()  # by a name of its own: whose, what, how
        for node in opened:
            self._hang(shown[node])

    def _hang(self, node: MemoryNode) -> None:
        """What a node is said to be, as far as there is room."""
        said = [
            (str(how), str(value)) for how, values in node.properties.items()
            for value in (values if isinstance(values, list) else [values])
        ]  # fmt: skip
        for how, value in said[:_VALUES]:
            if len(self._shown) + len(self._values) < MOST:
                self._values[f"{node.id}\n{how}\n{value}"] = (node.id, how, value)

    def picture(self, is_cut: bool) -> Picture:
        said = [end for edge in self._edges for end in (edge.source, edge.target)]
        order = list(dict.fromkeys([self._middle.id, *said, *self._shown]))
        names = {each: short(self._label(each), ROOM) for each in order}
        names |= {each: short(value, ROOM) for each, (_, _, value) in self._values.items()}
        boxes = placed(names, self._parents(order))
        lines = self._lines(boxes)
        for _ in range(_TRIES):
            if all(each.place for each in lines):
                break
            boxes = wider(boxes)  # so that every line has room for its name
            lines = self._lines(boxes)
        return Picture(
            self._middle, page_of(self._memory, self._middle.id),
            tuple(self._drawn(each, names[each], box) for each, box in boxes.items()),
            tuple(lines), tuple(self._rows()), _frame(boxes.values()), is_cut, tuple(self._opened[1:]),
        )  # fmt: skip

    def _label(self, node: str) -> str:
        return self._shown[node].label or node

    def _parents(self, order: list[str]) -> dict[str, str]:
        """Who led to whom: an expanded node to its neighbours, in the order in which they were expanded."""
        beside: dict[str, list[str]] = {each: [] for each in order}
        for edge in self._edges:
            beside[edge.source].append(edge.target)
            beside[edge.target].append(edge.source)
        found, reached = dict[str, str](), {self._middle.id}
        for node in self._opened:
            for other in beside[node]:
                if other not in reached and other != node and node in reached:
                    reached.add(other)
                    found[other] = node
        return found | {name: whose for name, (whose, _, _) in self._values.items()}

    def _lines(self, boxes: dict[str, Box]) -> list[Related]:
        kinds: dict[tuple[str, str], list[str]] = {}
        for edge in self._edges:
            if edge.source != edge.target:
                kinds.setdefault((edge.source, edge.target), []).append(_said(edge.label or edge.kind))
        for name, (whose, how, _) in self._values.items():
            kinds.setdefault((whose, name), []).append(_said(how))
        drawn = [
            (line(boxes[one], boxes[other], is_bent=(other, one) in kinds), short(", ".join(dict.fromkeys(how)), ROOM))
            for (one, other), how in kinds.items()
        ]  # fmt: skip
        places = named(drawn, list(boxes.values()))
        titles = [f"{self._name(one)} {', '.join(how)} {self._name(other)}" for (one, other), how in kinds.items()]
        return [
            Related(each, name, short(title, 200), place)
            for (each, name), title, place in zip(drawn, titles, places, strict=True)
        ]  # fmt: skip

    def _name(self, each: str) -> str:
        return self._values[each][2] if each in self._values else self._label(each)

    def _drawn(self, each: str, name: str, box: Box) -> Drawn:
        anchor = f"node-{sha256(each.encode()).hexdigest()[:12]}"
        if each in self._values:
            whose, how, value = self._values[each]
            return Drawn(anchor, name, short(f"{self._label(whose)} {_said(how)} {value}", 200), "value", box, "")
        node = self._shown[each]
        is_open = each in self._opened
        kind = "middle" if each == self._middle.id else "open" if is_open else "more"
        title = f"{self._label(each)}, {node.kind}" + ("" if is_open else ": show what it is related to")
        return Drawn(anchor, name, short(title, 200), kind, box, self._to(each, is_open))

    def _to(self, node: str, is_open: bool) -> str:
        """A node that is not expanded leads to the same picture with it expanded; one that is, to its own."""
        if is_open or len(self._opened) > EXPANDED:
            return at(node)
        return at(self._middle.id, [*self._opened[1:], node])

    def _rows(self) -> list[Row]:
        rows = [
            Row(
                self._label(edge.source), at(edge.source), _said(edge.label or edge.kind), self._label(edge.target),
                at(edge.target), edge.weight, self._belief(edge),
            )
            for edge in self._edges
        ]  # fmt: skip
        rows += [
            Row(self._label(whose), at(whose), _said(how), value, "", 0.0, "")
            for whose, how, value in self._values.values()
        ]  # fmt: skip
        return rows

    def _belief(self, edge: MemoryEdge) -> str:
        """The belief that says so, if one does."""
        return next((each for each in edge.provenance.sources if self._memory.get(each)), "")


def at(node: str, expand: Iterable[str] = ()) -> str:
    """The address of a picture."""
    return "/graph?" + urlencode([("at", node), *(("expand", each) for each in expand)])


def _said(kind: str) -> str:
    return short(kind.replace("_", " "), 60)


def _frame(boxes: Iterable[Box]) -> tuple[int, int, int, int]:
    every = list(boxes)
    left, right = min(box.x - box.wide / 2 for box in every), max(box.x + box.wide / 2 for box in every)
    top, bottom = min(box.y - box.high / 2 for box in every), max(box.y + box.high / 2 for box in every)
    wide, high = right - left + 2 * _MARGIN + 1, bottom - top + 2 * _MARGIN + 1
    return int(left - _MARGIN), int(top - _MARGIN), int(wide), int(high)
