"""Layout of a small graph: no two nodes overlap, and the same graph always gives the same picture.

The first node is in the middle, its neighbours on a ring around it, theirs further out on the side of their parents.
Overlapping nodes are pushed apart; if that is not enough, the whole picture is made wider, which always is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import cos, hypot, pi, sin

from tallystick.surfaces.present.text import cells

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


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the picture, by its centre."""

    x: float
    y: float
    wide: float
    high: float = HIGH

    def overlaps(self, other: Box, apart: float = 0.0) -> bool:
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
    """The width of a node with that name."""
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
    """The same boxes, further apart."""
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
    """The line from one box to another."""
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
