"""A part of the graph as a tree: each edge once, below its nearer end; what is told of a node where it first stands.

Whatever is drawn was written by others: nothing in it is obeyed by a terminal, and a ring ends where it began.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.stores.phase.graph.traverse import Expansion
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short, shown

_DEEPEST = 40  # levels that are drawn further in
_NAME, _VALUE = 60, 200


def tree(found: Expansion) -> Iterator[str]:
    """The nodes that were asked for, and what was reached from each."""
    nodes = {node.id: node for node in found.nodes}
    below = _below(found)
    drawn: set[str] = set()
    for node in found.nodes:
        if found.distance[node.id] == 0:
            yield from _drawn(node, nodes, below, drawn)
    if found.is_cut:
        yield warn("there is more: --limit shows it, --hops goes further")


def _below(found: Expansion) -> dict[str, list[MemoryEdge]]:
    """The edges below each node: what leads away first, then what leads there."""
    below: dict[str, list[MemoryEdge]] = {}
    for edge in found.edges:
        if edge.source in found.distance and edge.target in found.distance:
            nearer = min(edge.source, edge.target, key=lambda end: found.distance[end])
            below.setdefault(nearer, []).append(edge)
    for name, edges in below.items():
        edges.sort(key=lambda edge: (bool(edge.valid_to), edge.source != name, edge.kind, edge.target, edge.source))
    return below


def _drawn(
    start: MemoryNode, nodes: dict[str, MemoryNode], below: dict[str, list[MemoryEdge]], drawn: set[str]
) -> Iterator[str]:
    waiting: list[tuple[MemoryNode, str, str, str]] = [(start, "", "", "")]
    while waiting:
        node, lead, branch, edge = waiting.pop()
        yield f"{dim(lead + branch)}{edge}{_called(node)}"
        if node.id in drawn:
            continue
        drawn.add(node.id)
        inner = (lead + ("" if not branch else "│   " if branch.startswith("├") else "    "))[: 4 * _DEEPEST]
        edges = below.get(node.id, [])
        yield from (f"{dim(inner)}{dim('│   ' if edges else '    ')}{line}" for line in _properties(node))
        for number, each in enumerate(reversed(edges)):
            other = nodes[each.target if each.source == node.id else each.source]
            waiting.append((other, inner, "├── " if number else "└── ", _arrow(each, node.id)))


def _arrow(edge: MemoryEdge, near: str) -> str:
    """`lives_in -> `, or `<- knows ` if it leads the other way; and when it ended."""
    kind, ended = short(edge.kind, _NAME), dim(f"(until {shown(edge.valid_to)}) ") if edge.valid_to else ""
    return f"{kind} {dim('->')} {ended}" if edge.source == near else f"{dim('<-')} {kind} {ended}"


def _called(node: MemoryNode) -> str:
    label = f"  {short(node.label, _NAME)}" if node.label and node.label != node.id else ""
    ended = dim(f"  (until {shown(node.valid_to)})") if node.valid_to else ""
    return f"{bold(short(node.id, _NAME))}{label}  {dim(short(node.kind, _NAME))}{ended}"


def _properties(node: MemoryNode) -> Iterator[str]:
    if node.aliases:
        yield f"{dim('also')} {short(', '.join(node.aliases), _VALUE)}"
    for name, value in sorted(node.properties.items()):
        said = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{dim(short(name, _NAME))}  {short(said, min(_VALUE, width()))}"
