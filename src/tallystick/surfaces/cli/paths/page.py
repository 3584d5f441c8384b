"""Paths as a person reads them: the tree, one path, and what a merge came to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tallystick.records.belief import Belief
from tallystick.records.path import ABANDONED, MERGED, MemoryPath
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.terminal import bold, dim, good, warn, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import ago, count

if TYPE_CHECKING:
    from tallystick.records.path import Merged, Tree

_NAME_ROOM = 40


def tree_page(tree: Tree) -> Iterator[str]:
    """The root, and under it each path with those that branched from it."""
    yield from _branches(tree, "", "")


def _branches(tree: Tree, mark: str, indent: str) -> Iterator[str]:
    yield f"{dim(mark)}{bold(short(tree.name, _NAME_ROOM))}  {dim(_counts(tree))}{_standing(tree.path)}"
    for number, branch in enumerate(tree.branches, 1):
        is_last = number == len(tree.branches)
        yield from _branches(branch, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  "))


def _counts(tree: Tree) -> str:
    return f"{count(tree.beliefs, 'belief')}, {count(tree.episodes, 'episode')}"


def _standing(path: MemoryPath | None) -> str:
    return f"  {how(path)}{dim(f', {ago(path.created_at)}')}" if path else ""


def how(path: MemoryPath) -> str:
    """Whether it is open, and if not, what became of it."""
    if path.state == MERGED:
        return dim(f"merged into {short(path.merged_into, _NAME_ROOM)}")
    if path.state == ABANDONED:
        return warn("abandoned") + dim(f" ({short(path.abandoned_reason, 60)})")
    return good(path.state) if path.is_active else dim(path.state)


def said_line(belief: Belief) -> str:
    """One belief of a path, with what became of it."""
    name = short(handle(belief.key), 24)
    tail = "" if belief.is_held else f"  {belief.status}"
    return f"  {dim(name)}  {short(belief.text, width() - cells(name) - len(tail) - 4)}{dim(tail)}"


def merged_page(done: Merged, *, into: str, is_done: bool) -> Iterator[str]:
    """What a merge brought over, and where the two sides disagree."""
    verb = "Brought" if is_done else "Would bring"
    yield f"{dim(verb)} {count(len(done.brought), 'belief')} {dim(f'from {shown(done.path)} to {shown(into)}')}"
    yield from map(said_line, done.brought)
    for conflict in done.conflicts:
        yield f"  {warn('conflict')}  {short(handle(conflict.key), 24)}{dim(f': {conflict.why}')}"
        for where, belief in ((into, conflict.ours), (done.path, conflict.theirs)):
            words = belief.text if belief.is_held else f"{belief.status}: {belief.text}"
            yield f"    {dim(short(where, 24))}  {short(words, width() - 30)}"
    for review in done.reviews:
        yield f"  {dim('asked:')} `tallystick review {review[-6:]}`"
