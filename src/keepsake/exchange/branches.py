"""A tree of turns as a line and the branches that left it. No branch is lost, and none holds what another holds.

The line is what leads to the turn that was gone on with. Every other end is a branch, from the turn at which it left.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepsake.exchange.brought import Conversation, Turn


@dataclass(frozen=True, slots=True)
class Branch:
    """Turns in the order in which they were said. `parent` is the branch that it left; number 0 is the line itself."""

    number: int
    parent: int
    turns: tuple[Turn, ...]


def branches_of(conversation: Conversation) -> list[Branch]:
    """The line first, then every branch, those that end earlier in the file first. Branches without words are none.

    A parent that is not there, or a ring of parents, begins a part of its own.
    """
    turns = {turn.id: turn for turn in conversation.turns}
    gone_on = {turn.parent for turn in turns.values()}
    ends = [name for name in turns if name not in gone_on]
    living = conversation.living if conversation.living in turns else next(reversed(turns), "")
    placed: dict[str, int] = {}
    found: list[Branch] = []
    for end in dict.fromkeys([living, *ends, *turns]):  # the turns of a ring have no end: they come last
        if end in turns and end not in placed:
            found.append(_branch(end, turns, placed, number=len(found)))
    return _with_words(found)


def _branch(end: str, turns: dict[str, Turn], placed: dict[str, int], *, number: int) -> Branch:
    """The turns from `end` back to one that stands on another branch, in order."""
    line: list[Turn] = []
    name = end
    while name in turns and name not in placed:
        placed[name] = number
        line.append(turns[name])
        name = turns[name].parent
    above = placed.get(name, 0)
    return Branch(number, 0 if above == number else above, tuple(reversed(line)))


def _with_words(found: list[Branch]) -> list[Branch]:
    """Without the turns that say nothing and the branches that have no others; numbered anew, the line kept."""
    kept: list[Branch] = []
    numbers: dict[int, int] = {}
    for branch in found:
        said = tuple(turn for turn in branch.turns if turn.text.strip())
        if said or branch.number == 0:
            numbers[branch.number] = len(kept)
            kept.append(Branch(len(kept), numbers[branch.parent], said))
        else:
            numbers[branch.number] = numbers[branch.parent]
    return kept
