"""What comes of bringing a path over to another: what was brought, and where the two sides disagree."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable
from tallystick.records.path import shown

PARENT = "parent"  # what stands there stays
BRANCH = "branch"  # what the branch says takes its place
NEWEST = "newest"  # whichever was recorded later
REVIEW = "review"  # what stands there stays, and a person is asked
BY_MERGE = "merged from a path"  # the reason of what a merge brought over; a path's name can be erased, a belief stays
RULES = (REVIEW, PARENT, BRANCH, NEWEST)


@dataclass(frozen=True, slots=True)
class Conflict(Displayable):
    """One thing of which both sides say something else. `ours` is what stands where it would be brought to."""

    key: str
    base: str  # the version that the branch's was made from; empty if it was made from none
    ours: Belief
    theirs: Belief
    why: str

    def __repr__(self) -> str:
        return f"<Conflict {self.key}: {_short(self.ours)} here, {_short(self.theirs)} on {self.theirs.path}>"


@dataclass(frozen=True, slots=True)
class Merged(Displayable):
    """What a merge did: the beliefs as they are held there now, the conflicts, and the reviews that ask about them."""

    path: str
    into: str
    brought: tuple[Belief, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    reviews: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Merged {self.path} into {shown(self.into)}: {len(self.brought)} brought, "
            f"{len(self.conflicts)} conflicts, {len(self.reviews)} to review>"
        )


def without_quote(reason: str) -> str:
    """The reason of what a merge brought over, without the words that it quotes from the branch; any other as it is."""
    return BY_MERGE if reason.startswith(BY_MERGE) else reason


def _short(belief: Belief) -> str:
    if not belief.is_held:
        return belief.status
    return repr(belief.text if len(belief.text) <= 40 else belief.text[:39] + "…")
