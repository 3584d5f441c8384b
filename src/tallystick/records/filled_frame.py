"""A frame that was filled: the text for a prompt, what it shows, and what was left out and why.

The text is within the budget, or empty. Whatever was found and is not in it stands in `dropped` with the reason: all
that was guaranteed, and of the rest the best; how many more there were is said.
"""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.hit import Hit


@dataclass(frozen=True, slots=True)
class Dropped(Displayable):
    """A memory that was found and is not shown by itself."""

    id: str
    text: str  # shortened
    why: str
    guaranteed: bool = False
    tokens: int = 0  # what its line would have taken
    said_by: str = ""  # the hit that says the same in its stead

    def __repr__(self) -> str:
        return f"<Dropped {self.id} {self.text!r}: {self.why}>"


@dataclass(frozen=True, slots=True)
class FilledFrame(Displayable):
    """What an agent puts into its prompt. Nothing to show is an empty text, without a heading."""

    derived = ("is_whole",)

    frame: str
    question: str
    text: str
    hits: tuple[Hit, ...] = ()  # what is shown, in order
    dropped: tuple[Dropped, ...] = ()
    used: int = 0
    budget: int = 0
    receipt: str = ""  # the receipt that was left, if one was
    more: int = 0  # what would be shown too, and is neither here nor named in `dropped`, because it is so much

    def __post_init__(self) -> None:
        if self.text and self.used > self.budget:
            raise Refused(f"a frame of {self.used} tokens is over its budget of {self.budget}")

    @property
    def is_whole(self) -> bool:
        """Whether all that is guaranteed is said, by itself or by another guaranteed one that says the same."""
        return not any(each.guaranteed and not each.said_by for each in self.dropped)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        whole = "" if self.is_whole else ", not all that is guaranteed"
        return (
            f"<FilledFrame {self.frame}: {len(self.hits)} shown, {len(self.dropped)} dropped, "
            f"{self.used} of {self.budget} tokens{whole}>"
        )
