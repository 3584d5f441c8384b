"""A belief's past: its versions, the changes between two moments, and why it is believed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tallystick.records.belief import Belief
from tallystick.records.display import Displayable

Moment = int | str | datetime


@dataclass(frozen=True, slots=True)
class Version(Displayable):
    """One version of a belief."""

    seq: int
    at: str
    op: str
    by: str
    belief: Belief


@dataclass(frozen=True, slots=True)
class Change(Displayable):
    """One belief at two moments; None where it was not active."""

    derived = ("what",)

    key: str
    before: Belief | None
    after: Belief | None

    @property
    def what(self) -> str:
        if self.before is None:
            return "added"
        return "gone" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Why(Displayable):
    """One belief and the reasons for its status."""

    belief: Belief
    because: tuple[str, ...]  # why its confidence fell, or why it was withdrawn
    rests_on: tuple[Why, ...]

    def lines(self, depth: int = 0) -> list[str]:
        """The reasons as indented text."""
        belief, indent = self.belief, "  " * depth
        held = "a hypothesis" if belief.is_hypothesis and belief.is_held else belief.status
        found = [f"{indent}{belief.key}: {belief.text} ({held}, {belief.confidence:g})"]
        found += [f"{indent}  evidence: {piece}" for piece in belief.evidence]
        found += [f"{indent}  {line}" for line in self.because]
        for below in self.rests_on:
            found += [f"{indent}  rests on", *below.lines(depth + 2)]
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())
