"""The answer of `remember`: whether the belief is new, and what contradicts it or is near it."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable

NEW, KNOWN, CORRECTED, REVISED = "new", "known", "corrected", "revised"


@dataclass(frozen=True, slots=True)
class RememberResult(Displayable):
    """The relation of a statement to the other beliefs. It is not recorded: later it may be different."""

    what: str  # new, known (already believed), corrected (it replaced another), revised (a new version)
    contradicts: tuple[str, ...] = ()  # ids of active beliefs that cannot be true with it
    why: tuple[str, ...] = ()  # for each of these: "said and denied: drink tea"
    near: tuple[str, ...] = ()  # ids of beliefs that state the same in other words
    page: str = ""  # the file of its page

    def __str__(self) -> str:
        against = [f"contradicts {name} ({why})" for name, why in zip(self.contradicts, self.why, strict=True)]
        return "; ".join([self.what, *against, *(f"near to {name}" for name in self.near)])

    def __repr__(self) -> str:
        return f"<RememberResult {self}>"
