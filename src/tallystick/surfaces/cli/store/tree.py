"""Paths drawn as a tree, each with its state. A ring, or a parent that is missing, hides none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallystick.records.path import ABANDONED, MERGED, MemoryPath
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

_DEEPEST = 40  # levels that are drawn further in


def tree(paths: Sequence[MemoryPath]) -> Iterator[str]:
    """A line for each path, its branches below it."""
    below: dict[str, list[MemoryPath]] = {}
    names = {path.path_id for path in paths}
    for path in paths:
        below.setdefault(path.parent_id if path.parent_id in names else "", []).append(path)
    drawn: set[str] = set()
    for start in (*below.get("", ()), *paths):  # the second time round: those in a ring
        yield from _drawn(start, below, drawn)


def _drawn(start: MemoryPath, below: dict[str, list[MemoryPath]], drawn: set[str]) -> Iterator[str]:
    waiting = [(start, "", "")]
    while waiting:
        path, lead, branch = waiting.pop()
        if path.path_id in drawn:
            continue
        drawn.add(path.path_id)
        yield f"{dim(lead + branch)}{bold(shown(path.path_id))}  {dim(_state(path))}"
        inner = (lead + ("" if not branch else "│   " if branch.startswith("├") else "    "))[: 4 * _DEEPEST]
        children = [child for child in below.get(path.path_id, ()) if child.path_id not in drawn]
        for number, child in enumerate(reversed(children)):
            waiting.append((child, inner, "├── " if number else "└── "))


def _state(path: MemoryPath) -> str:
    state = path.state
    if state == MERGED:
        state = f"merged into {shown(path.merged_into)}"
    elif state == ABANDONED:
        state = f"abandoned: {short(path.abandoned_reason, 60)}"
    return f"{state}, {count(len(path.event_ids), 'event')}"
