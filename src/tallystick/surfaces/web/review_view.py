"""A review as the page shows it: what would be changed, by whose wish, and what came of it.

The words are those of the command line; here each change is taken apart, so that what goes and what comes can be marked
within the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tallystick.records.errors import Missing
from tallystick.records.ids import BELIEF_ID
from tallystick.records.policy import BELIEF
from tallystick.surfaces.present.diff import Piece as Words, pieces as words_of
from tallystick.surfaces.present.reviews import asks, pieces, title
from tallystick.surfaces.present.text import lines, short
from tallystick.surfaces.web.filters import door
from tallystick.surfaces.web.render import command_of

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief
    from tallystick.records.review import Review

KEPT_OUT = "trust"  # the kind of a review about what is kept out of recall until somebody says yes
_LONGEST = 20_000  # characters of one change that are shown


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a yes would change. `words` are what stays, goes and comes; else `text` is all there is to it."""

    mark: str
    text: str
    name: str = ""
    was: str | None = None
    words: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownReview:
    """A review, and what it is about."""

    review: Review
    title: str
    changes: tuple[Change, ...]
    door: str
    command: str
    is_granted: bool = False

    @property
    def is_kept_out(self) -> bool:
        return self.review.action.kind == KEPT_OUT


def asked(memory: Memory, review: Review, *, as_asked: bool = False) -> ShownReview:
    """The review with what it would change as that is now, or as it was when it was asked."""
    action, moment = review.action, review.seq if as_asked else None
    found = [_belief(memory, version, action.path, moment) for version in action.target]
    return ShownReview(
        review, _title(review, found), tuple(_changes(review, found)),
        door(action.by),
        command_of(memory, f"review approve {review.id[-6:]}"),
        is_granted=bool(review.marker) and review.status == "waiting",
    )  # fmt: skip


def question(memory: Memory, review: Review) -> str:
    """What is asked, in a line, of what is held now."""
    return _title(review, [memory.get(version, path=review.action.path) for version in review.action.target])


def _belief(memory: Memory, version: str, path: str, moment: int | None) -> Belief | None:
    """What a version says: as it is now, or was at that moment. Where that cannot be read any more, as it is now."""
    now = memory.get(version, path=path)
    if moment is None or (now is not None and now.id == version):
        return now
    try:
        return memory.get(version, believed_at=moment, path=path)
    except Missing:
        return now


def _title(review: Review, found: list[Belief | None]) -> str:
    """The question in a line: of something without a name of its own, with its first words."""
    first = found[0] if found else None
    if first is None or review.action.noun != BELIEF or not BELIEF_ID.match(first.key) or not first.text:
        return title(review, found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{asks(review)} “{short(first.text, 60)}”{more}?"


def _changes(review: Review, found: list[Belief | None]) -> list[Change]:
    changes = list[Change]()
    for mark, text, name, was in pieces(review, found):
        will, before = _seen(text), _seen(was) if was is not None else None
        words = tuple(words_of(before, will)) if before is not None and not name else ()
        changes.append(Change(mark, will, name, before, words))
    return changes


def _seen(text: str) -> str:
    """A text with its lines, as far as there is room, and nothing in it that cannot be seen."""
    begun = "\n".join(lines(text[:_LONGEST]))
    return begun if len(text) <= _LONGEST else f"{begun}…"


def came_of_it(memory: Memory, review: Review) -> tuple[str, Belief | None]:
    """What an answer led to, in words, and the belief as it is now."""
    action = review.action
    now = memory.get(action.target[0], path=action.path) if action.target and action.noun == BELIEF else None
    if review.status == "approved":
        return _DONE.get(action.cell, "It is done."), now
    if review.status == "rejected":
        return ("It was put out of sight." if action.kind == KEPT_OUT else "Nothing was changed."), now
    return "What it was about had changed before it was answered. Nothing was done; it can be asked again.", now


_DONE = {
    "remember": "It is remembered.", "revise": "It was revised. What it said before stays in its history.",
    "forget": "It is out of sight. Its history stays.", "invalidate": "It is held to be wrong. Its history stays.",
    "erase": "It is still to be erased: the erasure was cut short.", "trust": "It can be recalled now.",
    "activate": "It is held again.", "reinforce": "It counts as helpful.", "promote": "It is held for sure.",
    "merge": "They are one now. What each said stays in its history.", "page.compact": "The page was folded.",
    "path.merge": "The path was merged.", "path.abandon": "The path was abandoned. It can be reopened.",
    "path.compact": "The path was compacted. It can be reopened.", "path.reopen": "The path is open again.",
}  # fmt: skip
