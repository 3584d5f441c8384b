"""A filled frame: the text for a prompt, the hits in it, and what was left out and why.

The text is within the budget, or empty. Whatever was found and is not in it is in `dropped` with the reason: all that
was guaranteed, and the best of the rest; `more` counts the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.hit import Hit


@dataclass(frozen=True, slots=True)
class Dropped(Displayable):
    """A memory that was found and is not in the text by itself."""

    id: str
    text: str  # shortened
    why: str
    guaranteed: bool = False
    tokens: int = 0  # of its line
    said_by: str = ""  # the hit that states the same

    def __repr__(self) -> str:
        return f"<Dropped {self.id} {self.text!r}: {self.why}>"


@dataclass(frozen=True, slots=True)
class FilledFrame(Displayable):
    """The text for an agent's prompt. Without hits it is empty, without a heading."""

    derived = ("is_whole",)

    frame: str
    question: str
    text: str
    hits: tuple[Hit, ...] = ()  # in order
    dropped: tuple[Dropped, ...] = ()
    used: int = 0
    budget: int = 0
    receipt: str = ""  # its receipt, if one was recorded
    more: int = 0  # the number of those that are neither in `hits` nor in `dropped`

    def __post_init__(self) -> None:
        if self.text and self.used > self.budget:
            raise Refused(f"the frame has {self.used} tokens, over its budget of {self.budget}")

    @property
    def is_whole(self) -> bool:
        """True if everything guaranteed is in the text, by itself or in another hit that states the same."""
        return not any(each.guaranteed and not each.said_by for each in self.dropped)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        whole = "" if self.is_whole else ", not all that is guaranteed"
        return (
            f"<FilledFrame {self.frame}: {len(self.hits)} shown, {len(self.dropped)} dropped, "
            f"{self.used} of {self.budget} tokens{whole}>"
        )
