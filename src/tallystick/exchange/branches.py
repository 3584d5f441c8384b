"""A tree of turns as a line and the branches that left it. No branch is lost, and none holds what another holds.

The line is what leads to the turn that was gone on with. Every other end is a branch, from the turn at which it left.
What a tool gave back is no branch by itself: several tools that were asked at once answer side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tallystick.exchange.conversation import TOOL, Conversation, ConversationStart, Item, Message, Turn


@dataclass(frozen=True, slots=True)
class Branch:
    """Turns in the order in which they were said. `parent` is the branch that it left; number 0 is the line itself."""

    number: int
    parent: int
    turns: tuple[Turn, ...]

    @property
    def name(self) -> str:
        """The turn it begins with; empty for the line, unless that is nothing but an aside."""
        first = self.turns[0] if self.turns else None
        return first.id if first and (self.number or first.is_aside) else ""


Place = tuple[int, str]  # which turn it is, and on which branch


def items_of(conversation: Conversation) -> Iterator[Item]:
    """A conversation, and what was said in it in the order of the file."""
    began, places = laid_out(conversation)
    yield began
    for turn in conversation.turns:
        if (place := places.pop(turn.id, None)) is not None:
            yield placed(conversation.id, turn, place)


def laid_out(shape: Conversation) -> tuple[ConversationStart, dict[str, Place]]:
    """What is known of a conversation before it is told, and where each turn with words stands."""
    found = branches_of(shape)
    home = {turn.id: branch.name for branch in found for turn in branch.turns}
    names = tuple(name for name in dict.fromkeys(turn.id for turn in shape.turns) if name in home)
    above = {branch.name: found[branch.parent].name for branch in found if branch.name}
    places = {name: (number, home[name]) for number, name in enumerate(names)}
    asides = frozenset(branch.name for branch in found if branch.name and branch.turns[0].is_aside)
    return ConversationStart(shape.id, shape.title, names, above, shape.at, asides), places


def placed(conversation: str, turn: Turn, place: Place) -> Message:
    """A turn in its place."""
    return Message(conversation, place[0], turn, place[1])


def branches_of(conversation: Conversation) -> list[Branch]:
    """The line first, then every branch, those that end earlier in the file first. Branches without words are none.

    A parent that is not there, or a ring of parents, begins a part of its own.
    """
    turns: dict[str, Turn] = {}
    for turn in conversation.turns:
        turns.setdefault(turn.id, turn)
    gone_on = {turn.parent for turn in turns.values()}
    ends = [name for name in turns if name not in gone_on]
    living = conversation.living if conversation.living in turns else next(reversed(turns), "")
    placed: dict[str, int] = {}
    found: list[Branch] = []
    for end in dict.fromkeys([living, *ends, *turns]):  # the turns of a ring have no end: they come last
        if end in turns and end not in placed:
            found.append(_branch(end, turns, placed, number=len(found)))
    return _with_words(found, {name: number for number, name in enumerate(turns)})


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


def _with_words(found: list[Branch], order: dict[str, int]) -> list[Branch]:
    """Without the turns that say nothing and the branches that are none; numbered anew, the line kept."""
    kept: list[Branch] = []
    numbers: dict[int, int] = {}
    joined: dict[int, list[Turn]] = {}
    for branch in found:
        said = tuple(turn for turn in branch.turns if turn.text.strip())
        if branch.number == 0 or any(turn.role != TOOL for turn in said):
            numbers[branch.number] = len(kept)
            kept.append(Branch(len(kept), numbers[branch.parent], said))
        else:
            numbers[branch.number] = numbers[branch.parent]
            joined.setdefault(numbers[branch.parent], []).extend(said)
    for number, more in joined.items():
        turns = sorted((*kept[number].turns, *more), key=lambda turn: order[turn.id])
        kept[number] = Branch(number, kept[number].parent, tuple(turns))
    return kept
