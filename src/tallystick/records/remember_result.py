"""What `remember` answers beside the belief: whether it is new, and what stands against it or near it."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.records.display import Displayable

NEW, KNOWN, CORRECTED, REVISED = "new", "known", "corrected", "revised"


@dataclass(frozen=True, slots=True)
class RememberResult(Displayable):
    """How a statement stands to what was held before. It is not kept: the same question later has another answer."""

    what: str  # new, known (it was held already), corrected (it took the place of another), revised (a version more)
    contradicts: tuple[str, ...] = ()  # ids of beliefs that are held and cannot both hold with it
    why: tuple[str, ...] = ()  # for each of these: "said and denied: drink tea"
    near: tuple[str, ...] = ()  # ids of beliefs that say the same in other words
    page: str = ""  # the file on which it stands

    def __str__(self) -> str:
        against = [f"contradicts {name} ({why})" for name, why in zip(self.contradicts, self.why, strict=True)]
        return "; ".join([self.what, *against, *(f"near to {name}" for name in self.near)])

    def __repr__(self) -> str:
        return f"<RememberResult {self}>"
